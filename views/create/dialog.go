package create

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/form"
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

func newDialog(ps present.Providers, provider string, full bool) *dialog {
	return &dialog{providers: ps, full: full, values: values{
		provider: provider, network: netDefault, lifetime: short(defaultLifetime(provider)),
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
	name := form.Field{
		Key: fieldName, Label: "Name", Value: d.values.name, Placeholder: "optional", Validate: validName,
		Help: "how the list calls it; without a name it is the id",
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
		form.Field{Key: fieldProvider, Label: "Provider", Kind: form.Choice, Options: d.providers.Names(), Value: d.values.provider},
		form.Field{Key: fieldTemplate, Label: "Template", Value: d.values.template, Placeholder: "the provider's default"},
		name,
		form.Field{
			Key: fieldLifetime, Label: "Lifetime", Value: d.values.lifetime, Help: "how long it lives; t extends it later",
			Validate: func(s string) error { _, err := lifetime(s); return err },
		},
		form.Field{Key: fieldNetwork, Label: "Network", Kind: form.Choice, Options: []string{netDefault, netOn, netOff}, Value: d.values.network},
		area(fieldEnv, "Environment", d.values.env, "KEY=VALUE, one a line", envKey),
		area(fieldMetadata, "Metadata", d.values.metadata, "key=value, one a line", metaKey),
	)
	d.form.Focus(fieldName)
}

func validName(s string) error {
	if ansi.StringWidth(s) > 64 {
		return fmt.Errorf("at most 64 characters")
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
func (d *dialog) Title() string { return "New sandbox" }

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
	parts := []string{"on " + present.Clean(d.values.provider)}
	if d.values.template != "" {
		parts = append(parts, "template "+present.Clean(d.values.template))
	} else {
		parts = append(parts, "default template")
	}
	parts = append(parts, "lives "+present.Clean(d.values.lifetime))
	if d.values.network != netDefault {
		parts = append(parts, "network "+d.values.network)
	}
	return strings.Join(parts, ", ")
}

// foot is how many rows the lines below the form take.
const foot = 4

// Size implements ui.Overlay.
func (d *dialog) Size(maxW, maxH int) (int, int) {
	return min(maxW, 72), min(maxH, d.form.Height()+foot+2)
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
	h := min(d.form.Height(), max(1, in.Dy()-foot))
	cur := d.form.Draw(scr, uv.Rect(in.Min.X, in.Min.Y, in.Dx(), h), t)
	y := in.Min.Y + h
	line := func(text string, st uv.Style) {
		if y < in.Max.Y-1 {
			draw.Text(scr, in.Min.X+2, y, in.Dx()-2, text, st)
			y++
		}
	}
	if !d.full {
		line(d.summary(), t.Text.Dim)
	}
	switch {
	case d.busy:
		line(t.Symbol.Busy+" creating "+present.Duration(d.now.Sub(d.since)), t.Text.Info)
		cur = nil
	case d.err != nil:
		line(present.ErrorLine(d.err), t.Text.Error)
		if h := present.Hint(d.err); h != "" {
			line("hint: "+h, t.Text.Dim)
		}
	}
	d.drawKeys(scr, in)
	return cur
}

func (d *dialog) drawKeys(scr uv.Screen, in uv.Rectangle) {
	t := d.env.Theme
	key := func(c keymap.Context, a keymap.Action) string { return present.KeyIn(d.env.Keys, c, a) }
	submit, next, leave := key(keymap.Form, keymap.FormSubmit), key(keymap.Form, keymap.FormNext), key(keymap.Form, keymap.NavBack)
	hints := [][2]string{{submit, "create"}, {next, "all options"}, {leave, "cancel"}}
	switch {
	case d.busy:
		hints = [][2]string{{leave, "close, it goes on"}}
	case d.full:
		hints[1][1] = "next field"
		if f := d.form.Focused(); f == fieldEnv || f == fieldMetadata {
			// There, enter is part of the text.
			hints[0][0] = key(keymap.Create, keymap.FormSubmit)
		}
	}
	x, y := in.Min.X+2, in.Max.Y-1
	for _, h := range hints {
		x += draw.Text(scr, x, y, in.Max.X-x, h[0], t.Keys.Key)
		x += draw.Text(scr, x, y, in.Max.X-x, " "+h[1]+"   ", t.Keys.Help)
	}
}
