package sandboxes

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/keymap"
	"abxdash/ui/draw"
	"abxdash/views/present"
)

// parts are the rectangles of the list; empty ones are not drawn.
type parts struct{ summary, notices, frame, preview uv.Rectangle }

const (
	minFramed  = 6  // rows below which there is no frame
	minPreview = 18 // rows from which there is a preview pane
)

// layout divides area. It is pure.
func layout(area uv.Rectangle, notices, pane int) parts {
	var p parts
	h := area.Dy()
	y := area.Min.Y
	take := func(n int) uv.Rectangle {
		n = max(0, min(n, area.Max.Y-y))
		r := uv.Rect(area.Min.X, y, area.Dx(), n)
		y += n
		return r
	}
	if h >= minFramed {
		p.summary = take(1)
	}
	if h >= minFramed+4 {
		p.notices = take(min(notices, 2))
	}
	preview := 0
	if h >= minPreview && pane > 0 {
		preview = 6
		if pane > 1 {
			preview = h / 2
		}
	}
	p.frame = take(area.Max.Y - y - preview)
	p.preview = take(preview)
	return p
}

// Draw implements ui.Screen.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	s.sync()
	s.drawn = true
	if area.Dx() <= 0 || area.Dy() <= 0 {
		return nil
	}
	notices := s.notices()
	pane := s.pane
	if s.table.Total() == 0 {
		pane = 0 // nothing to say more about
	}
	p := layout(area, len(notices), pane)
	s.drawSummary(scr, p.summary)
	for i := 0; i < p.notices.Dy() && i < len(notices); i++ {
		n := notices[i]
		draw.Text(scr, p.notices.Min.X+1, p.notices.Min.Y+i, p.notices.Dx()-1, n.text, s.noticeStyle(n))
	}
	cur := s.drawFrame(scr, p.frame)
	s.drawPreview(scr, p.preview)
	return cur
}

// Signature implements ui.Timed: it changes with what time changes in the rows
// on screen, in the chips and in the notices.
func (s *Screen) Signature() uint64 {
	s.drawn = true
	h := fnv.New64a()
	for _, e := range s.table.Visible() {
		v := s.rowVersion(e)
		h.Write([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), byte(v >> 32), byte(v >> 40), byte(v >> 48), byte(v >> 56)})
	}
	for _, src := range s.store.sources {
		text, level := src.chip(s.store.now, s.env.Lang)
		fmt.Fprint(h, text)
		h.Write([]byte{byte(level)})
	}
	for _, n := range s.notices() {
		fmt.Fprint(h, n.text)
	}
	if e := s.current(); e != nil {
		for _, l := range s.previewLines(e) {
			fmt.Fprint(h, l.text)
		}
	}
	return h.Sum64()
}

// drawSummary paints banner, provider chips and, at the right, the counts.
func (s *Screen) drawSummary(scr uv.Screen, r uv.Rectangle) {
	if r.Dy() == 0 {
		return
	}
	t := s.env.Theme
	right := s.countText()
	rw := ansi.StringWidth(right)
	limit := r.Max.X
	if rw+12 < r.Dx() {
		limit -= rw + 2
		draw.Text(scr, r.Max.X-rw-1, r.Min.Y, rw, right, t.Text.Normal)
	}
	x := r.Min.X + 1
	if s.opt.Banner != "" {
		x += draw.Text(scr, x, r.Min.Y, limit-x, " "+s.opt.Banner+" ", t.Bar.ChipWarn) + 1
	}
	for i, src := range s.store.sources {
		text, level := src.chip(s.store.now, s.env.Lang)
		st, symbol := styleOf(t, level)
		text = " " + symbol + " " + text + " "
		if x+ansi.StringWidth(text) > limit {
			draw.Text(scr, x, r.Min.Y, limit-x, fmt.Sprintf("+%d", len(s.store.sources)-i), t.Text.Dim)
			return
		}
		x += draw.Text(scr, x, r.Min.Y, limit-x, text, st) + 1
	}
}

func (s *Screen) countText() string {
	var parts []string
	more := ""
	for _, src := range s.store.sources {
		if src.incomplete {
			more = "+"
		}
	}
	parts = append(parts, s.env.Lang.T("%d%s running", s.counts.running, more))
	if s.counts.stray > 0 {
		parts = append(parts, s.env.Lang.T("%d%s stray", s.counts.stray, more))
	}
	if s.counts.hourly > 0 {
		parts = append(parts, "~"+present.Money(s.counts.hourly)+"/h")
	}
	return strings.Join(parts, "  ")
}

