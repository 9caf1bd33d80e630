package dialog

import (
	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/form"
)

// PromptOptions describe a question whose answer is one line of text.
type PromptOptions struct {
	Title string
	Lines []Line
	// Label stands before the text, Placeholder in it while it is empty.
	Label, Placeholder string
	// Value is the text to begin with; History what up and down go through.
	Value   string
	History []string
	// Check says why a text cannot be taken; the box stays open.
	Check func(text string) error
	// OnText runs after the box is closed by enter; OnCancel, if set, after esc.
	OnText   func(text string) tea.Cmd
	OnCancel tea.Cmd
}

// PromptBox asks for one line of text.
type PromptBox struct {
	frame
	opts  PromptOptions
	input *form.Input
	wrong string
}

// Prompt makes a question.
func Prompt(o PromptOptions) *PromptBox {
	return &PromptBox{frame: frame{title: o.Title, lines: o.Lines}, opts: o}
}

// Init implements ui.Overlay.
func (p *PromptBox) Init(env ui.Env) tea.Cmd {
	p.setEnv(env)
	p.input = form.NewInput(env.Keys, keymap.Input, p.opts.Label)
	p.input.Placeholder = p.opts.Placeholder
	p.input.SetHistory(p.opts.History)
	p.input.SetValue(p.opts.Value)
	return nil
}

// Captures implements ui.Capturer.
func (p *PromptBox) Captures() bool { return true }

// Keys implements ui.Overlay.
func (p *PromptBox) Keys() []keymap.Context { return []keymap.Context{keymap.Input} }

// Update implements ui.Overlay.
func (p *PromptBox) Update(msg tea.Msg) tea.Cmd {
	p.theme(msg)
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg:
	default:
		return nil
	}
	switch p.input.Update(msg) {
	case form.Changed:
		p.wrong = ""
	case form.Cancelled:
		return tea.Sequence(ui.CloseOverlay(p), p.opts.OnCancel)
	case form.Accepted:
		text := p.input.Value()
		if p.opts.Check != nil {
			if err := p.opts.Check(text); err != nil {
				p.wrong = p.env.Lang.Err(err)
				return nil
			}
		}
		return tea.Sequence(ui.CloseOverlay(p), p.opts.OnText(text))
	}
	return nil
}

// Size implements ui.Overlay.
func (p *PromptBox) Size(maxW, maxH int) (w, h int) {
	return p.size(maxW, maxH, max(56, ansi.StringWidth(p.opts.Label)+40), 2)
}

// Draw implements ui.Overlay.
func (p *PromptBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	rest := p.box(scr, area, 2)
	if rest.Dy() <= 0 {
		return nil
	}
	row := uv.Rect(rest.Min.X, rest.Min.Y, rest.Dx(), 1)
	if rest.Dy() > 1 {
		if p.wrong != "" {
			draw.Text(scr, rest.Min.X, rest.Max.Y-1, rest.Dx(), p.wrong, p.env.Theme.Keys.Key)
		} else {
			p.hints(scr, rest, p.hint(keymap.Input, keymap.InputAccept, p.env.Lang.T("accept")), p.hint(keymap.Input, keymap.NavBack, p.env.Lang.T("cancel")))
		}
	}
	return p.input.Draw(scr, row, p.env.Theme)
}
