// Package viewtest drives screens, overlays and backgrounds in tests as the
// shell does, but with a clock that stands still and with every returned
// command run at once, in order. Nothing in it sleeps.
package viewtest

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/uitest"
)

// Clock is a clock that only moves when it is told to.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at noon of a day in 2031.
func NewClock() *Clock { return &Clock{now: time.Date(2031, 1, 1, 12, 0, 0, 0, time.UTC)} }

// Now is the present time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add moves the clock.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Driver stands in for the shell around one screen.
type Driver struct {
	Clock *Clock
	Env   ui.Env
	// Screen is the one on top.
	Screen      ui.Screen
	Backgrounds []ui.Background
	// Overlays are the open boxes, the top one last.
	Overlays []ui.Overlay

	// What screens asked of the shell, in order.
	Toasts    []ui.ToastMsg
	Opened    []ui.OpenMsg
	Clipboard []string
	Back      int
	// Messages are all other messages that were delivered.
	Messages []tea.Msg

	// asleep counts those who hang in Sleep; woken is told when it grows.
	asleep atomic.Int64
	woken  chan struct{}

	t       testing.TB
	cancel  context.CancelFunc
	results chan result
	next    int
	hung    map[int]bool
	pending []string
}

type result struct {
	id  int
	msg tea.Msg
}

// New starts backgrounds and screen, runs what they return, and closes both
// when the test ends.
func New(t testing.TB, screen ui.Screen, backgrounds ...ui.Background) *Driver {
	t.Helper()
	return NewAt(t, NewClock(), screen, backgrounds...)
}

// NewAt is [New] with a clock that is shared with a provider.
func NewAt(t testing.TB, clock *Clock, screen ui.Screen, backgrounds ...ui.Background) *Driver {
	t.Helper()
	d := Build(t, clock, screen, backgrounds...)
	d.Start()
	return d
}

// Build makes a driver that is not started yet, to set the theme first.
func Build(t testing.TB, clock *Clock, screen ui.Screen, backgrounds ...ui.Background) *Driver {
	ctx, cancel := context.WithCancel(context.Background())
	return &Driver{
		Clock: clock, Screen: screen, Backgrounds: backgrounds, t: t, cancel: cancel,
		results: make(chan result), woken: make(chan struct{}, 1), hung: map[int]bool{},
		Env: ui.Env{
			Ctx: ctx, Keys: keymap.Default(), Now: clock.Now,
			Theme: theme.For(true, colorprofile.TrueColor, false, false),
		},
	}
}

// Start initialises what was given to Build.
func (d *Driver) Start() {
	d.t.Helper()
	for _, b := range d.Backgrounds {
		d.Run(b.Init(d.Env))
	}
	if d.Screen != nil {
		d.Run(d.Screen.Init(d.Env))
	}
	d.t.Cleanup(d.Close)
}

// Close closes everything and waits for the commands that hung.
func (d *Driver) Close() {
	for _, o := range d.Overlays {
		o.Close()
	}
	if d.Screen != nil {
		d.Screen.Close()
	}
	for _, b := range d.Backgrounds {
		b.Close()
	}
	d.cancel()
	for len(d.hung) > 0 {
		delete(d.hung, (<-d.results).id)
	}
}

// Sleep is for providers that can be told how to wait, such as the fake: a
// command that calls it hangs until its context ends, and the driver goes on
// without it.
func (d *Driver) Sleep(ctx context.Context, _ time.Duration) error {
	d.asleep.Add(1)
	defer d.asleep.Add(-1)
	select {
	case d.woken <- struct{}{}:
	default: // it is going to look anyway
	}
	<-ctx.Done()
	return ctx.Err()
}

// settle is how long a command may take that started a sleeper and does not
// wait for it. Only then is it one that hangs: more sleep than commands hang.
const settle = 30 * time.Millisecond

// Run carries out a command and everything that follows from it.
func (d *Driver) Run(cmd tea.Cmd) {
	d.t.Helper()
	if cmd == nil {
		return
	}
	d.next++
	id := d.next
	go func() { d.results <- result{id, cmd()} }()
	var settled <-chan time.Time
	for {
		if settled == nil && d.asleep.Load() > int64(len(d.hung)) {
			settled = time.After(settle)
		}
		select {
		case <-d.woken:
		case <-settled:
			if settled = nil; d.asleep.Load() > int64(len(d.hung)) {
				d.hung[id] = true
				return
			}
		case r := <-d.results:
			if r.id == id {
				d.Send(r.msg)
				return
			}
			delete(d.hung, r.id)
			d.Send(r.msg)
		}
	}
}

// Send delivers one message as the shell does.
func (d *Driver) Send(msg tea.Msg) {
	d.t.Helper()
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			d.Run(c)
		}
	case ui.ToastMsg:
		d.Toasts = append(d.Toasts, msg)
	case ui.OpenMsg:
		d.Opened = append(d.Opened, msg)
	case ui.BackMsg:
		d.Back++
	case ui.OverlayMsg:
		d.Overlays = append(d.Overlays, msg.Overlay)
		d.Run(msg.Overlay.Init(d.Env))
	case ui.CloseOverlayMsg:
		d.closeOverlay(msg.Overlay)
	case ui.ActionMsg:
		d.action(msg)
	default:
		if !d.special(msg) {
			d.Messages = append(d.Messages, msg)
			d.broadcast(msg)
		}
	}
}

