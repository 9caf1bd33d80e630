package ui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui/draw"
)

// sequenceTime is how long an unfinished sequence waits for its next key.
const sequenceTime = 2 * time.Second

func captures(v any) bool {
	c, ok := v.(Capturer)
	return ok && c.Captures()
}

// contexts are those in which the next key is looked up, most specific first.
func (r *Root) contexts() []keymap.Context {
	if o := r.topOverlay(); o != nil {
		return append(slices.Clone(o.Keys()), keymap.Always)
	}
	return r.screenContexts()
}

func (r *Root) screenContexts() []keymap.Context {
	var cs []keymap.Context
	if l := r.top(); l != nil && l.broken == "" {
		func() {
			defer r.recovered("asking for keys", func(s string) { r.breakScreen(l, s) })
			cs = slices.Clone(l.screen.Keys())
		}()
		if captures(l.screen) {
			return cs // nothing else gets through
		}
	}
	return append(cs, keymap.Global, keymap.Always)
}

// key routes a key press: quit and suspend, then the top box, then a screen
// that captures, then bindings.
func (r *Root) key(msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	if r.hint != "" {
		r.hint = ""
	}
	shell := r.topOverlay() == nil && r.top() != nil && captures(r.top().screen) && slices.Contains(r.screenContexts(), keymap.Shell)
	if !shell {
		if a, _, ok := r.opts.Keys.Match([]keymap.Context{keymap.Always}, nil, k); ok && (a == keymap.AppInterrupt || a == keymap.AppSuspend) {
			r.clearPending()
			if cmd, ok := r.interrupted(a); ok {
				return cmd
			}
			return r.dispatch(ActionMsg{Action: a})
		}
	}
	if o := r.topOverlay(); o != nil {
		if captures(o) {
			return r.toOverlay(o, msg)
		}
		return r.bound(k, r.contexts())
	}
	l := r.top()
	if l == nil {
		return nil
	}
	if l.broken == "" && captures(l.screen) {
		return r.captured(l, msg)
	}
	return r.bound(k, r.contexts())
}

// interrupted offers ctrl+c to the screen that is being typed into.
func (r *Root) interrupted(a keymap.Action) (cmd tea.Cmd, ok bool) {
	l := r.top()
	if a != keymap.AppInterrupt || r.topOverlay() != nil || l == nil || l.broken != "" || !captures(l.screen) {
		return nil, false
	}
	if i, is := l.screen.(Interrupter); is {
		defer r.recovered("interrupting a screen", func(s string) { r.breakScreen(l, s) })
		return i.Interrupt()
	}
	return nil, false
}

// captured gives a key to a screen that captures, except for sequences of
// contexts that are looked at even then.
func (r *Root) captured(l *layer, msg tea.KeyPressMsg) tea.Cmd {
	cs := r.opts.Keys.CaptureContexts(r.screenContexts())
	a, more, ok := r.opts.Keys.Match(cs, r.pending, msg.String())
	switch {
	case ok:
		r.clearPending()
		return r.dispatch(ActionMsg{Action: a})
	case more:
		r.pending = append(r.pending, msg.String())
		r.raw = append(r.raw, msg)
		r.pendedAt = r.opts.Now()
		return nil
	}
	keys := append(slices.Clone(r.raw), msg)
	r.clearPending()
	cmds := make([]tea.Cmd, 0, len(keys))
	for _, k := range keys {
		cmds = append(cmds, r.toScreen(l, k))
	}
	return tea.Batch(cmds...)
}

// bound looks a key up and runs its action.
func (r *Root) bound(k string, cs []keymap.Context) tea.Cmd {
	if len(r.pending) > 0 && r.opts.Now().Sub(r.pendedAt) > sequenceTime {
		r.clearPending()
	}
	a, more, ok := r.opts.Keys.Match(cs, r.pending, k)
	if !ok && !more && len(r.pending) > 0 {
		ran := r.ran
		r.clearPending()
		if !ran {
			return nil // the key belonged to a sequence that does not exist
		}
		a, more, ok = r.opts.Keys.Match(cs, nil, k)
	}
	if more {
		r.pending = append(r.pending, k)
		r.pendedAt, r.ran = r.opts.Now(), ok
	} else {
		r.clearPending()
	}
	if !ok {
		return nil
	}
	pending, ran := r.pending, r.ran
	cmd := r.dispatch(ActionMsg{Action: a})
	r.pending, r.ran = pending, ran
	return cmd
}

func (r *Root) clearPending() { r.pending, r.raw, r.ran = nil, nil, false }

// Pending is the unfinished key sequence as shown to people, "" without one.
func (r *Root) Pending() string {
	if len(r.pending) == 0 || r.ran {
		return ""
	}
	return keymap.Label(strings.Join(r.pending, " "))
}

func (r *Root) paste(msg tea.PasteMsg) tea.Cmd {
	if o := r.topOverlay(); o != nil {
		if captures(o) {
			return r.toOverlay(o, msg)
		}
		return nil
	}
	if l := r.top(); l != nil && l.broken == "" && captures(l.screen) {
		return r.toScreen(l, msg)
	}
	return nil
}

