package term

import (
	"fmt"
	"sync"
	"time"
)

// Bounds of a terminal. Larger requests are clamped.
const (
	MaxCols = 1000
	MaxRows = 500
	// DefaultScrollRows and DefaultScrollBytes bound the scroll-back.
	DefaultScrollRows  = 10000
	DefaultScrollBytes = 8 << 20
	// maxReplyBytes bounds what one Write may answer.
	maxReplyBytes = 16 << 10
)

// Options of a Terminal. The zero value works. The callbacks run on the
// goroutine that called Write, after the terminal's lock was released; they
// must not block.
type Options struct {
	// ScrollRows and ScrollBytes bound the scroll-back; 0 is the default, below 0 none.
	ScrollRows  int
	ScrollBytes int
	// Reply gets what the terminal answers to queries.
	Reply func(p []byte)
	// Bell is called at most once per Write.
	Bell func()
	// Clipboard gets what the program wants to put on the clipboard (OSC 52).
	// nil ignores it. Reading the clipboard is never answered.
	Clipboard func(selection string, data []byte)
	// Notify gets desktop notifications (OSC 9), sanitised.
	Notify func(text string)
	// Foreground, Background and CursorColor answer OSC 10, 11 and 12 and the
	// colour scheme query. The zero value is light grey on black.
	Foreground, Background, CursorColor Color
	// CellWidth and CellHeight are the size of a cell in pixels for XTWINOPS 14
	// and 16; 0 is 10×20.
	CellWidth, CellHeight int
}

// Failure is a bug that Write survived.
type Failure struct {
	At   time.Time
	Text string
}

// Terminal is one emulated terminal. All methods may be called from any
// goroutine; at most one goroutine should call Write.
type Terminal struct {
	mu   sync.Mutex
	opt  Options
	cols int
	rows int

	parser
	styles   styleTable
	clusters textTable
	links    textTable

	main, alt screen
	// scr is main or alt.
	scr    *screen
	scroll scrollback

	// Scroll region, inclusive.
	top, bottom, left, right int
	tabs                     []bool
	modes                    Modes
	savedModes               map[int]bool
	cursorShape              CursorShape
	cursorBlink              bool
	palette                  map[uint8]Color
	fg, bg, cursorColor      Color

	title, icon, cwd string
	titleStack       []string

	// pen caches the interned style of the cursor, and the one of erased cells.
	penID, blankID StyleID
	penOK, blankOK bool
	blankRow       []Cell

	// last is the cell that a combining character would join.
	last lastCell
	// repeat is the last printed character, for REP.
	repeat rune

	version     uint64
	collections int
	sweepWait   int
	syncSince   time.Time
	queries     uint64
	mute        bool
	failure     *Failure
	failures    int

	out    []byte
	events []event
	bell   bool
	clock  func() time.Time
}

type lastCell struct {
	x, y int
	ok   bool
}

// event is a callback that is due after the lock is released.
type event struct {
	clipboard string
	data      []byte
	notify    string
}

// New makes a terminal of cols×rows cells, clamped to 1..MaxCols and 1..MaxRows.
func New(cols, rows int, o Options) *Terminal {
	t := &Terminal{opt: o, clock: time.Now}
	if t.opt.Foreground.IsDefault() {
		t.opt.Foreground = RGB(0xd0, 0xd0, 0xd0)
	}
	if t.opt.Background.IsDefault() {
		t.opt.Background = RGB(0, 0, 0)
	}
	if t.opt.CursorColor.IsDefault() {
		t.opt.CursorColor = t.opt.Foreground
	}
	if t.opt.CellWidth <= 0 || t.opt.CellHeight <= 0 {
		t.opt.CellWidth, t.opt.CellHeight = 10, 20
	}
	t.scroll.maxRows = orDefault(o.ScrollRows, DefaultScrollRows)
	t.scroll.maxBytes = orDefault(o.ScrollBytes, DefaultScrollBytes)
	t.cols, t.rows = clampSize(cols, rows)
	t.init()
	return t
}

func orDefault(v, def int) int {
	if v == 0 {
		return def
	}
	return max(v, 0)
}

func clampSize(cols, rows int) (int, int) {
	return min(max(cols, 1), MaxCols), min(max(rows, 1), MaxRows)
}

// init sets everything but options, size, scroll-back and counters to its start.
func (t *Terminal) init() {
	t.parser = parser{}
	t.styles, t.clusters, t.links = newStyleTable(), newTextTable(maxClusters), newTextTable(maxLinks)
	t.main, t.alt = screen{}, screen{}
	t.scr = &t.main
	t.blankRow = nil
	t.resetState()
	t.main.rows = t.newRows(t.rows)
	t.alt.rows = t.newRows(t.rows)
	t.title, t.icon, t.cwd, t.titleStack = "", "", "", nil
}

