package sandboxes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/client"
	"abxdash/theme"
	"abxdash/ui/lang"
	"abxdash/ui/spark"
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

// columnInfo is every column in its usual order, for choosing.
func columnInfo() []columnChoice {
	return []columnChoice{
		{key: "name", title: lang.Mark("NAME/ID"), help: lang.Mark("name, else id; always shown")},
		{key: "provider", title: lang.Mark("PROVIDER"), help: lang.Mark("where it runs")},
		{key: "template", title: lang.Mark("TEMPLATE"), help: lang.Mark("what it was made of")},
		{key: "state", title: lang.Mark("STATE"), help: lang.Mark("as the provider says, and how long idle")},
		{key: "isolation", title: lang.Mark("ISOLATION"), help: lang.Mark("what separates it from the machine")},
		{key: "cpu", title: lang.Mark("CPU"), help: lang.Mark("use where it is measured, else vCPUs")},
		{key: "memory", title: lang.Mark("MEM"), help: lang.Mark("use where it is measured, else size")},
		{key: "age", title: lang.Mark("AGE"), help: lang.Mark("since its start")},
		{key: "ttl", title: lang.Mark("TTL"), help: lang.Mark("time left")},
		{key: "cost", title: lang.Mark("$/H"), help: lang.Mark("price per hour, estimate")},
		{key: "spent", title: lang.Mark("SPENT"), help: lang.Mark("cost so far, estimate")},
		{key: "projected", title: lang.Mark("TO END"), help: lang.Mark("cost when it ends by itself, estimate")},
		{key: "owner", title: lang.Mark("OWNER"), help: lang.Mark("who made it")},
		{key: "id", title: lang.Mark("ID"), help: lang.Mark("the id, beside a name")},
		{key: "stray", title: lang.Mark("STRAY"), help: lang.Mark("why it looks forgotten")},
		{key: "caps", title: lang.Mark("CAPS"), help: lang.Mark("what it can do, a letter each; @ says it in words")},
	}
}

// usualColumns are shown to whoever has not chosen. Isolation is among them
// while it says anything: for sandboxes on this machine.
func (s *Screen) usualColumns() []string {
	out := []string{"name", "provider", "template", "state"}
	if s.shape.isolated {
		out = append(out, "isolation")
	}
	return append(out, "cpu", "memory", "age", "ttl", "cost", "owner")
}

// columnKeys are the columns to show. A list without identities would be
// useless, so the name is always there.
func (s *Screen) columnKeys() []string {
	keys := s.view.Columns
	if len(keys) == 0 {
		return s.usualColumns()
	}
	if !slices.Contains(keys, "name") {
		keys = append([]string{"name"}, keys...)
	}
	return keys
}

// columns of the table, in the order of the view; the badge goes with the name.
// Those not shown are still there to sort by.
func (s *Screen) columns() []table.Column[*entry] {
	var out []table.Column[*entry]
	for _, k := range s.columnKeys() {
		c, ok := s.column(k)
		if !ok {
			continue
		}
		out = append(out, c)
		if k == "name" {
			out = append(out, table.Column[*entry]{Key: "badge", Title: "", Min: 1, Cell: s.badgeCell})
		}
	}
	for _, info := range columnInfo() {
		if c, ok := s.column(info.key); ok && !slices.ContainsFunc(out, func(c table.Column[*entry]) bool { return c.Key == info.key }) {
			c.Hidden = true
			out = append(out, c)
		}
	}
	return out
}

