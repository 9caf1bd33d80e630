package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/ui/draw"
	"abxdash/ui/form"
)

// commandBox is the ":" line, over the status line.
type commandBox struct {
	env   Env
	root  *Root
	names []choice
	input *form.Input
	error string
}

func (r *Root) newCommand() *commandBox { return &commandBox{root: r, names: r.choices()} }

// Init implements Overlay.
func (c *commandBox) Init(env Env) tea.Cmd {
	c.env = env
	c.input = form.NewInput(env.Keys, keymap.Input, ":")
	c.input.SetHistory(c.root.history)
	return nil
}

// Title implements Overlay.
func (c *commandBox) Title() string { return c.env.Lang.T("Command") }

// Close implements Overlay.
func (c *commandBox) Close() {}

// Captures implements Capturer.
func (c *commandBox) Captures() bool { return true }

// Keys implements Overlay.
func (c *commandBox) Keys() []keymap.Context { return []keymap.Context{keymap.Input} }

func (c *commandBox) place(room uv.Rectangle, w, h int) uv.Rectangle {
	return uv.Rect(room.Min.X, room.Max.Y-h, w, h)
}

// Size implements Overlay.
func (c *commandBox) Size(maxW, _ int) (w, h int) { return maxW, 1 }

// complete is the rest of the only or first name that begins with what was typed.
func (c *commandBox) complete() string {
	v := c.input.Value()
	if v == "" || strings.Contains(v, " ") {
		return ""
	}
	for _, n := range c.names {
		if rest, ok := strings.CutPrefix(n.binding.Command, v); ok {
			return rest
		}
	}
	return ""
}

// Update implements Overlay.
func (c *commandBox) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ThemeMsg:
		c.env.Theme = msg.Theme
	case tea.KeyPressMsg, tea.PasteMsg:
		if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "backspace" && c.input.Value() == "" {
			return CloseOverlay(c)
		}
		switch c.input.Update(msg) {
		case form.Changed:
			c.error = ""
			c.input.Suggestion = c.complete()
		case form.Complete:
			c.input.SetValue(c.input.Value() + c.complete())
			c.input.Suggestion = ""
		case form.Cancelled:
			return CloseOverlay(c)
		case form.Accepted:
			return c.run()
		}
	}
	return nil
}

// run carries out "name argument".
func (c *commandBox) run() tea.Cmd {
	line := strings.TrimSpace(c.input.Value())
	if line == "" {
		return CloseOverlay(c)
	}
	name, arg, _ := strings.Cut(line, " ")
	found := c.find(name)
	if found == nil {
		c.error = c.env.Lang.T("there is no command %s here", draw.Clean(name))
		if _, ok := c.env.Keys.Lookup(name); ok {
			c.error = c.env.Lang.T("%s does not work on this screen", draw.Clean(name))
		}
		return nil
	}
	c.root.history = c.input.Remember(line)
	return tea.Sequence(CloseOverlay(c), Cmd(ActionMsg{Action: found.binding.Action, Arg: strings.TrimSpace(arg)}))
}

// find is the choice of that name, or the only one that begins with it.
func (c *commandBox) find(name string) *choice {
	name = keymap.Verb(name)
	var only *choice
	for i := range c.names {
		n := c.names[i].binding.Command
		if n == name {
			return &c.names[i]
		}
		if strings.HasPrefix(n, name) {
			if only != nil {
				return nil
			}
			only = &c.names[i]
		}
	}
	return only
}

// Draw implements Overlay.
func (c *commandBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := c.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	cur := c.input.Draw(scr, uv.Rect(area.Min.X+1, area.Min.Y, area.Dx()-1, 1), t)
	if c.error != "" {
		if w := draw.Width(c.error) + 1; w < area.Dx()-draw.Width(c.input.Value())-3 {
			draw.Text(scr, area.Max.X-w, area.Min.Y, w, c.error, t.Text.Error)
		}
	}
	return cur
}