// onMouse gives mouse messages to the top box or screen, with coordinates of
// the whole window, and runs the hints of the footer.
func (r *Root) onMouse(msg tea.MouseMsg) tea.Cmd {
	m := msg.Mouse()
	if _, ok := msg.(tea.MouseClickMsg); ok && m.Button == tea.MouseLeft {
		for _, h := range r.hints {
			if uv.Pos(m.X, m.Y).In(h.area) {
				return r.dispatch(ActionMsg{Action: h.action})
			}
		}
	}
	if o := r.topOverlay(); o != nil {
		return r.toOverlay(o, msg)
	}
	if l := r.top(); l != nil {
		return r.toScreen(l, msg)
	}
	return nil
}

// disabled is why an action cannot be run now, "" if it can.
func (r *Root) disabled(a keymap.Action) (why string) {
	if r.opts.ReadOnly != "" && r.opts.Keys.Danger(a) {
		return r.opts.ReadOnly
	}
	if o := r.topOverlay(); o != nil {
		if d, ok := o.(Disabler); ok {
			defer r.recovered("asking a box", nil)
			return d.Disabled(a)
		}
		return ""
	}
	return r.screenDisabled(a)
}

func (r *Root) screenDisabled(a keymap.Action) (why string) {
	if l := r.top(); l != nil && l.broken == "" {
		if d, ok := l.screen.(Disabler); ok {
			defer r.recovered("asking a screen", nil)
			return d.Disabled(a)
		}
	}
	return ""
}

// dispatch runs an action: backgrounds may take it, then the shell's own, then
// the top box or screen.
func (r *Root) dispatch(msg ActionMsg) tea.Cmd {
	if why := r.disabled(msg.Action); why != "" {
		r.toast(ToastMsg{Level: ToastWarn, Text: r.name(msg.Action) + ": " + why})
		return nil
	}
	if msg.Action == keymap.ShellUndo {
		msg.Action = keymap.AppUndo
	}
	if msg.Arg != "" {
		switch msg.Action {
		case keymap.AppTheme:
			return r.setTheme(msg.Arg)
		case keymap.AppMute:
			r.toast(r.caller.mute(msg.Arg, r.opts.Lang))
			return nil
		}
	}
	var cmds []tea.Cmd
	for _, b := range r.back {
		cmd, handled := r.toBackground(b, msg)
		if handled {
			return tea.Batch(append(cmds, cmd)...)
		}
		cmds = append(cmds, cmd)
	}
	cmd, own := r.ownAction(msg.Action)
	if !own {
		cmd = r.deliver(msg)
	}
	return tea.Batch(append(cmds, cmd)...)
}

// deliver gives an action to the top box, else to the top screen.
func (r *Root) deliver(msg ActionMsg) tea.Cmd {
	if o := r.topOverlay(); o != nil {
		return r.toOverlay(o, msg)
	}
	l := r.top()
	if l == nil {
		return nil
	}
	if l.broken != "" && msg.Action == keymap.NavBack {
		return r.pop()
	}
	return r.toScreen(l, msg)
}

// ownAction runs the actions of the shell itself.
func (r *Root) ownAction(a keymap.Action) (cmd tea.Cmd, own bool) {
	switch a {
	case keymap.AppHelp, keymap.ShellHelp:
		return r.push(r.newHelp()), true
	case keymap.AppPalette:
		return r.push(r.newPalette()), true
	case keymap.AppCommand:
		return r.push(r.newCommand()), true
	case keymap.AppMessages:
		return r.push(r.newMessages()), true
	case keymap.AppMouse:
		r.mouse = !r.mouse
		text := r.opts.Lang.T("the mouse belongs to the terminal: select text as usual")
		if r.mouse {
			text = r.opts.Lang.T("the mouse belongs to the dashboard")
		}
		r.toast(ToastMsg{Text: text})
		return nil, true
	case keymap.AppRedraw:
		return tea.ClearScreen, true
	case keymap.AppSuspend:
		return tea.Suspend, true
	case keymap.AppInterrupt:
		return r.interrupt(), true
	case keymap.AppQuit:
		return r.askQuit(false, nil), true
	case keymap.NavQuit:
		return r.pop(), true
	}
	if cmd, ok := r.opts.Actions[a]; ok {
		return cmd, true
	}
	switch a {
	case keymap.AppUndo:
		r.toast(ToastMsg{Text: r.opts.Lang.T("nothing to undo")})
		return nil, true
	case keymap.AppTasks:
		return r.push(r.newTasks()), true
	case keymap.AppMute:
		r.toast(ToastMsg{Text: r.caller.describe(r.opts.Lang)})
		return nil, true
	case keymap.AppTheme:
		r.toast(ToastMsg{Text: r.opts.Lang.T("themes: %s", strings.Join(theme.Names(), ", "))})
		return nil, true
	}
	return nil, false
}

// name is what an action is called in a message.
func (r *Root) name(a keymap.Action) string {
	for _, b := range r.opts.Keys.All() {
		if b.Action == a {
			if b.Short != "" {
				return b.Short
			}
			if b.Command != "" {
				return b.Command
			}
			return strings.TrimRight(b.Help, ".。")
		}
	}
	return draw.Clean(string(a))
}
