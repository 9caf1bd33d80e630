// Package kill is the one way by which the dashboard ends sandboxes: a review
// sheet, then five seconds in which nothing has been sent and one key undoes,
// then the kills with bounded concurrency and one result each.
package kill

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

const (
	// Grace is how long a confirmed kill waits, undoable, before anything is sent.
	Grace = 5 * time.Second
	// concurrency bounds the kills in flight over all providers.
	concurrency = 6
	// maxWait and maxAttempts bound what a 429 can make us do.
	maxWait     = time.Minute
	maxAttempts = 3
	// killTimeout bounds one call.
	killTimeout = 30 * time.Second
)

// Options configures a [Queue].
type Options struct {
	Providers present.Providers
	Owner     present.Owner
	// ReadOnly refuses every request with a reason.
	ReadOnly bool
	// Timeout bounds one kill call; 0 means 30 s.
	Timeout time.Duration
	// Protected is the user's own list of protected sandboxes; may be nil.
	Protected *present.Protected
	// Rates are what the sheet estimates savings with.
	Rates present.Rates
	// State is where the history of kills is kept.
	State present.Folder
	// Limit is how many may be killed at once; 0 means 200.
	Limit int
}

// usualLimit is how many sandboxes one sheet may kill.
const usualLimit = 200

// Queue is the kill queue. It is a ui.Background and a ui.Staker: it shows the
// sheet for each KillRequestMsg, and quitting while something is pending asks.
type Queue struct {
	opt     Options
	env     ui.Env
	ctx     context.Context
	cancel  context.CancelFunc
	now     time.Time
	batches []*batch
	// shells counts this dashboard's open shells in each sandbox.
	shells map[present.Key]int
	// pausedUntil is per provider, set by a 429.
	pausedUntil map[string]time.Time
}

// batch is what was confirmed together.
type batch struct {
	at   time.Time // end of the grace time
	sent bool
	jobs []*job
}

type jobState uint8

const (
	jobWaiting jobState = iota // not sent, or to be sent again after a 429
	jobRunning
	jobDone
)

type job struct {
	sb client.Sandbox
	// stray and shells are as the sheet showed them.
	stray    []string
	shells   int
	state    jobState
	attempts int
	waited   bool
	outcome  present.Outcome
	err      error
}

func (j *job) key() present.Key { return present.KeyOf(j.sb) }

// confirmedMsg comes from the sheet.
type confirmedMsg struct{ targets []present.KillTarget }

// answerMsg is what one kill call returned.
type answerMsg struct {
	job *job
	err error
}

// New makes a queue; it starts with Init.
func New(opt Options) *Queue {
	if opt.Timeout <= 0 {
		opt.Timeout = killTimeout
	}
	if opt.Limit <= 0 {
		opt.Limit = usualLimit
	}
	return &Queue{opt: opt, shells: map[present.Key]int{}, pausedUntil: map[string]time.Time{}}
}

// Init implements ui.Background.
func (q *Queue) Init(env ui.Env) tea.Cmd {
	q.env, q.now = env, env.Now()
	q.ctx, q.cancel = context.WithCancel(env.Ctx)
	return nil
}

// Update implements ui.Background.
func (q *Queue) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case ui.TickMsg:
		q.now = msg.Now
		return q.advance(), false
	case ui.ActionMsg:
		if msg.Action == keymap.AppUndo || msg.Action == keymap.ShellUndo {
			return q.undo()
		}
		if msg.Action == keymap.AppKills {
			return q.showHistory(), true
		}
	case pauseMsg:
		return q.pause(msg.targets), false
	case pausedMsg:
		return q.paused(msg), false
	case present.ShellCountMsg:
		q.shells[msg.Key] = msg.N
	case present.KillRequestMsg:
		return q.request(msg.Targets), false
	case confirmedMsg:
		return q.confirmed(msg.targets), false
	case answerMsg:
		return q.answer(msg), false
	}
	return nil, false
}

// Close drops what has not been sent and stops waiting for the rest.
func (q *Queue) Close() {
	q.batches = nil
	if q.cancel != nil {
		q.cancel()
	}
}

// request opens the sheet, unless there is nothing left to ask about.
func (q *Queue) request(targets []present.KillTarget) tea.Cmd {
	if len(targets) == 0 {
		return nil
	}
	if q.opt.ReadOnly {
		return ui.Toast(ui.ToastWarn, q.env.Lang.T("read-only mode: nothing is killed (%s)", client.CodeReadOnly))
	}
	var open []present.KillTarget
	for _, t := range targets {
		if q.find(present.KeyOf(t.Sandbox)) == nil {
			t.Sandbox = t.Sandbox.Clone()
			open = append(open, t)
		}
	}
	if len(open) == 0 {
		return ui.Toast(ui.ToastInfo, q.env.Lang.T("already being killed"))
	}
	if len(open) > q.opt.Limit {
		return ui.Toast(ui.ToastWarn, q.env.Lang.T("%d sandboxes are more than the %d that one kill may take: narrow the choice with a filter", len(open), q.opt.Limit))
	}
	return ui.Cmd(ui.OverlayMsg{Overlay: newSheet(open, q.shells, q.opt)})
}

