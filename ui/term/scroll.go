package term

// ScrollRow is one row of the scroll-back. Cells beyond len(cells) are blank.
type scrollRow struct {
	cells   []Cell
	wrapped bool
	mark    Mark
}

// rowOverhead is what a scroll-back row costs besides its cells, in bytes.
const (
	rowOverhead = 40
	cellBytes   = 8
)

// scrollback is a ring of rows bounded by rows and bytes; oldest first.
type scrollback struct {
	ring     []scrollRow
	first, n int
	bytes    int
	maxRows  int
	maxBytes int
	// dropped counts rows that were thrown away to stay within the bounds.
	dropped uint64
}

func (s *scrollback) len() int { return s.n }

func (s *scrollback) at(i int) *scrollRow {
	j := s.first + i
	if j >= len(s.ring) {
		j -= len(s.ring)
	}
	return &s.ring[j]
}

// usedLen is the length of cells without the blanks of default style at its end.
func usedLen(cells []Cell) int {
	n := len(cells)
	for n > 0 {
		c := &cells[n-1]
		if c.R != 0 || c.Style != 0 || c.Width != 1 || c.flags != 0 {
			break
		}
		n--
	}
	return n
}

// push stores a copy of cells. The memory of the row that falls out is reused when it fits.
func (s *scrollback) push(cells []Cell, wrapped bool, mark Mark) {
	if s.maxRows <= 0 {
		return
	}
	cells = cells[:usedLen(cells)]
	reuse := s.room(len(cells))
	if cap(reuse) < len(cells) || cap(reuse) > 2*len(cells)+32 {
		reuse = make([]Cell, 0, len(cells))
	}
	s.add(scrollRow{cells: append(reuse[:0], cells...), wrapped: wrapped, mark: mark})
}

// put stores a row and takes its cells over.
func (s *scrollback) put(r scrollRow) {
	if s.maxRows > 0 {
		s.room(cap(r.cells))
		s.add(r)
	}
}

// room drops the oldest rows until one of n cells fits, and returns the memory of the last.
func (s *scrollback) room(n int) (reuse []Cell) {
	for s.n > 0 && (s.n >= s.maxRows || s.bytes+rowOverhead+n*cellBytes > s.maxBytes) {
		reuse = s.dropFirst()
	}
	return reuse
}

func (s *scrollback) add(r scrollRow) {
	if s.n == len(s.ring) {
		s.grow()
	}
	s.n++
	*s.at(s.n - 1) = r
	s.bytes += rowOverhead + cap(r.cells)*cellBytes
	for s.n > 0 && s.bytes > s.maxBytes {
		s.dropFirst()
	}
}

func (s *scrollback) dropFirst() []Cell {
	r := s.at(0)
	cells := r.cells
	s.bytes -= rowOverhead + cap(cells)*cellBytes
	*r = scrollRow{}
	if s.first++; s.first == len(s.ring) {
		s.first = 0
	}
	s.n--
	s.dropped++
	return cells
}

// popLast takes the newest row back, for a screen that grows.
func (s *scrollback) popLast() (scrollRow, bool) {
	if s.n == 0 {
		return scrollRow{}, false
	}
	r := s.at(s.n - 1)
	out := *r
	*r = scrollRow{}
	s.n--
	s.bytes -= rowOverhead + cap(out.cells)*cellBytes
	return out, true
}

func (s *scrollback) grow() {
	next := make([]scrollRow, min(max(64, 2*len(s.ring)), s.maxRows))
	for i := range s.n {
		next[i] = *s.at(i)
	}
	s.ring, s.first = next, 0
}

func (s *scrollback) clear() {
	s.ring, s.first, s.n, s.bytes = nil, 0, 0, 0
}
