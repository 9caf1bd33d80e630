package ui

import (
	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/ui/draw"
)

// leaveMsg quits without asking, and calls then before.
type leaveMsg struct{ then func() }

// quitBox asks whether to quit.
type quitBox struct {
	env      Env
	stakes   []string
	survives []string
	then     func()
}

// interrupt is ctrl+c: it asks, and quits when pressed again.
func (r *Root) interrupt() tea.Cmd {
	if _, asking := r.topOverlay().(*quitBox); asking {
		return r.leave()
	}
	return r.askQuit(true, nil)
}

// askQuit quits, but asks first when something would be lost, or always. then,
// if set, is called when the answer is to quit.
func (r *Root) askQuit(always bool, then func()) tea.Cmd {
	stakes := r.collect(func(v any) []string {
		if s, ok := v.(Staker); ok {
			return s.AtStake()
		}
		return nil
	})
	if len(stakes) == 0 && !always {
		if then != nil {
			then()
		}
		return r.leave()
	}
	return r.push(&quitBox{stakes: stakes, survives: r.Survivors(), then: then})
}

// Survivors names what goes on without the dashboard. Once the program has been
// left it is what went on at that moment.
func (r *Root) Survivors() []string {
	if r.quit {
		return r.survivors
	}
	return r.collect(func(v any) []string {
		if s, ok := v.(Survivor); ok {
			return s.Survives()
		}
		return nil
	})
}

// collect asks every background, screen and box.
func (r *Root) collect(ask func(any) []string) []string {
	var out []string
	one := func(v any) {
		defer r.recovered("asking what is at stake", nil)
		for _, s := range ask(v) {
			out = append(out, draw.Clean(s))
		}
	}
	for _, b := range r.back {
		if !b.broken {
			one(b.Background)
		}
	}
	for _, l := range r.stack {
		if l.broken == "" {
			one(l.screen)
		}
	}
	for _, o := range r.overlays {
		one(o)
	}
	return out
}

func (r *Root) leave() tea.Cmd {
	r.survivors = r.Survivors()
	r.quit = true
	r.Close()
	return tea.Quit
}

// Init implements Overlay.
func (q *quitBox) Init(env Env) tea.Cmd {
	q.env = env
	return nil
}

// Keys implements Overlay.
func (q *quitBox) Keys() []keymap.Context { return []keymap.Context{keymap.Confirm} }

// Title implements Overlay.
func (q *quitBox) Title() string { return q.env.Lang.T("Quit?") }

// Close implements Overlay.
func (q *quitBox) Close() {}

// Update implements Overlay.
func (q *quitBox) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ThemeMsg:
		q.env.Theme = msg.Theme
	case ActionMsg:
		switch msg.Action {
		case keymap.ConfirmYes:
			return Cmd(leaveMsg{then: q.then})
		case keymap.ConfirmNo, keymap.NavBack:
			return CloseOverlay(q)
		}
	}
	return nil
}

func (q *quitBox) lines() []string {
	var out []string
	if len(q.stakes) > 0 {
		out = append(out, q.env.Lang.T("This would be lost:"))
		for _, s := range q.stakes {
			out = append(out, "  "+q.env.Theme.Symbol.Warn+" "+s)
		}
	} else {
		out = append(out, q.env.Lang.T("Nothing would be lost."))
	}
	if len(q.survives) > 0 {
		out = append(out, q.env.Lang.T("This goes on:"))
		for _, s := range q.survives {
			out = append(out, "    "+s)
		}
	}
	return out
}

// Size implements Overlay.
func (q *quitBox) Size(maxW, maxH int) (w, h int) {
	w = 44
	for _, s := range q.lines() {
		w = max(w, draw.Width(s)+4)
	}
	return min(w, maxW), min(len(q.lines())+4, maxH)
}

// Draw implements Overlay.
func (q *quitBox) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := q.env.Theme
	border := t.Border.Focused
	if len(q.stakes) > 0 {
		border = t.Border.Danger
	}
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, q.Title(), border, t.Border.Title)
	in = uv.Rect(in.Min.X+1, in.Min.Y, max(in.Dx()-2, 0), in.Dy())
	lines := q.lines()
	for i := range min(len(lines), max(in.Dy()-1, 0)) {
		draw.Text(scr, in.Min.X, in.Min.Y+i, in.Dx(), lines[i], t.Text.Normal)
	}
	k := q.env.Keys
	draw.Hints(scr, in, t,
		draw.Hint{Key: k.HintIn(keymap.Confirm, keymap.ConfirmYes), What: q.env.Lang.T("quit")},
		draw.Hint{Key: k.HintIn(keymap.Confirm, keymap.ConfirmNo), What: q.env.Lang.T("stay")},
		draw.Hint{Key: k.HintIn(keymap.Always, keymap.AppInterrupt), What: q.env.Lang.T("quit")},
	)
	return nil
}
