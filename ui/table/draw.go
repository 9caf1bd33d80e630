package table

import (
	"image/color"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/theme"
	"abxdash/ui/draw"
)

// cacheKey is everything that a formatted row depends on.
type cacheKey struct {
	id      string
	version uint64
	epoch   uint64
	width   int
	look    look
	theme   *theme.Theme
}

// look is how a row stands out.
type look uint8

const (
	lookCursor look = 1 << iota
	lookFocus
	lookMarked
	lookStale
	lookTomb
)

// Draw paints the header and the visible rows. focused tells whether keys go
// to this table; without it the cursor's row is shown more quietly.
func (t *Table[T]) Draw(scr uv.Screen, area uv.Rectangle, th *theme.Theme, focused bool) {
	t.area = area
	t.height = max(area.Dy()-1, 0)
	if area.Dx() <= 0 || area.Dy() <= 0 {
		return
	}
	if room := max(area.Dx()-lead, 0); t.layout.cols == nil || t.layout.width != room {
		t.layout = fit(t.sizings(), room)
	}
	t.drawHeader(scr, th)
	t.scroll()
	if len(t.view) == 0 {
		t.drawEmpty(scr, th)
		return
	}
	from, to, ranging := t.span()
	for y := 0; y < t.height && t.offset+y < len(t.view); y++ {
		i := t.offset + y
		r := t.rows[t.view[i]]
		key := t.key(r, i, th, focused, ranging && i >= from && i <= to)
		cells, ok := t.cache[key]
		if !ok || t.cfg.Version == nil {
			cells = t.format(r, key)
		}
		t.spare[key] = cells
		blit(scr, area.Min.X, area.Min.Y+1+y, cells)
	}
	t.retire()
}

// retire forgets formatted rows that were not on screen, and keeps their cells for the next ones.
func (t *Table[T]) retire() {
	for k, cells := range t.cache {
		if _, ok := t.spare[k]; !ok {
			t.free = append(t.free, cells[:0])
		}
	}
	t.free = t.free[:min(len(t.free), t.height)]
	t.cache, t.spare = t.spare, t.cache
	clear(t.spare)
}

// blank is an empty row of cells with room for a width.
func (t *Table[T]) blank(width int) []uv.Cell {
	for n := len(t.free); n > 0; n = len(t.free) {
		cells := t.free[n-1]
		t.free = t.free[:n-1]
		if cap(cells) >= width {
			return cells
		}
	}
	return make([]uv.Cell, 0, width)
}

func (t *Table[T]) sizings() []sizing {
	out := make([]sizing, len(t.cfg.Columns))
	for i := range t.cfg.Columns {
		c := &t.cfg.Columns[i]
		// One more than the title leaves room for the arrow of the sort order.
		w := max(c.Min, ansi.StringWidth(c.Title))
		if c.Compare != nil {
			w = max(w, ansi.StringWidth(c.Title)+1)
		}
		m := c.Max
		if m > 0 {
			m = max(m, w)
		}
		out[i] = sizing{min: w, max: m, weight: c.Weight, priority: c.Priority, hidden: c.Hidden}
	}
	return out
}

// scroll moves the first visible row as little as needed to show the cursor.
func (t *Table[T]) scroll() {
	h := max(t.height, 1)
	if t.cursor >= 0 {
		t.offset = min(t.offset, t.cursor)
		t.offset = max(t.offset, t.cursor-h+1)
	}
	t.offset = max(min(t.offset, len(t.view)-h), 0)
}

func (t *Table[T]) key(r T, i int, th *theme.Theme, focused, ranged bool) cacheKey {
	k := cacheKey{id: t.cfg.ID(r), epoch: t.epoch, width: t.area.Dx(), theme: th}
	if t.cfg.Version != nil {
		k.version = t.cfg.Version(r)
	}
	if i == t.cursor {
		k.look |= lookCursor
		if focused {
			k.look |= lookFocus
		}
	}
	if ranged || t.marks[k.id] {
		k.look |= lookMarked
	}
	if t.cfg.Kind != nil {
		switch t.cfg.Kind(r) {
		case RowStale:
			k.look |= lookStale
		case RowTombstone:
			k.look |= lookTomb
		}
	}
	return k
}

