package dialog

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"go.uber.org/goleak"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/uitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// empty is a screen to put boxes on.
type empty struct{ actions int }

func (e *empty) Init(ui.Env) tea.Cmd { return nil }
func (e *empty) Update(msg tea.Msg) tea.Cmd {
	if _, ok := msg.(ui.ActionMsg); ok {
		e.actions++
	}
	return nil
}
func (e *empty) Draw(uv.Screen, uv.Rectangle) *tea.Cursor { return nil }
func (e *empty) Keys() []keymap.Context                   { return []keymap.Context{keymap.List} }
func (e *empty) Title() string                            { return "Empty" }
func (e *empty) Close()                                   {}

func open(t *testing.T, o ui.Overlay) (*uitest.Driver, *empty) {
	t.Helper()
	e := &empty{}
	d := uitest.Start(t, ui.Options{Routes: map[ui.Route]func(ui.Params) ui.Screen{"e": func(ui.Params) ui.Screen { return e }}, Start: "e"}, 80, 24)
	d.Send(ui.OverlayMsg{Overlay: o})
	return d, e
}

func yes(n *int) tea.Cmd {
	return func() tea.Msg {
		*n++
		return nil
	}
}

func TestMessage(t *testing.T) {
	d, _ := open(t, Message("Note", Plain("first\x1b[2J line\n"+strings.Repeat("word ", 400)+"\nthe end")))
	if !d.Shows("Note") || !d.Shows("first␛[2J line") || d.Shows("the end") {
		t.Errorf("\n%s", d.Text())
	}
	d.Keys("G")
	if !d.Shows("the end") {
		t.Errorf("G does not scroll to the end:\n%s", d.Text())
	}
	d.Keys("enter")
	if d.Shows("Note") {
		t.Error("enter does not close")
	}
}

func TestConfirm(t *testing.T) {
	for _, tt := range []struct {
		keys    string
		yes, no int
		open    bool
	}{
		{"y", 1, 0, false},
		{"n", 0, 1, false},
		{"esc", 0, 1, false},
		{"q", 0, 1, false},
		{"enter", 0, 0, true},
		{"space", 0, 0, true},
		{"x", 0, 0, true},
		{"enter y", 1, 0, false},
	} {
		var y, n int
		d, e := open(t, Confirm(ConfirmOptions{Title: "Delete?", Lines: Plain("/home/user/data"), Danger: true, OnYes: yes(&y), OnNo: yes(&n)}))
		d.Keys(tt.keys)
		if y != tt.yes || n != tt.no || d.Shows("Delete?") != tt.open || e.actions != 0 {
			t.Errorf("%s: yes %d, no %d, open %v, actions below %d", tt.keys, y, n, d.Shows("Delete?"), e.actions)
		}
	}
}

func TestConfirmCount(t *testing.T) {
	var y, n int
	box := func() ui.Overlay {
		return Confirm(ConfirmOptions{Title: "Kill 12 sandboxes", Lines: Plain("This is a lot."), Count: 12, Yes: "kill them", OnYes: yes(&y), OnNo: yes(&n)})
	}
	d, _ := open(t, box())
	if !d.Shows("type 12 to kill them:") {
		t.Errorf("\n%s", d.Text())
	}
	d.Keys("y enter")
	if y != 0 || !d.Shows("not that number") {
		t.Errorf("y confirmed %d times:\n%s", y, d.Text())
	}
	d.Keys("backspace 1 enter")
	if y != 0 {
		t.Error("1 is not 12")
	}
	d.Keys("2 enter")
	if y != 1 || d.Shows("Kill 12") {
		t.Errorf("12 confirmed %d times", y)
	}
	d.Send(ui.OverlayMsg{Overlay: box()})
	d.Keys("1 2 esc")
	if y != 1 || n != 1 {
		t.Errorf("esc: yes %d, no %d", y, n)
	}
}

func TestMenu(t *testing.T) {
	var a, c int
	items := func() []Item {
		return []Item{{Label: "Shell", Hint: "bash", Cmd: yes(&a)}, {Label: "Pause", Disabled: "local cannot pause"}, {Label: "Kill", Hint: "asks first", Cmd: yes(&c)}}
	}
	d, _ := open(t, Menu("Choose", items()))
	d.Keys("enter")
	if a != 1 || d.Shows("Choose") {
		t.Errorf("enter chose %d times", a)
	}
	d.Send(ui.OverlayMsg{Overlay: Menu("Choose", items())})
	d.Keys("j enter")
	if !d.Shows("Choose") || !d.Shows("Pause: local cannot pause") {
		t.Errorf("a disabled entry:\n%s", d.Text())
	}
	d.Keys("G j j enter")
	if c != 1 {
		t.Errorf("the last entry was chosen %d times", c)
	}
	d.Send(ui.OverlayMsg{Overlay: Menu("Choose", items())})
	row := 0
	for y, l := range strings.Split(d.Text(), "\n") {
		if strings.Contains(l, "Shell") {
			row = y
		}
	}
	d.Send(tea.MouseClickMsg{X: 40, Y: row, Button: tea.MouseLeft})
	if a != 2 {
		t.Error("a click does not choose")
	}
	d.Send(ui.OverlayMsg{Overlay: Menu("Empty", nil)})
	d.Keys("j enter esc")
	if d.Shows("Empty ─") {
		t.Error("esc does not close")
	}
}

func TestGolden(t *testing.T) {
	boxes := map[string]func() ui.Overlay{
		"message": func() ui.Overlay { return Message("What happened", Plain("The sandbox did not answer for 30 s.")) },
		"confirm": func() ui.Overlay {
			return Confirm(ConfirmOptions{Title: "Delete 2 files?", Lines: Plain("app.py\n构建.txt"), Yes: "delete", Danger: true})
		},
		"count": func() ui.Overlay {
			return Confirm(ConfirmOptions{Title: "Kill 12 sandboxes", Count: 12, Yes: "kill them", Danger: true})
		},
		"menu": func() ui.Overlay {
			return Menu("Open with", []Item{{Label: "Preview"}, {Label: "Editor", Hint: "$EDITOR"}, {Label: "Download", Disabled: "read-only mode"}})
		},
	}
	for name, box := range boxes {
		for _, th := range uitest.Themes() {
			o := box()
			o.Init(ui.Env{Theme: th, Keys: keymap.Default()})
			w, h := o.Size(60, 20)
			uitest.Golden(t, fmt.Sprintf("%s-%s", name, th.Name), uitest.Draw(th, w, h, o.Draw))
		}
	}
}

func TestThemeChange(t *testing.T) {
	for _, o := range []ui.Overlay{Message("a", nil), Confirm(ConfirmOptions{Title: "b"}), Menu("c", []Item{{Label: "x"}})} {
		o.Init(ui.Env{Theme: uitest.Dark(), Keys: keymap.Default()})
		light := uitest.Light()
		o.Update(ui.ThemeMsg{Theme: light})
		got := uitest.Draw(light, 30, 6, o.Draw)
		if strings.Contains(got, "{") {
			t.Errorf("%s keeps styles of the old theme:\n%s", o.Title(), got)
		}
	}
}
