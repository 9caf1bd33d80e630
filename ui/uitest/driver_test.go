package uitest

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/ui/draw"
)

// Every key of the keymap can be pressed by its name.
func TestKeysHaveTheirNames(t *testing.T) {
	for _, b := range keymap.Default().All() {
		for _, seq := range b.Keys {
			for k := range strings.FieldsSeq(seq) {
				if got := Key(k).String(); got != k {
					t.Errorf("Key(%q) is called %q", k, got)
				}
			}
		}
	}
}

func TestDump(t *testing.T) {
	th := Dark()
	got := Draw(th, 8, 2, func(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
		draw.Text(scr, 1, 0, 6, "构x", th.Text.Error)
		draw.Text(scr, 0, 1, 1, "y", uv.Style{Attrs: uv.AttrBlink})
		return tea.NewCursor(3, 1)
	})
	want := []string{"8x2 dark", "| 构x    |", "|y       |", " 0: 1-3 Text.Error", " 1: 0-0 {-/- attrs=8}", "cursor 3,1", ""}
	if !slices.Equal(strings.Split(got, "\n"), want) {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