func (t *Table[T]) drawHeader(scr uv.Screen, th *theme.Theme) {
	draw.Line(scr, t.area, 0, "", th.Row.Header)
	x := t.area.Min.X + lead
	for i, c := range t.layout.cols {
		col, w := &t.cfg.Columns[c], t.layout.sizes[i]
		title, st := col.Title, th.Row.Header
		if col.Key == t.sortKey && col.Compare != nil {
			st = th.Row.HeaderSorted
			if t.desc {
				title += th.Symbol.Down
			} else {
				title += th.Symbol.Up
			}
		}
		at := x
		if col.Align == Right {
			at += max(w-ansi.StringWidth(title), 0)
		}
		draw.Text(scr, at, t.area.Min.Y, x+w-at, title, st)
		x += w + gap
	}
}

func (t *Table[T]) drawEmpty(scr uv.Screen, th *theme.Theme) {
	text := t.cfg.Empty
	if len(t.rows) > 0 && t.cfg.EmptyFiltered != "" {
		text = t.cfg.EmptyFiltered
	}
	for i, line := range strings.Split(text, "\n") {
		if y := 2 + i; y < t.area.Dy() {
			draw.Text(scr, t.area.Min.X+lead, t.area.Min.Y+y, t.area.Dx()-lead, line, th.Text.Dim)
		}
	}
}

// format paints a row into cells exactly as wide as the table.
func (t *Table[T]) format(r T, k cacheKey) []uv.Cell {
	th := k.theme
	p := pen{cells: t.blank(k.width), limit: k.width, over: t.over(th, k.look)}
	p.keep, p.dim = th.Row.KeepColors && k.look&(lookStale|lookTomb) == 0, th.Text.Dim.Fg
	if k.look&lookFocus == 0 {
		p.dim = nil
	}
	mark := " "
	if k.look&lookCursor != 0 {
		mark = th.Symbol.Cursor
	}
	p.text(mark, 1, th.Text.Title, false)
	mark = " "
	if k.look&lookMarked != 0 {
		mark = th.Symbol.Mark
	}
	p.text(mark, 1, th.Row.Marked, false)
	p.blank(lead - 2)
	for i, c := range t.layout.cols {
		if i > 0 {
			p.blank(gap)
		}
		col, w := &t.cfg.Columns[c], t.layout.sizes[i]
		p.cell(col.Cell(r, w), w, col.Align, col.ElideMiddle)
	}
	p.blank(k.width - len(p.cells))
	return p.cells
}

// over is the style laid over every cell of a row.
func (t *Table[T]) over(th *theme.Theme, l look) uv.Style {
	var st uv.Style
	if l&lookMarked != 0 {
		st = theme.Over(st, uv.Style{Attrs: th.Row.Marked.Attrs})
	}
	if l&lookStale != 0 {
		st = theme.Over(st, th.Row.Stale)
	}
	if l&lookTomb != 0 {
		st = theme.Over(st, th.Row.Tombstone)
	}
	switch {
	case l&lookFocus != 0:
		st = theme.Over(st, th.Row.Selected)
	case l&lookCursor != 0:
		st = theme.Over(st, th.Row.SelectedDim)
	}
	return st
}

func blit(scr uv.Screen, x, y int, cells []uv.Cell) {
	for i := range cells {
		if cells[i].Width > 0 {
			scr.SetCell(x+i, y, &cells[i])
		}
	}
}

// pen appends cells up to a limit.
type pen struct {
	cells []uv.Cell
	limit int
	over  uv.Style
	keep  bool // text keeps its own colour under over
	// dim, if set, is the one colour that is not kept: grey on a selection is hard to read.
	dim color.Color
}

func (p *pen) blank(n int) {
	for ; n > 0 && len(p.cells) < p.limit; n-- {
		p.cells = append(p.cells, uv.Cell{Content: " ", Width: 1, Style: p.over})
	}
}

