package kill

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/views/present"
)

// countFrom is the number of sandboxes from which on the count has to be typed.
const countFrom = 11

// group sets apart what deserves a second look; the order is that of the sheet.
type group uint8

const (
	groupStray group = iota
	groupIdle        // not running
	groupRunning
	groupAttached
	groupProtected
)

// line is one sandbox on the sheet. It is a copy of the moment when the sheet
// was asked for: no refresh changes which sandbox it means.
type line struct {
	present.KillTarget
	group  group
	shells int
	// protected is by its own tag or by the user's list; pausable what p can stop.
	protected, pausable bool
	keep                bool
	gone                bool
}

func (l *line) dies() bool { return !l.keep && !l.gone }

// sheet is the review before a kill. The key that opened it does nothing here,
// enter does nothing, esc is always safe.
type sheet struct {
	env   ui.Env
	opt   Options
	lines []line
	// cursor and top are positions in lines.
	cursor, top int
	typed       string
	// nudge is shown when y was pressed before the count was typed.
	nudge bool
}

func newSheet(targets []present.KillTarget, shells map[present.Key]int, opt Options) *sheet {
	s := &sheet{opt: opt}
	for _, t := range targets {
		l := line{KillTarget: t, shells: shells[present.KeyOf(t.Sandbox)], protected: opt.Protected.Of(t.Sandbox)}
		if p := opt.Providers.Get(t.Sandbox.Provider); p != nil {
			l.pausable = t.Sandbox.Running() && p.Capabilities().Has(client.CapPause)
		}
		l.group = groupOf(&l)
		s.lines = append(s.lines, l)
	}
	slices.SortStableFunc(s.lines, func(a, b line) int { return int(a.group) - int(b.group) })
	return s
}

func groupOf(l *line) group {
	switch {
	case l.protected:
		return groupProtected
	case l.shells > 0:
		return groupAttached
	case len(l.Stray) > 0:
		return groupStray
	case l.Sandbox.Running():
		return groupRunning
	default:
		return groupIdle
	}
}

// Init implements ui.Overlay.
func (s *sheet) Init(env ui.Env) tea.Cmd {
	s.env = env
	return nil
}

// Keys implements ui.Overlay.
func (s *sheet) Keys() []keymap.Context { return []keymap.Context{keymap.Sheet, keymap.Move} }

// Title implements ui.Overlay; scripts may rely on it.
func (s *sheet) Title() string {
	return s.env.Lang.N(s.dying(), "Kill %d sandbox", "Kill %d sandboxes", s.dying())
}

// Close implements ui.Overlay.
func (s *sheet) Close() {}

// dying is how many sandboxes y would kill now.
func (s *sheet) dying() int {
	n := 0
	for i := range s.lines {
		if s.lines[i].dies() {
			n++
		}
	}
	return n
}

// needsCount reports whether the count has to be typed: for many, or for any protected one.
func (s *sheet) needsCount() bool {
	for i := range s.lines {
		if s.lines[i].dies() && s.lines[i].group == groupProtected {
			return true
		}
	}
	return s.dying() >= countFrom
}

// Captures implements ui.Capturer: digits are typed into the count.
func (s *sheet) Captures() bool { return s.needsCount() }

// Disabled implements ui.Disabler.
func (s *sheet) Disabled(a keymap.Action) string {
	if a == keymap.SheetPause && s.pausable() == 0 {
		return s.env.Lang.T("none of these runs on a provider that can pause")
	}
	return ""
}

// Update implements ui.Overlay.
func (s *sheet) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ActionMsg:
		return s.act(msg.Action)
	case tea.KeyPressMsg:
		return s.key(msg)
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			s.move(-1)
		} else {
			s.move(1)
		}
	case ui.ThemeMsg:
		s.env.Theme = msg.Theme
	case present.GoneMsg:
		return s.gone(msg.Keys)
	case present.KillResultMsg:
		if msg.Outcome != present.KillFailed {
			return s.gone([]present.Key{msg.Key})
		}
	case present.ShellCountMsg:
		s.attached(msg)
	}
	return nil
}

