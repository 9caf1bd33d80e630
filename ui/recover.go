package ui

import (
	"fmt"
	"runtime/debug"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/ui/draw"
)

// recovered is deferred around every call into a screen, box or background. A
// panic there ends that part, is logged, and is told to then; the dashboard goes on.
func (r *Root) recovered(where string, then func(what string)) {
	v := recover()
	if v == nil {
		return
	}
	r.env.Pace.still = false
	if r.opts.OnPanic != nil {
		r.opts.OnPanic(where, v, debug.Stack())
	}
	if then != nil {
		then(draw.Clean(fmt.Sprint(v)))
	}
}

// breakScreen replaces a screen by a panel that says what happened.
func (r *Root) breakScreen(l *layer, what string) {
	if l.broken != "" {
		return
	}
	l.broken = what
	l.cancel()
	func() {
		defer r.recovered("closing a failed screen", nil)
		l.screen.Close()
	}()
	r.toast(ToastMsg{Level: ToastError, Text: r.opts.Lang.T("a screen failed: %s", what)})
}

// dropOverlay removes a box that failed.
func (r *Root) dropOverlay(o Overlay, what string) {
	r.closeOverlay(o)
	r.toast(ToastMsg{Level: ToastError, Text: r.opts.Lang.T("a box failed: %s", what)})
}

// safeTitle asks for a title; a panic there is no reason to fail again.
func safeTitle(f func() string) (s string) {
	defer func() {
		if recover() != nil {
			s = "?"
		}
	}()
	return draw.Clean(f())
}

// drawBroken paints the panel of a failed screen.
func (r *Root) drawBroken(scr uv.Screen, area uv.Rectangle, what string) {
	t := r.env.Theme
	in := draw.Box(scr, draw.Center(area, min(area.Dx(), 72), min(area.Dy(), 7)), t, r.opts.Lang.T("This screen failed"), t.Border.Danger, t.Text.Error)
	lines := []string{what, "", r.opts.Lang.T("Nothing else is affected; the log has the details."), r.opts.Lang.T("esc goes back, q too.")}
	for i, s := range lines {
		if i < in.Dy() {
			draw.Text(scr, in.Min.X+1, in.Min.Y+i, in.Dx()-2, s, t.Text.Normal)
		}
	}
}

// drawScreen paints a screen, or what is left of it.
func (r *Root) drawScreen(scr uv.Screen, area uv.Rectangle, l *layer) (c *tea.Cursor) {
	if l.broken == "" {
		func() {
			defer r.recovered("drawing "+safeTitle(l.screen.Title), func(s string) { r.breakScreen(l, s) })
			c = l.screen.Draw(scr, area)
		}()
	}
	if l.broken != "" {
		draw.Fill(scr, area, r.env.Theme.Text.Normal)
		r.drawBroken(scr, area, l.broken)
		return nil
	}
	return c
}

// drawOverlay paints a box in the place it wants.
func (r *Root) drawOverlay(scr uv.Screen, room uv.Rectangle, o Overlay) (c *tea.Cursor) {
	defer r.recovered("drawing the box "+safeTitle(o.Title), func(s string) { r.dropOverlay(o, s) })
	w, h := o.Size(room.Dx(), room.Dy())
	area := draw.Center(room, w, h)
	if p, ok := o.(placer); ok {
		area = p.place(room, w, h)
	}
	return o.Draw(scr, area)
}

// placer is a box of the shell itself that does not want the middle.
type placer interface {
	place(room uv.Rectangle, w, h int) uv.Rectangle
}
