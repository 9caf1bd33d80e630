package sandboxes

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/client"
	"abxdash/theme"
	"abxdash/ui/table"
	"abxdash/views/present"
)

// lowTTL is the remaining lifetime from which on a row warns.
const lowTTL = 5 * time.Minute

// idCells is the length of a whole id (e2b-protocol §1); windows narrower than
// narrowBelow cannot show one beside state and lifetime.
const (
	idCells     = 21
	narrowBelow = 54
)

// gaugeCells is the width of the lifetime gauge.
const gaugeCells = 4

// columns of the table. The first keeps room for a whole id; from the last
// priority on they give way to narrow windows.
func (s *Screen) columns() []table.Column[*entry] {
	text := func(f func(*entry) string) func(*entry, int) []table.Span {
		return func(e *entry, _ int) []table.Span { return s.span(f(e), uv.Style{}) }
	}
	dim := func(f func(*entry) string) func(*entry, int) []table.Span {
		return func(e *entry, _ int) []table.Span { return s.span(f(e), s.env.Theme.Text.Dim) }
	}
	byText := func(f func(*entry) string) func(a, b *entry) int {
		return func(a, b *entry) int { return strings.Compare(f(a), f(b)) }
	}
	provider := func(e *entry) string { return present.Clean(e.sb.Provider) }
	template := func(e *entry) string { return present.Template(e.sb) }
	state := func(e *entry) string { return string(e.sb.State) }
	name := idCells
	if s.narrow {
		name = 10
	}
	return []table.Column[*entry]{
		{Key: "name", Title: "NAME/ID", Min: name, Max: 48, Weight: 4, ElideMiddle: true, Cell: s.nameCell, Compare: byText(func(e *entry) string { return strings.ToLower(present.Label(e.sb)) })},
		{Key: "badge", Title: "", Min: 1, Cell: s.badgeCell},
		{Key: "provider", Title: "PROVIDER", Max: 18, Weight: 1, Priority: 2, Cell: dim(provider), Compare: byText(provider)},
		{Key: "template", Title: "TEMPLATE", Max: 24, Weight: 2, Priority: 3, Cell: text(template), Compare: byText(template)},
		{Key: "state", Title: "STATE", Min: 9, Max: 24, Weight: 1, Cell: s.stateCell, Compare: byText(state)},
		{Key: "cpu", Title: "CPU", Priority: 4, Align: table.Right, Cell: dim(func(e *entry) string { return present.CPU(e.sb.CPU) }), Compare: func(a, b *entry) int { return cmp.Compare(a.sb.CPU, b.sb.CPU) }},
		{Key: "memory", Title: "MEM", Priority: 5, Align: table.Right, Cell: dim(func(e *entry) string { return present.Memory(e.sb.MemoryMB) }), Compare: func(a, b *entry) int { return cmp.Compare(a.sb.MemoryMB, b.sb.MemoryMB) }},
		{Key: "age", Title: "AGE", Min: 5, Priority: 1, Align: table.Right, Cell: text(func(e *entry) string { return present.Age(e.sb.StartedAt, s.at(e)) }), Compare: func(a, b *entry) int { return b.sb.StartedAt.Compare(a.sb.StartedAt) }},
		{Key: "ttl", Title: "TTL", Min: 7, Max: 12, Weight: 3, Align: table.Right, Cell: s.ttlCell, Compare: s.compareTTL},
		{Key: "cost", Title: "$/H", Min: 4, Priority: 6, Align: table.Right, Cell: dim(func(e *entry) string { return present.Cost(e.sb) }), Compare: compareCost},
		{Key: "owner", Title: "OWNER", Max: 16, Weight: 1, Priority: 7, Cell: dim(func(e *entry) string { return s.opt.Owner.Column(e.sb) }), Compare: byText(func(e *entry) string { return s.opt.Owner.Column(e.sb) })},
	}
}

// span is a cell of one style. The table paints a cell before it asks for the
// next one, so that all cells share one piece of memory.
func (s *Screen) span(text string, st uv.Style) []table.Span {
	s.spans = append(s.spans[:0], table.Span{Text: text, Style: st})
	return s.spans
}

// at is the time at the row's provider now.
func (s *Screen) at(e *entry) time.Time { return e.src.clock.At(s.store.now) }

func (s *Screen) nameCell(e *entry, _ int) []table.Span {
	st := uv.Style{}
	if e.sb.Name != "" {
		st = s.env.Theme.Text.Strong
	}
	return s.span(present.Label(e.sb), st)
}

// badgeCell is one mark: protected, stray, or about to end.
func (s *Screen) badgeCell(e *entry, _ int) []table.Span {
	t := s.env.Theme
	left, kind := present.Left(e.sb, s.at(e))
	switch {
	case client.Protected(e.sb):
		return s.span(t.Symbol.Lock, t.Text.Info)
	case len(e.stray) > 0:
		return s.span(t.Symbol.Stray, t.Text.Warn)
	case kind == client.EndAt && left < lowTTL:
		return s.span(t.Symbol.Warn, t.Text.Warn)
	default:
		return nil
	}
}

