package ui

import (
	"fmt"
	"hash/fnv"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/theme"
)

// moved reports whether a second that passed changes what is shown. A screen
// that cannot tell is drawn anew every second.
func (r *Root) moved() bool {
	l := r.top()
	if l == nil || l.broken != "" || len(r.overlays) > 0 || len(r.pending) > 0 {
		return true
	}
	timed, ok := l.screen.(Timed)
	if !ok {
		return true
	}
	h := fnv.New64a()
	fmt.Fprint(h, r.opts.Now().Truncate(time.Minute).Unix(), len(r.toasts), r.caller.unseen)
	for i := range r.toasts {
		if !r.toasts[i].gone {
			fmt.Fprint(h, i)
		}
	}
	if t, _ := r.current(); t != nil {
		fmt.Fprint(h, t.text)
	}
	for _, b := range r.back {
		fmt.Fprint(h, r.statusOf(b))
	}
	sum := h.Sum64() ^ r.signature(timed)
	if sum == r.shown {
		return false
	}
	r.shown = sum
	return true
}

func (r *Root) signature(t Timed) (sum uint64) {
	defer r.recovered("asking what time changes", nil)
	return t.Signature()
}

// fixedTheme reports whether the background is not asked for.
func (r *Root) fixedTheme() bool {
	_, fixed := theme.FixedBackground(r.opts.Theme)
	return fixed || r.opts.FixedTheme
}

// setTheme changes to the theme of a name.
func (r *Root) setTheme(name string) tea.Cmd {
	if err := theme.Check(name); err != nil {
		r.toast(ToastMsg{Level: ToastWarn, Text: err.Error()})
		return nil
	}
	r.opts.Theme = name
	if r.fixedTheme() {
		return r.retheme()
	}
	return tea.Batch(r.retheme(), tea.RequestBackgroundColor)
}