type notice struct {
	text  string
	level chipLevel
}

// notices are lines about providers: why one fails, or that its list may lack something.
func (s *Screen) notices() []notice {
	var out []notice
	for _, src := range s.store.sources {
		name := present.Clean(src.name)
		switch {
		case src.err != nil:
			text := name + ": " + present.ErrorLine(src.err) + since(src, s.store.now, s.env.Lang)
			if h := present.Hint(src.err); h != "" {
				text += " · " + s.env.Lang.Word(h)
			}
			out = append(out, notice{text, chipError})
		case src.incomplete:
			note := src.note
			if note == "" {
				note = s.env.Lang.T("the list may be incomplete")
			}
			out = append(out, notice{name + ": " + present.Clean(note), chipIdle})
		}
	}
	return out
}

func (s *Screen) noticeStyle(n notice) uv.Style {
	if n.level == chipError {
		return s.env.Theme.Text.Error
	}
	return s.env.Theme.Text.Dim
}

// drawFrame paints the table in its frame, the filter line in its first row
// while that is edited.
func (s *Screen) drawFrame(scr uv.Screen, r uv.Rectangle) *tea.Cursor {
	t := s.env.Theme
	in := r
	if r.Dy() >= 5 && r.Dx() >= 20 {
		in = draw.Box(scr, r, t, s.frameTitle(), t.Border.Focused, t.Border.TitleFocused)
		s.drawFrameInfo(scr, r)
	}
	var cur *tea.Cursor
	if s.input != nil && in.Dy() > 0 {
		line := uv.Rect(in.Min.X, in.Min.Y, in.Dx(), 1)
		in = uv.Rect(in.Min.X, in.Min.Y+1, in.Dx(), in.Dy()-1)
		if s.filterErr != "" {
			w := min(ansi.StringWidth(s.filterErr)+2, line.Dx()/2)
			draw.Text(scr, line.Max.X-w, line.Min.Y, w, s.filterErr, t.Text.Warn)
			line.Max.X -= w + 1
		}
		cur = s.input.Draw(scr, line, t)
	}
	s.fit(in.Dx())
	if s.table.Len() == 0 {
		s.drawEmpty(scr, in)
		return cur
	}
	s.table.Draw(scr, in, t, s.input == nil)
	return cur
}

// frameTitle is "Sandboxes", with what is filtered.
func (s *Screen) frameTitle() string {
	out := s.Title()
	if s.view.Name != "" {
		out += " " + s.env.Theme.Symbol.H + " " + present.Clean(s.view.Name)
	}
	if len(s.store.only) > 0 {
		out += " " + s.env.Theme.Symbol.H + " " + s.env.Lang.T("on %s", present.CleanMax(strings.Join(s.store.only, ", "), 60))
	}
	if f := s.filter.String(); f != "" {
		out += " " + s.env.Theme.Symbol.H + " /" + present.CleanMax(f, 60)
	}
	if s.strayOnly {
		out += " " + s.env.Theme.Symbol.H + " " + s.env.Lang.T("strays only")
	}
	return out
}

// drawFrameInfo paints "14 of 52 · 2 marked · sort: TTL ↑" into the top edge.
func (s *Screen) drawFrameInfo(scr uv.Screen, r uv.Rectangle) {
	t := s.env.Theme
	var bits []string
	switch shown, total := s.table.Len(), s.table.Total(); {
	case shown != total:
		bits = append(bits, s.env.Lang.T("%d of %d", shown, total))
	case s.anyIncomplete():
		bits = append(bits, fmt.Sprintf("%d+", total))
	default:
		bits = append(bits, fmt.Sprintf("%d", total))
	}
	if at := s.cachedAt(); !at.IsZero() {
		bits = append(bits, s.env.Lang.T("as of %s", asOf(at, s.store.now, s.env.Lang)))
	}
	if n := s.table.MarkedCount(); n > 0 {
		bits = append(bits, s.env.Lang.T("%d marked", n))
	}
	if s.table.Ranging() {
		bits = append(bits, s.env.Lang.T("marking a range"))
	}
	if key, desc := s.table.Sort(); key != "" {
		arrow := t.Symbol.Up
		if desc {
			arrow = t.Symbol.Down
		}
		bits = append(bits, s.env.Lang.T("sort: %s %s", s.env.Lang.Word(key), arrow))
	}
	text := " " + strings.Join(bits, " · ") + " "
	w := ansi.StringWidth(text)
	// The title keeps the left half and more.
	if room := r.Dx() - ansi.StringWidth(s.frameTitle()) - 8; w <= room {
		draw.Text(scr, r.Max.X-w-2, r.Min.Y, w, text, t.Text.Dim)
	}
}