// stateCell is the provider's word with its symbol, or how far a kill has got.
func (s *Screen) stateCell(e *entry, width int) []table.Span {
	t := s.env.Theme
	if text := s.killText(e, width); text != "" {
		return s.span(text, t.Text.Warn)
	}
	word := present.StateWord(e.sb)
	st := t.State(word)
	out := s.span(st.Symbol, st.Style)
	return append(out, table.Span{Text: " ", Style: st.Style}, table.Span{Text: word, Style: st.Style})
}

// killText words the stage of a kill in a width, or "".
func (s *Screen) killText(e *entry, width int) string {
	switch e.kill {
	case killPending:
		return fmt.Sprintf("dies in %d s", seconds(e.killAt.Sub(s.store.now)))
	case killSending:
		return "killing…"
	case killAccepted:
		if !e.stuckKill(s.store.now) {
			return "deleting…"
		}
		if width >= len("accepted but still there") {
			return "accepted but still there"
		}
		return "still there"
	default:
		return ""
	}
}

// seconds rounds up and is never negative.
func seconds(d time.Duration) int64 { return int64(max(0, d)+time.Second-1) / int64(time.Second) }

func (s *Screen) ttlCell(e *entry, width int) []table.Span {
	t := s.env.Theme
	now := s.at(e)
	text := present.TTL(e.sb, now)
	left, kind := present.Left(e.sb, now)
	if kind != client.EndAt {
		return s.span(text, t.Text.Dim)
	}
	st := uv.Style{}
	full := t.Bar.GaugeFull
	if left < lowTTL {
		st, full = t.Text.Warn, t.Bar.GaugeLow
	}
	total := e.sb.ExpiresAt.Sub(e.sb.StartedAt)
	if width < gaugeCells+1+6 || total <= 0 {
		return s.span(text, st)
	}
	n := int((max(0, left)*gaugeCells + total - 1) / total)
	n = min(max(0, n), gaugeCells)
	out := s.span("", full)[:0]
	for i := range gaugeCells {
		if i < n {
			out = append(out, table.Span{Text: t.Symbol.GaugeFull, Style: full})
		} else {
			out = append(out, table.Span{Text: t.Symbol.GaugeEmpty, Style: t.Bar.GaugeEmpty})
		}
	}
	const blanks = "       "
	pad := blanks[:max(1, len(blanks)-ansi.StringWidth(text))]
	s.spans = append(out, table.Span{Text: pad}, table.Span{Text: text, Style: st})
	return s.spans
}

// compareTTL puts what ends soonest first and what never ends last.
func (s *Screen) compareTTL(a, b *entry) int {
	al, ak := present.Left(a.sb, s.at(a))
	bl, bk := present.Left(b.sb, s.at(b))
	if ak != client.EndAt || bk != client.EndAt {
		return cmp.Compare(ak, bk)
	}
	return cmp.Compare(al, bl)
}

func compareCost(a, b *entry) int {
	x, xok := present.HourlyCost(a.sb)
	y, yok := present.HourlyCost(b.sb)
	switch {
	case xok && yok:
		return cmp.Compare(x, y)
	case xok:
		return -1
	case yok:
		return 1
	default:
		return 0
	}
}

// rowVersion changes when a row would be painted differently: by a change of
// the row, of its provider's health, or of what its times say.
func (s *Screen) rowVersion(e *entry) uint64 {
	const prime = 1099511628211
	now := s.at(e)
	mix := func(v uint64, n int64) uint64 { return (v ^ uint64(n)) * prime }
	v := mix(14695981039346656037, int64(e.version))
	age := now.Sub(e.sb.StartedAt)
	v = mix(v, bucket(age, time.Minute))
	if left, kind := present.Left(e.sb, now); kind == client.EndAt {
		v = mix(v, bucket(left, lowTTL))
	}
	if e.kill != killNone {
		v = mix(v, s.store.now.Unix())
	}
	return v
}

// bucket is d in the unit that is shown: seconds below limit, else minutes.
func bucket(d, limit time.Duration) int64 {
	if d < limit {
		return int64(d / time.Second)
	}
	return int64(time.Hour) + int64(d/time.Minute)
}

func (s *Screen) rowKind(e *entry) table.RowKind {
	switch {
	case e.kill == killSending || e.kill == killAccepted:
		return table.RowTombstone
	case e.stale():
		return table.RowStale
	default:
		return table.RowNormal
	}
}

// styleOf picks the chip style of a level.
func styleOf(t *theme.Theme, l chipLevel) (uv.Style, string) {
	switch l {
	case chipOK:
		return t.Bar.ChipOK, t.Symbol.OK
	case chipWarn:
		return t.Bar.ChipWarn, t.Symbol.Warn
	case chipError:
		return t.Bar.ChipError, t.Symbol.Fail
	default:
		return t.Bar.Chip, t.Symbol.Busy
	}
}