// key handles raw keys while a count has to be typed. Everything else means
// what it means otherwise.
func (s *sheet) key(msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	switch {
	case len(k) == 1 && k[0] >= '0' && k[0] <= '9':
		if len(s.typed) < 6 {
			s.typed += k
		}
		s.nudge = false
		return nil
	case k == "backspace":
		s.typed = s.typed[:max(0, len(s.typed)-1)]
		return nil
	}
	a, _, ok := s.env.Keys.Match([]keymap.Context{keymap.Sheet, keymap.Move, keymap.Always}, nil, k)
	if !ok {
		return nil
	}
	if a == keymap.AppUndo {
		return ui.Cmd(ui.ActionMsg{Action: a})
	}
	return s.act(a)
}

func (s *sheet) act(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.SheetConfirm:
		return s.confirm()
	case keymap.SheetKeep:
		s.toggle()
	case keymap.SheetPause:
		return s.pauseInstead()
	case keymap.NavBack:
		return ui.Cmd(ui.CloseOverlayMsg{Overlay: s})
	case keymap.MoveUp:
		s.move(-1)
	case keymap.MoveDown:
		s.move(1)
	case keymap.MoveHalfUp, keymap.MovePageUp:
		s.move(-8)
	case keymap.MoveHalfDown, keymap.MovePageDown:
		s.move(8)
	case keymap.MoveTop:
		s.move(-len(s.lines))
	case keymap.MoveBottom:
		s.move(len(s.lines))
	}
	return nil
}

func (s *sheet) move(n int) { s.cursor = min(max(0, s.cursor+n), len(s.lines)-1) }

func (s *sheet) toggle() {
	l := &s.lines[s.cursor]
	if !l.gone {
		l.keep = !l.keep
		// A count typed for another number must not confirm this one.
		s.typed = ""
	}
	s.move(1)
}

func (s *sheet) confirm() tea.Cmd {
	n := s.dying()
	if n == 0 {
		return nil
	}
	if s.needsCount() && s.typed != strconv.Itoa(n) {
		s.nudge, s.typed = true, ""
		return nil
	}
	msg := confirmedMsg{}
	for i := range s.lines {
		if s.lines[i].dies() {
			msg.targets = append(msg.targets, s.lines[i].KillTarget)
		}
	}
	return tea.Sequence(ui.Cmd(ui.CloseOverlayMsg{Overlay: s}), ui.Cmd(msg))
}

// pausable is how many of those that would die can be paused instead.
func (s *sheet) pausable() int {
	n := 0
	for i := range s.lines {
		if s.lines[i].dies() && s.lines[i].pausable {
			n++
		}
	}
	return n
}

// pauseInstead stops what can be paused and kills nothing: pausing keeps the
// sandbox's state and can be taken back, so it asks no further.
func (s *sheet) pauseInstead() tea.Cmd {
	msg := pauseMsg{}
	for i := range s.lines {
		if l := &s.lines[i]; l.dies() && l.pausable {
			msg.targets = append(msg.targets, l.KillTarget)
		}
	}
	if len(msg.targets) == 0 {
		return nil
	}
	return tea.Sequence(ui.Cmd(ui.CloseOverlayMsg{Overlay: s}), ui.Cmd(msg))
}

// gone marks targets that vanished meanwhile; if none is left, the sheet says so and closes.
func (s *sheet) gone(keys []present.Key) tea.Cmd {
	hit := false
	for i := range s.lines {
		l := &s.lines[i]
		if !l.gone && slices.Contains(keys, present.KeyOf(l.Sandbox)) {
			l.gone, hit = true, true
			s.typed = ""
		}
	}
	if !hit {
		return nil
	}
	for i := range s.lines {
		if !s.lines[i].gone {
			return nil
		}
	}
	text := s.env.Lang.T("%s no longer exists: nothing to kill", present.LongLabel(s.lines[0].Sandbox))
	if len(s.lines) > 1 {
		text = s.env.Lang.T("all %d no longer exist: nothing to kill", len(s.lines))
	}
	return tea.Batch(ui.Cmd(ui.CloseOverlayMsg{Overlay: s}), ui.Toast(ui.ToastWarn, text))
}

// attached keeps the warning about open shells right; the order stays, so that
// nothing moves under the cursor.
func (s *sheet) attached(msg present.ShellCountMsg) {
	for i := range s.lines {
		if l := &s.lines[i]; present.KeyOf(l.Sandbox) == msg.Key {
			l.shells = msg.N
		}
	}
}