// cachedAt is the time of the oldest remembered list that still stands in for
// an answer, zero if none does.
func (s *Screen) cachedAt() time.Time {
	var at time.Time
	for _, src := range s.store.sources {
		if !src.loaded && !src.cachedAt.IsZero() && (at.IsZero() || src.cachedAt.Before(at)) {
			at = src.cachedAt
		}
	}
	return at
}

func (s *Screen) anyIncomplete() bool {
	return slices.ContainsFunc(s.store.sources, func(src *source) bool { return src.incomplete })
}

// drawEmpty tells a newcomer what to press, or why nothing is here.
func (s *Screen) drawEmpty(scr uv.Screen, r uv.Rectangle) {
	t, keys, tr := s.env.Theme, s.env.Keys, s.env.Lang
	type hint struct{ key, text string }
	var head string
	var hints []hint
	switch {
	case s.table.Total() > 0 && s.filter.Empty() && !s.strayOnly:
		head = tr.T("No sandboxes on %s.", present.CleanMax(strings.Join(s.store.only, ", "), 60))
		hints = []hint{{present.KeyIn(keys, keymap.Global, keymap.AppProviders), tr.T("choose other providers")}, {present.KeyIn(keys, keymap.List, keymap.ListNew), tr.T("create a sandbox")}}
	case s.table.Total() > 0:
		head = tr.T("Nothing matches the filter.")
		hints = []hint{{present.KeyIn(keys, keymap.Global, keymap.NavBack), tr.T("clear the filter")}, {present.KeyIn(keys, keymap.List, keymap.ListFilter), tr.T("change it")}}
	case !s.anyLoaded():
		head = tr.T("Asking %s %s", present.Clean(strings.Join(s.opt.Providers.Names(), ", ")), t.Symbol.Ellipsis)
	case !s.anyAnswers():
		head = tr.T("No provider answers now.")
		hints = []hint{
			{present.KeyIn(keys, keymap.Global, keymap.AppRefresh), tr.T("try again now")},
			{present.KeyIn(keys, keymap.Global, keymap.AppHelp), tr.T("all keys")},
			{present.KeyIn(keys, keymap.Global, keymap.NavQuit), tr.T("quit")},
		}
	default:
		head = tr.T("No sandboxes yet.")
		where := tr.T("create a sandbox")
		if s.opt.CreateIn != "" {
			where = tr.T("create a sandbox on %s", present.Clean(s.opt.CreateIn))
		}
		if s.opt.CreateIn == "local" {
			where = tr.T("create a local sandbox, no account needed")
		}
		hints = []hint{
			{present.KeyIn(keys, keymap.List, keymap.ListNew), where},
			{present.KeyIn(keys, keymap.List, keymap.ListOptions), tr.T("choose provider, template and lifetime first")},
			{present.KeyIn(keys, keymap.Global, keymap.AppHelp), tr.T("all keys")},
			{present.KeyIn(keys, keymap.Global, keymap.NavQuit), tr.T("quit")},
		}
		if s.opt.ReadOnly {
			hints = hints[2:]
		}
	}
	width := ansi.StringWidth(head)
	for _, h := range hints {
		width = max(width, 6+ansi.StringWidth(h.text))
	}
	rows := 1
	if len(hints) > 0 {
		rows = len(hints) + 2
	}
	box := draw.Center(r, width, rows)
	draw.Text(scr, box.Min.X, box.Min.Y, box.Dx(), head, t.Text.Strong)
	for i, h := range hints {
		y := box.Min.Y + 2 + i
		if y >= r.Max.Y {
			return
		}
		draw.Text(scr, box.Min.X, y, 5, h.key, t.Keys.Key)
		draw.Text(scr, box.Min.X+6, y, box.Dx()-6, h.text, t.Keys.Help)
	}
}

func (s *Screen) anyAnswers() bool {
	return slices.ContainsFunc(s.store.sources, func(src *source) bool { return src.err == nil })
}

func (s *Screen) anyLoaded() bool {
	return slices.ContainsFunc(s.store.sources, func(src *source) bool { return src.loaded || src.err != nil })
}
