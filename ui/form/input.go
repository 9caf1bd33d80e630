// Package form has what people type into: one line of input with history, and
// a form of several fields with validation. Both take raw keys and pastes from
// a screen that captures them, and look their own keys up in the keymap.
package form

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/rivo/uniseg"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui/draw"
)

// Event is what a key did to an input or a form.
type Event uint8

// Events.
const (
	// None: nothing that the owner needs to know.
	None Event = iota
	// Changed: a value is different now.
	Changed
	// Accepted: enter, or the form's submit key, and everything is valid.
	Accepted
	// Cancelled: esc.
	Cancelled
	// Complete: the completion key of an Input.
	Complete
	// Prev and Next: history keys when the input has no history of its own.
	Prev
	Next
)

// Input is one line of text with a cursor. The zero value is not usable; see [NewInput].
type Input struct {
	// Prompt is drawn before the text, Placeholder instead of an empty text.
	Prompt, Placeholder string
	// Suggestion is drawn dimly after the text; taking it over is the owner's work.
	Suggestion string

	model    textinput.Model
	keys     *keymap.Map
	context  keymap.Context
	secret   bool
	history  []string
	histPos  int // len(history) is the line being typed
	draft    string
	viewFrom int // first column of the text that is drawn
}

// maxInput bounds a line of input in runes, so that a pasted book does not stall the screen.
const maxInput = 32 << 10

// NewInput returns an empty line whose enter, esc and history keys are those
// of context, usually keymap.Input.
func NewInput(keys *keymap.Map, context keymap.Context, prompt string) *Input {
	m := textinput.New()
	m.CharLimit = maxInput
	m.SetVirtualCursor(false)
	// The program's own paste arrives as tea.PasteMsg; this key would run clipboard programs of the host.
	m.KeyMap.Paste = key.NewBinding(key.WithDisabled())
	m.KeyMap.NextSuggestion = key.NewBinding(key.WithDisabled())
	m.KeyMap.PrevSuggestion = key.NewBinding(key.WithDisabled())
	m.KeyMap.AcceptSuggestion = key.NewBinding(key.WithDisabled())
	m.Focus()
	return &Input{Prompt: prompt, model: m, keys: keys, context: context}
}

// Secret makes the text unreadable on screen and returns the input.
func (in *Input) Secret() *Input {
	in.secret = true
	return in
}

// Value is the text.
func (in *Input) Value() string { return in.model.Value() }

// SetValue replaces the text and puts the cursor at its end. Line ends become blanks.
func (in *Input) SetValue(s string) {
	in.model.SetValue(oneLine(s))
	in.model.CursorEnd()
	in.viewFrom = 0
}

// SetHistory gives earlier lines, oldest first.
func (in *Input) SetHistory(lines []string) {
	in.history = slices.Clone(lines)
	in.histPos = len(in.history)
}

// Remember adds a line to the history unless it repeats the last one, and returns the history.
func (in *Input) Remember(line string) []string {
	if line != "" && (len(in.history) == 0 || in.history[len(in.history)-1] != line) {
		in.history = append(in.history, line)
	}
	in.histPos = len(in.history)
	return slices.Clone(in.history)
}

// Update takes tea.KeyPressMsg and tea.PasteMsg and ignores everything else.
func (in *Input) Update(msg tea.Msg) Event {
	before := in.model.Value()
	switch msg := msg.(type) {
	case tea.PasteMsg:
		in.model, _ = in.model.Update(tea.PasteMsg{Content: oneLine(msg.Content)})
	case tea.KeyPressMsg:
		if a, _, ok := in.keys.Match([]keymap.Context{in.context}, nil, msg.String()); ok {
			if ev, done := in.action(a); done {
				return ev
			}
		}
		in.model, _ = in.model.Update(msg)
	}
	if in.model.Value() != before {
		return Changed
	}
	return None
}

func (in *Input) action(a keymap.Action) (Event, bool) {
	switch a {
	case keymap.InputAccept, keymap.FormSubmit:
		return Accepted, true
	case keymap.NavBack:
		return Cancelled, true
	case keymap.InputComplete:
		return Complete, true
	case keymap.InputPrev:
		return in.recall(-1), true
	case keymap.InputNext:
		return in.recall(1), true
	}
	return None, false
}

// recall walks the history; what was being typed comes back at its end.
func (in *Input) recall(step int) Event {
	if len(in.history) == 0 {
		if step < 0 {
			return Prev
		}
		return Next
	}
	to := min(max(in.histPos+step, 0), len(in.history))
	if to == in.histPos {
		return None
	}
	if in.histPos == len(in.history) {
		in.draft = in.model.Value()
	}
	in.histPos = to
	if to == len(in.history) {
		in.SetValue(in.draft)
	} else {
		in.SetValue(in.history[to])
	}
	return Changed
}

// Draw paints prompt and text into the first row of area. The cursor is nil if it has no room.
func (in *Input) Draw(scr uv.Screen, area uv.Rectangle, t *theme.Theme) *tea.Cursor {
	if area.Dx() <= 0 || area.Dy() <= 0 {
		return nil
	}
	x, y := area.Min.X, area.Min.Y
	draw.Line(scr, uv.Rect(x, y, area.Dx(), 1), 0, "", t.Text.Input)
	x += draw.Text(scr, x, y, area.Dx(), in.Prompt, t.Text.Title)
	room := area.Max.X - x
	if room <= 0 {
		return nil
	}
	value := []rune(in.model.Value())
	if len(value) == 0 {
		draw.Text(scr, x, y, room, in.Placeholder, t.Text.Placeholder)
		return tea.NewCursor(x, y)
	}
	pos := min(in.model.Position(), len(value))
	left, right := draw.Clean(string(value[:pos])), draw.Clean(string(value[pos:]))
	if in.secret {
		left, right = strings.Repeat("*", pos), strings.Repeat("*", len(value)-pos)
	}
	at := ansi.StringWidth(left)
	in.viewFrom = scrolled(in.viewFrom, at, room)
	used := draw.Text(scr, x, y, room, cutLeft(left+right, in.viewFrom), t.Text.Input)
	if in.Suggestion != "" && right == "" {
		draw.Text(scr, x+used, y, room-used, in.Suggestion, t.Text.Placeholder)
	}
	return tea.NewCursor(x+min(at-in.viewFrom, room-1), y)
}

// scrolled moves the first visible column as little as needed to show column at, plus one for the cursor.
func scrolled(from, at, room int) int {
	if at < from {
		return at
	}
	return max(from, at-room+1)
}

// cutLeft drops the first n columns; half a wide character becomes a blank.
func cutLeft(s string, n int) string {
	if n <= 0 {
		return s
	}
	g := uniseg.NewGraphemes(s)
	for w := 0; g.Next(); {
		w += ansi.StringWidth(g.Str())
		if w >= n {
			_, to := g.Positions()
			return strings.Repeat(" ", w-n) + s[to:]
		}
	}
	return ""
}

func oneLine(s string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(strings.TrimRight(s, "\r\n"))
}
