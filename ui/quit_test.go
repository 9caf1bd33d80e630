package ui_test

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"abxdash/keymap"
	"abxdash/ui"
)

// What is to follow happens only when the program is really left.
func TestQuitThen(t *testing.T) {
	ask := func(d *desk) *int {
		n := new(int)
		d.list.on = map[keymap.Action]tea.Cmd{keymap.ListNew: ui.Cmd(ui.QuitMsg{Then: func() { *n++ }})}
		d.Keys("n")
		return n
	}
	d := newDesk(t, 80, 24)
	if n := ask(d); !d.Quit || *n != 1 {
		t.Errorf("nothing at stake: quit %v, %d", d.Quit, *n)
	}
	d = newDesk(t, 80, 24)
	d.work.stakes = []string{"a kill that is not sent yet"}
	n := ask(d)
	if d.Quit || *n != 0 {
		t.Errorf("before the answer: quit %v, %d", d.Quit, *n)
	}
	d.Keys("esc ctrl+c ctrl+c")
	if !d.Quit || *n != 0 {
		t.Errorf("taken back, then left otherwise: quit %v, %d", d.Quit, *n)
	}
	d = newDesk(t, 80, 24)
	d.work.stakes = []string{"a kill that is not sent yet"}
	n = ask(d)
	d.Keys("y")
	if !d.Quit || *n != 1 {
		t.Errorf("yes: quit %v, %d", d.Quit, *n)
	}
}