// column describes one column. From the last priority on they give way to
// narrow windows; the name keeps room for a whole id.
func (s *Screen) column(key string) (table.Column[*entry], bool) {
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
	owner := func(e *entry) string { return s.opt.Owner.Column(e.sb) }
	rates := s.opt.Rates
	money := func(f func(client.Sandbox, time.Time) (float64, bool)) (cell func(*entry) string, compare func(a, b *entry) int) {
		return func(e *entry) string { return present.MoneyOr(f(e.sb, s.at(e))) },
			func(a, b *entry) int {
				x, xok := f(a.sb, s.at(a))
				y, yok := f(b.sb, s.at(b))
				return compareKnown(x, xok, y, yok)
			}
	}
	hourly := func(sb client.Sandbox, _ time.Time) (float64, bool) { return rates.Hourly(sb) }
	col := table.Column[*entry]{Key: key}
	for _, c := range columnInfo() {
		if c.key == key {
			col.Title = s.env.Lang.Word(c.title)
		}
	}
	switch key {
	case "name":
		col.Min, col.Max, col.Weight, col.ElideMiddle = idCells, 48, 4, true
		if s.narrow {
			col.Min = 10
		}
		col.Cell = s.nameCell
		col.Compare = byText(func(e *entry) string { return strings.ToLower(present.Label(e.sb)) })
	case "id":
		col.Min, col.Priority, col.ElideMiddle = 8, 9, true
		col.Max, col.Weight = idCells, 1
		id := func(e *entry) string { return present.Clean(string(e.sb.ID)) }
		col.Cell, col.Compare = dim(id), byText(id)
	case "provider":
		col.Max, col.Weight, col.Priority = 18, 1, 2
		col.Cell, col.Compare = dim(provider), byText(provider)
	case "template":
		col.Max, col.Weight, col.Priority = 24, 2, 3
		col.Cell, col.Compare = text(template), byText(template)
	case "state":
		col.Min, col.Max, col.Weight = 9, 24, 1
		col.Cell, col.Compare = s.stateCell, s.compareState
	case "isolation":
		col.Max, col.Weight, col.Priority = 16, 1, 4
		col.Cell = s.isolationCell
		col.Compare = byText(func(e *entry) string { return present.IsolationWord(e.sb) })
	case "cpu":
		col.Min, col.Priority, col.Align = 4, 5, table.Right
		if s.shape.measured {
			col.Min, col.Max, col.Weight = 8, 14, 1
		}
		col.Cell, col.Compare = s.cpuCell, compareCPU
	case "memory":
		col.Priority, col.Align = 6, table.Right
		col.Cell, col.Compare = dim(memoryText), func(a, b *entry) int { return cmp.Compare(memoryOf(a), memoryOf(b)) }
	case "age":
		col.Min, col.Priority, col.Align = 5, 1, table.Right
		col.Cell = text(func(e *entry) string { return present.Age(e.sb.StartedAt, s.at(e)) })
		col.Compare = func(a, b *entry) int { return b.sb.StartedAt.Compare(a.sb.StartedAt) }
	case "ttl":
		col.Min, col.Max, col.Weight, col.Align = 7, 12, 12, table.Right
		col.Cell, col.Compare = s.ttlCell, s.compareTTL
	case "cost", "spent", "projected":
		f := map[string]func(client.Sandbox, time.Time) (float64, bool){"cost": hourly, "spent": rates.Spent, "projected": rates.Projected}[key]
		cell, compare := money(f)
		col.Min, col.Priority, col.Align = 5, 7, table.Right
		if key != "cost" {
			col.Min = 6
		}
		col.Cell, col.Compare = dim(cell), compare
	case "owner":
		col.Max, col.Weight, col.Priority = 16, 1, 8
		col.Cell, col.Compare = dim(owner), byText(owner)
	case "stray":
		why := func(e *entry) string { return strings.Join(e.stray, ", ") }
		col.Max, col.Weight, col.Priority = 60, 2, 9
		col.Cell, col.Compare = dim(why), byText(why)
	case "caps":
		caps := func(e *entry) string { return e.src.badges }
		col.Min, col.Priority = 9, 9
		col.Cell, col.Compare = dim(caps), byText(caps)
	default:
		return col, false
	}
	return col, true
}

// isolationCell shortens the one long word where there is no room for it.
func (s *Screen) isolationCell(e *entry, width int) []table.Span {
	word := present.IsolationWord(e.sb)
	if e.sb.Isolation == client.IsolationLandlock && width < len(word) {
		word = "landlock"
	}
	st := s.env.Theme.Text.Dim
	if e.sb.Isolation == client.IsolationProcess || e.sb.Isolation == client.IsolationLandlock {
		// The weak levels are worth a look.
		st = s.env.Theme.Text.Warn
	}
	return s.span(word, st)
}

