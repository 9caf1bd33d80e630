package ui_test

import (
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/keymap"
	"abxdash/ui"
)

func TestHelp(t *testing.T) {
	d := newDesk(t, 100, 40)
	d.list.disabled = map[keymap.Action]string{keymap.ListNew: "local cannot pause"}
	d.Keys("?")
	for _, s := range []string{"Keys here", "List", "Open the sandbox under the cursor.", ":open", "local cannot pause", "/ to search"} {
		if !d.Shows(s) {
			t.Errorf("%q is not shown:\n%s", s, d.Text())
		}
	}
	if d.Shows("Everywhere") {
		t.Error("the window is too short for the end of the help, yet it is shown")
	}
	d.Keys("G")
	if !d.Shows("Everywhere") || !d.Shows("^c") {
		t.Errorf("G does not go to the end:\n%s", d.Text())
	}
	d.Keys("/")
	d.Type("undo")
	if !d.Shows("Undo a kill") || d.Shows("Find any action") {
		t.Errorf("the search does not narrow:\n%s", d.Text())
	}
	d.Keys("enter esc")
	if d.Shows("Keys here") {
		t.Error("esc does not close")
	}
	d.Keys("? ?")
	if d.Shows("Keys here") {
		t.Error("? does not close")
	}
	if len(d.list.actions) != 0 {
		t.Errorf("help ran %v", d.list.actions)
	}
}

func TestPalette(t *testing.T) {
	d := newDesk(t, 100, 40)
	d.list.disabled = map[keymap.Action]string{keymap.SandboxPause: "local cannot pause"}
	d.Keys("ctrl+k")
	d.Type("killstr")
	if !d.Shows("Review and kill all strays") || d.Shows("Browse files") {
		t.Errorf("the palette does not narrow:\n%s", d.Text())
	}
	d.Keys("enter")
	if d.list.did(keymap.KillStrays) != 1 || d.Shows("Find") {
		t.Errorf("list got %v", d.list.actions)
	}
	d.Keys("ctrl+k")
	d.Type("pause")
	d.Keys("enter")
	if d.list.did(keymap.SandboxPause) != 0 || !d.Shows("local cannot pause") {
		t.Errorf("a disabled action ran or has no reason:\n%s", d.Text())
	}
	d.Keys("esc")
	d.Keys("ctrl+k down down up enter")
	if n := len(d.list.actions); n != 2 {
		t.Errorf("list got %v", d.list.actions)
	}
	d.Keys("ctrl+k")
	d.Type("zzzzzz")
	if !d.Shows("nothing by that name") {
		t.Errorf("no word about no match:\n%s", d.Text())
	}
	d.Keys("enter esc")
}

func TestCommandLine(t *testing.T) {
	d := newDesk(t, 100, 24)
	d.Keys(":")
	d.Type("kill web-agent-3")
	d.Keys("enter")
	if n := len(d.list.actions); n != 1 || d.list.actions[0] != (ui.ActionMsg{Action: keymap.SandboxKill, Arg: "web-agent-3"}) {
		t.Errorf("list got %v", d.list.actions)
	}
	d.Keys(":")
	d.Type("ext")
	if !d.Shows(":extend") {
		t.Errorf("no completion is offered:\n%s", d.Text())
	}
	d.Keys("tab enter")
	if d.list.did(keymap.SandboxExtend) != 1 {
		t.Errorf("list got %v", d.list.actions)
	}
	d.Keys(": up up enter")
	if d.list.did(keymap.SandboxKill) != 2 {
		t.Errorf("history: list got %v", d.list.actions)
	}
	d.Keys(":")
	d.Type("explode")
	d.Keys("enter")
	if !d.Shows("there is no command explode") {
		t.Errorf("no word about an unknown command:\n%s", d.Text())
	}
	d.Keys("ctrl+u")
	d.Type("download x")
	d.Keys("enter")
	if !d.Shows("does not work on this screen") {
		t.Errorf("no word about a command of another screen:\n%s", d.Text())
	}
	d.Keys("esc :")
	d.Type("sort")
	d.Keys("enter")
	if len(d.list.actions) != 3 {
		t.Errorf("an ambiguous beginning ran %v", d.list.actions[3:])
	}
	d.Keys("ctrl+u backspace")
	if d.Shows(":sort") {
		t.Error("backspace on the empty line does not leave it")
	}
	d.Keys("x")
	if d.list.did(keymap.SandboxKill) != 3 {
		t.Error("the command line is still open")
	}
}

