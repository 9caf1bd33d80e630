package shell

import (
	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/term"
)

// BackOptions are what a Back shows.
type BackOptions struct {
	// Session is the shell. It is only looked at: its size stays.
	Session *term.Session
	// Title names it.
	Title string
	// Help shows the keys of attach instead.
	Help bool
	// Attach are the actions that attach has; Help shows these.
	Attach []keymap.Action
}

// Back is the scroll-back of one shell as the only screen of a program, for
// attach without a dashboard. Leaving it ends the program.
type Back struct {
	*Screen
	o BackOptions
	m *Manager
}

// NewBack makes the screen. m is a manager of its own, run as a ui.Background
// of the same program; what was copied is in its Clip afterwards.
func NewBack(o BackOptions, m *Manager) *Back {
	return &Back{Screen: New(Options{Manager: m, Whole: true, Fixed: true}, client.Sandbox{Name: o.Title}), o: o, m: m}
}

// Clip is what was copied last in a shell.
func (m *Manager) Clip() string { return m.clip }

// SetClip makes text what was copied last.
func (m *Manager) SetClip(text string) { m.clip = text }

// Init implements ui.Screen.
func (b *Back) Init(env ui.Env) tea.Cmd {
	b.env = env
	x := &session{live: b.o.Session, name: b.o.Title, sized: true, rec: &recorder{}, open: b.m.sessions}
	b.panes[0].s = x
	b.view(b.panes[0]).Browse(true)
	return b.m.wait(x)
}

// Title implements ui.Screen.
func (b *Back) Title() string { return b.o.Title }

// Captures implements ui.Capturer: any key leaves the list of keys.
func (b *Back) Captures() bool { return b.o.Help || b.Screen.Captures() }

// Keys implements ui.Screen.
func (b *Back) Keys() []keymap.Context {
	if b.o.Help {
		return nil
	}
	return b.Screen.Keys()
}

// Update implements ui.Screen.
func (b *Back) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case tea.KeyPressMsg:
		if b.o.Help {
			return tea.Quit
		}
	case ui.ActionMsg:
		if b.o.Help || m.Action == keymap.NavBack {
			return tea.Quit
		}
	case changedMsg:
		if x := b.cur(); !x.over() {
			return b.m.wait(x)
		}
		return nil // what it has written stays to be read
	}
	cmd := b.Screen.Update(msg)
	if !b.browsing() && b.search == nil {
		b.view(b.pane()).Browse(true)
	}
	return cmd
}

// Draw implements ui.Screen.
func (b *Back) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	if !b.o.Help {
		return b.Screen.Draw(scr, area)
	}
	t := b.env.Theme
	y := area.Min.Y + 1
	put := func(key, text string, st uv.Style) {
		if y < area.Max.Y {
			draw.Text(scr, area.Min.X+2, y, 12, key, t.Text.Title)
			draw.Text(scr, area.Min.X+15, y, area.Dx()-16, text, st)
		}
		y++
	}
	put("", b.env.Lang.T("Keys while attached"), t.Text.Strong)
	y++
	for _, bind := range b.env.Keys.Bindings([]keymap.Context{keymap.Shell}) {
		for _, a := range b.o.Attach {
			if bind.Action == a && len(bind.Keys) > 0 {
				put(keymap.Label(bind.Keys[0]), bind.Help, t.Text.Normal)
			}
		}
	}
	y++
	put("", b.env.Lang.T("Any key goes back to the shell."), t.Text.Dim)
	return nil
}