// resetState is the part that RIS and a failure share.
func (t *Terminal) resetState() {
	t.top, t.bottom, t.left, t.right = 0, t.rows-1, 0, t.cols-1
	t.tabs = defaultTabs(t.cols)
	t.modes = defaultModes()
	t.savedModes = nil
	t.cursorShape, t.cursorBlink = CursorBlock, true
	t.palette = nil
	t.fg, t.bg, t.cursorColor = 0, 0, 0
	t.penOK, t.blankOK = false, false
	t.last = lastCell{}
	t.repeat = 0
	for _, s := range [...]*screen{&t.main, &t.alt} {
		s.cur = cursor{}
		s.saved = cursor{}
		s.kitty = nil
		s.kittyFlags = 0
	}
}

// Write feeds output of the program. It consumes all of p and never fails.
func (t *Terminal) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		rest = rest[t.feed(rest, nil):]
	}
	return len(p), nil
}

// feed parses p under the lock until it is used up or stop says so, and then
// runs the callbacks. It returns how many bytes were used, at least one.
func (t *Terminal) feed(p []byte, stop func() bool) int {
	t.mu.Lock()
	t.version++
	n := t.parseSafely(p, stop)
	out, events, bell := t.out, t.events, t.bell
	t.out, t.events, t.bell = nil, nil, false
	if t.mute {
		out = nil
	}
	t.mu.Unlock()

	if len(out) > 0 && t.opt.Reply != nil {
		t.opt.Reply(out)
	}
	if bell && t.opt.Bell != nil {
		t.opt.Bell()
	}
	for _, e := range events {
		switch {
		case e.notify != "":
			t.opt.Notify(e.notify)
		case t.opt.Clipboard != nil:
			t.opt.Clipboard(e.clipboard, e.data)
		}
	}
	return n
}

// parseSlice is how many bytes are parsed between two looks at the clock.
const parseSlice = 256

// failed resets the terminal after a bug and keeps what is known of it. The
// scroll-back goes too: its cells refer to tables that are made anew.
func (t *Terminal) failed(what string) {
	t.failures++
	t.failure = &Failure{At: t.clock(), Text: what}
	t.scroll.clear()
	t.init()
	t.version++
	t.out, t.events = nil, nil
}

func (t *Terminal) parseSafely(p []byte, stop func() bool) (n int) {
	defer func() {
		if r := recover(); r != nil {
			t.failed(fmt.Sprint(r))
			n = max(n, 1)
		}
	}()
	for n < len(p) {
		end := min(n+parseSlice, len(p))
		chunk := p[n:end]
		n = end
		t.parse(chunk)
		if stop != nil && stop() {
			break
		}
	}
	return n
}

// Finish tells that no more output will come: half a character becomes U+FFFD.
func (t *Terminal) Finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.version++
	t.flushPartial()
}

// Reset is RIS plus an empty scroll-back, for a pane whose program is replaced.
func (t *Terminal) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.scroll.clear()
	t.init()
	t.version++
}

// Size returns columns and rows.
func (t *Terminal) Size() (cols, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cols, t.rows
}

// Version changes whenever the screen may have changed.
func (t *Terminal) Version() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// Title is the window title the program set, without control characters, at most 256 characters.
func (t *Terminal) Title() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.title
}

// Cwd is the working directory the program reported (OSC 7), a path without control characters, or "".
func (t *Terminal) Cwd() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cwd
}

// Modes returns what the program has switched on.
func (t *Terminal) Modes() Modes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.currentModes()
}

// Failure is the last bug that reset the terminal and how many there were; nil and 0 if none.
func (t *Terminal) Failure() (*Failure, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failure, t.failures
}

// SuppressReplies switches answers to queries off, while history is replayed
// or while a real terminal answers instead.
func (t *Terminal) SuppressReplies(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mute = on
}

// Queries counts the answers asked of the terminal so far, suppressed ones included.
func (t *Terminal) Queries() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queries
}

// SetColors changes what colour queries are answered with; the zero Color leaves one as it is.
func (t *Terminal) SetColors(fg, bg, cursor Color) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range [...]struct {
		to   *Color
		from Color
	}{{&t.opt.Foreground, fg}, {&t.opt.Background, bg}, {&t.opt.CursorColor, cursor}} {
		if !c.from.IsDefault() {
			*c.to = c.from
		}
	}
}

// reply queues an answer to a query.
func (t *Terminal) reply(s string) {
	t.queries++
	if !t.mute && len(t.out)+len(s) <= maxReplyBytes {
		t.out = append(t.out, s...)
	}
}
