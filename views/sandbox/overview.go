package sandbox

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/lang"
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

	procs processes
	pace  present.Pace
}

func newOverview(o Options, s client.Sandbox) ui.Screen {
	return &overview{opts: o, sb: s, pace: present.Pace{Every: processesEvery, Unfocused: processesEveryUnfocus}}
}

// Init implements ui.Screen.
func (o *overview) Init(env ui.Env) tea.Cmd {
	env.Ctx, o.cancel = context.WithCancel(env.Ctx)
	o.env = env
	return nil
}

// Close implements ui.Screen.
func (o *overview) Close() { o.cancel() }

// Title implements ui.Screen.
func (o *overview) Title() string { return o.env.Lang.T("Overview") }

// Keys implements ui.Screen.
func (o *overview) Keys() []keymap.Context { return []keymap.Context{keymap.Overview} }

// Update implements ui.Screen.
func (o *overview) Update(msg tea.Msg) tea.Cmd {
	if o.pace.Update(msg) {
		return o.ask()
	}
	switch m := msg.(type) {
	case ui.ThemeMsg:
		o.env.Theme = m.Theme
	case present.UpdatedMsg:
		if present.KeyOf(m.Sandbox) == present.KeyOf(o.sb) {
			o.sb = m.Sandbox.Clone()
		}
	case processesMsg:
		if m.owner == o {
			o.pace.End()
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
	// sentence is set where the value is to be read to its end: it is wrapped.
	sentence bool
}

// facts words everything known about the sandbox; clean.
func (o *overview) facts() []fact {
	t, s, now, tr := o.env.Theme, o.sb, o.env.Now(), o.env.Lang
	n := t.Text.Normal
	out := []fact{
		{name: tr.T("id"), value: present.Clean(string(s.ID)), style: t.Text.Strong},
		{name: tr.T("name"), value: orDash(present.Clean(s.Name)), style: n},
		{name: tr.T("provider"), value: present.Clean(s.Provider), style: n},
		{name: tr.T("template"), value: present.Template(s), style: n},
		{name: tr.T("state"), value: tr.Word(present.StateWord(s)), style: t.State(string(s.State)).Style},
		{name: tr.T("isolation"), value: orDash(present.Clean(string(s.Isolation))), style: n},
	}
	if note := isolationNote(s.Isolation, tr); note != "" {
		out = append(out, fact{value: note, style: t.Text.Dim, sentence: true})
	}
	out = append(out,
		fact{name: tr.T("started"), value: stamp(s.StartedAt) + "  (" + tr.T("%s ago", present.Age(s.StartedAt, now)) + ")", style: n},
		fact{name: tr.T("ends"), value: o.ends(now), style: n},
		fact{name: tr.T("size"), value: tr.T("%s vCPU, %s memory, %s disk", present.CPU(s.CPU), present.Memory(s.MemoryMB), present.Memory(s.DiskMB)), style: n},
		fact{name: tr.T("agent"), value: orDash(present.Clean(s.EnvdVersion)), style: n},
	)
	out = append(out, o.capabilities()...)
	out = append(out, o.happened()...)
	out = append(out, o.running()...)
	out = append(out, fact{heading: true, name: tr.T("Metadata")})
	if len(s.Metadata) == 0 {
		out = append(out, fact{value: tr.T("none"), style: t.Text.Dim})
	}
	for _, k := range slices.Sorted(maps.Keys(s.Metadata)) {
		out = append(out, fact{name: orDash(present.CleanMax(k, 60)), value: present.Clean(s.Metadata[k]), style: n})
	}
	return out
}

// capabilities are what can be done with it here, and what cannot, with why.
func (o *overview) capabilities() []fact {
	if o.opts.Provider == nil {
		return nil
	}
	tr := o.env.Lang
	can, cannot := present.BadgeWords(o.opts.Provider.Capabilities(), tr)
	out := []fact{{name: tr.T("can"), value: orDash(strings.Join(can, ", ")), style: o.env.Theme.Text.Normal, sentence: true}}
	for i, text := range cannot {
		name := ""
		if i == 0 {
			name = tr.T("cannot")
		}
		out = append(out, fact{name: name, value: text, style: o.env.Theme.Text.Dim, sentence: true})
	}
	return out
}

func (o *overview) ends(now time.Time) string {
	if _, kind := present.Left(o.sb, now); kind == client.EndAt {
		return stamp(o.sb.ExpiresAt) + "  (" + o.env.Lang.T("TTL %s", o.env.Lang.Word(present.TTL(o.sb, now))) + ")"
	}
	return o.env.Lang.Word(present.TTL(o.sb, now))
}

// Draw implements ui.Screen.
func (o *overview) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := o.env.Theme
	in := draw.Box(scr, area, t, o.Title(), t.Border.Normal, t.Border.Title)
	facts := o.facts()
	nameW := 12
	for _, f := range facts {
		nameW = max(nameW, min(draw.Width(f.name)+2, in.Dx()*2/5))
	}
	facts = wrapped(facts, in.Dx()-nameW-2)
	o.lines, o.shown = len(facts), in.Dy()
	o.scroll(0)
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
	o.drawMore(scr, area)
	return nil
}

// wrapped breaks the sentences among the facts into lines of a width.
func wrapped(facts []fact, width int) []fact {
	out := make([]fact, 0, len(facts))
	for _, f := range facts {
		if !f.sentence || width < 1 {
			out = append(out, f)
			continue
		}
		for i, l := range strings.Split(ansi.Wrap(f.value, width, ""), "\n") {
			line := fact{value: l, style: f.style}
			if i == 0 {
				line.name = f.name
			}
			out = append(out, line)
		}
	}
	return out
}

// drawMore says on the lower border that there is more below.
func (o *overview) drawMore(scr uv.Screen, area uv.Rectangle) {
	text := " " + o.env.Lang.T("%s more below", o.env.Keys.HintIn(keymap.Move, keymap.MoveDown)) + " "
	if w := draw.Width(text); o.lines-o.top > o.shown && w+4 <= area.Dx() && area.Dy() > 2 {
		draw.Text(scr, area.Max.X-w-2, area.Max.Y-1, w, text, o.env.Theme.Text.Dim)
	}
}

// isolationNote is how strong a level is, in the words we stand by.
func isolationNote(l client.Isolation, tr *lang.Catalog) string {
	switch l {
	case client.IsolationProcess:
		return tr.T("Convenience only. Programs run as you and can read and change everything you can. Not a security boundary.")
	case client.IsolationLandlock:
		return tr.T("Limits accidental damage: programs can write only in their home. Not a boundary against hostile code.")
	case client.IsolationNamespace:
		return tr.T("Separates files, processes and network from yours. Shares your kernel; do not rely on it for hostile code.")
	case client.IsolationContainer:
		return tr.T("As strong as your Docker set-up.")
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
