// Package exec is the Output tab of a sandbox: a line to type commands into,
// their output as it comes, and how each one ended. The [Manager] owns the
// commands, which go on when the tab is closed; [Screen] shows them.
package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/client/stream"
	"abxdash/ui"
	"abxdash/views/present"
)

// maxRuns is how many commands of one sandbox are kept with their output.
const maxRuns = 30

// Manager owns the commands of this dashboard. It is a ui.Background.
type Manager struct {
	providers present.Providers
	env       ui.Env
	cancel    context.CancelFunc
	boxes     map[present.Key]*box
}

// box is what was typed and run in one sandbox.
type box struct {
	runs    []*run // oldest first
	history []string
	count   int
}

// run is one command. Everything but ring and pump belongs to the program's loop.
type run struct {
	n       int
	key     present.Key
	line    string
	started time.Time
	ended   time.Time

	ring   *stream.Ring
	signal *stream.Signal
	pump   *stream.Pump // nil until it has started
	// asked counts how often it was asked to end: first gently, then for good.
	asked int
	over  bool
	exit  client.Exit
	err   error
}

// Messages of the manager.
type (
	startedMsg struct {
		r    *run
		proc client.Process
		err  error
	}
	outputMsg struct{ r *run }
	doneMsg   struct {
		r    *run
		exit client.Exit
		err  error
	}
)

// NewManager makes a manager over the configured providers.
func NewManager(p present.Providers) *Manager {
	return &Manager{providers: p, boxes: map[present.Key]*box{}}
}

// Init implements ui.Background.
func (m *Manager) Init(env ui.Env) tea.Cmd {
	env.Ctx, m.cancel = context.WithCancel(env.Ctx)
	m.env = env
	return nil
}

// Close implements ui.Background: it detaches from what still runs.
func (m *Manager) Close() {
	m.cancel()
	for _, b := range m.boxes {
		for _, r := range b.runs {
			if r.pump != nil {
				r.pump.Stop()
			}
		}
	}
	clear(m.boxes)
}

// Status implements ui.Background.
func (m *Manager) Status() string { return "" }

// Survives implements ui.Survivor.
func (m *Manager) Survives() []string {
	var out []string
	for k, b := range m.boxes {
		for _, r := range b.runs {
			if !r.over {
				out = append(out, fmt.Sprintf("%s in %s", present.CleanMax(r.line, 30), present.Clean(string(k.ID))))
			}
		}
	}
	return out
}

// Update implements ui.Background.
func (m *Manager) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case startedMsg:
		return m.started(msg), false
	case outputMsg:
		if !msg.r.over {
			return m.wait(msg.r), false
		}
	case doneMsg:
		msg.r.over, msg.r.ended = true, m.env.Now()
		msg.r.exit, msg.r.err = msg.exit, msg.err
	}
	return nil, false
}

// box is the place of a sandbox, made when first asked for.
func (m *Manager) box(k present.Key) *box {
	b, ok := m.boxes[k]
	if !ok {
		b = &box{}
		m.boxes[k] = b
	}
	return b
}

// start runs a shell line in a sandbox.
func (m *Manager) start(k present.Key, line string) (*run, tea.Cmd) {
	b := m.box(k)
	b.count++
	sig := stream.NewSignal()
	r := &run{n: b.count, key: k, line: line, started: m.env.Now(), signal: sig, ring: stream.NewRing(stream.RingOptions{Signal: sig})}
	b.runs = append(b.runs, r)
	b.trim()
	p, ctx := m.providers.Get(k.Provider), m.env.Ctx
	return r, func() tea.Msg {
		if p == nil {
			return startedMsg{r: r, err: fmt.Errorf("provider %s is not configured", k.Provider)}
		}
		proc, err := p.Commands().Start(ctx, k.ID, client.ShellCommand(line))
		return startedMsg{r: r, proc: proc, err: err}
	}
}

// trim forgets the oldest ended commands beyond the bound.
func (b *box) trim() {
	for i := 0; len(b.runs) > maxRuns && i < len(b.runs); {
		if b.runs[i].over {
			b.runs = append(b.runs[:i:i], b.runs[i+1:]...)
			continue
		}
		i++
	}
}

// started begins to read a command that runs now.
func (m *Manager) started(msg startedMsg) tea.Cmd {
	r := msg.r
	if msg.err != nil {
		r.over, r.err, r.ended = true, msg.err, m.env.Now()
		r.ring.Finish()
		return nil
	}
	r.pump = stream.StartPump(msg.proc, r.ring, m.env.Now)
	ctx, pump := m.env.Ctx, r.pump
	done := func() tea.Msg {
		exit, err := pump.Wait(ctx)
		if ctx.Err() != nil {
			return nil
		}
		return doneMsg{r: r, exit: exit, err: err}
	}
	return tea.Batch(m.wait(r), done)
}

// wait keeps the one outstanding wake-up of a command.
func (m *Manager) wait(r *run) tea.Cmd {
	ctx := m.env.Ctx
	return func() tea.Msg {
		if r.signal.WaitFrame(ctx) != nil {
			return nil
		}
		return outputMsg{r: r}
	}
}

// stop asks a command to end: SIGTERM first, SIGKILL when asked again.
func (m *Manager) stop(r *run) tea.Cmd {
	if r.over || r.pump == nil {
		return nil
	}
	sig, word := client.SIGTERM, "SIGTERM sent; again to kill it"
	if r.asked > 0 {
		sig, word = client.SIGKILL, "SIGKILL sent"
	}
	r.asked++
	proc, ctx := r.pump.Process(), m.env.Ctx
	return func() tea.Msg {
		if err := proc.Signal(ctx, sig); err != nil && !errors.Is(err, client.ErrNotFound) {
			return ui.ToastMsg{Level: ui.ToastError, Text: present.ErrorLine(err)}
		}
		return ui.ToastMsg{Level: ui.ToastInfo, Text: word}
	}
}

// ending words how a command stands.
func (r *run) ending() string {
	switch {
	case !r.over && r.pump == nil:
		return "starting"
	case !r.over:
		return "running"
	case r.pump == nil:
		return "not started: " + present.ErrorLine(r.err)
	case r.err != nil:
		return present.ErrorLine(r.err)
	}
	return r.exit.String()
}

// ok reports a command that ended well.
func (r *run) ok() bool { return r.over && r.err == nil && r.exit.OK() }

// took is how long it ran, or has been running.
func (r *run) took(now time.Time) time.Duration {
	if r.over {
		now = r.ended
	}
	return max(0, now.Sub(r.started))
}
