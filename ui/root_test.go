package ui_test

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/uitest"
)

func TestFirstFrame(t *testing.T) {
	d := newDesk(t, 80, 24)
	for _, s := range []string{"abxdash", "Sandboxes", "body of Sandboxes", "enter open", "? help", "13:58"} {
		if !d.Shows(s) {
			t.Errorf("%q is not shown:\n%s", s, d.Text())
		}
	}
	v := d.Root.View()
	if !v.AltScreen || !v.ReportFocus || v.MouseMode != tea.MouseModeCellMotion || v.WindowTitle != "abxdash - Sandboxes" {
		t.Errorf("view: alt %v focus %v mouse %v title %q", v.AltScreen, v.ReportFocus, v.MouseMode, v.WindowTitle)
	}
}

func TestActionsGoToTheTopScreen(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Keys("x enter")
	if d.list.did(keymap.SandboxKill) != 1 || d.list.did(keymap.ListOpen) != 1 {
		t.Errorf("list got %v", d.list.actions)
	}
	if !d.Shows("Sandboxes › web-agent-3") {
		t.Errorf("no way shown:\n%s", d.Text())
	}
	d.Keys("x")
	if d.list.did(keymap.SandboxKill) != 1 || d.detail.did(keymap.SandboxKill) != 1 {
		t.Error("the action did not go to the screen on top alone")
	}
	d.Keys("esc")
	if d.detail.closed != 1 || d.Shows("web-agent-3") {
		t.Error("esc does not leave the detail")
	}
	d.Keys("enter q")
	if d.detail.closed != 2 || d.Quit {
		t.Error("q does not go back one level, or quits from the second")
	}
	d.Keys("esc esc esc")
	if d.Quit {
		t.Error("esc at the list quits")
	}
}

func TestSequences(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Keys(",")
	if d.Root.Pending() == "" || !d.Shows(", …") || !d.Shows("t ttl") {
		t.Errorf("the unfinished sequence is not shown:\n%s", d.Text())
	}
	d.Keys("t")
	if d.list.did(keymap.SortTTL) != 1 || d.Root.Pending() != "" {
		t.Errorf("list got %v, pending %q", d.list.actions, d.Root.Pending())
	}
	d.Keys(", x")
	if d.list.did(keymap.SandboxKill) != 0 {
		t.Error("a mistyped sequence ran the action of its second key")
	}
	d.Keys("x")
	if d.list.did(keymap.SandboxKill) != 1 {
		t.Error("the key after a mistyped sequence is lost")
	}
	d.Keys("esc esc")
	if d.list.did(keymap.NavBack) != 1 || d.list.did(keymap.MarkClear) != 1 {
		t.Errorf("esc esc gave %v", d.list.actions)
	}
	d.Keys("esc x")
	if d.list.did(keymap.SandboxKill) != 2 {
		t.Error("esc swallows the next key")
	}
	d.Keys(",")
	d.clock.now = d.clock.now.Add(time.Minute)
	d.Keys("x")
	if d.list.did(keymap.SandboxKill) != 3 {
		t.Error("an old unfinished sequence swallows a key")
	}
	d.Keys(", ctrl+c")
	if !d.Shows("Quit?") || d.Root.Pending() != "" {
		t.Error("ctrl+c is part of a sequence")
	}
}

func TestTextCapture(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.list.captures, d.list.contexts = true, []keymap.Context{keymap.Input}
	d.Keys("x q ? : z ctrl+k esc")
	if got := strings.Join(d.list.keys, " "); got != "x q ? : z ctrl+k esc" {
		t.Errorf("raw keys %q", got)
	}
	if len(d.list.actions) != 0 {
		t.Errorf("typing ran %v", d.list.actions)
	}
	d.Send(tea.PasteMsg{Content: "q\nx"})
	if !slices.Equal(d.list.pastes, []string{"q\nx"}) {
		t.Errorf("pastes %q", d.list.pastes)
	}
	if d.Shows("? help") {
		t.Errorf("the footer offers keys that would be typed:\n%s", d.Text())
	}
	d.Keys("ctrl+c")
	if !d.Shows("Quit?") {
		t.Error("ctrl+c does not ask while text is typed")
	}
	d.Keys("n")
	d.list.captures = false
	d.Send(tea.PasteMsg{Content: "q"})
	if len(d.list.pastes) != 1 || d.Quit {
		t.Error("a paste reached a screen that does not capture, or ran keys")
	}
}

