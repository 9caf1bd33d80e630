package ui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui/draw"
)

// MinWidth and MinHeight are the smallest window that is drawn.
const (
	MinWidth  = 40
	MinHeight = 10
)

// Chip is a short coloured note at the right end of the header.
type Chip struct {
	Text  string
	Level ToastLevel
}

// Chipper is a screen with chips for the header, the most important first.
type Chipper interface{ Chips() []Chip }

// frameLayout is where the parts of a window are.
type frameLayout struct {
	header, hint, body, status, footer uv.Rectangle
}

// layout divides a window of at least the minimum size.
func layout(w, h int, hint bool) frameLayout {
	row := func(y int) uv.Rectangle { return uv.Rect(0, y, w, 1) }
	l := frameLayout{header: row(0), status: row(h - 2), footer: row(h - 1)}
	top := 1
	if hint {
		l.hint = row(1)
		top = 2
	}
	l.body = uv.Rect(0, top, w, h-2-top)
	return l
}

// hintSpot is a hint of the footer that can be clicked.
type hintSpot struct {
	area   uv.Rectangle
	action keymap.Action
}

// View implements tea.Model. It draws only if something changed since the last
// frame and a frame is due.
func (r *Root) View() tea.View {
	if r.quit || r.waiting || !r.dirty {
		return r.view
	}
	start := time.Now()
	content, cursor := r.Frame()
	r.drawnAt, r.dirty = start, false
	v := tea.NewView(content)
	v.AltScreen = true
	v.ReportFocus = true
	v.Cursor = cursor
	v.WindowTitle = r.windowTitle()
	if r.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	r.view = v
	r.frames.drawn(r.urgent)
	r.urgent = false
	return v
}

func (r *Root) windowTitle() string {
	mark := ""
	if r.caller.unseen > 0 {
		mark = "(!) "
	}
	l := r.top()
	if l == nil {
		return mark + r.opts.App
	}
	title := safeTitle(l.screen.Title)
	if t, ok := l.screen.(Titled); ok && l.broken == "" {
		if s := safeTitle(t.WindowTitle); s != "" {
			title = s
		}
	}
	return mark + r.opts.App + " - " + title
}

// Frame draws the window now and returns it as text with styles, with the cursor to show.
func (r *Root) Frame() (string, *tea.Cursor) {
	buf, cursor := r.Cells()
	return r.out.render(buf.Lines), cursor
}

// Cells draws the window now and returns its cells, which are valid until the next call.
func (r *Root) Cells() (uv.ScreenBuffer, *tea.Cursor) {
	if r.buf.RenderBuffer == nil || r.buf.Width() != r.width || r.buf.Height() != r.height {
		r.buf = uv.NewScreenBuffer(r.width, r.height)
	}
	r.buf.Clear()
	r.hints = r.hints[:0]
	if r.width < MinWidth || r.height < MinHeight {
		r.drawTooSmall()
		return r.buf, nil
	}
	l := layout(r.width, r.height, r.hint != "")
	cursor := r.drawBody(l.body)
	r.drawHeader(l.header)
	if r.hint != "" {
		draw.Line(r.buf, l.hint, 0, " "+r.hint, r.env.Theme.Text.Info)
	}
	r.drawStatus(l.status)
	r.drawFooter(l.footer)
	for i := 0; i < len(r.overlays); i++ {
		// A box that fails while it is drawn leaves the list.
		o := r.overlays[i]
		c := r.drawOverlay(r.buf, r.room(l), o)
		if i < len(r.overlays) && r.overlays[i] != o {
			i--
			continue
		}
		cursor = c
	}
	return r.buf, inside(cursor, r.buf.Bounds())
}

// room is where boxes may be.
func (r *Root) room(l frameLayout) uv.Rectangle {
	return uv.Rect(0, l.header.Max.Y, r.width, l.footer.Min.Y-l.header.Max.Y)
}

func inside(c *tea.Cursor, b uv.Rectangle) *tea.Cursor {
	if c == nil || !uv.Pos(c.X, c.Y).In(b) {
		return nil
	}
	return c
}

func (r *Root) drawTooSmall() {
	text := r.opts.Lang.T("need %dx%d, have %dx%d", MinWidth, MinHeight, r.width, r.height)
	draw.Text(r.buf, 0, 0, r.width, text, r.env.Theme.Text.Normal)
}

func (r *Root) drawBody(area uv.Rectangle) *tea.Cursor {
	if l := r.top(); l != nil {
		return r.drawScreen(r.buf, area, l)
	}
	return nil
}

// drawHeader paints the name, the way here, and chips.
func (r *Root) drawHeader(area uv.Rectangle) {
	t := r.env.Theme
	x := area.Min.X
	x += draw.Text(r.buf, x, area.Min.Y, area.Dx(), " "+r.opts.App+" ", t.Bar.Header)
	end := r.drawChips(area, area.Max.X-x-12)
	x++
	crumbs := make([]string, 0, len(r.stack))
	for _, l := range r.stack {
		crumbs = append(crumbs, safeTitle(l.screen.Title))
	}
	for i, c := range crumbs {
		if i > 0 {
			x += draw.Text(r.buf, x, area.Min.Y, end-x, " › ", t.Text.Dim)
		}
		st := t.Text.Dim
		if i == len(crumbs)-1 {
			st = t.Text.Strong
		}
		x += draw.Text(r.buf, x, area.Min.Y, end-x, c, st)
	}
}

