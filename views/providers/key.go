package providers

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/draw"
	"abxdash/ui/form"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// enterKey finds out where a key of the provider under the cursor would go.
func (s *Screen) enterKey() tea.Cmd {
	r, ok := s.table.Cursor()
	if !ok || s.opt.Admin == nil {
		return nil
	}
	ctx, admin, name := s.ctx, s.opt.Admin, r.Name
	return func() tea.Msg {
		to, err := admin.KeyTarget(ctx, name)
		return targetMsg{owner: s, name: name, to: to, err: err}
	}
}

// askKey opens the form, or says why there is nothing to enter.
func (s *Screen) askKey(m targetMsg) tea.Cmd {
	switch {
	case m.owner != s:
		return nil
	case m.err != nil:
		return ui.Toast(ui.ToastWarn, present.ErrorLine(m.err))
	}
	return ui.OpenOverlay(&keyBox{owner: s, name: m.name, to: m.to})
}

// Fields of the form.
const (
	fieldKey  = "key"
	fieldKeep = "keep"
)

// keyBox asks for a key. What is typed is shown nowhere and kept only if the
// user says so.
type keyBox struct {
	owner *Screen
	name  string
	to    client.KeyTarget
	env   ui.Env
	form  *form.Form
	// stop ends a test under way; nil while there is none.
	stop context.CancelFunc
	note string
	bad  bool
}

// keyDoneMsg is a key that was tested and, if that was wanted, kept.
type keyDoneMsg struct {
	box   *keyBox
	key   string
	check client.ProviderCheck
	// kept is where it was written, "" if it was not.
	kept string
	err  error
}

// Init implements ui.Overlay.
func (k *keyBox) Init(env ui.Env) tea.Cmd {
	k.env = env
	tr := env.Lang
	fields := []form.Field{{Key: fieldKey, Label: tr.T("Key"), Kind: form.Secret, Validate: func(v string) error {
		if v == "" {
			return lang.Errorf("a key is needed")
		}
		return nil
	}}}
	if !k.owner.opt.ReadOnly {
		fields = append(fields, form.Field{
			Key: fieldKeep, Label: tr.T("Keep it"), Kind: form.Check, Help: tr.T("in %s, which only you can read", present.Clean(k.to.File)),
		})
	}
	k.form = form.New(env.Keys, nil, fields...)
	k.form.Lang = tr
	return nil
}

// Title implements ui.Overlay.
func (k *keyBox) Title() string { return k.env.Lang.T("Key of %s", present.Clean(k.name)) }

// Keys implements ui.Overlay.
func (k *keyBox) Keys() []keymap.Context { return []keymap.Context{keymap.Form} }

// Captures implements ui.Capturer.
func (k *keyBox) Captures() bool { return true }

// Close implements ui.Overlay.
func (k *keyBox) Close() {
	if k.stop != nil {
		k.stop()
	}
}

// Update implements ui.Overlay.
func (k *keyBox) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case ui.ThemeMsg:
		k.env.Theme = m.Theme
	case keyDoneMsg:
		if m.box == k {
			k.done(m)
		}
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseClickMsg:
		return k.typed(msg)
	}
	return nil
}

func (k *keyBox) typed(msg tea.Msg) tea.Cmd {
	if k.stop != nil {
		if p, ok := msg.(tea.KeyPressMsg); ok {
			if a, _, ok := k.env.Keys.Match(k.Keys(), nil, p.String()); ok && a == keymap.NavBack {
				return ui.CloseOverlay(k)
			}
		}
		return nil
	}
	switch k.form.Update(msg) {
	case form.Cancelled:
		return ui.CloseOverlay(k)
	case form.Changed:
		k.note = ""
	case form.Accepted:
		return k.test()
	}
	return nil
}

// test asks the provider with the key, and keeps the key if it works and the
// user said so.
func (k *keyBox) test() tea.Cmd {
	ctx, stop := context.WithCancel(k.owner.ctx)
	k.stop, k.note, k.bad = stop, k.env.Lang.T("testing it …"), false
	admin, name, key, keep := k.owner.opt.Admin, k.name, k.form.Value(fieldKey), k.form.On(fieldKeep)
	return func() tea.Msg {
		m := keyDoneMsg{box: k, key: key}
		if m.check, m.err = admin.TestKey(ctx, name, key); m.err != nil || !m.check.OK || !keep || ctx.Err() != nil {
			return m
		}
		m.kept, m.err = admin.KeepKey(ctx, name, key)
		return m
	}
}

