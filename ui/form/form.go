package form

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/keymap"
	"abxdash/ui/lang"
)

// Kind is what a field holds.
type Kind uint8

// Kinds of field.
const (
	// Text is one line.
	Text Kind = iota
	// Secret is one line that is not shown.
	Secret
	// Choice is one of Options.
	Choice
	// Check is on or off: "true" or "false".
	Check
	// Area is several lines; enter makes a new one.
	Area
)

// Field describes one field of a form.
type Field struct {
	Key, Label  string
	Kind        Kind
	Value       string
	Placeholder string
	// Options of a Choice. OptionHelp, if set, explains the chosen one.
	Options    []string
	OptionHelp func(option string) string
	// Words says that the options are words of the program, which are shown in
	// the user's language; the value stays as it is.
	Words bool
	// Help is one line under the field while it has the focus.
	Help string
	// Validate returns why a value cannot be taken, in the words of a person.
	Validate func(value string) error
	// Rows is the height of an Area; 0 is 3.
	Rows int
}

// Form is a column of fields. It takes raw keys; a screen or overlay that
// holds one captures. See [New].
type Form struct {
	// Lang is the language of what the form says itself; nil is English.
	Lang *lang.Catalog

	keys     *keymap.Map
	contexts []keymap.Context
	fields   []field
	focus    int
	top      int // first row that is drawn when the form is taller than its area
	placed   []uv.Rectangle
}

type field struct {
	Field
	input  *Input
	area   textarea.Model
	choice int
	on     bool
	err    string
}

// New makes a form. contexts are looked up for its keys, most specific first;
// keymap.Form is added.
func New(keys *keymap.Map, contexts []keymap.Context, fields ...Field) *Form {
	f := &Form{keys: keys, contexts: append(append([]keymap.Context{}, contexts...), keymap.Form)}
	for _, fd := range fields {
		e := field{Field: fd}
		switch fd.Kind {
		case Text, Secret:
			e.input = NewInput(keys, keymap.Form, "")
			e.input.Placeholder = fd.Placeholder
			e.input.secret = fd.Kind == Secret
		case Area:
			e.area = newArea(fd.Rows)
		}
		e.set(fd.Value)
		f.fields = append(f.fields, e)
	}
	return f
}

func newArea(rows int) textarea.Model {
	a := textarea.New()
	a.ShowLineNumbers = false
	a.Prompt = ""
	a.CharLimit = maxInput
	a.MaxHeight = 500
	a.SetVirtualCursor(false)
	a.KeyMap.Paste = key.NewBinding(key.WithDisabled())
	a.SetWidth(10_000) // never wraps by itself; Draw scrolls sideways
	a.SetHeight(max(rows, 3))
	a.Focus()
	return a
}

func (e *field) set(v string) {
	switch e.Kind {
	case Text, Secret:
		e.input.SetValue(v)
	case Area:
		e.area.SetValue(v)
	case Check:
		e.on = v == "true"
	case Choice:
		e.choice = 0
		for i, o := range e.Options {
			if o == v {
				e.choice = i
			}
		}
	}
}

func (e *field) value() string {
	switch e.Kind {
	case Text, Secret:
		return e.input.Value()
	case Area:
		return e.area.Value()
	case Check:
		if e.on {
			return "true"
		}
		return "false"
	}
	if e.choice < len(e.Options) {
		return e.Options[e.choice]
	}
	return ""
}

func (f *Form) find(key string) *field {
	for i := range f.fields {
		if f.fields[i].Key == key {
			return &f.fields[i]
		}
	}
	return nil
}

// Value is the value of a field, "" if there is none of that key.
func (f *Form) Value(key string) string {
	if e := f.find(key); e != nil {
		return e.value()
	}
	return ""
}

// On reports whether a Check is on.
func (f *Form) On(key string) bool { return f.Value(key) == "true" }

// SetValue replaces the value of a field.
func (f *Form) SetValue(key, value string) {
	if e := f.find(key); e != nil {
		e.set(value)
		e.err = ""
	}
}

// SetOptions replaces the options of a Choice and keeps the chosen one if it is still there.
func (f *Form) SetOptions(key string, options []string) {
	if e := f.find(key); e != nil {
		v := e.value()
		e.Options = options
		e.set(v)
	}
}

// SetError shows an error at a field and puts the focus there.
func (f *Form) SetError(key, text string) {
	for i := range f.fields {
		if f.fields[i].Key == key {
			f.fields[i].err = text
			f.focus = i
		}
	}
}

// Focus puts the focus on a field; Focused tells which has it.
func (f *Form) Focus(key string) {
	for i := range f.fields {
		if f.fields[i].Key == key {
			f.focus = i
		}
	}
}

