package create

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/form"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// Keys of the form's fields.
const (
	fieldProvider = "provider"
	fieldTemplate = "template"
	fieldName     = "name"
	fieldLifetime = "lifetime"
	fieldNetwork  = "network"
	fieldEnv      = "env"
	fieldMetadata = "metadata"
)

// dialog asks for a new sandbox. The quick form has one field, and enter alone
// creates with the defaults; the full one has all.
type dialog struct {
	env       ui.Env
	providers present.Providers
	values    values
	full      bool
	form      *form.Form
	// busy is set from enter until the answer; since is when it began.
	busy  bool
	since time.Time
	now   time.Time
	err   error
}

var (
	_ ui.Overlay  = (*dialog)(nil)
	_ ui.Capturer = (*dialog)(nil)
)

func newDialog(ps present.Providers, provider, template string, full bool) *dialog {
	return &dialog{providers: ps, full: full, values: values{
		provider: provider, template: template, network: netDefault, lifetime: short(defaultLifetime(provider)),
	}}
}

// short writes 1h0m0s as 1h.
func short(d time.Duration) string { return present.Duration(d) }

// Init implements ui.Overlay.
func (d *dialog) Init(env ui.Env) tea.Cmd {
	d.env, d.now = env, env.Now()
	d.build()
	return nil
}

// build makes the form anew from the values.
func (d *dialog) build() {
	tr := d.env.Lang
	name := form.Field{
		Key: fieldName, Label: tr.T("Name"), Value: d.values.name, Placeholder: tr.T("optional"), Validate: validName,
		Help: tr.T("how the list calls it; without a name it is the id"),
	}
	contexts := []keymap.Context{keymap.Create}
	if !d.full {
		d.form = form.New(d.env.Keys, contexts, name)
		return
	}
	area := func(key, label, value, hint string, check func(string) error) form.Field {
		return form.Field{
			Key: key, Label: label, Kind: form.Area, Value: value, Rows: 3, Placeholder: hint,
			Validate: func(s string) error { _, err := pairs(s, check); return err },
		}
	}
	d.form = form.New(
		d.env.Keys, contexts,
		form.Field{Key: fieldProvider, Label: tr.T("Provider"), Kind: form.Choice, Options: d.providers.Names(), Value: d.values.provider},
		form.Field{Key: fieldTemplate, Label: tr.T("Template"), Value: d.values.template, Placeholder: tr.T("the provider's default")},
		name,
		form.Field{
			Key: fieldLifetime, Label: tr.T("Lifetime"), Value: d.values.lifetime, Help: tr.T("how long it lives; t extends it later"),
			Validate: func(s string) error { _, err := lifetime(s); return err },
		},
		form.Field{Key: fieldNetwork, Label: tr.T("Network"), Kind: form.Choice, Words: true, Options: []string{netDefault, netOn, netOff}, Value: d.values.network},
		area(fieldEnv, tr.T("Environment"), d.values.env, tr.T("KEY=VALUE, one a line"), envKey),
		area(fieldMetadata, tr.T("Metadata"), d.values.metadata, tr.T("key=value, one a line"), metaKey),
	)
	d.form.Lang = tr
	d.form.Focus(fieldName)
}

func validName(s string) error {
	if ansi.StringWidth(s) > 64 {
		return lang.Errorf("at most 64 characters")
	}
	return nil
}

// read takes the values out of the form.
func (d *dialog) read() {
	d.values.name = d.form.Value(fieldName)
	if !d.full {
		return
	}
	before := d.values.provider
	d.values.provider = d.form.Value(fieldProvider)
	d.values.template = d.form.Value(fieldTemplate)
	d.values.lifetime = d.form.Value(fieldLifetime)
	d.values.network = d.form.Value(fieldNetwork)
	d.values.env = d.form.Value(fieldEnv)
	d.values.metadata = d.form.Value(fieldMetadata)
	// The default lifetime follows the provider until it was changed by hand.
	if d.values.provider != before && d.values.lifetime == short(defaultLifetime(before)) {
		d.values.lifetime = short(defaultLifetime(d.values.provider))
		d.form.SetValue(fieldLifetime, d.values.lifetime)
	}
}

// Title implements ui.Overlay.
func (d *dialog) Title() string { return d.env.Lang.T("New sandbox") }

// Keys implements ui.Overlay.
func (d *dialog) Keys() []keymap.Context { return []keymap.Context{keymap.Create, keymap.Form} }

// Captures implements ui.Capturer.
func (d *dialog) Captures() bool { return true }

// Close implements ui.Overlay.
func (d *dialog) Close() {}

// Update implements ui.Overlay.
func (d *dialog) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ThemeMsg:
		d.env.Theme = msg.Theme
	case ui.TickMsg:
		d.now = msg.Now
	case ui.ActionMsg:
		if msg.Action == keymap.NavBack {
			return d.leave()
		}
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseClickMsg:
		return d.input(msg)
	}
	return nil
}

func (d *dialog) input(msg tea.Msg) tea.Cmd {
	key, isKey := msg.(tea.KeyPressMsg)
	a := keymap.Action("")
	if isKey {
		a, _, _ = d.env.Keys.Match(d.Keys(), nil, key.String())
	}
	if d.busy {
		if a == keymap.NavBack {
			return d.leave()
		}
		return nil
	}
	if !d.full && a == keymap.FormNext {
		d.expand()
		return nil
	}
	ev := d.form.Update(msg)
	d.read()
	switch ev {
	case form.Cancelled:
		return d.leave()
	case form.Accepted:
		return d.submit()
	case form.Changed:
		d.err = nil
	}
	return nil
}

