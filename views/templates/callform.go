package templates

import (
	"encoding/json"
	"strconv"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/form"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// argument is one argument of a named command.
type argument struct {
	name string
	// kind is string, integer, float or boolean.
	kind     string
	required bool
	// preset is the JSON of its default, "" if it has none.
	preset, about string
}

// args are a command's arguments, as the server lists them or else as
// commands.py declares them.
func (c *checking) args(name string) []argument {
	var out []argument
	for _, cmd := range c.result.Commands {
		if cmd.Name != name {
			continue
		}
		for _, a := range cmd.Args {
			out = append(out, argument{a.Name, a.Type, a.Required, preset(a.Default), a.Description})
		}
		return out
	}
	for _, cmd := range c.result.Lint.Commands.Commands {
		if cmd.Name != name {
			continue
		}
		for _, a := range cmd.Args {
			out = append(out, argument{a.Name, a.Type, a.Required, preset(a.Default), ""})
		}
	}
	return out
}

func preset(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// callMsg calls a command with arguments as text.
type callMsg struct {
	check *checking
	name  string
	args  map[string]string
}

// Words for a boolean that may be left out.
const (
	boolDefault = "as declared"
	boolTrue    = "true"
	boolFalse   = "false"
)

// callForm asks for the arguments of one command, by their types.
type callForm struct {
	env  ui.Env
	c    *checking
	name string
	args []argument
	form *form.Form
}

var (
	_ ui.Overlay  = (*callForm)(nil)
	_ ui.Capturer = (*callForm)(nil)
)

func newCallForm(c *checking, name string, args []argument) *callForm {
	return &callForm{c: c, name: name, args: args}
}

// Init implements ui.Overlay.
func (f *callForm) Init(env ui.Env) tea.Cmd {
	f.env = env
	tr := env.Lang
	last, called := f.c.calls[f.name]
	fields := make([]form.Field, 0, len(f.args))
	for _, a := range f.args {
		fd := form.Field{Key: a.name, Label: present.CleanMax(a.name, 30), Help: help(tr, a), Placeholder: present.CleanMax(a.preset, 60), Validate: checker(a)}
		if v, ok := last.Args[a.name]; ok && called {
			fd.Value = argText(v)
		}
		if a.kind == "boolean" {
			fd.Kind, fd.Words, fd.Options = form.Choice, true, []string{boolTrue, boolFalse}
			if !a.required {
				fd.Options = []string{boolDefault, boolTrue, boolFalse}
			}
		}
		fields = append(fields, fd)
	}
	f.form = form.New(env.Keys, nil, fields...)
	f.form.Lang = tr
	return nil
}

// argText writes an argument as a person types it.
func argText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	out, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}

func help(tr *lang.Catalog, a argument) string {
	var out string
	if a.required {
		out = tr.T("%s, needed", a.kind)
	} else {
		out = tr.T("%s, empty is %s", a.kind, orDash(a.preset))
	}
	if a.about != "" {
		out += ": " + a.about
	}
	return present.CleanMax(out, 200)
}

// checker refuses what is not of the argument's type.
func checker(a argument) func(text string) error {
	return func(text string) error {
		var err error
		switch {
		case text == "" && a.required && a.kind != "string":
			return lang.Errorf("it is needed")
		case text == "":
		case a.kind == "integer":
			_, err = strconv.ParseInt(text, 10, 64)
		case a.kind == "float":
			_, err = strconv.ParseFloat(text, 64)
		}
		if err != nil {
			return lang.Errorf("must be of type %s", present.CleanMax(a.kind, 20))
		}
		return nil
	}
}

// Title implements ui.Overlay.
func (f *callForm) Title() string { return f.env.Lang.T("Call %s", present.CleanMax(f.name, 40)) }

// Close implements ui.Overlay.
func (f *callForm) Close() {}

// Keys implements ui.Overlay.
func (f *callForm) Keys() []keymap.Context { return []keymap.Context{keymap.Form} }

// Captures implements ui.Capturer.
func (f *callForm) Captures() bool { return true }

// Update implements ui.Overlay.
func (f *callForm) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ThemeMsg:
		f.env.Theme = msg.Theme
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseClickMsg:
		switch f.form.Update(msg) {
		case form.Cancelled:
			return ui.CloseOverlay(f)
		case form.Accepted:
			return tea.Sequence(ui.CloseOverlay(f), ui.Cmd(callMsg{check: f.c, name: f.name, args: f.values()}))
		}
	}
	return nil
}

// values are the arguments that are given; an empty one that is not needed is left out.
func (f *callForm) values() map[string]string {
	out := map[string]string{}
	for _, a := range f.args {
		v := f.form.Value(a.name)
		if v == boolDefault && a.kind == "boolean" || v == "" && !a.required {
			continue
		}
		out[a.name] = v
	}
	return out
}

// Size implements ui.Overlay.
func (f *callForm) Size(maxW, maxH int) (w, h int) {
	w = min(maxW, 72)
	return w, min(maxH, f.form.Height(w-4)+3)
}

// Draw implements ui.Overlay.
func (f *callForm) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := f.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, f.Title(), t.Border.Focused, t.Border.TitleFocused)
	if in.Dx() < 6 || in.Dy() < 2 {
		return nil
	}
	in = uv.Rect(in.Min.X+1, in.Min.Y, in.Dx()-2, in.Dy())
	cur := f.form.Draw(scr, uv.Rect(in.Min.X, in.Min.Y, in.Dx(), max(1, in.Dy()-1)), t)
	drawHints(scr, in, f.env, [][2]string{
		{present.KeyIn(f.env.Keys, keymap.Form, keymap.FormSubmit), f.env.Lang.T("call")},
		{present.KeyIn(f.env.Keys, keymap.Form, keymap.FormNext), f.env.Lang.T("next argument")},
		{present.KeyIn(f.env.Keys, keymap.Form, keymap.NavBack), f.env.Lang.T("cancel")},
	})
	return cur
}
