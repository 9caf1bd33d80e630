package viewtest

import (
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.uber.org/goleak"

	"abxdash/ui"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a background that notes what it gets.
type recorder struct{ got []string }

func (r *recorder) Init(ui.Env) tea.Cmd { return nil }
func (r *recorder) Update(msg tea.Msg) (tea.Cmd, bool) {
	if s, ok := msg.(string); ok {
		r.got = append(r.got, s)
	}
	return nil, false
}
func (r *recorder) Status() string { return "" }
func (r *recorder) Close()         {}

func TestCommandsRunInOrderAndHangingOnesDoNotStopOthers(t *testing.T) {
	rec := &recorder{}
	d := Build(t, NewClock(), nil, rec)
	d.Start()
	say := func(s string) tea.Cmd { return func() tea.Msg { return s } }
	d.Run(func() tea.Msg {
		_ = d.Sleep(d.Env.Ctx, time.Hour)
		return "never seen"
	})
	d.Run(tea.Sequence(say("a"), tea.Batch(say("b"), say("c")), say("d")))
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(rec.got, want) {
		t.Errorf("got %q, want %q", rec.got, want)
	}
	d.Run(tea.SetClipboard("x"))
	if !slices.Equal(d.Clipboard, []string{"x"}) {
		t.Errorf("clipboard %q", d.Clipboard)
	}
}
