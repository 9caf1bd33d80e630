package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui/lang"
)

// Options make a Root. Only Routes and Start are required.
type Options struct {
	// Ctx ends everything when it ends; nil is context.Background().
	Ctx context.Context
	// Routes are the screens that OpenMsg can open, Start the first one.
	Routes      map[Route]func(Params) Screen
	Start       Route
	StartParams Params
	// Background is work that outlives screens.
	Background []Background
	// Actions run app-wide actions that no screen owns, e.g. opening the task list.
	Actions map[keymap.Action]tea.Cmd
	// Keys is the keymap; nil is the default one.
	Keys *keymap.Map
	// Lang is the language of the shell and of the screens; nil is English. Keys
	// are in it already, see keymap.Map.Translated.
	Lang *lang.Catalog
	// Now is the clock that screens see; nil is time.Now.
	Now func() time.Time
	// App names the program in the header and the window title; "" is "abxdash".
	App string
	// Banner is a chip that is always shown, e.g. "DEMO".
	Banner string
	// Hint is a line for newcomers under the header until a key dismisses it; "" is none.
	Hint string
	// ReadOnly is why nothing may be destroyed; "" means it may.
	ReadOnly string
	// NoMouse leaves the mouse to the terminal until it is asked for.
	NoMouse bool
	// Theme is a name of theme.Names; "" is auto. Those that say what the
	// background is do not ask the terminal.
	Theme string
	// Light assumes a light background until the terminal has answered.
	Light bool
	// FixedTheme keeps to Light whatever the terminal answers.
	FixedTheme bool
	// Attention says how the user is called when the dashboard is not looked at.
	Attention Attention
	// NoColor and ASCII are explained at theme.For.
	NoColor, ASCII bool
	// FrameInterval is the least time between two frames; 0 is 16 ms, negative draws after every message.
	FrameInterval time.Duration
	// After makes a command that delivers msg after d; nil is a timer that ends
	// with the Root. Tests that drive Root by hand replace it.
	After func(d time.Duration, msg tea.Msg) tea.Cmd
	// OnPanic is told of a recovered panic, with the stack, for the log.
	OnPanic func(where string, value any, stack []byte)
}

const frameInterval = 16 * time.Millisecond

// Root is the one Bubble Tea model. It is used by the program's loop only.
type Root struct {
	opts   Options
	ctx    context.Context
	cancel context.CancelFunc
	env    Env

	stack    []*layer
	overlays []Overlay
	back     []*backing

	profile colorprofile.Profile
	dark    bool
	mouse   bool
	focused bool
	hint    string
	quit    bool
	// survivors is what went on when the program was left.
	survivors []string
	closed    bool

	pending  []string          // keys of an unfinished sequence
	raw      []tea.KeyPressMsg // the same as they came, for a screen that captures
	ran      bool              // the pending keys already ran an action of their own
	pendedAt time.Time

	caller  caller
	toasts  []toast
	history []string // ":" lines

	width, height int
	buf           uv.ScreenBuffer
	out           renderer
	hints         []hintSpot
	view          tea.View
	dirty         bool
	shown         uint64 // what the last second was judged by, see moved
	waiting       bool   // a frame is scheduled
	frame         uint64 // the number of the last one that was
	urgent        bool   // somebody waits for the next one
	drawnAt       time.Time
	frames        *framePace // nil keeps the program's own
}

// layer is a screen on the stack.
type layer struct {
	screen Screen
	cancel context.CancelFunc
	broken string // what a panic said; the screen is dead
}

// backing is a background and whether it still lives.
type backing struct {
	Background
	broken bool
}