func TestShellCapture(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.list.captures, d.list.contexts = true, []keymap.Context{keymap.Shell}
	d.Keys("ctrl+c ctrl+z ctrl+k q esc")
	if got := strings.Join(d.list.keys, " "); got != "ctrl+c ctrl+z ctrl+k q esc" {
		t.Errorf("the shell got %q", got)
	}
	if !d.Shows("^] d detach  n next") {
		t.Errorf("the footer does not show the leader:\n%s", d.Text())
	}
	d.list.keys = nil
	d.Keys("ctrl+]")
	if !d.Shows("^] …") || !d.Shows("d detach") {
		t.Errorf("a lone leader is not shown as pending:\n%s", d.Text())
	}
	d.clock.now = d.clock.now.Add(time.Hour)
	d.Keys("d")
	if d.list.did(keymap.ShellDetach) != 1 || len(d.list.keys) != 0 {
		t.Errorf("leader d: actions %v, raw %q", d.list.actions, d.list.keys)
	}
	d.Keys("ctrl+] ctrl+]")
	if d.list.did(keymap.ShellLiteral) != 1 {
		t.Error("leader twice is not the leader itself")
	}
	d.Keys("ctrl+] x")
	if got := strings.Join(d.list.keys, " "); got != "ctrl+] x" {
		t.Errorf("an unbound second key sends %q, want both", got)
	}
	d.Keys("ctrl+] ?")
	if !d.Shows("Keys here") || !d.Shows("Leave the shell running") {
		t.Errorf("no help in a shell:\n%s", d.Text())
	}
	d.Keys("esc ctrl+] u")
	if n := len(d.work.seen); n == 0 || d.work.seen[n-1].Action != keymap.AppUndo {
		t.Errorf("leader u is not undo: %v", d.work.seen)
	}
}

func TestBackgroundComesFirst(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.work.handles[keymap.AppUndo] = true
	d.work.status = "killing 3 in 4 s  z undo"
	d.Keys("z")
	if len(d.work.seen) != 1 || d.list.did(keymap.AppUndo) != 0 {
		t.Error("undo did not stop at the background")
	}
	if !d.Shows("killing 3 in 4 s  z undo") {
		t.Errorf("status is not shown:\n%s", d.Text())
	}
	d.Send(ui.OverlayMsg{Overlay: &fake{title: "Box", contexts: []keymap.Context{keymap.Sheet}}})
	d.Keys("z")
	if len(d.work.seen) != 2 {
		t.Error("undo does not work under a box")
	}
	d.Send(ui.CloseOverlayMsg{})
	d.work.handles = nil
	d.Keys("z")
	if !d.Shows("nothing to undo") {
		t.Error("no word when there is nothing to undo")
	}
}

func tickNow() tea.Msg { return ui.SecondForTest() }

func TestDisabledAndReadOnly(t *testing.T) {
	d := newDesk(t, 120, 24, func(o *ui.Options) { o.ReadOnly = "read-only mode (E9010)" })
	d.list.disabled = map[keymap.Action]string{keymap.SandboxFiles: "no files here"}
	d.Keys("x")
	if d.list.did(keymap.SandboxKill) != 0 || !d.Shows("kill: read-only mode (E9010)") {
		t.Errorf("read-only:\n%s", d.Text())
	}
	if !d.Shows(" read-only ") {
		t.Error("no read-only chip")
	}
	d.clock.now = d.clock.now.Add(time.Minute)
	d.Root.Update(tickNow())
	d.Keys("f")
	if d.list.did(keymap.SandboxFiles) != 0 || !d.Shows("files: no files here") {
		t.Errorf("disabled:\n%s", d.Text())
	}
	d.Keys("s")
	if d.list.did(keymap.SandboxShell) != 1 {
		t.Error("an action that can be used is refused")
	}
}

func TestBroadcast(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Keys("enter")
	box := &fake{title: "Box"}
	d.Send(ui.OverlayMsg{Overlay: box})
	type resultMsg struct{ n int }
	before := d.work.others
	d.Send(resultMsg{7})
	for name, f := range map[string]*fake{"list": d.list, "detail": d.detail, "box": box} {
		if n := len(f.others); n == 0 || f.others[n-1] != any(resultMsg{7}) {
			t.Errorf("%s did not get the result", name)
		}
	}
	if d.work.others != before+1 {
		t.Error("the background did not get the result")
	}
	d.Send(tea.BlurMsg{})
	if n := len(d.list.others); d.list.others[n-1] != any(ui.FocusMsg{Focused: false}) {
		t.Error("no FocusMsg")
	}
	d.Root.Update(tickNow())
	if d.list.ticks != 1 || d.detail.ticks != 1 || box.ticks != 1 {
		t.Error("no TickMsg")
	}
}

func TestMouse(t *testing.T) {
	d := newDesk(t, 120, 24)
	d.Send(tea.MouseWheelMsg{X: 10, Y: 10, Button: tea.MouseWheelDown})
	if len(d.list.mice) != 1 || d.list.mice[0].Mouse().Y != 10 {
		t.Errorf("the screen got %v", d.list.mice)
	}
	// A hint of the footer can be clicked.
	lines := strings.Split(d.Text(), "\n")
	x := strings.Index(lines[23], "x kill")
	d.Send(tea.MouseClickMsg{X: x + 1, Y: 23, Button: tea.MouseLeft})
	if d.list.did(keymap.SandboxKill) != 1 {
		t.Errorf("click on %q did nothing", lines[23])
	}
	d.Keys("m")
	if v := d.Root.View(); v.MouseMode != tea.MouseModeNone || !d.Shows("select text as usual") {
		t.Error("m does not give the mouse to the terminal")
	}
	d.Keys("m")
	if v := d.Root.View(); v.MouseMode != tea.MouseModeCellMotion {
		t.Error("m does not take the mouse back")
	}
	off := newDesk(t, 80, 24, func(o *ui.Options) { o.NoMouse = true })
	if v := off.Root.View(); v.MouseMode != tea.MouseModeNone {
		t.Error("NoMouse is ignored")
	}
}