// cell writes spans into exactly w cells.
func (p *pen) cell(spans []Span, w int, a Align, middle bool) {
	total := 0
	for _, s := range spans {
		total += ansi.StringWidth(s.Text)
	}
	if total > w && middle && len(spans) == 1 {
		spans = []Span{{Text: elideMiddle(spans[0].Text, w), Style: spans[0].Style}}
		total = ansi.StringWidth(spans[0].Text)
	}
	if a == Right {
		p.blank(w - total)
		w = min(w, total)
	}
	for i, s := range spans {
		n := p.text(s.Text, w, s.Style, i < len(spans)-1 && ansi.StringWidth(s.Text) == w)
		w -= n
	}
	p.blank(w)
}

// text writes at most w cells, with an ellipsis if s is longer or more follows.
func (p *pen) text(s string, w int, st uv.Style, more bool) int {
	if w <= 0 || s == "" {
		return 0
	}
	s = draw.Clean(s)
	if ansi.StringWidth(s) > w || more {
		s = ansi.Truncate(s+" ", w, "…")
	}
	own := st.Fg
	st = theme.Over(st, p.over)
	if p.keep && own != nil && (p.dim == nil || own != p.dim) {
		st.Fg = own
	}
	used := 0
	g := draw.Clusters(s)
	for g.Next() {
		if g.Width == 0 || used+g.Width > w || len(p.cells)+g.Width > p.limit {
			continue
		}
		p.cells = append(p.cells, uv.Cell{Content: g.Text, Width: g.Width, Style: st})
		for range g.Width - 1 {
			p.cells = append(p.cells, uv.Cell{})
		}
		used += g.Width
	}
	return used
}

// elideMiddle cuts s to w cells, keeping both ends.
func elideMiddle(s string, w int) string {
	if ansi.StringWidth(s) <= w || w < 4 {
		return s
	}
	head := ansi.Truncate(s, w/2, "")
	tail := ansi.TruncateLeft(s, ansi.StringWidth(s)-(w-1-ansi.StringWidth(head)), "")
	return head + "…" + tail
}

// HitKind is what a mouse event met.
type HitKind uint8

// What a mouse event can meet.
const (
	HitNothing HitKind = iota
	HitRow
	HitDouble
	HitHeader
	HitWheel
)

type hitMemory struct {
	id string
	at time.Time
}

// doubleClick is how soon a second click on a row has to come.
const doubleClick = 500 * time.Millisecond

// Mouse takes a mouse message: a click moves the cursor (a second one soon
// after is HitDouble), a click on the header sorts, the wheel moves by three rows.
func (t *Table[T]) Mouse(msg tea.MouseMsg, now time.Time) HitKind {
	m := msg.Mouse()
	if !uv.Pos(m.X, m.Y).In(t.area) {
		return HitNothing
	}
	switch msg.(type) {
	case tea.MouseWheelMsg:
		switch m.Button {
		case tea.MouseWheelUp:
			t.Move(-3)
		case tea.MouseWheelDown:
			t.Move(3)
		}
		return HitWheel
	case tea.MouseClickMsg:
		if m.Button == tea.MouseLeft {
			return t.click(m.X-t.area.Min.X, m.Y-t.area.Min.Y, now)
		}
	}
	return HitNothing
}

func (t *Table[T]) click(x, y int, now time.Time) HitKind {
	if y == 0 {
		at := lead
		for i, c := range t.layout.cols {
			if x >= at && x < at+t.layout.sizes[i]+gap {
				t.SortBy(t.cfg.Columns[c].Key)
				return HitHeader
			}
			at += t.layout.sizes[i] + gap
		}
		return HitNothing
	}
	i := t.offset + y - 1
	if i >= len(t.view) {
		return HitNothing
	}
	t.Move(i - t.cursor)
	last := t.lastHit
	t.lastHit = hitMemory{id: t.cursorID, at: now}
	if last.id == t.cursorID && now.Sub(last.at) < doubleClick {
		t.lastHit = hitMemory{}
		return HitDouble
	}
	return HitRow
}
