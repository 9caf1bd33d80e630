// Package exec is the Output tab of a sandbox: a line to type commands into,
// their output as it comes, and how each one ended. The [Manager] owns the
// commands, which go on when the tab is closed; [Screen] shows them.
package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/client/stream"
	"abxdash/ui"
	"abxdash/ui/lang"
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

	// merged is the stream of all commands once it was asked for, and
	// mergedSignal its one wake-up.
	merged       *merged
	mergedSignal *stream.Signal
}

// box is what was typed and run in one sandbox.
type box struct {
	runs    []*run // oldest first
	history []string
	count   int
	// stdin keeps standard input of the next commands open.
	stdin bool
}

// run is one command. Everything but ring and pump belongs to the program's loop.
type run struct {
	n   int
	key present.Key
	// name is what the sandbox is called, clean.
	name string
	line string
	// stdin says that standard input is open, closedIn that its end was sent;
	// inbox is what is still to be sent, its first being on the way.
	stdin, closedIn bool
	inbox           []input
	started         time.Time
	ended           time.Time

	ring   *stream.Ring
	tee    *tee
	spill  *spill
	signal *stream.Signal
	pump   *stream.Pump // nil until it has started
	// asked counts how often it was asked to end: first gently, then for good.
	asked int
	// stopEarly is set when it was asked to end before it had started.
	stopEarly bool
	over      bool
	exit      client.Exit
	err       error
}

