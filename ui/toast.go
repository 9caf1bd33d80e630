package ui

import (
	"strconv"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/ui/draw"
)

// toast is a message that was shown.
type toast struct {
	level ToastLevel
	text  string
	at    time.Time
	times int
	gone  bool
}

// maxToasts is how many are kept for the history.
const maxToasts = 200

// life is how long a toast stays on screen.
func (l ToastLevel) life() time.Duration {
	if l >= ToastWarn {
		return 8 * time.Second
	}
	return 4 * time.Second
}

func (r *Root) toast(m ToastMsg) {
	m.Text = draw.Clean(m.Text)
	if n := len(r.toasts); n > 0 && r.toasts[n-1].text == m.Text && r.toasts[n-1].level == m.Level {
		r.toasts[n-1].times++
		r.toasts[n-1].at, r.toasts[n-1].gone = r.opts.Now(), false
		return
	}
	r.toasts = append(r.toasts, toast{level: m.Level, text: m.Text, at: r.opts.Now(), times: 1})
	if len(r.toasts) > maxToasts {
		r.toasts = append([]toast(nil), r.toasts[len(r.toasts)-maxToasts:]...)
	}
}

// expire takes old toasts off the screen; they stay in the history.
func (r *Root) expire(now time.Time) {
	for i := range r.toasts {
		if now.Sub(r.toasts[i].at) >= r.toasts[i].level.life() {
			r.toasts[i].gone = true
		}
	}
}

func (r *Root) toastLook(l ToastLevel) (symbol string, st uv.Style) {
	t := r.env.Theme
	switch l {
	case ToastOK:
		return t.Symbol.OK, t.Bar.ChipOK
	case ToastWarn:
		return t.Symbol.Warn, t.Bar.ChipWarn
	case ToastError:
		return t.Symbol.Fail, t.Bar.ChipError
	}
	return t.Symbol.Info, t.Bar.Chip
}

func (t *toast) label() string {
	if t.times > 1 {
		return t.text + " ×" + strconv.Itoa(t.times)
	}
	return t.text
}

// answerFor is how long a new toast is shown whatever else there is: it may be
// the answer to the key that was just pressed.
const answerFor = 2500 * time.Millisecond

// current is the toast to show: of those that are on, the gravest, and of
// those the newest; but one that has just come goes before all. others counts
// the rest.
func (r *Root) current() (t *toast, others int) {
	now := r.opts.Now()
	for i := len(r.toasts) - 1; i >= 0; i-- {
		if r.toasts[i].gone {
			continue
		}
		if t == nil || r.toasts[i].level > t.level && now.Sub(t.at) >= answerFor {
			t = &r.toasts[i]
		}
		others++
	}
	return t, others - 1
}

// drawToast paints the current toast at the right end of area.
func (r *Root) drawToast(area uv.Rectangle) {
	t, others := r.current()
	if t == nil || area.Dx() < 4 {
		return
	}
	symbol, st := r.toastLook(t.level)
	text := " " + symbol + " " + t.label() + " "
	if others > 0 {
		text += "(+" + strconv.Itoa(others) + " :messages) "
	}
	w := min(ansi.StringWidth(text), area.Dx()-2)
	draw.Line(r.buf, uv.Rect(area.Max.X-w-1, area.Min.Y, w, 1), 0, text, st)
}