// find returns the unfinished job for a sandbox, or nil.
func (q *Queue) find(k present.Key) *job {
	for _, b := range q.batches {
		for _, j := range b.jobs {
			if j.key() == k && j.state != jobDone {
				return j
			}
		}
	}
	return nil
}

// confirmed starts the grace time.
func (q *Queue) confirmed(targets []present.KillTarget) tea.Cmd {
	q.now = q.env.Now()
	b := &batch{at: q.now.Add(Grace)}
	for _, t := range targets {
		if q.find(present.KeyOf(t.Sandbox)) == nil {
			b.jobs = append(b.jobs, &job{sb: t.Sandbox, stray: t.Stray, shells: q.shells[present.KeyOf(t.Sandbox)]})
		}
	}
	if len(b.jobs) == 0 {
		return nil
	}
	q.batches = append(q.batches, b)
	return ui.Cmd(present.KillPendingMsg{Keys: b.keys(), At: b.at})
}

func (b *batch) keys() []present.Key {
	out := make([]present.Key, len(b.jobs))
	for i, j := range b.jobs {
		out[i] = j.key()
	}
	return out
}

// undo takes back everything that has not been sent, over all batches: in
// doubt, nothing dies. With nothing pending, the key is left to others.
func (q *Queue) undo() (cmd tea.Cmd, handled bool) {
	var keys []present.Key
	kept := q.batches[:0]
	for _, b := range q.batches {
		if b.sent {
			kept = append(kept, b)
			continue
		}
		keys = append(keys, b.keys()...)
	}
	q.batches = kept
	if len(keys) == 0 {
		return nil, false
	}
	return tea.Batch(
		ui.Cmd(present.KillUndoneMsg{Keys: keys}),
		ui.Toast(ui.ToastOK, q.env.Lang.N(len(keys), "undone: nothing was sent, %d sandbox lives", "undone: nothing was sent, %d sandboxes live", len(keys))),
	), true
}

// advance sends what is due.
func (q *Queue) advance() tea.Cmd {
	var cmds []tea.Cmd
	for _, b := range q.batches {
		if !b.sent && !q.now.Before(b.at) {
			b.sent = true
			cmds = append(cmds, ui.Cmd(present.KillSendingMsg{Keys: b.keys()}))
		}
	}
	return tea.Batch(append(cmds, q.send())...)
}

// send starts waiting kills as far as concurrency and the providers' pauses allow.
func (q *Queue) send() tea.Cmd {
	running := 0
	for _, b := range q.batches {
		for _, j := range b.jobs {
			if j.state == jobRunning {
				running++
			}
		}
	}
	var cmds []tea.Cmd
	for _, b := range q.batches {
		if !b.sent {
			continue
		}
		for _, j := range b.jobs {
			if running >= concurrency {
				return tea.Batch(cmds...)
			}
			if j.state != jobWaiting || q.now.Before(q.pausedUntil[j.sb.Provider]) {
				continue
			}
			j.state = jobRunning
			j.attempts++
			running++
			cmds = append(cmds, q.call(j))
		}
	}
	return tea.Batch(cmds...)
}

func (q *Queue) call(j *job) tea.Cmd {
	p, id, parent, timeout := q.opt.Providers.Get(j.sb.Provider), j.sb.ID, q.ctx, q.opt.Timeout
	return func() tea.Msg {
		if p == nil {
			return answerMsg{j, &client.Error{Op: "kill sandbox", Code: client.CodeConfig, Message: "its provider is not configured any more"}}
		}
		ctx, cancel := context.WithTimeout(parent, timeout)
		defer cancel()
		return answerMsg{j, p.Sandboxes().Kill(ctx, id)}
	}
}

// answer notes one result. Only a 429 that names a bearable wait leads to
// another call; nothing else is ever sent twice.
func (q *Queue) answer(msg answerMsg) tea.Cmd {
	j := msg.job
	if now := q.env.Now(); now.After(q.now) {
		q.now = now
	}
	after := client.RetryAfterOf(msg.err)
	switch {
	case msg.err == nil:
		j.outcome = present.KillAccepted
	case errors.Is(msg.err, client.ErrNotFound):
		j.outcome = present.KillAlreadyGone
	case errors.Is(msg.err, client.ErrRateLimited) && after > 0 && after <= maxWait && j.attempts < maxAttempts:
		j.state, j.waited = jobWaiting, true
		if until := q.now.Add(after); until.After(q.pausedUntil[j.sb.Provider]) {
			q.pausedUntil[j.sb.Provider] = until
		}
		return q.send()
	default:
		j.outcome, j.err = present.KillFailed, msg.err
	}
	j.state = jobDone
	result := ui.Cmd(present.KillResultMsg{Key: j.key(), Outcome: j.outcome, Waited: j.waited, Err: j.err})
	// The list has to know the result before it is told that the batch is done.
	return tea.Batch(q.send(), tea.Sequence(result, q.finish()))
}

