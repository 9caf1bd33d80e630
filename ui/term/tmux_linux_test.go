package term

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAgainstTmux runs every synthetic case without a resize in a real tmux and
// compares; it is slow, so it runs only when asked:
//
//	ABXDASH_TMUX=1 go test ./ui/term -run TestAgainstTmux
func TestAgainstTmux(t *testing.T) {
	if os.Getenv("ABXDASH_TMUX") == "" {
		t.Skip("set ABXDASH_TMUX to compare with the tmux on this machine")
	}
	allowed := differences(t)
	compared := 0
	for group, cases := range vtGroups() {
		for _, c := range cases {
			if c.then != nil || c.cols > 0 && c.cols < 3 {
				continue
			}
			compared++
			t.Run(group+"/"+c.name, func(t *testing.T) {
				cols, rows := c.cols, c.rows
				if cols == 0 {
					cols, rows = 10, 5
				}
				want, _ := tmuxShows(t, []byte(c.in), cols, rows)
				x, _ := c.vtRun(whole)
				got := shown(x, rows)
				for y := range want {
					want[y], got[y] = trimBlanks(want[y]), trimBlanks(got[y])
				}
				diff := cmp.Diff(want, got)
				why, listed := allowed[group+"/"+c.name]
				switch {
				case diff != "" && !listed:
					t.Errorf("differs (-tmux +got):\n%s", diff)
				case diff == "" && listed:
					t.Errorf("does not differ any more, but differences.txt says: %s", why)
				}
			})
		}
	}
	t.Logf("%d cases compared", compared)
}