// TUI-10: quitting asks once if something is at stake; the second press goes.
func TestQuitRules(t *testing.T) {
	t.Run("nothing at stake", func(t *testing.T) {
		d := newDesk(t, 80, 24)
		d.Keys("q")
		if !d.Quit || d.list.closed != 1 || d.work.closed != 1 {
			t.Errorf("quit %v, closed %d %d", d.Quit, d.list.closed, d.work.closed)
		}
	})
	t.Run("something at stake", func(t *testing.T) {
		d := newDesk(t, 80, 24)
		d.work.stakes = []string{"2 kills that are not sent yet"}
		d.list.survives = []string{"shell 1 in web-agent-3"}
		d.Keys("q")
		if d.Quit || !d.Shows("2 kills that are not sent yet") || !d.Shows("shell 1 in web-agent-3") {
			t.Errorf("quit %v:\n%s", d.Quit, d.Text())
		}
		d.Keys("enter")
		if d.Quit {
			t.Error("enter quits")
		}
		d.Keys("n q esc q q")
		if d.Quit || d.Shows("Quit?") {
			t.Error("the question is not taken back by n, esc and q")
		}
		d.Keys("q y")
		if !d.Quit {
			t.Error("y does not quit")
		}
	})
	t.Run("a survivor alone is not asked about", func(t *testing.T) {
		d := newDesk(t, 80, 24)
		d.list.survives = []string{"shell 1"}
		d.Keys("q")
		if !d.Quit || !slices.Equal(d.Root.Survivors(), []string{"shell 1"}) {
			t.Errorf("quit %v, survivors %v", d.Quit, d.Root.Survivors())
		}
	})
	t.Run("ctrl+c asks, twice quits", func(t *testing.T) {
		d := newDesk(t, 80, 24)
		d.Keys("ctrl+c")
		if d.Quit || !d.Shows("Quit?") || !d.Shows("Nothing would be lost") {
			t.Errorf("quit %v:\n%s", d.Quit, d.Text())
		}
		d.Keys("ctrl+c")
		if !d.Quit {
			t.Error("the second ctrl+c does not quit")
		}
	})
	t.Run("command", func(t *testing.T) {
		d := newDesk(t, 80, 24)
		d.Keys(":")
		d.Type("quit")
		d.Keys("enter")
		if !d.Quit {
			t.Error(":quit does not quit")
		}
	})
	t.Run("close is done once", func(t *testing.T) {
		d := newDesk(t, 80, 24)
		d.Keys("q")
		d.Root.Close()
		if d.list.closed != 1 || d.work.closed != 1 {
			t.Error("closed twice")
		}
		if err := d.list.env.Ctx.Err(); err == nil {
			t.Error("the context of the screen goes on")
		}
	})
}

func TestToasts(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Send(ui.ToastMsg{Level: ui.ToastOK, Text: "copied\x1b]0;x\a i123"})
	if !d.Shows("✓ copied␛]0;x␇ i123") {
		t.Errorf("toast:\n%s", d.Text())
	}
	d.Send(ui.ToastMsg{Level: ui.ToastError, Text: "e2b: 503"}, ui.ToastMsg{Level: ui.ToastError, Text: "e2b: 503"}, ui.ToastMsg{Text: "hello"})
	if !d.Shows("hello (+2") {
		t.Errorf("what has just been said is not in front:\n%s", d.Text())
	}
	d.clock.now = d.clock.now.Add(3 * time.Second)
	d.Root.Update(tickNow())
	if !d.Shows("✗ e2b: 503 ×2") || !d.Shows("(+2") {
		t.Errorf("the gravest toast is not in front:\n%s", d.Text())
	}
	d.clock.now = d.clock.now.Add(2 * time.Second)
	d.Root.Update(tickNow())
	if !d.Shows("e2b: 503") || d.Shows("copied") {
		t.Errorf("errors stay longer than the rest:\n%s", d.Text())
	}
	d.Keys(":")
	d.Type("messages")
	d.Keys("enter")
	for _, s := range []string{"Messages", "copied", "503 ×2", "hello", "13:58:00"} {
		if !d.Shows(s) {
			t.Errorf("%q is not in the history:\n%s", s, d.Text())
		}
	}
	d.Keys("esc")
	if d.Shows("Messages") {
		t.Error("esc does not close the history")
	}
}

func TestOverlayIsModal(t *testing.T) {
	d := newDesk(t, 80, 24)
	box := &fake{title: "Kill 3 sandboxes", contexts: []keymap.Context{keymap.Sheet, keymap.Move}, on: map[keymap.Action]tea.Cmd{}}
	box.on[keymap.NavBack] = ui.CloseOverlay(box)
	d.Send(ui.OverlayMsg{Overlay: box})
	d.Keys("enter x q")
	if len(d.list.actions) != 0 {
		t.Errorf("keys reached the screen below: %v", d.list.actions)
	}
	if box.closed != 1 || d.Shows("Kill 3 sandboxes") {
		t.Error("q does not close the sheet")
	}
	d.Send(ui.OverlayMsg{Overlay: box})
	d.Keys("y j")
	if box.did(keymap.SheetConfirm) != 1 || box.did(keymap.MoveDown) != 1 {
		t.Errorf("the sheet got %v", box.actions)
	}
	d.Keys("? :")
	if d.Shows("Keys here") {
		t.Error("a global key works under a box")
	}
	d.Send(tea.MouseClickMsg{X: 40, Y: 12, Button: tea.MouseLeft})
	if len(box.mice) != 1 || len(d.list.mice) != 0 {
		t.Error("the mouse does not go to the box alone")
	}
	d.Send(ui.CloseOverlayMsg{Overlay: &fake{}})
	if !d.Shows("Kill 3 sandboxes") {
		t.Error("closing another box closed this one")
	}
	d.Keys("esc")
	if d.Shows("Kill 3 sandboxes") {
		t.Error("esc does not close the sheet")
	}
}