// New makes the model. Call Close after the program has ended, in whatever way.
func New(opts Options) *Root {
	if opts.Ctx == nil {
		opts.Ctx = context.Background()
	}
	if opts.Keys == nil {
		opts.Keys = keymap.Default()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.App == "" {
		opts.App = "abxdash"
	}
	if opts.FrameInterval == 0 {
		opts.FrameInterval = frameInterval
	}
	if opts.Theme == "" && opts.FixedTheme {
		opts.Theme = "dark"
		if opts.Light {
			opts.Theme = "light"
		}
	}
	r := &Root{opts: opts, caller: newCaller(opts.Attention), profile: colorprofile.TrueColor, dark: !opts.Light, mouse: !opts.NoMouse, focused: true, hint: opts.Hint, dirty: true}
	r.ctx, r.cancel = context.WithCancel(opts.Ctx)
	if r.opts.After == nil {
		r.opts.After = r.after
	}
	r.env = Env{Ctx: r.ctx, Keys: opts.Keys, Now: opts.Now, Theme: r.theme(), Lang: opts.Lang, Pace: &Pace{}}
	for _, b := range opts.Background {
		r.back = append(r.back, &backing{Background: b})
	}
	return r
}

func (r *Root) theme() *theme.Theme {
	return theme.Named(r.opts.Theme, r.dark, r.profile, r.opts.NoColor, r.opts.ASCII)
}

// Init implements tea.Model.
func (r *Root) Init() tea.Cmd {
	cmds := []tea.Cmd{r.tick()}
	if !r.fixedTheme() && !r.opts.NoColor {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	for _, b := range r.back {
		cmds = append(cmds, r.initBackground(b))
	}
	cmds = append(cmds, r.open(OpenMsg{Route: r.opts.Start, Params: r.opts.StartParams}))
	return tea.Batch(cmds...)
}

func (r *Root) initBackground(b *backing) (cmd tea.Cmd) {
	defer r.recovered("a background task", func(string) { b.broken = true })
	return b.Init(r.env)
}

// secondMsg is the timer behind TickMsg.
type secondMsg struct{}

// after is a timer that ends early when the Root is closed.
func (r *Root) after(d time.Duration, msg tea.Msg) tea.Cmd {
	return func() tea.Msg {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return msg
		case <-r.ctx.Done():
			return nil
		}
	}
}

// tick is aligned to the full second, so that all countdowns turn together.
func (r *Root) tick() tea.Cmd {
	return r.opts.After(time.Second-time.Duration(r.opts.Now().Nanosecond()), secondMsg{})
}

// Update implements tea.Model.
func (r *Root) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if m, ok := msg.(frameMsg); ok {
		r.waiting = r.waiting && m.n != r.frame
		return r, nil
	}
	own := r.transient()
	*r.env.Pace = Pace{}
	cmd := r.handle(msg)
	if r.stale(msg, own || r.transient()) {
		r.dirty = true
	}
	if !r.dirty {
		return r, cmd
	}
	return r, tea.Batch(cmd, r.pace())
}

func (r *Root) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return r.key(msg)
	case tea.KeyReleaseMsg:
		return nil
	case tea.PasteMsg:
		return r.paste(msg)
	case tea.MouseMsg:
		return r.onMouse(msg)
	case ActionMsg:
		return r.dispatch(msg)
	case OpenMsg:
		return r.open(msg)
	case BackMsg:
		return r.pop()
	case OverlayMsg:
		return r.push(msg.Overlay)
	case CloseOverlayMsg:
		r.closeOverlay(msg.Overlay)
		return nil
	case ToastMsg:
		r.toast(msg)
		return nil
	case QuitMsg:
		return r.askQuit(false, msg.Then)
	case ThemeNameMsg:
		return r.setTheme(msg.Name)
	case KeysMsg:
		r.clearPending()
		r.opts.Keys.Replace(msg.Keys)
		return nil
	case AttentionMsg:
		return r.attend(msg)
	case leaveMsg:
		if msg.then != nil {
			msg.then()
		}
		return r.leave()
	}
	return r.handleTerminal(msg)
}

// handleTerminal takes what the terminal says about itself, and time; anything
// else goes to everyone.
func (r *Root) handleTerminal(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case secondMsg:
		now := r.opts.Now()
		r.expire(now)
		return tea.Batch(r.broadcast(TickMsg{Now: now}), r.tick())
	case tea.WindowSizeMsg:
		r.width, r.height = max(msg.Width, 0), max(msg.Height, 0)
	case tea.FocusMsg, tea.BlurMsg:
		_, r.focused = msg.(tea.FocusMsg)
		r.caller.looked(r.focused)
		return r.broadcast(FocusMsg{Focused: r.focused})
	case tea.ResumeMsg:
		// Whatever ran meanwhile may have painted over us.
		return tea.Batch(tea.ClearScreen, r.broadcast(msg))
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeUnicodeCore && msg.Value != ansi.ModeNotRecognized && msg.Value != ansi.ModePermanentlyReset {
			r.out.graphemes = true // the framework then switches it on
		}
		return r.broadcast(msg)
	case tea.ColorProfileMsg:
		r.profile = msg.Profile
		return r.retheme()
	case tea.BackgroundColorMsg:
		if r.fixedTheme() || msg.Color == nil || r.dark == msg.IsDark() {
			return nil
		}
		r.dark = msg.IsDark()
		return r.retheme()
	}
	return r.broadcast(msg)
}

func (r *Root) retheme() tea.Cmd {
	r.env.Theme = r.theme()
	return r.broadcast(ThemeMsg{Theme: r.env.Theme})
}