// cpuCell is "▂▃▅ 41%" where the use is measured, else the number of vCPUs.
func (s *Screen) cpuCell(e *entry, width int) []table.Span {
	t := s.env.Theme
	if e.use == nil || len(e.use.cpu) == 0 {
		return s.span(present.CPU(e.sb.CPU), t.Text.Dim)
	}
	percent := fmt.Sprintf("%3.0f%%", e.use.cpu[len(e.use.cpu)-1])
	out := s.span("", t.Text.Info)[:0]
	if room := width - len(percent) - 1; room >= 3 {
		line := spark.Line(e.use.cpu, 100, min(room, sparkMax), t)
		out = append(out, table.Span{Text: line, Style: t.Text.Info}, table.Span{Text: " "})
	}
	s.spans = append(out, table.Span{Text: percent})
	return s.spans
}

// memoryOf is the memory in use where it is measured, else the size, in bytes.
func memoryOf(e *entry) int64 {
	if e.use != nil && e.use.mem > 0 {
		return e.use.mem
	}
	return e.sb.MemoryMB << 20
}

func memoryText(e *entry) string {
	if n := memoryOf(e); n > 0 {
		return present.Size(n)
	}
	return present.TTLUnset
}

// compareCPU puts what is measured first, by use, then by size.
func compareCPU(a, b *entry) int {
	of := func(e *entry) (float64, bool) {
		if e.use == nil || len(e.use.cpu) == 0 {
			return 0, false
		}
		return e.use.cpu[len(e.use.cpu)-1], true
	}
	x, xok := of(a)
	y, yok := of(b)
	return cmp.Or(compareKnown(x, xok, y, yok), cmp.Compare(a.sb.CPU, b.sb.CPU))
}

// compareState keeps equal states together, the idle ones by how long.
func (s *Screen) compareState(a, b *entry) int {
	return cmp.Or(strings.Compare(string(a.sb.State), string(b.sb.State)), cmp.Compare(a.idleFor(s.at(a)), b.idleFor(s.at(b))))
}

// compareKnown puts what is not known last.
func compareKnown(x float64, xok bool, y float64, yok bool) int {
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
	case s.store.opt.Protected.Of(e.sb):
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
	word = s.env.Lang.Word(word)
	if idle := e.idleFor(s.at(e)); idle >= idleShown {
		st, word = t.State("idle"), s.env.Lang.T("idle %s", present.Duration(idle))
		if ansi.StringWidth(st.Symbol+" "+word) > width {
			word = s.env.Lang.T("idle") // half a time would be a wrong one; the preview has it
		}
	}
	out := s.span(st.Symbol, st.Style)
	return append(out, table.Span{Text: " ", Style: st.Style}, table.Span{Text: word, Style: st.Style})
}

// killText words the stage of a kill in a width, or "".
func (s *Screen) killText(e *entry, width int) string {
	tr := s.env.Lang
	switch e.kill {
	case killPending:
		left := seconds(e.killAt.Sub(s.store.now))
		if text := tr.T("dies in %d s", left); ansi.StringWidth(text) <= width {
			return text
		}
		return tr.T("dies %ds", left)
	case killSending:
		return tr.T("killing…")
	case killAccepted:
		if !e.stuckKill(s.store.now) {
			return tr.T("deleting…")
		}
		if text := tr.T("accepted but still there"); ansi.StringWidth(text) <= width {
			return text
		}
		return tr.T("still there")
	default:
		return ""
	}
}

// seconds rounds up and is never negative.
func seconds(d time.Duration) int64 { return int64(max(0, d)+time.Second-1) / int64(time.Second) }

func (s *Screen) ttlCell(e *entry, width int) []table.Span {
	t := s.env.Theme
	now := s.at(e)
	text := s.env.Lang.Word(present.TTL(e.sb, now))
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
	if idle := e.idleFor(now); idle >= idleShown {
		v = mix(v, int64(idle/time.Minute))
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