// special handles the framework's own messages that have no exported type.
func (d *Driver) special(msg tea.Msg) bool {
	v := reflect.ValueOf(msg)
	switch {
	case v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]():
		for i := range v.Len() {
			d.Run(v.Index(i).Interface().(tea.Cmd))
		}
	case v.Kind() == reflect.String && strings.HasSuffix(v.Type().Name(), "etClipboardMsg"):
		d.Clipboard = append(d.Clipboard, v.String())
	default:
		return false
	}
	return true
}

func (d *Driver) broadcast(msg tea.Msg) {
	for _, b := range d.Backgrounds {
		cmd, _ := b.Update(msg)
		d.Run(cmd)
	}
	if d.Screen != nil {
		d.Run(d.Screen.Update(msg))
	}
	for _, o := range append([]ui.Overlay(nil), d.Overlays...) {
		d.Run(o.Update(msg))
	}
}

func (d *Driver) closeOverlay(o ui.Overlay) {
	for i := len(d.Overlays) - 1; i >= 0; i-- {
		if o == nil || d.Overlays[i] == o {
			d.Overlays[i].Close()
			d.Overlays = append(d.Overlays[:i:i], d.Overlays[i+1:]...)
			return
		}
	}
}

// action routes an action: disabled ones are said, then backgrounds, then the
// top box, then the screen.
func (d *Driver) action(msg ui.ActionMsg) {
	var top any = d.Screen
	if o := d.Overlay(); o != nil {
		top = o
	}
	if dis, ok := top.(ui.Disabler); ok {
		if why := dis.Disabled(msg.Action); why != "" {
			d.Toasts = append(d.Toasts, ui.ToastMsg{Level: ui.ToastWarn, Text: why})
			return
		}
	}
	for _, b := range d.Backgrounds {
		cmd, handled := b.Update(msg)
		d.Run(cmd)
		if handled {
			return
		}
	}
	if o := d.Overlay(); o != nil {
		d.Run(o.Update(msg))
	} else if d.Screen != nil {
		d.Run(d.Screen.Update(msg))
	}
}

// Overlay is the box on top, or nil.
func (d *Driver) Overlay() ui.Overlay {
	if len(d.Overlays) == 0 {
		return nil
	}
	return d.Overlays[len(d.Overlays)-1]
}

// Press presses keys one after the other, in the notation of the keymap.
func (d *Driver) Press(keys ...string) {
	d.t.Helper()
	for _, k := range keys {
		d.press(k)
	}
}

func (d *Driver) press(k string) {
	d.t.Helper()
	var contexts []keymap.Context
	if o := d.Overlay(); o != nil {
		if c, ok := o.(ui.Capturer); ok && c.Captures() {
			d.Run(o.Update(uitest.Key(k)))
			return
		}
		contexts = append(contexts, o.Keys()...)
	} else if d.Screen != nil {
		if c, ok := d.Screen.(ui.Capturer); ok && c.Captures() {
			d.Run(d.Screen.Update(uitest.Key(k)))
			return
		}
		contexts = append(contexts, d.Screen.Keys()...)
		contexts = append(contexts, keymap.Global)
	}
	a, more, ok := d.Env.Keys.Match(append(contexts, keymap.Always), d.pending, k)
	d.pending = nil
	if more && !ok {
		d.pending = []string{k}
	}
	if ok {
		d.action(ui.ActionMsg{Action: a})
	}
}

// Type types text key by key.
func (d *Driver) Type(text string) {
	d.t.Helper()
	for _, r := range text {
		if r == ' ' {
			d.press("space")
			continue
		}
		d.press(string(r))
	}
}

// Tick lets n seconds pass, one message for each.
func (d *Driver) Tick(n int) {
	d.t.Helper()
	for range n {
		d.Clock.Add(time.Second)
		d.Send(ui.TickMsg{Now: d.Clock.Now()})
	}
}

// Frame draws screen and boxes and returns the rows as text, right blanks cut.
func (d *Driver) Frame(w, h int) string {
	buf, _ := d.draw(w, h)
	return uitest.Text(buf)
}

// Dump is [Driver.Frame] with the names of the styles and the cursor.
func (d *Driver) Dump(w, h int) string {
	buf, cur := d.draw(w, h)
	return uitest.Dump(buf, d.Env.Theme, cur)
}

func (d *Driver) draw(w, h int) (uv.ScreenBuffer, *tea.Cursor) {
	buf := uv.NewScreenBuffer(w, h)
	area := uv.Rect(0, 0, w, h)
	var cur *tea.Cursor
	if d.Screen != nil {
		cur = d.Screen.Draw(buf, area)
	}
	for _, o := range d.Overlays {
		ow, oh := o.Size(w, h)
		cur = o.Draw(buf, draw.Center(area, ow, oh))
	}
	return buf, cur
}

// LastToast is the text of the newest toast, "" if there was none.
func (d *Driver) LastToast() string {
	if len(d.Toasts) == 0 {
		return ""
	}
	return d.Toasts[len(d.Toasts)-1].Text
}