// drawChips paints chips from the right, as many as fit in room, and returns where they begin.
func (r *Root) drawChips(area uv.Rectangle, room int) int {
	x := area.Max.X
	for _, c := range r.chips() {
		text := " " + draw.Clean(c.Text) + " "
		w := draw.Width(text)
		if area.Max.X-(x-w) > room {
			break
		}
		x -= w
		draw.Text(r.buf, x, area.Min.Y, w, text, chipStyle(r.env.Theme, c.Level))
		x--
	}
	return x
}

// chips are those of the shell and of the screen, rightmost first.
func (r *Root) chips() []Chip {
	var out []Chip
	// Minutes only: a clock of seconds would redraw an idle screen every second.
	out = append(out, Chip{Text: r.opts.Now().Format("15:04")})
	if r.opts.Banner != "" {
		out = append(out, Chip{Text: r.opts.Banner, Level: ToastWarn})
	}
	if r.opts.ReadOnly != "" {
		out = append(out, Chip{Text: r.opts.Lang.T("read-only"), Level: ToastWarn})
	}
	if l := r.top(); l != nil && l.broken == "" {
		if c, ok := l.screen.(Chipper); ok {
			func() {
				defer r.recovered("asking for chips", nil)
				out = append(out, c.Chips()...)
			}()
		}
	}
	return out
}

func chipStyle(t *theme.Theme, l ToastLevel) uv.Style {
	switch l {
	case ToastOK:
		return t.Bar.ChipOK
	case ToastWarn:
		return t.Bar.ChipWarn
	case ToastError:
		return t.Bar.ChipError
	}
	return t.Bar.Chip
}

// drawStatus paints what is going on: an unfinished key sequence, then
// background work, and a message at the right end. Work in the background is
// never covered by a message: a kill that can still be undone has to be seen.
func (r *Root) drawStatus(area uv.Rectangle) {
	t := r.env.Theme
	x := area.Min.X + 1
	if p := r.Pending(); p != "" {
		x += draw.Text(r.buf, x, area.Min.Y, area.Max.X-x, p+" …", t.Keys.Key)
		x += draw.Text(r.buf, x, area.Min.Y, area.Max.X-x, "  "+r.nextKeys()+"   ", t.Keys.Help)
	}
	for _, b := range r.back {
		s := r.statusOf(b)
		if s == "" || x >= area.Max.X {
			continue
		}
		x += draw.Text(r.buf, x, area.Min.Y, area.Max.X-x, s, t.Text.Warn)
		x += 3
	}
	r.drawToast(uv.Rect(x, area.Min.Y, max(area.Max.X-x, 0), 1))
}

func (r *Root) statusOf(b *backing) (s string) {
	if b.broken {
		return ""
	}
	defer r.recovered("asking for a status", func(string) { b.broken = true })
	return draw.Clean(b.Status())
}

// nextKeys lists what may follow an unfinished sequence.
func (r *Root) nextKeys() string {
	prefix := strings.Join(r.pending, " ") + " "
	var out []string
	for _, b := range r.opts.Keys.Bindings(r.contexts()) {
		for _, k := range b.Keys {
			if rest, ok := strings.CutPrefix(k, prefix); ok {
				name := b.Short
				if name == "" {
					name = r.opts.Lang.Word(string(b.Action[strings.LastIndexByte(string(b.Action), '.')+1:]))
				}
				out = append(out, keymap.Label(rest)+" "+name)
			}
		}
	}
	return strings.Join(out, "  ")
}

// footerHint is a hint as it stands in the footer.
type footerHint struct {
	key, text string
	action    keymap.Action
}

func (h *footerHint) width() int { return draw.Width(h.key) + 1 + draw.Width(h.text) + 2 }

// footerHints are the hints for the keys that hold now. The leader of a
// sequence is written once: "^] d detach  n next".
func (r *Root) footerHints() (hints []footerHint, help *footerHint) {
	leader := ""
	for _, b := range r.opts.Keys.Bindings(r.contexts()) {
		if b.Short == "" || len(b.Keys) == 0 {
			continue
		}
		h := footerHint{key: keymap.Label(b.Keys[0]), text: b.Short, action: b.Action}
		if first, rest, ok := strings.Cut(h.key, " "); ok {
			if first == leader {
				h.key = rest
			}
			leader = first
		}
		if b.Action == keymap.AppHelp || b.Action == keymap.ShellHelp {
			help = &h
			continue
		}
		hints = append(hints, h)
	}
	return hints, help
}

// drawFooter paints as many hints as fit; help is always among them.
func (r *Root) drawFooter(area uv.Rectangle) {
	hints, help := r.footerHints()
	x, end := area.Min.X+1, area.Max.X
	if help != nil {
		end -= help.width()
	}
	for i := range hints {
		if x+hints[i].width() > end {
			break
		}
		x += r.drawHint(x, area, &hints[i])
	}
	if help != nil {
		r.drawHint(x, area, help)
	}
}

func (r *Root) drawHint(x int, area uv.Rectangle, h *footerHint) int {
	t := r.env.Theme
	key, help := t.Keys.Key, t.Keys.Help
	if r.disabled(h.action) != "" {
		key, help = t.Keys.Disabled, t.Keys.Disabled
	}
	n := draw.Text(r.buf, x, area.Min.Y, area.Max.X-x, h.key, key)
	n += 1 + draw.Text(r.buf, x+n+1, area.Min.Y, area.Max.X-x-n-1, h.text, help)
	r.hints = append(r.hints, hintSpot{area: uv.Rect(x, area.Min.Y, n, 1), action: h.action})
	return n + 2
}