// done shows what is wrong with a key in the form.
func (k *keyBox) done(m keyDoneMsg) {
	k.stop()
	k.stop = nil
	switch {
	case m.err != nil:
		k.note, k.bad = present.ErrorLine(m.err), true
	case !m.check.OK:
		k.note, k.bad = outcome(k.env.Lang, m.check), true
	default:
		k.note = ""
	}
}

// keyDone goes on with a key that works.
func (s *Screen) keyDone(m keyDoneMsg) tea.Cmd {
	if m.box.owner != s || m.err != nil || !m.check.OK {
		return nil
	}
	tr, name := s.env.Lang, present.Clean(m.box.name)
	text := tr.T("the key of %s works", name)
	if m.kept != "" {
		text = tr.T("the key of %s works and is kept in %s", name, present.Clean(m.kept))
		if c := m.box.to.Covered; c != "" {
			text += tr.T("; but the one from %s comes first", present.Clean(c))
		}
	}
	cmds := []tea.Cmd{ui.CloseOverlay(m.box), ui.Toast(ui.ToastOK, text), s.load()}
	if s.opt.Reopen != nil {
		variable, key := m.box.to.Variable, m.key
		if m.kept != "" && m.box.to.Covered == "" {
			variable, key = "", "" // it is read from where it is kept
		}
		cmds = append(cmds, ui.OpenOverlay(dialog.Confirm(dialog.ConfirmOptions{
			Title: tr.T("Use it now?"),
			Lines: dialog.Plain(tr.T("The dashboard opens again with this key. Sandboxes are left as they are.\nWhat would be lost is asked about first.")),
			Yes:   tr.T("open again"), No: tr.T("later"),
			OnYes: s.opt.Reopen(variable, key),
		})))
	}
	return tea.Sequence(cmds...)
}

// lines tell before anything is typed where the key goes.
func (k *keyBox) lines() []string {
	tr := k.env.Lang
	where := tr.T("the service's own address")
	if k.to.Address != "" {
		where = present.Clean(k.to.Address)
		if k.to.From != "" {
			where += " (" + present.Clean(k.to.From) + ")"
		}
	}
	out := []string{tr.T("read as %s", present.Clean(k.to.Variable)), tr.T("sent to %s", where)}
	if k.to.Covered != "" {
		out = append(out, tr.T("there is one from %s, which comes before a kept one", present.Clean(k.to.Covered)))
	}
	return out
}

// wrapped are the lines for a width.
func (k *keyBox) wrapped(width int) []string {
	return strings.Split(ansi.Wrap(strings.Join(k.lines(), "\n"), max(width, 1), ""), "\n")
}

// Size implements ui.Overlay.
func (k *keyBox) Size(maxW, maxH int) (w, h int) {
	w = min(maxW, 72)
	return w, min(maxH, k.form.Height(w-4)+len(k.wrapped(w-4))+5)
}

// Draw implements ui.Overlay.
func (k *keyBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := k.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, k.Title(), t.Border.Focused, t.Border.TitleFocused)
	if in.Dx() < 6 || in.Dy() < 1 {
		return nil
	}
	in = uv.Rect(in.Min.X+1, in.Min.Y, in.Dx()-2, in.Dy())
	y := in.Min.Y
	lines := k.wrapped(in.Dx())
	if len(lines)+k.form.Height(in.Dx())+2 > in.Dy() {
		lines = k.lines() // the form comes first
	}
	for _, l := range lines {
		if y < in.Max.Y {
			draw.Text(scr, in.Min.X, y, in.Dx(), l, t.Text.Dim)
			y++
		}
	}
	h := max(0, min(k.form.Height(in.Dx()), in.Max.Y-y-2))
	cur := k.form.Draw(scr, uv.Rect(in.Min.X, y, in.Dx(), h), t)
	if k.note != "" && y+h < in.Max.Y {
		st := t.Text.Info
		if k.bad {
			st = t.Text.Error
		}
		draw.Text(scr, in.Min.X, y+h, in.Dx(), k.note, st)
	}
	k.drawKeys(scr, in)
	if k.stop != nil {
		return nil
	}
	return cur
}

func (k *keyBox) drawKeys(scr uv.Screen, in uv.Rectangle) {
	tr := k.env.Lang
	key := func(a keymap.Action, what string) draw.Hint {
		return draw.Hint{Key: present.KeyIn(k.env.Keys, keymap.Form, a), What: what}
	}
	draw.Hints(scr, in, k.env.Theme,
		key(keymap.FormSubmit, tr.T("test it")), key(keymap.FormNext, tr.T("next field")), key(keymap.NavBack, tr.T("cancel")))
}

var (
	_ ui.Overlay  = (*keyBox)(nil)
	_ ui.Capturer = (*keyBox)(nil)
)
