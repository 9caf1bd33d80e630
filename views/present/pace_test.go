package present

import (
	"testing"
	"time"

	"abxdash/ui"
)

func TestPaceAsksOnlyWhileShown(t *testing.T) {
	at := time.Date(2031, 1, 1, 12, 0, 0, 0, time.UTC)
	p := Pace{Every: 5 * time.Second, Unfocused: 30 * time.Second}
	asked := func(seconds int) (n int) {
		for range seconds {
			at = at.Add(time.Second)
			if p.Update(ui.TickMsg{Now: at}) && p.Begin(at) {
				n++
				p.End()
			}
		}
		return n
	}
	if n := asked(60); n != 0 {
		t.Errorf("a tab that was never shown asked %d times", n)
	}
	if !p.Update(TabShownMsg{}) || !p.Begin(at) {
		t.Error("showing a tab does not ask at once")
	}
	if p.Begin(at) {
		t.Error("two calls at a time")
	}
	p.End()
	if n := asked(60); n != 12 {
		t.Errorf("%d calls in a minute with the focus, want 12", n)
	}
	p.Update(ui.FocusMsg{})
	if n := asked(60); n != 2 {
		t.Errorf("%d calls in a minute without the focus, want 2", n)
	}
	p.Update(ui.FocusMsg{Focused: true})
	p.Update(TabHiddenMsg{})
	if n := asked(60); n != 0 || p.Shown() {
		t.Errorf("a hidden tab asked %d times", n)
	}
}
