package uitest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/ui"
)

// Driver runs a Root without a terminal: it delivers messages and runs the
// commands that come back. Commands that take long go on in the background;
// [Driver.Until] waits for them.
type Driver struct {
	T    testing.TB
	Root *ui.Root
	// Quit is true once the Root has asked the program to end.
	Quit bool
	// Ignored are messages of the framework that only a real program acts on.
	Ignored []tea.Msg

	patience time.Duration

	late chan tea.Msg
	done chan struct{}
}

// patience is how long a command may take before it counts as running in the background.
const patience = 200 * time.Millisecond

// sequencePatience is [patience] for a step of a sequence: the next one may
// depend on it.
const sequencePatience = time.Second

// deadline is how long Until waits; generous, because test machines are busy.
const deadline = 60 * time.Second

// Options fills in what a driven Root needs: no timers, every message drawn.
func Options(o ui.Options) ui.Options {
	o.FrameInterval = -1
	o.FixedTheme = true
	o.After = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	return o
}

// Start makes a Root from o (see [Options]) and shows it in a window of w×h.
func Start(t testing.TB, o ui.Options, w, h int) *Driver {
	t.Helper()
	return start(t, o, w, h, patience)
}

// StartStreams is [Start] for screens with streams, whose commands wait most of
// the time: it hardly waits for any, so what follows from a key is seen only
// through [Driver.Until].
func StartStreams(t testing.TB, o ui.Options, w, h int) *Driver {
	t.Helper()
	return start(t, o, w, h, 2*time.Millisecond)
}

func start(t testing.TB, o ui.Options, w, h int, patience time.Duration) *Driver {
	t.Helper()
	d := &Driver{T: t, Root: ui.New(Options(o)), patience: patience, late: make(chan tea.Msg, 64), done: make(chan struct{})}
	t.Cleanup(d.close)
	d.Run(d.Root.Init())
	d.Send(tea.WindowSizeMsg{Width: w, Height: h})
	return d
}

func (d *Driver) close() {
	close(d.done)
	d.Root.Close()
}

// Send delivers messages, runs what comes back, and draws.
func (d *Driver) Send(msgs ...tea.Msg) {
	d.T.Helper()
	for _, m := range msgs {
		_, cmd := d.Root.Update(m)
		d.Root.View()
		d.Run(cmd)
	}
}

// Run runs a command and everything that follows from it.
func (d *Driver) Run(cmd tea.Cmd) {
	d.T.Helper()
	d.run(cmd, d.patience)
}

// run is Run with a patience of its own.
func (d *Driver) run(cmd tea.Cmd, patience time.Duration) {
	d.T.Helper()
	if cmd == nil {
		return
	}
	got := make(chan tea.Msg, 1)
	go func() { got <- cmd() }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case m := <-got:
		d.result(m)
	case <-timer.C:
		go func() {
			select {
			case m := <-got:
				select {
				case d.late <- m:
				case <-d.done:
				}
			case <-d.done:
			}
		}()
	}
}

// result takes what a command returned: lists of commands are run in order.
func (d *Driver) result(m tea.Msg) {
	d.T.Helper()
	switch m := m.(type) {
	case nil:
		return
	case tea.BatchMsg:
		for _, c := range m {
			d.Run(c)
		}
		return
	case tea.QuitMsg:
		d.Quit = true
		return
	}
	if v := reflect.ValueOf(m); v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]() {
		for i := range v.Len() {
			// A sequence is one because its order matters.
			c, _ := v.Index(i).Interface().(tea.Cmd)
			d.run(c, max(d.patience, sequencePatience))
		}
		return
	}
	if reflect.TypeOf(m).PkgPath() == reflect.TypeFor[tea.QuitMsg]().PkgPath() {
		d.Ignored = append(d.Ignored, m)
		return
	}
	d.Send(m)
}

// Keys presses keys by name, separated by blanks: "j j enter ctrl+] d".
func (d *Driver) Keys(keys string) {
	d.T.Helper()
	for k := range strings.FieldsSeq(keys) {
		d.Send(Key(k))
	}
}

// Type types text, one key for each rune.
func (d *Driver) Type(text string) {
	d.T.Helper()
	for _, r := range text {
		k := tea.Key{Code: r, Text: string(r)}
		if r == ' ' {
			k.Code = tea.KeySpace
		}
		d.Send(tea.KeyPressMsg(k))
	}
}

// Text is what the window shows now.
func (d *Driver) Text() string {
	buf, _ := d.Root.Cells()
	return Text(buf)
}

// Dump is the window with its styles, see [Dump].
func (d *Driver) Dump() string {
	buf, cur := d.Root.Cells()
	return Dump(buf, d.Root.Theme(), cur)
}

// Shows reports whether the window shows a text.
func (d *Driver) Shows(text string) bool { return strings.Contains(d.Text(), text) }

// Until delivers what comes from commands in the background until cond holds,
// and fails the test if it does not in a generous time.
func (d *Driver) Until(what string, cond func() bool) {
	d.T.Helper()
	end := time.NewTimer(deadline)
	defer end.Stop()
	// Some conditions come true without a message, such as a file appearing.
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !cond() {
		select {
		case m := <-d.late:
			d.result(m)
		case <-again.C:
		case <-end.C:
			d.T.Fatalf("waited in vain for %s; the window shows:\n%s", what, d.Text())
		}
	}
}

// UntilShows waits until the window shows a text.
func (d *Driver) UntilShows(text string) {
	d.T.Helper()
	d.Until("the text "+text, func() bool { return d.Shows(text) })
}

// named are keys whose name is not the character they type.
func named() map[string]rune {
	return map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "space": tea.KeySpace,
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
		"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "f1": tea.KeyF1,
	}
}

// Key makes the key press that is called name in a keymap.
func Key(name string) tea.KeyPressMsg {
	var k tea.Key
	for {
		mod, rest, ok := strings.Cut(name, "+")
		if !ok || rest == "" || mod == "" {
			break
		}
		switch mod {
		case "ctrl":
			k.Mod |= uv.ModCtrl
		case "alt":
			k.Mod |= uv.ModAlt
		case "shift":
			k.Mod |= uv.ModShift
		}
		name = rest
	}
	if code, ok := named()[name]; ok {
		k.Code = code
		if name == "space" {
			k.Text = " "
		}
		return tea.KeyPressMsg(k)
	}
	r := []rune(name)
	k.Code = r[0]
	if k.Mod == 0 {
		k.Text = name
	}
	return tea.KeyPressMsg(k)
}
