package sandbox

import (
	"context"
	"maps"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/views/present"
)

// lowTime is the remaining time from which it is shown as a warning.
const lowTime = 5 * time.Minute

// overview shows every fact the provider gave, what happened here, and the
// processes that run.
type overview struct {
	opts   Options
	env    ui.Env
	cancel context.CancelFunc
	sb     client.Sandbox
	top    int
	// shown is how many lines there were and how many fitted, for scrolling.
	lines, shown int

	procs   processes
	visible bool
	blurred bool
}

func newOverview(o Options, s client.Sandbox) ui.Screen { return &overview{opts: o, sb: s} }

// Init implements ui.Screen.
func (o *overview) Init(env ui.Env) tea.Cmd {
	env.Ctx, o.cancel = context.WithCancel(env.Ctx)
	o.env = env
	return nil
}

// Close implements ui.Screen.
func (o *overview) Close() { o.cancel() }

// Title implements ui.Screen.
func (o *overview) Title() string { return "Overview" }

// Keys implements ui.Screen.
func (o *overview) Keys() []keymap.Context { return []keymap.Context{keymap.Overview} }

// Update implements ui.Screen.
func (o *overview) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case ui.ThemeMsg:
		o.env.Theme = m.Theme
	case present.UpdatedMsg:
		if present.KeyOf(m.Sandbox) == present.KeyOf(o.sb) {
			o.sb = m.Sandbox.Clone()
		}
	case present.TabShownMsg:
		o.visible = true
		return o.ask()
	case present.TabHiddenMsg:
		o.visible = false
	case ui.FocusMsg:
		o.blurred = !m.Focused
	case ui.TickMsg:
		return o.tick(m.Now)
	case processesMsg:
		if m.owner == o {
			o.procs.take(m)
		}
	case tea.MouseWheelMsg:
		switch m.Button {
		case tea.MouseWheelUp:
			o.scroll(-3)
		case tea.MouseWheelDown:
			o.scroll(3)
		}
	case ui.ActionMsg:
		switch m.Action {
		case keymap.NavBack:
			return ui.Cmd(ui.BackMsg{})
		case keymap.ListOpen:
			return nil
		case keymap.AppRefresh:
			return o.ask()
		case keymap.MoveUp:
			o.scroll(-1)
		case keymap.MoveDown:
			o.scroll(1)
		case keymap.MovePageUp, keymap.MoveHalfUp:
			o.scroll(-max(1, o.shown/2))
		case keymap.MovePageDown, keymap.MoveHalfDown:
			o.scroll(max(1, o.shown/2))
		case keymap.MoveTop:
			o.top = 0
		case keymap.MoveBottom:
			o.scroll(o.lines)
		}
	}
	return nil
}

func (o *overview) scroll(n int) { o.top = max(0, min(o.top+n, o.lines-o.shown)) }

// fact is one line: a name and its value, or a heading with no value.
type fact struct {
	name, value string
	style       uv.Style
	heading     bool
}

// facts words everything known about the sandbox; clean.
func (o *overview) facts() []fact {
	t, s, now := o.env.Theme, o.sb, o.env.Now()
	n := t.Text.Normal
	out := []fact{
		{name: "id", value: present.Clean(string(s.ID)), style: t.Text.Strong},
		{name: "name", value: orDash(present.Clean(s.Name)), style: n},
		{name: "provider", value: present.Clean(s.Provider), style: n},
		{name: "template", value: present.Template(s), style: n},
		{name: "state", value: present.StateWord(s), style: t.State(string(s.State)).Style},
		{name: "isolation", value: orDash(present.Clean(string(s.Isolation))), style: n},
	}
	if note := isolationNote(s.Isolation); note != "" {
		out = append(out, fact{value: note, style: t.Text.Dim})
	}
	out = append(out,
		fact{name: "started", value: stamp(s.StartedAt) + "  (" + present.Age(s.StartedAt, now) + " ago)", style: n},
		fact{name: "ends", value: o.ends(now), style: n},
		fact{name: "size", value: present.CPU(s.CPU) + " vCPU, " + present.Memory(s.MemoryMB) + " memory, " + present.Memory(s.DiskMB) + " disk", style: n},
		fact{name: "agent", value: orDash(present.Clean(s.EnvdVersion)), style: n},
	)
	out = append(out, o.happened()...)
	out = append(out, o.running()...)
	out = append(out, fact{heading: true, name: "Metadata"})
	if len(s.Metadata) == 0 {
		out = append(out, fact{value: "none", style: t.Text.Dim})
	}
	for _, k := range slices.Sorted(maps.Keys(s.Metadata)) {
		out = append(out, fact{name: orDash(present.CleanMax(k, 60)), value: present.Clean(s.Metadata[k]), style: n})
	}
	return out
}

func (o *overview) ends(now time.Time) string {
	if _, kind := present.Left(o.sb, now); kind == client.EndAt {
		return stamp(o.sb.ExpiresAt) + "  (TTL " + present.TTL(o.sb, now) + ")"
	}
	return present.TTL(o.sb, now)
}

// Draw implements ui.Screen.
func (o *overview) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := o.env.Theme
	in := draw.Box(scr, area, t, "Overview", t.Border.Normal, t.Border.Title)
	facts := o.facts()
	o.lines, o.shown = len(facts), in.Dy()
	o.scroll(0)
	nameW := 12
	for _, f := range facts {
		nameW = max(nameW, min(len(f.name)+2, in.Dx()/3))
	}
	for row := range in.Dy() {
		i := o.top + row
		if i >= len(facts) {
			break
		}
		f, y := facts[i], in.Min.Y+row
		if f.heading {
			draw.Text(scr, in.Min.X+1, y, in.Dx()-2, f.name, t.Text.Heading)
			continue
		}
		draw.Text(scr, in.Min.X+1, y, nameW-1, f.name, t.Text.Dim)
		draw.Text(scr, in.Min.X+1+nameW, y, in.Dx()-nameW-2, f.value, f.style)
	}
	return nil
}

// isolationNote is how strong a level is, in the words we stand by.
func isolationNote(l client.Isolation) string {
	switch l {
	case client.IsolationProcess:
		return "Convenience only. Programs run as you and can read and change everything you can. Not a security boundary."
	case client.IsolationLandlock:
		return "Limits accidental damage: programs can write only in their home. Not a boundary against hostile code."
	case client.IsolationNamespace:
		return "Separates files, processes and network from yours. Shares your kernel; do not rely on it for hostile code."
	case client.IsolationContainer:
		return "As strong as your Docker set-up."
	default:
		return ""
	}
}

func stamp(t time.Time) string {
	if t.IsZero() || t.Year() <= 1 {
		return present.TTLUnset
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func orDash(s string) string {
	if s == "" {
		return present.TTLUnset
	}
	return s
}