// note is the right-most part of a line: why it may go, or why it deserves a second look.
func (s *sheet) note(l *line) string {
	var parts []string
	tr := s.env.Lang
	if l.gone {
		return tr.T("no longer exists")
	}
	if l.protected {
		parts = append(parts, tr.T("PROTECTED"))
	}
	if l.shells > 0 {
		parts = append(parts, tr.N(l.shells, "%d shell attached by you", "%d shells attached by you", l.shells))
	}
	if len(l.Stray) > 0 {
		parts = append(parts, strings.Join(l.Stray, ", "))
	} else if who := s.opt.Owner.Column(l.Sandbox); who != "me" {
		parts = append(parts, tr.T("owner %s", who))
	}
	if now := s.env.Now(); len(parts) == 0 {
		parts = append(parts, tr.T("up %s", present.Age(l.Sandbox.StartedAt, now)))
	}
	return strings.Join(parts, " · ")
}

// totals words what the kill frees and who is among the targets.
func (s *sheet) totals() string {
	var cpu float64
	var mem int64
	counts := map[group]int{}
	for i := range s.lines {
		l := &s.lines[i]
		if !l.dies() {
			continue
		}
		cpu += l.Sandbox.CPU
		mem += l.Sandbox.MemoryMB
		switch {
		case l.group == groupProtected:
			counts[groupProtected]++
		case l.shells > 0:
			counts[groupAttached]++
		case l.Sandbox.Running() && len(l.Stray) == 0:
			counts[groupRunning]++
		}
	}
	tr := s.env.Lang
	out := tr.T("frees: nothing known")
	if cpu > 0 || mem > 0 {
		out = tr.T("frees: %s vCPU, %s", present.CPU(cpu), present.Memory(mem))
	}
	out += s.savings()
	for _, g := range []struct {
		g    group
		word string
	}{{groupRunning, tr.T("running")}, {groupAttached, tr.T("with your shell")}, {groupProtected, tr.T("protected")}} {
		if counts[g.g] > 0 {
			out += fmt.Sprintf(" · %d %s", counts[g.g], g.word)
		}
	}
	return out
}

// savings words what the kill saves as far as rates are known, "" if nothing.
func (s *sheet) savings() string {
	var hourly, left float64
	open := false
	for i := range s.lines {
		l := &s.lines[i]
		if !l.dies() {
			continue
		}
		h, _ := s.opt.Rates.Hourly(l.Sandbox)
		hourly += h
		v, ok := s.opt.Rates.ToCome(l.Sandbox, s.env.Now())
		left += v
		open = open || h > 0 && !ok
	}
	if hourly == 0 {
		return ""
	}
	out := ", " + present.Money(hourly) + "/h"
	switch {
	case open && left > 0:
		out += ", " + s.env.Lang.T("saves %s and more", present.Money(left))
	case left > 0:
		out += ", " + s.env.Lang.T("saves %s", present.Money(left))
	}
	return out + " (" + s.opt.Rates.LabelIn(s.env.Lang) + ")"
}

// prompt is the last but one line: what has to be typed, or nothing.
func (s *sheet) prompt() string {
	if !s.needsCount() {
		return ""
	}
	n := strconv.Itoa(s.dying())
	if s.typed == "" {
		return s.env.Lang.T("type %s, then %s", n, present.KeyIn(s.env.Keys, keymap.Sheet, keymap.SheetConfirm))
	}
	return s.env.Lang.T("typed %s of %s", s.typed, n)
}

var (
	_ ui.Overlay  = (*sheet)(nil)
	_ ui.Capturer = (*sheet)(nil)
	_ ui.Disabler = (*sheet)(nil)
)

// rowsMax bounds the list part of the sheet.
const rowsMax = 16

// Size implements ui.Overlay.
func (s *sheet) Size(maxW, maxH int) (int, int) {
	// Frame, separators, totals, prompt and keys around the list.
	h := min(len(s.lines)+s.headings(), rowsMax) + 6
	return min(maxW, 100), min(maxH, h)
}

// Draw implements ui.Overlay.
func (s *sheet) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	s.paint(scr, area)
	return nil
}