// Messages of the manager.
type (
	startedMsg struct {
		r    *run
		proc client.Process
		err  error
	}
	outputMsg struct{ r *run }
	mergedMsg struct{}
	sentMsg   struct {
		r   *run
		err error
	}
	doneMsg struct {
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
			r.spill.close()
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
				out = append(out, m.env.Lang.T("%s in %s", present.CleanMax(r.line, 30), present.Clean(string(k.ID))))
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
	case mergedMsg:
		return m.waitMerged(), false
	case sentMsg:
		return m.sent(msg), false
	case doneMsg:
		r := msg.r
		r.over, r.ended = true, m.env.Now()
		r.exit, r.err = msg.exit, msg.err
		return present.Event(present.EventMsg{
			Key: r.key, At: r.ended, Kind: present.EventCommand, Bad: !r.ok(), Took: r.took(r.ended),
			Text: m.env.Lang.T("%s: %s, %s", present.CleanMax(r.line, 60), r.ending(m.env.Lang), took(r.took(r.ended))),
		}), false
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

// event says in the sandbox's timeline what a command did.
func (m *Manager) event(r *run, text string, bad bool) tea.Cmd {
	return present.Event(present.EventMsg{Key: r.key, At: m.env.Now(), Kind: present.EventCommand, Text: text, Bad: bad})
}

// start runs a shell line in a sandbox, which is called name.
func (m *Manager) start(k present.Key, name, line string) (*run, tea.Cmd) {
	b := m.box(k)
	b.count++
	sig := stream.NewSignal()
	raw := &spill{}
	ring := stream.NewRing(stream.RingOptions{Signal: sig, Raw: raw.add})
	r := &run{n: b.count, key: k, name: name, line: line, stdin: b.stdin, started: m.env.Now(), signal: sig, spill: raw, ring: ring}
	r.tee = &tee{ring: ring, label: []byte(r.label()), to: m.merged}
	b.runs = append(b.runs, r)
	b.trim()
	c := client.ShellCommand(line)
	c.Stdin = r.stdin
	p, ctx := m.providers.Get(k.Provider), m.env.Ctx
	return r, func() tea.Msg {
		if p == nil {
			return startedMsg{r: r, err: fmt.Errorf("provider %s is not configured", k.Provider)}
		}
		proc, err := p.Commands().Start(ctx, k.ID, c)
		return startedMsg{r: r, proc: proc, err: err}
	}
}

// trim forgets the oldest ended commands beyond the bound.
func (b *box) trim() {
	for i := 0; len(b.runs) > maxRuns && i < len(b.runs); {
		if b.runs[i].over {
			b.runs[i].spill.close()
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
		return m.event(r, present.CleanMax(r.line, 60)+": "+r.ending(m.env.Lang), true)
	}
	r.pump = stream.StartPump(msg.proc, r.tee, m.env.Now)
	ctx, pump := m.env.Ctx, r.pump
	done := func() tea.Msg {
		exit, err := pump.Wait(ctx)
		if ctx.Err() != nil {
			return nil
		}
		return doneMsg{r: r, exit: exit, err: err}
	}
	var stop tea.Cmd
	if r.stopEarly {
		stop = m.stop(r)
	}
	return tea.Batch(m.wait(r), done, stop, m.event(r, "$ "+present.CleanMax(r.line, 80), false))
}

// all are the commands of every sandbox, oldest first.
func (m *Manager) all() []*run {
	var out []*run
	for _, b := range m.boxes {
		out = append(out, b.runs...)
	}
	slices.SortFunc(out, func(a, b *run) int { return a.started.Compare(b.started) })
	return out
}

// merge makes the stream of all commands, once.
func (m *Manager) merge() (*merged, tea.Cmd) {
	if m.merged != nil {
		return m.merged, nil
	}
	m.mergedSignal = stream.NewSignal()
	m.merged = newMerged(m.mergedSignal)
	all := m.all()
	m.merged.begin(all)
	for _, r := range all {
		r.tee.join(m.merged)
	}
	return m.merged, m.waitMerged()
}

func (m *Manager) waitMerged() tea.Cmd {
	ctx, sig := m.env.Ctx, m.mergedSignal
	return func() tea.Msg {
		if sig.WaitFrame(ctx) != nil {
			return nil
		}
		return mergedMsg{}
	}
}

// input is what is typed to a command: text, or the end of input.
type input struct {
	text string
	eof  bool
}

// send types to a running command, one piece after the other.
func (m *Manager) send(r *run, in input) tea.Cmd {
	if r.over || r.pump == nil || !r.stdin || r.closedIn {
		return nil
	}
	r.closedIn = in.eof
	r.inbox = append(r.inbox, in)
	if len(r.inbox) > 1 {
		return nil // goes out after what is under way
	}
	return m.sendNext(r)
}

func (m *Manager) sendNext(r *run) tea.Cmd {
	proc, ctx, in := r.pump.Process(), m.env.Ctx, r.inbox[0]
	return func() tea.Msg {
		if in.eof {
			return sentMsg{r: r, err: proc.CloseStdin(ctx)}
		}
		return sentMsg{r: r, err: proc.Write(ctx, []byte(in.text+"\n"))}
	}
}

// sent goes on with what was typed meanwhile.
func (m *Manager) sent(msg sentMsg) tea.Cmd {
	r := msg.r
	r.inbox = r.inbox[1:]
	if msg.err != nil {
		r.inbox = nil
		return ui.Toast(ui.ToastError, m.env.Lang.T("input: %s", present.ErrorLine(msg.err)))
	}
	if len(r.inbox) > 0 && !r.over {
		return m.sendNext(r)
	}
	return nil
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
	if r.over {
		return nil
	}
	if r.pump == nil {
		r.stopEarly = true
		return ui.Toast(ui.ToastInfo, m.env.Lang.T("it is stopped as soon as it has started"))
	}
	sig, word := client.SIGTERM, m.env.Lang.T("SIGTERM sent; again to kill it")
	if r.asked > 0 {
		sig, word = client.SIGKILL, m.env.Lang.T("SIGKILL sent")
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
func (r *run) ending(tr *lang.Catalog) string {
	switch {
	case !r.over && r.pump == nil:
		return tr.T("starting")
	case !r.over:
		return tr.T("running")
	case r.pump == nil:
		return tr.T("not started: %s", present.ErrorLine(r.err))
	case r.err != nil:
		return present.ErrorLine(r.err)
	}
	return tr.Word(r.exit.String())
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