// finish reports every batch whose last result is in.
func (q *Queue) finish() tea.Cmd {
	var cmds []tea.Cmd
	kept := q.batches[:0]
	for _, b := range q.batches {
		if !b.done() {
			kept = append(kept, b)
			continue
		}
		var done present.KillDoneMsg
		for _, j := range b.jobs {
			if j.outcome == present.KillFailed {
				done.Failed = append(done.Failed, j.key())
			} else {
				done.Killed = append(done.Killed, j.key())
			}
		}
		level, text := b.summary(q.env.Lang)
		cmds = append(cmds, ui.Cmd(done), ui.Toast(level, text), q.record(b))
	}
	q.batches = kept
	return tea.Batch(cmds...)
}

func (b *batch) done() bool {
	for _, j := range b.jobs {
		if j.state != jobDone {
			return false
		}
	}
	return true
}

// summary words the result of a whole batch, e.g. "3 gone (1 already), 1 killed
// after waiting, 1 failed: …".
func (b *batch) summary(tr *lang.Catalog) (ui.ToastLevel, string) {
	var gone, already, waited, failed int
	var reason string
	for _, j := range b.jobs {
		switch {
		case j.outcome == present.KillFailed:
			failed++
			if reason == "" {
				reason = present.Label(j.sb) + ": " + present.ErrorLine(j.err)
			}
		case j.waited:
			waited++
		case j.outcome == present.KillAlreadyGone:
			already++
			gone++
		default:
			gone++
		}
	}
	if len(b.jobs) == 1 && failed == 0 {
		word := tr.T("killed %s", present.LongLabel(b.jobs[0].sb))
		if already == 1 {
			word = tr.T("%s was already gone", present.LongLabel(b.jobs[0].sb))
		}
		return ui.ToastOK, word
	}
	var parts []string
	if gone > 0 {
		word := tr.T("%d gone", gone)
		if already > 0 {
			word += " " + tr.T("(%d already)", already)
		}
		parts = append(parts, word)
	}
	if waited > 0 {
		parts = append(parts, tr.T("%d killed after waiting", waited))
	}
	if failed > 0 {
		parts = append(parts, tr.T("%d failed: %s", failed, reason))
		return ui.ToastError, strings.Join(parts, ", ")
	}
	return ui.ToastOK, strings.Join(parts, ", ")
}

// count returns how many kills are pending, and how many of the sent ones are not answered yet.
func (q *Queue) count() (pending int, first time.Time, open, sent int) {
	for _, b := range q.batches {
		if !b.sent {
			pending += len(b.jobs)
			if first.IsZero() || b.at.Before(first) {
				first = b.at
			}
			continue
		}
		sent += len(b.jobs)
		for _, j := range b.jobs {
			if j.state != jobDone {
				open++
			}
		}
	}
	return pending, first, open, sent
}

// Status implements ui.Background: "killing 3 in 4 s  z undo".
func (q *Queue) Status() string {
	pending, first, open, sent := q.count()
	switch {
	case pending > 0:
		left := max(0, first.Sub(q.now)+time.Second-1) / time.Second
		return q.env.Lang.T("killing %d in %d s  %s undo", pending, left, present.KeyIn(q.env.Keys, keymap.Always, keymap.AppUndo))
	case open > 0:
		return q.env.Lang.T("killing: %d of %d done", sent-open, sent) + q.waiting()
	default:
		return ""
	}
}

// waiting words the longest pause a provider asked for, or "".
func (q *Queue) waiting() string {
	var until time.Time
	for _, b := range q.batches {
		for _, j := range b.jobs {
			if j.state == jobWaiting && q.pausedUntil[j.sb.Provider].After(until) {
				until = q.pausedUntil[j.sb.Provider]
			}
		}
	}
	if !until.After(q.now) {
		return ""
	}
	return ", " + q.env.Lang.T("waiting %s as the provider asked", present.Duration(until.Sub(q.now)+time.Second-1))
}

// AtStake implements ui.Staker.
func (q *Queue) AtStake() []string {
	pending, _, open, _ := q.count()
	var out []string
	if pending > 0 {
		out = append(out, q.env.Lang.N(pending, "%d kill has not been sent and would not happen", "%d kills have not been sent and would not happen", pending))
	}
	if open > 0 {
		out = append(out, q.env.Lang.N(open, "%d kill has no answer yet", "%d kills have no answer yet", open))
	}
	return out
}
