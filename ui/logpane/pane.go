package logpane

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui/form"
	"abxdash/ui/lang"
)

// Pane is a view over Lines. It is used by one goroutine. While following it
// shows the end; otherwise it stays where it is, by line number, whatever arrives.
type Pane struct {
	lines Lines
	keys  *keymap.Map
	// Lang is the language of what the pane says; nil is English.
	Lang *lang.Catalog

	follow bool
	wrap   bool
	times  bool
	errors bool

	top  pos // first row on screen while not following
	left int // first column on screen without wrapping
	seen int // number after the newest line when following ended
	area uv.Rectangle
	last pos // first row of the last Draw

	search *form.Input // open while a search is typed
	query  string
	found  int // line number of the current match, -1 without one
	missed bool

	cache map[int]cached
	used  map[int]cached
}

// pos is a row: a line by its number for good, and a row within the wrapped line.
type pos struct{ line, row int }

// cached is a parsed line with what it was parsed from.
type cached struct {
	raw string
	parsed
	wrapWidth int
	rows      []int // columns at which the rows of the wrapped line begin
}

// New makes a pane that follows lines; lines may be nil.
func New(keys *keymap.Map, lines Lines) *Pane {
	p := &Pane{keys: keys, cache: make(map[int]cached), used: make(map[int]cached)}
	p.SetLines(lines)
	return p
}

// SetLines shows something else, from its end on.
func (p *Pane) SetLines(lines Lines) {
	p.lines = lines
	p.follow, p.found, p.missed, p.left = true, -1, false, 0
	clear(p.cache)
}

// bounds are the numbers of the first line held and of the one after the last.
func (p *Pane) bounds() (first, next int) {
	if p.lines == nil {
		return 0, 0
	}
	first = p.lines.Dropped()
	return first, first + p.lines.Len()
}

// line is a line by number, made safe.
func (p *Pane) line(n int) (parsed, bool) {
	first := p.lines.Dropped()
	raw, isErr, _ := p.lines.At(n - first)
	if p.errors && !isErr {
		return parsed{}, false
	}
	c, ok := p.cache[n]
	if !ok || c.raw != raw {
		c = cached{raw: raw, parsed: parse(raw)}
		p.cache[n] = c
	}
	p.used[n] = c
	return c.parsed, true
}

// visible reports whether a line passes errors-only.
func (p *Pane) visible(n int) bool {
	if !p.errors {
		return true
	}
	_, isErr, _ := p.lines.At(n - p.lines.Dropped())
	return isErr
}

// rows is the number of rows a line takes at the current width; 0 if it is hidden.
func (p *Pane) rows(n int) int {
	if !p.visible(n) {
		return 0
	}
	if !p.wrap {
		return 1
	}
	return len(p.wrapped(n))
}

// wrapped is where the rows of a wrapped line begin, in columns.
func (p *Pane) wrapped(n int) []int {
	l, ok := p.line(n)
	if !ok {
		return nil
	}
	w := p.textWidth()
	c := p.cache[n]
	if c.wrapWidth != w || c.rows == nil {
		c.rows, c.wrapWidth = rowStarts(l, w), w
		p.cache[n], p.used[n] = c, c
	}
	return c.rows
}

// rowStarts cuts a line into rows of at most w columns without splitting a wide character.
func rowStarts(l parsed, w int) []int {
	w = max(w, 1)
	out := []int{0}
	col, start := 0, 0
	for _, s := range l.segs {
		if s.ascii {
			for col+s.width-start > w {
				n := start + w
				s.width -= n - col
				col, start = n, n
				out = append(out, start)
			}
			col += s.width
			continue
		}
		eachCluster(s.text, func(_ string, cw int) bool {
			if col+cw-start > w && col > start {
				start = col
				out = append(out, start)
			}
			col += cw
			return true
		})
	}
	return out
}

// gutter is the width of what stands before the text; a tiny pane has none.
func (p *Pane) gutter() int {
	g := 2
	if p.times {
		g += len("15:04:05.000 ")
	}
	if p.area.Dx() < g+4 {
		return 0
	}
	return g
}

func (p *Pane) textWidth() int { return max(p.area.Dx()-p.gutter(), 1) }