// Theme is the theme in use.
func (r *Root) Theme() *theme.Theme { return r.env.Theme }

// broadcast delivers a message to every screen, overlay and background.
func (r *Root) broadcast(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, b := range r.back {
		cmd, _ := r.toBackground(b, msg)
		cmds = append(cmds, cmd)
	}
	for _, l := range r.stack {
		cmds = append(cmds, r.toScreen(l, msg))
	}
	for _, o := range append([]Overlay(nil), r.overlays...) {
		cmds = append(cmds, r.toOverlay(o, msg))
	}
	return tea.Batch(cmds...)
}

func (r *Root) toScreen(l *layer, msg tea.Msg) (cmd tea.Cmd) {
	if l.broken != "" {
		return nil
	}
	defer r.recovered("the screen "+safeTitle(l.screen.Title), func(s string) { r.breakScreen(l, s) })
	return l.screen.Update(msg)
}

func (r *Root) toOverlay(o Overlay, msg tea.Msg) (cmd tea.Cmd) {
	defer r.recovered("the box "+safeTitle(o.Title), func(s string) { r.dropOverlay(o, s) })
	return o.Update(msg)
}

func (r *Root) toBackground(b *backing, msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if b.broken {
		return nil, false
	}
	defer r.recovered("a background task", func(s string) {
		b.broken = true
		r.toast(ToastMsg{Level: ToastError, Text: r.opts.Lang.T("a background task failed: %s", s)})
	})
	return b.Update(msg)
}

// open pushes the screen of a route.
func (r *Root) open(msg OpenMsg) (cmd tea.Cmd) {
	make, ok := r.opts.Routes[msg.Route]
	if !ok {
		r.toast(ToastMsg{Level: ToastError, Text: r.opts.Lang.T("there is no screen %s", msg.Route)})
		return nil
	}
	ctx, cancel := context.WithCancel(r.ctx)
	l := &layer{cancel: cancel}
	defer r.recovered("opening "+string(msg.Route), func(s string) {
		if l.screen == nil {
			cancel()
			r.toast(ToastMsg{Level: ToastError, Text: r.opts.Lang.T("cannot open %s: %s", msg.Route, s)})
			return
		}
		r.breakScreen(l, s)
	})
	l.screen = make(msg.Params)
	r.clearPending()
	r.stack = append(r.stack, l)
	env := r.env
	env.Ctx = ctx
	return l.screen.Init(env)
}

// pop leaves the top screen; the bottom one is left by quitting.
func (r *Root) pop() tea.Cmd {
	if len(r.stack) <= 1 {
		return r.askQuit(false, nil)
	}
	l := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	r.clearPending()
	r.closeLayer(l)
	return nil
}

func (r *Root) closeLayer(l *layer) {
	defer r.recovered("closing a screen", nil)
	defer l.cancel()
	if l.broken == "" {
		l.screen.Close()
	}
}

func (r *Root) top() *layer {
	if len(r.stack) == 0 {
		return nil
	}
	return r.stack[len(r.stack)-1]
}

// push opens a modal box.
func (r *Root) push(o Overlay) (cmd tea.Cmd) {
	if o == nil {
		return nil
	}
	defer r.recovered("opening the box "+safeTitle(o.Title), func(s string) { r.dropOverlay(o, s) })
	r.clearPending()
	r.overlays = append(r.overlays, o)
	return o.Init(r.env)
}

func (r *Root) topOverlay() Overlay {
	if len(r.overlays) == 0 {
		return nil
	}
	return r.overlays[len(r.overlays)-1]
}

func (r *Root) closeOverlay(o Overlay) {
	for i := len(r.overlays) - 1; i >= 0; i-- {
		if o == nil || r.overlays[i] == o {
			o = r.overlays[i]
			r.overlays = append(r.overlays[:i:i], r.overlays[i+1:]...)
			r.clearPending()
			func() {
				defer r.recovered("closing a box", nil)
				o.Close()
			}()
			return
		}
	}
}

// Close ends everything: screens, boxes, backgrounds and their contexts. It may
// be called again.
func (r *Root) Close() {
	if r.closed {
		return
	}
	r.closed = true
	r.frames.stop()
	for len(r.overlays) > 0 {
		r.closeOverlay(nil)
	}
	for i := len(r.stack) - 1; i >= 0; i-- {
		r.closeLayer(r.stack[i])
	}
	for _, b := range r.back {
		func() {
			defer r.recovered("closing a background task", nil)
			b.Close()
		}()
	}
	r.cancel()
}