// expand shows all fields and keeps what was typed.
func (d *dialog) expand() {
	d.read()
	d.full = true
	d.build()
}

func (d *dialog) submit() tea.Cmd {
	d.busy, d.err = true, nil
	d.since = d.env.Now()
	d.now = d.since
	return ui.Cmd(submitMsg{dialog: d, values: d.values})
}

// failed shows an error; everything typed is kept, and enter tries again.
func (d *dialog) failed(err error) { d.busy, d.err = false, err }

// leave closes the dialog. A call under way goes on and reports by a toast.
func (d *dialog) leave() tea.Cmd {
	return tea.Batch(ui.Cmd(closedMsg{d}), ui.Cmd(ui.CloseOverlayMsg{Overlay: d}))
}

// summary words what enter would create.
func (d *dialog) summary() string {
	tr := d.env.Lang
	parts := []string{tr.T("on %s", present.Clean(d.values.provider))}
	if d.values.template != "" {
		parts = append(parts, tr.T("template %s", present.Clean(d.values.template)))
	} else {
		parts = append(parts, tr.T("default template"))
	}
	parts = append(parts, tr.T("lives %s", present.Clean(d.values.lifetime)))
	if d.values.network != netDefault {
		parts = append(parts, tr.T("network %s", tr.Word(d.values.network)))
	}
	return strings.Join(parts, ", ")
}

// foot is how many rows the lines below the form take.
const foot = 4

// below is how many rows are kept free of the form: only the keys while there
// is nothing to be said, for in a low window every field counts.
func (d *dialog) below() int {
	if d.full && !d.busy && d.err == nil {
		return 1
	}
	return foot
}

// Size implements ui.Overlay.
func (d *dialog) Size(maxW, maxH int) (int, int) {
	w := min(maxW, 72)
	return w, min(maxH, d.form.Height(w-4)+foot+2)
}

// Draw implements ui.Overlay.
func (d *dialog) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := d.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, d.Title(), t.Border.Focused, t.Border.TitleFocused)
	if in.Dx() < 6 || in.Dy() < 1 {
		return nil
	}
	in = uv.Rect(in.Min.X+1, in.Min.Y, in.Dx()-2, in.Dy())
	h := min(d.form.Height(in.Dx()), max(1, in.Dy()-d.below()))
	cur := d.form.Draw(scr, uv.Rect(in.Min.X, in.Min.Y, in.Dx(), h), t)
	y := in.Min.Y + h
	// lines wraps a text, and leaves rows for what follows it.
	lines := func(text string, leave int, st uv.Style) {
		for _, l := range wrap(text, in.Dx()-2, in.Max.Y-1-y-leave) {
			draw.Text(scr, in.Min.X+2, y, in.Dx()-2, l, st)
			y++
		}
	}
	if !d.full {
		below := 0
		if d.busy || d.err != nil {
			below = in.Max.Y - 2 - y
		}
		lines(d.summary(), below, t.Text.Dim)
	}
	switch {
	case d.busy:
		lines(t.Symbol.Busy+" "+d.env.Lang.T("creating %s", present.Duration(d.now.Sub(d.since))), 0, t.Text.Info)
		cur = nil
	case d.err != nil:
		hint := present.Hint(d.err)
		lines(present.ErrorLine(d.err), min(len(hint), 1), t.Text.Error)
		if hint != "" {
			lines(d.env.Lang.T("hint: %s", d.env.Lang.Word(hint)), 0, t.Text.Dim)
		}
	}
	d.drawKeys(scr, in)
	return cur
}

// wrap breaks a text into at most so many lines; what is left is in the last one.
func wrap(text string, width, most int) []string {
	if width < 1 || most < 1 {
		return nil
	}
	lines := strings.Split(ansi.Wrap(text, width, ""), "\n")
	if len(lines) > most {
		lines = append(lines[:most-1:most-1], strings.Join(lines[most-1:], " "))
	}
	return lines
}

func (d *dialog) drawKeys(scr uv.Screen, in uv.Rectangle) {
	tr := d.env.Lang
	key := func(c keymap.Context, a keymap.Action, what string) draw.Hint {
		return draw.Hint{Key: present.KeyIn(d.env.Keys, c, a), What: what}
	}
	hints := []draw.Hint{key(keymap.Form, keymap.FormSubmit, tr.T("create")), key(keymap.Form, keymap.FormNext, tr.T("all options")), key(keymap.Form, keymap.NavBack, tr.T("cancel"))}
	switch {
	case d.busy:
		hints = []draw.Hint{key(keymap.Form, keymap.NavBack, tr.T("close, it goes on"))}
	case d.full:
		hints[1].What = tr.T("next field")
		if f := d.form.Focused(); f == fieldEnv || f == fieldMetadata {
			// There, enter is part of the text.
			hints[0] = key(keymap.Create, keymap.FormSubmit, tr.T("create"))
		}
	}
	draw.Hints(scr, uv.Rect(in.Min.X+2, in.Min.Y, in.Dx()-2, in.Dy()), d.env.Theme, hints...)
}