func (p *Pane) height() int {
	h := p.area.Dy()
	if p.search != nil {
		h--
	}
	return max(h, 1)
}

// Following reports whether the pane shows the end and stays there.
func (p *Pane) Following() bool { return p.follow }

// Follow goes to the end and stays there.
func (p *Pane) Follow() { p.follow = true }

// Pause stays at what is on screen now.
func (p *Pane) Pause() {
	if !p.follow {
		return
	}
	p.follow = false
	p.top = p.last
	_, p.seen = p.bounds()
}

// Behind is how many lines came since the pane was paused.
func (p *Pane) Behind() int {
	if p.follow {
		return 0
	}
	_, next := p.bounds()
	return max(next-p.seen, 0)
}

// scroll moves by n rows; reaching the end resumes following.
func (p *Pane) scroll(n int) {
	if n < 0 && p.atTop() {
		return
	}
	if n > 0 && p.follow {
		return
	}
	p.Pause()
	p.clampTop()
	for i := n; i < 0 && p.stepUp(); i++ {
	}
	for i := n; i > 0 && !p.fits() && p.stepDown(); i-- {
	}
	if p.fits() {
		p.Follow()
	}
}

func (p *Pane) atTop() bool {
	first, _ := p.bounds()
	at := p.top
	if p.follow {
		at = p.last
	}
	return at.line <= first && at.row == 0
}

func (p *Pane) stepUp() bool {
	if p.top.row > 0 {
		p.top.row--
		return true
	}
	first, _ := p.bounds()
	for n := p.top.line - 1; n >= first; n-- {
		if r := p.rows(n); r > 0 {
			p.top = pos{n, r - 1}
			return true
		}
	}
	return false
}

func (p *Pane) stepDown() bool {
	_, next := p.bounds()
	if p.top.row+1 < p.rows(p.top.line) {
		p.top.row++
		return true
	}
	for n := p.top.line + 1; n < next; n++ {
		if p.rows(n) > 0 {
			p.top = pos{n, 0}
			return true
		}
	}
	return false
}

// fits reports whether everything from the top on fits on the screen.
func (p *Pane) fits() bool {
	_, next := p.bounds()
	left := p.height() + p.top.row
	for n := p.top.line; n < next; n++ {
		if left -= p.rows(n); left < 0 {
			return false
		}
	}
	return true
}

// clampTop keeps the top within what is held and visible.
func (p *Pane) clampTop() {
	first, next := p.bounds()
	if p.top.line < first {
		p.top = pos{first, 0}
	}
	p.top.line = max(min(p.top.line, next-1), first)
	for p.top.line < next-1 && p.rows(p.top.line) == 0 {
		p.top = pos{p.top.line + 1, 0}
	}
	p.top.row = max(min(p.top.row, p.rows(p.top.line)-1), 0)
}

// tail is the first row when the end is shown.
func (p *Pane) tail() pos {
	first, next := p.bounds()
	left := p.height()
	at := pos{max(next-1, first), 0}
	for n := next - 1; n >= first && left > 0; n-- {
		r := p.rows(n)
		if r == 0 {
			continue
		}
		at = pos{n, max(r-left, 0)}
		left -= r
	}
	return at
}

// Do carries out an action of keymap.Logs or keymap.Move and reports whether it was one.
func (p *Pane) Do(a keymap.Action) bool {
	switch a {
	case keymap.LogFollow:
		if p.follow {
			p.Pause()
		} else {
			p.Follow()
		}
	case keymap.ViewWrap:
		p.setWrap(!p.wrap)
	case keymap.LogTime:
		p.times = !p.times
	case keymap.LogErrors:
		p.errors = !p.errors
	case keymap.SearchOpen:
		p.search = form.NewInput(p.keys, keymap.Input, "/")
		p.search.Placeholder = p.Lang.T("search")
	case keymap.SearchNext:
		p.next(1)
	case keymap.SearchPrev:
		p.next(-1)
	default:
		return p.move(a)
	}
	return true
}

