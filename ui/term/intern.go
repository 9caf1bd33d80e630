package term

// Bounds of the interning tables. When a table is full, entries that no cell
// uses are dropped; if that is not enough, new styles lose their rarest part.
const (
	maxStyles      = 1 << 16
	maxClusters    = 1 << 15
	maxLinks       = 1 << 12
	maxClusterSize = 64
	maxLinkSize    = 2048
)

type styleSlot struct {
	style Style
	id    StyleID
	used  bool
}

// styleTable interns styles. id 0 is the zero style.
type styleTable struct {
	list []Style
	free []StyleID
	ids  map[Style]StyleID
	// recent is a direct-mapped cache in front of ids.
	recent [64]styleSlot
	// gen changes when ids may have been given to other styles.
	gen uint64
}

func newStyleTable() styleTable {
	return styleTable{list: make([]Style, 1, 64), ids: map[Style]StyleID{{}: 0}}
}

func (t *styleTable) get(id StyleID) Style {
	if int(id) < len(t.list) {
		return t.list[id]
	}
	return Style{}
}

func styleHash(s *Style) uint32 {
	h := uint32(s.Fg)*0x9E3779B1 ^ uint32(s.Bg)*0x85EBCA6B ^ uint32(s.UnderlineColor)*0xC2B2AE35
	h ^= (uint32(s.Attrs) | uint32(s.Underline)<<16 | uint32(s.Link)<<19) * 0x27D4EB2F
	return h >> 26
}

// intern returns the id of s; ok is false if the table is full.
func (t *styleTable) intern(s Style) (id StyleID, ok bool) {
	slot := &t.recent[styleHash(&s)]
	if slot.used && slot.style == s {
		return slot.id, true
	}
	id, ok = t.ids[s]
	if !ok {
		switch {
		case len(t.free) > 0:
			id = t.free[len(t.free)-1]
			t.free = t.free[:len(t.free)-1]
			t.list[id] = s
		case len(t.list) < maxStyles:
			id = StyleID(len(t.list))
			t.list = append(t.list, s)
		default:
			return 0, false
		}
		t.ids[s] = id
	}
	*slot = styleSlot{style: s, id: id, used: true}
	return id, true
}

// sweep drops every style that is not in live.
func (t *styleTable) sweep(live []bool) {
	t.free = t.free[:0]
	for id := len(t.list) - 1; id > 0; id-- {
		if !live[id] {
			if have, ok := t.ids[t.list[id]]; ok && have == StyleID(id) {
				delete(t.ids, t.list[id])
			}
			t.free = append(t.free, StyleID(id))
		}
	}
	t.recent = [64]styleSlot{}
	t.gen++
}

// textTable interns short strings under ids from 1 up.
type textTable struct {
	list []string
	free []int
	ids  map[string]int
	max  int
}

func newTextTable(limit int) textTable {
	return textTable{list: make([]string, 1), ids: map[string]int{}, max: limit}
}

func (t *textTable) get(id int) string {
	if id > 0 && id < len(t.list) {
		return t.list[id]
	}
	return ""
}

func (t *textTable) intern(s string) (id int, ok bool) {
	if id, ok = t.ids[s]; ok {
		return id, true
	}
	switch {
	case len(t.free) > 0:
		id = t.free[len(t.free)-1]
		t.free = t.free[:len(t.free)-1]
		t.list[id] = s
	case len(t.list) < t.max:
		id = len(t.list)
		t.list = append(t.list, s)
	default:
		return 0, false
	}
	t.ids[s] = id
	return id, true
}

func (t *textTable) sweep(live []bool) {
	t.free = t.free[:0]
	for id := len(t.list) - 1; id > 0; id-- {
		if !live[id] {
			if t.list[id] != "" {
				delete(t.ids, t.list[id])
				t.list[id] = ""
			}
			t.free = append(t.free, id)
		}
	}
}

// collect drops styles, clusters and links that no cell uses any more.
func (t *Terminal) collect() {
	styles := make([]bool, len(t.styles.list))
	clusters := make([]bool, len(t.clusters.list))
	links := make([]bool, len(t.links.list))
	mark := func(cells []Cell) {
		for i := range cells {
			styles[cells[i].Style] = true
			if cells[i].R < 0 {
				clusters[-cells[i].R] = true
			}
		}
	}
	for _, s := range [...]*screen{&t.main, &t.alt} {
		for _, r := range s.rows {
			mark(r.cells)
		}
		links[s.cur.pen.Link] = true
		links[s.saved.pen.Link] = true
	}
	for i := range t.scroll.len() {
		mark(t.scroll.at(i).cells)
	}
	for id, live := range styles {
		if live {
			links[t.styles.list[id].Link] = true
		}
	}
	t.styles.sweep(styles)
	t.clusters.sweep(clusters)
	t.links.sweep(links)
	t.penOK, t.blankOK = false, false
	t.collections++
}

// sweepPause is how many failed look-ups pass before a table that stayed
// nearly full is swept again, so that a picture with more colours than the
// table holds does not sweep once a cell.
const sweepPause = 8192

// makeRoom sweeps unless a recent sweep found next to nothing.
func (t *Terminal) makeRoom() {
	if t.sweepWait > 0 {
		t.sweepWait--
		return
	}
	t.collect()
	room := func(limit, used, free int) bool { return limit-used+free >= limit/16 }
	if !room(maxStyles, len(t.styles.list), len(t.styles.free)) ||
		!room(maxClusters, len(t.clusters.list), len(t.clusters.free)) ||
		!room(maxLinks, len(t.links.list), len(t.links.free)) {
		t.sweepWait = sweepPause
	}
}

// styleID interns s, making room if need be.
func (t *Terminal) styleID(s Style) StyleID {
	if id, ok := t.styles.intern(s); ok {
		return id
	}
	t.makeRoom()
	if id, ok := t.styles.intern(s); ok {
		return id
	}
	return t.styles.ids[Style{Fg: coarseColor(s.Fg), Bg: coarseColor(s.Bg), Attrs: s.Attrs}]
}

// coarseColor maps a 24-bit colour to the 6×6×6 cube of the palette.
func coarseColor(c Color) Color {
	r, g, b, ok := c.Components()
	if !ok {
		return c
	}
	level := func(v uint8) uint8 { return uint8((int(v)*5 + 127) / 255) }
	return Indexed(16 + 36*level(r) + 6*level(g) + level(b))
}

// clusterRune interns a cluster and returns the negative rune that stands for it.
func (t *Terminal) clusterRune(s string) (rune, bool) {
	id, ok := t.clusters.intern(s)
	if !ok {
		t.makeRoom()
		id, ok = t.clusters.intern(s)
	}
	return rune(-id), ok
}
