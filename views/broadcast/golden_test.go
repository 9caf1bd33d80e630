package broadcast

import (
	"context"
	"fmt"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui/uitest"
)

// mixed fails in box1 with a long message, waits in box2, and is fine elsewhere.
func mixed(wait func(context.Context) error) map[string]fake.Program {
	return map[string]fake.Program{"pytest": func(ctx context.Context, io fake.IO) int {
		switch io.Sandbox() {
		case "box1":
			fmt.Fprintln(io.Stderr, "AssertionError: 3 != 4 in test_totals_of_a_month_that_has_no_entries_at_all, line 212")
			return 3
		case "box2":
			if wait(ctx) != nil {
				return 1
			}
		}
		fmt.Fprintln(io.Stdout, "5 passed in 构建")
		return 0
	}}
}

// The question and the grid with every kind of result, in every window and theme.
func TestGoldenGrid(t *testing.T) {
	for _, v := range uitest.Variants() {
		var s *scene
		s = newScene(t, Options{}, 5, mixed(func(ctx context.Context) error { return s.Sleep(ctx, time.Hour) }))
		s.p.Change("box3", func(sb *client.Sandbox) { sb.State = client.StatePaused })
		s.Env.Theme = v.Theme
		s.ask("")
		uitest.Golden(t, v.Name("prompt"), s.Dump(v.W, v.H))
		s.Type("pytest -q")
		s.Press("enter")
		s.Clock.Add(12 * time.Second)
		uitest.Golden(t, v.Name("grid"), s.Dump(v.W, v.H))
		s.Press("j")
		uitest.Golden(t, v.Name("grid-failed"), s.Dump(v.W, v.H))
		s.Press("o")
		uitest.Golden(t, v.Name("grid-grouped"), s.Dump(v.W, v.H))
	}
}