func (p *Pane) move(a keymap.Action) bool {
	if p.lines == nil {
		return false
	}
	switch a {
	case keymap.MoveUp:
		p.scroll(-1)
	case keymap.MoveDown:
		p.scroll(1)
	case keymap.MovePageUp:
		p.scroll(-max(p.height()-1, 1))
	case keymap.MovePageDown:
		p.scroll(max(p.height()-1, 1))
	case keymap.MoveHalfUp:
		p.scroll(-max(p.height()/2, 1))
	case keymap.MoveHalfDown:
		p.scroll(max(p.height()/2, 1))
	case keymap.MoveTop:
		p.Pause()
		first, _ := p.bounds()
		p.top = pos{first, 0}
	case keymap.MoveBottom:
		p.Follow()
	case keymap.MoveLeft:
		p.left = max(p.left-p.textWidth()/2, 0)
	case keymap.MoveRight:
		if !p.wrap {
			p.left = min(p.left+max(p.textWidth()/2, 1), maxLine)
		}
	default:
		return false
	}
	return true
}

func (p *Pane) setWrap(on bool) {
	p.wrap, p.left, p.top.row = on, 0, 0
}

// SetWrap sets wrapping; SetTimes and SetErrorsOnly the other switches.
func (p *Pane) SetWrap(on bool) { p.setWrap(on) }

// SetTimes shows or hides the time of each line.
func (p *Pane) SetTimes(on bool) { p.times = on }

// SetErrorsOnly shows standard error only, or everything.
func (p *Pane) SetErrorsOnly(on bool) { p.errors = on }

// Captures reports that a search is being typed: pass keys to Update.
func (p *Pane) Captures() bool { return p.search != nil }

// Keys are the contexts that hold in the pane.
func (p *Pane) Keys() []keymap.Context {
	if p.search != nil {
		return []keymap.Context{keymap.Input}
	}
	return []keymap.Context{keymap.Logs}
}

// Back leaves the search, first its line, then its highlights, and reports whether there was one.
func (p *Pane) Back() bool {
	had := p.search != nil || p.query != ""
	p.search, p.query, p.found, p.missed = nil, "", -1, false
	return had
}

// Update takes keys and pastes while the pane captures, and the mouse wheel.
func (p *Pane) Update(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		p.wheel(msg.Mouse())
	case tea.KeyPressMsg, tea.PasteMsg:
		if p.search == nil {
			return
		}
		switch p.search.Update(msg) {
		case form.Cancelled:
			p.Back()
		case form.Accepted:
			p.search = nil
		case form.Changed:
			p.query = p.search.Value()
			p.find()
		}
	}
}

func (p *Pane) wheel(m tea.Mouse) {
	if !uv.Pos(m.X, m.Y).In(p.area) {
		return
	}
	switch m.Button {
	case tea.MouseWheelUp:
		p.scroll(-3)
	case tea.MouseWheelDown:
		p.scroll(3)
	}
}

// Status says what the pane does in a few words: "FOLLOWING  1,284 lines".
func (p *Pane) Status() string {
	first, next := p.bounds()
	word := p.Lang.T("FOLLOWING")
	if !p.follow {
		word = p.Lang.T("PAUSED")
		if n := p.Behind(); n > 0 {
			word += " +" + itoa(n)
		}
	}
	parts := []string{word, p.Lang.N(next, "%s line", "%s lines", itoa(next))}
	if first > 0 {
		parts = append(parts, p.Lang.T("%s dropped", itoa(first)))
	}
	if p.errors {
		parts = append(parts, p.Lang.T("errors only"))
	}
	if p.wrap {
		parts = append(parts, p.Lang.T("wrap"))
	}
	if p.query != "" {
		q := "/" + p.query
		if p.missed {
			q = p.Lang.T("%s not found", q)
		}
		parts = append(parts, q)
	}
	return strings.Join(parts, " · ")
}

// Badge is the style of Status: following is calm, paused stands out.
func (p *Pane) Badge(t *theme.Theme) uv.Style {
	if p.follow {
		return t.Bar.ChipOK
	}
	return t.Bar.ChipWarn
}

// Text is everything held, made safe and without colours, a line end after each line.
func (p *Pane) Text() string {
	var b strings.Builder
	first, next := p.bounds()
	for n := first; n < next; n++ {
		raw, isErr, _ := p.lines.At(n - first)
		if p.errors && !isErr {
			continue
		}
		b.WriteString(parse(raw).plain)
		b.WriteByte('\n')
	}
	return b.String()
}