// Focused is the key of the field with the focus.
func (f *Form) Focused() string {
	if f.focus < len(f.fields) {
		return f.fields[f.focus].Key
	}
	return ""
}

// Valid checks every field, marks those that fail and puts the focus on the first.
func (f *Form) Valid() bool {
	first := -1
	for i := range f.fields {
		if !f.check(i) && first < 0 {
			first = i
		}
	}
	if first >= 0 {
		f.focus = first
	}
	return first < 0
}

// check validates one field and keeps what is wrong with it.
func (f *Form) check(i int) bool {
	e := &f.fields[i]
	e.err = ""
	if e.Validate != nil {
		if err := e.Validate(e.value()); err != nil {
			e.err = f.Lang.Err(err)
		}
	}
	return e.err == ""
}

// Update takes tea.KeyPressMsg, tea.PasteMsg and tea.MouseClickMsg.
func (f *Form) Update(msg tea.Msg) Event {
	if len(f.fields) == 0 {
		return None
	}
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		for i, r := range f.placed {
			if uv.Pos(msg.X, msg.Y).In(r) {
				f.moveTo(i)
				return f.toggle()
			}
		}
		return None
	case tea.PasteMsg:
		return f.edit(msg)
	case tea.KeyPressMsg:
		if a, ok := f.action(msg.String()); ok {
			if ev, done := f.do(a); done {
				return ev
			}
		}
		return f.edit(msg)
	}
	return None
}

// action finds the form's action for a key. Printable keys are text in a text
// field, whatever they are bound to; in an Area so is enter, and the arrows
// leave it only at its first and last line.
func (f *Form) action(key string) (keymap.Action, bool) {
	e := &f.fields[f.focus]
	if e.Kind != Choice && e.Kind != Check && (key == "space" || ansi.StringWidth(key) == 1) {
		return "", false
	}
	if e.Kind == Area {
		inside := (key == "up" && e.area.Line() > 0) || (key == "down" && e.area.Line() < e.area.LineCount()-1)
		if key == "enter" || inside {
			return "", false
		}
	}
	a, _, ok := f.keys.Match(f.contexts, nil, key)
	return a, ok
}

func (f *Form) do(a keymap.Action) (Event, bool) {
	kind := f.fields[f.focus].Kind
	switch a {
	case keymap.NavBack:
		return Cancelled, true
	case keymap.FormSubmit:
		return f.submit(), true
	case keymap.FormNext, keymap.FormPrev:
		return f.step(a == keymap.FormNext)
	case keymap.FormLeft, keymap.FormRight:
		if kind != Choice {
			return None, false
		}
		return f.cycle(a == keymap.FormRight), true
	case keymap.FormToggle:
		return f.toggle(), true
	}
	return None, true
}

func (f *Form) submit() Event {
	if f.Valid() {
		return Accepted
	}
	return None
}

func (f *Form) step(forward bool) (Event, bool) {
	f.check(f.focus)
	n := len(f.fields)
	if forward {
		f.moveTo((f.focus + 1) % n)
	} else {
		f.moveTo((f.focus + n - 1) % n)
	}
	return None, true
}

func (f *Form) moveTo(i int) { f.focus = i }

func (f *Form) cycle(forward bool) Event {
	e := &f.fields[f.focus]
	n := len(e.Options)
	if n == 0 {
		return None
	}
	if forward {
		e.choice = (e.choice + 1) % n
	} else {
		e.choice = (e.choice + n - 1) % n
	}
	e.err = ""
	return Changed
}

// toggle switches a Check, or goes to the next choice.
func (f *Form) toggle() Event {
	e := &f.fields[f.focus]
	switch e.Kind {
	case Check:
		e.on = !e.on
		return Changed
	case Choice:
		return f.cycle(true)
	}
	return None
}

func (f *Form) edit(msg tea.Msg) Event {
	e := &f.fields[f.focus]
	before := e.value()
	switch e.Kind {
	case Text, Secret:
		e.input.model, _ = e.input.model.Update(cleanPaste(msg, true))
	case Area:
		e.area, _ = e.area.Update(cleanPaste(msg, false))
	default:
		return None
	}
	if e.value() == before {
		return None
	}
	e.err = ""
	return Changed
}

func cleanPaste(msg tea.Msg, one bool) tea.Msg {
	p, ok := msg.(tea.PasteMsg)
	if !ok {
		return msg
	}
	if one {
		return tea.PasteMsg{Content: oneLine(p.Content)}
	}
	return tea.PasteMsg{Content: strings.ReplaceAll(p.Content, "\r\n", "\n")}
}
