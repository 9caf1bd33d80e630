package kill

import (
	"context"
	"sync"

	tea "charm.land/bubbletea/v2"

	"abxdash/ui"
	"abxdash/views/present"
)

// pauseMsg comes from the sheet: pause these instead of killing anything.
type pauseMsg struct{ targets []present.KillTarget }

// pausedMsg is the result of all of them.
type pausedMsg struct{ done []present.Extended }

// pause stops the targets, a few at a time. It is one command, so that there is
// one message in the end.
func (q *Queue) pause(targets []present.KillTarget) tea.Cmd {
	parent, ps, timeout := q.ctx, q.opt.Providers, q.opt.Timeout
	return func() tea.Msg {
		results := make([]present.Extended, len(targets))
		slots := make(chan struct{}, concurrency)
		var all sync.WaitGroup
		for i, t := range targets {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				ctx, cancel := context.WithTimeout(parent, timeout)
				defer cancel()
				results[i] = present.Pause(ctx, ps.Get(t.Sandbox.Provider), t.Sandbox)
			})
		}
		all.Wait()
		return pausedMsg{results}
	}
}

// paused tells how it went and lets the list know.
func (q *Queue) paused(msg pausedMsg) tea.Cmd {
	var cmds []tea.Cmd
	failed, why := 0, ""
	for _, e := range msg.done {
		if e.Err != nil {
			failed++
			why = present.Label(e.Before) + ": " + present.ErrorLine(e.Err)
			continue
		}
		cmds = append(cmds, ui.Cmd(present.UpdatedMsg{Sandbox: e.After}))
	}
	text := q.env.Lang.T("%d paused, nothing was killed", len(msg.done)-failed)
	if failed > 0 {
		return tea.Batch(append(cmds, ui.Toast(ui.ToastError, q.env.Lang.T("%s; %d failed: %s", text, failed, why)))...)
	}
	return tea.Batch(append(cmds, ui.Toast(ui.ToastOK, text))...)
}
