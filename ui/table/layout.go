package table

// gap is the blank between two columns; lead is the room for the cursor, the mark and a blank.
const (
	gap  = 2
	lead = 3
)

// sizing is what layout needs to know of a column.
type sizing struct {
	min, max, weight, priority int
	hidden                     bool
}

// layout is the columns shown at a width and how wide each is.
type layout struct {
	width int
	cols  []int // positions in the configuration
	sizes []int
	total int // cells used, gaps included
}

// fit chooses columns and widths for the room between lead and the right edge.
// It drops the column of the highest priority, the last one first, until the
// minimum widths fit; what is left over goes to the weighted columns.
func fit(cols []sizing, room int) layout {
	l := layout{width: room}
	for i := range cols {
		if !cols[i].hidden {
			l.cols = append(l.cols, i)
		}
	}
	for need(cols, l.cols) > room && drop(cols, &l.cols) {
	}
	l.sizes = make([]int, len(l.cols))
	spare := room
	for i, c := range l.cols {
		l.sizes[i] = cols[c].min
		spare -= cols[c].min
		if i > 0 {
			spare -= gap
		}
	}
	if spare < 0 {
		// Only undroppable columns are left: the last ones shrink.
		for i := len(l.sizes) - 1; i >= 0 && spare < 0; i-- {
			cut := min(-spare, max(l.sizes[i]-1, 0))
			l.sizes[i] -= cut
			spare += cut
		}
	}
	grow(cols, &l, spare)
	for i, w := range l.sizes {
		l.total += w
		if i > 0 {
			l.total += gap
		}
	}
	return l
}

func need(cols []sizing, shown []int) int {
	n := 0
	for i, c := range shown {
		n += cols[c].min
		if i > 0 {
			n += gap
		}
	}
	return n
}

func drop(cols []sizing, shown *[]int) bool {
	worst := -1
	for i, c := range *shown {
		if p := cols[c].priority; p > 0 && (worst < 0 || p >= cols[(*shown)[worst]].priority) {
			worst = i
		}
	}
	if worst < 0 {
		return false
	}
	*shown = append((*shown)[:worst], (*shown)[worst+1:]...)
	return true
}

// grow hands out spare cells by weight until nobody can take more.
func grow(cols []sizing, l *layout, spare int) {
	for spare > 0 {
		weights := 0
		for i, c := range l.cols {
			if canGrow(cols[c], l.sizes[i]) {
				weights += cols[c].weight
			}
		}
		if weights == 0 {
			return
		}
		before := spare
		for i, c := range l.cols {
			if spare == 0 || !canGrow(cols[c], l.sizes[i]) {
				continue
			}
			give := min(max(before*cols[c].weight/weights, 1), spare)
			if m := cols[c].max; m > 0 {
				give = min(give, m-l.sizes[i])
			}
			l.sizes[i] += give
			spare -= give
		}
	}
}

func canGrow(c sizing, size int) bool { return c.weight > 0 && (c.max == 0 || size < c.max) }
