package ports

import (
	"image/color"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	qrcode "github.com/skip2/go-qrcode"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// qrBox shows an address as a code that a telephone can read.
type qrBox struct {
	env   ui.Env
	url   string
	lines []string
}

// showQR makes the code of a text.
func showQR(url string, tr *lang.Catalog) tea.Cmd {
	code, err := qrcode.New(url, qrcode.Low)
	if err != nil {
		return ui.Toast(ui.ToastError, tr.T("QR: %s", present.CleanMax(err.Error(), 200)))
	}
	return ui.OpenOverlay(&qrBox{url: url, lines: blocks(code.Bitmap())})
}

// blocks draws two rows of a bitmap as one row of text; true is dark. The code
// is always dark on light, whatever the theme: readers want it so.
func blocks(dark [][]bool) []string {
	at := func(y, x int) bool { return y < len(dark) && dark[y][x] }
	var out []string
	for y := 0; y < len(dark); y += 2 {
		var b strings.Builder
		for x := range dark[y] {
			switch up, down := at(y, x), at(y+1, x); {
			case up && down:
				b.WriteRune('█')
			case up:
				b.WriteRune('▀')
			case down:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		out = append(out, b.String())
	}
	return out
}

// Init implements ui.Overlay.
func (q *qrBox) Init(env ui.Env) tea.Cmd { q.env = env; return nil }

// Title implements ui.Overlay.
func (q *qrBox) Title() string { return q.env.Lang.T("QR code") }

// Close implements ui.Overlay.
func (q *qrBox) Close() {}

// Keys implements ui.Overlay.
func (q *qrBox) Keys() []keymap.Context { return []keymap.Context{keymap.Message} }

// Update implements ui.Overlay.
func (q *qrBox) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case ui.ThemeMsg:
		q.env.Theme = m.Theme
	case ui.ActionMsg:
		if m.Action == keymap.NavBack {
			return ui.CloseOverlay(q)
		}
	}
	return nil
}

// Size implements ui.Overlay.
func (q *qrBox) Size(maxW, maxH int) (w, h int) {
	return min(maxW, max(draw.Width(q.lines[0]), min(60, draw.Width(q.url)))+4), min(maxH, len(q.lines)+3)
}

// Draw implements ui.Overlay.
func (q *qrBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := q.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, q.Title(), t.Border.Focused, t.Border.TitleFocused)
	if in.Dx() < draw.Width(q.lines[0]) || in.Dy() < len(q.lines) {
		draw.Text(scr, in.Min.X+1, in.Min.Y, in.Dx()-2, q.env.Lang.T("the window is too small for the code"), t.Text.Warn)
		draw.Text(scr, in.Min.X+1, in.Min.Y+1, in.Dx()-2, q.url, t.Text.Normal)
		return nil
	}
	st := uv.Style{Fg: color.Black, Bg: color.White}
	x := in.Min.X + (in.Dx()-draw.Width(q.lines[0]))/2
	for i, l := range q.lines {
		draw.Text(scr, x, in.Min.Y+i, in.Max.X-x, l, st)
	}
	if y := in.Min.Y + len(q.lines); y < in.Max.Y {
		draw.Text(scr, in.Min.X+1, y, in.Dx()-2, q.url, t.Text.Dim)
	}
	return nil
}