// TUI-05: an answer that comes late changes the theme and nothing else.
func TestLateBackgroundColour(t *testing.T) {
	d := newDesk(t, 80, 24, func(o *ui.Options) { o.Light = true })
	// Options of the driver fix the theme; an answer must then change nothing.
	d.Send(tea.BackgroundColorMsg{Color: color.Black})
	if d.list.themes != 0 {
		t.Error("a fixed theme changed")
	}

	root := ui.New(ui.Options{
		Routes: map[ui.Route]func(ui.Params) ui.Screen{"list": func(ui.Params) ui.Screen { return d.detail }},
		Start:  "list", FrameInterval: -1,
		After: func(time.Duration, tea.Msg) tea.Cmd { return nil },
	})
	defer root.Close()
	root.Init()
	d.detail.captures = true
	root.Update(tea.BackgroundColorMsg{Color: color.White})
	if d.detail.themes != 1 || root.Theme().Dark || len(d.detail.keys) != 0 {
		t.Errorf("themes %d, dark %v, keys %q", d.detail.themes, root.Theme().Dark, d.detail.keys)
	}
	root.Update(tea.BackgroundColorMsg{Color: color.White})
	root.Update(tea.BackgroundColorMsg{})
	if d.detail.themes != 1 {
		t.Error("the same answer again, or an empty one, is news")
	}
}

func TestFirstRunHint(t *testing.T) {
	d := newDesk(t, 80, 24, func(o *ui.Options) { o.Hint = "n creates a sandbox" })
	if !d.Shows("n creates a sandbox") {
		t.Errorf("no hint:\n%s", d.Text())
	}
	d.Keys("x")
	if d.Shows("n creates a sandbox") || d.list.did(keymap.SandboxKill) != 1 {
		t.Error("the hint stays, or swallows the key")
	}
}

func TestAppActions(t *testing.T) {
	d := newDesk(t, 80, 24, func(o *ui.Options) {
		o.Actions = map[keymap.Action]tea.Cmd{keymap.AppTasks: ui.Open("detail", nil)}
	})
	d.Keys("w")
	if !d.Shows("body of web-agent-3") {
		t.Error("an app-wide action did not run")
	}
	plain := newDesk(t, 80, 24)
	plain.Keys("w")
	if !plain.Shows("nothing runs in the background") {
		t.Errorf("no tasks:\n%s", plain.Text())
	}
	plain.Keys("esc")
	plain.work.status = "uploading model.bin 25%"
	plain.Keys("w")
	if !plain.Shows("Tasks") || strings.Count(plain.Text(), "uploading model.bin") != 2 {
		t.Errorf("the task is not listed:\n%s", plain.Text())
	}
	d.Keys("ctrl+z ctrl+l")
	var names []string
	for _, m := range d.Ignored {
		names = append(names, fmt.Sprintf("%T", m))
	}
	if !slices.Contains(names, "tea.SuspendMsg") || !slices.Contains(names, "tea.clearScreenMsg") {
		t.Errorf("suspend and redraw asked for %v", names)
	}
}

func TestTitlesAreClean(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.detail.title = "x\x1b]0;owned\a"
	d.list.chips = []ui.Chip{{Text: "1\x1b[2J", Level: ui.ToastError}}
	d.Keys("enter")
	v := d.Root.View()
	if strings.ContainsAny(v.WindowTitle, "\x1b\a") || strings.Contains(v.Content, "\x1b]") || strings.Contains(v.Content, "\x1b[2J") {
		t.Errorf("title %q", v.WindowTitle)
	}
}

func TestGoldenFrames(t *testing.T) {
	for _, v := range []struct {
		name           string
		light, noColor bool
	}{{"dark", false, false}, {"light", true, false}, {"nocolor", false, true}} {
		for _, s := range uitest.Sizes() {
			d := newDesk(t, s[0], s[1], func(o *ui.Options) {
				o.Light, o.NoColor, o.Banner, o.Hint = v.light, v.noColor, "DEMO", "n creates a sandbox, ? shows all keys"
			})
			d.list.chips = []ui.Chip{{Text: "3 stray", Level: ui.ToastWarn}, {Text: "14 running", Level: ui.ToastOK}}
			d.list.disabled = map[keymap.Action]string{keymap.SandboxFiles: "no files"}
			d.work.status = "killing 3 in 4 s  z undo"
			d.Send(ui.ToastMsg{Level: ui.ToastOK, Text: "copied i4dct03zur"})
			uitest.Golden(t, fmt.Sprintf("frame-%s-%dx%d", v.name, s[0], s[1]), d.Dump())
		}
	}
}

var _ uv.Screen = uv.ScreenBuffer{}
