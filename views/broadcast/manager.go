// Package broadcast runs one command in many sandboxes and shows how it ended
// in each: exit code, time, first line of the error, equal outputs grouped.
package broadcast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

const (
	// concurrency is how many sandboxes run the command at the same time.
	concurrency = 8
	// keep bounds what is kept of one output, in bytes; the rest is counted.
	keep = 64 << 10
	// historyMax is how many lines are remembered for the arrow keys.
	historyMax = 50
)

// Options configures a [Manager].
type Options struct {
	Providers present.Providers
	// ReadOnly refuses every request with a reason.
	ReadOnly bool
}

// Manager owns the broadcasts. It is a ui.Background: a broadcast goes on when
// its grid is closed, and the same key opens the grid again.
type Manager struct {
	opt     Options
	env     ui.Env
	ctx     context.Context
	cancel  context.CancelFunc
	run     *run // the last one
	history []string
}

// stage is how far one sandbox has got.
type stage uint8

const (
	waiting stage = iota
	running
	ended
	skipped
)

// run is one command in many sandboxes.
type run struct {
	line string
	// strict stops what has not begun at the first failure.
	strict  bool
	stopped bool
	began   time.Time
	jobs    []*job
}

// worthACall is how long a broadcast must have taken for its end to call the user.
const worthACall = 15 * time.Second

// job is the command in one sandbox.
type job struct {
	sb             client.Sandbox
	stage          stage
	began, over    time.Time
	proc           client.Process
	exit           client.Exit
	err            error
	stdout, stderr output
	why            string // why it was skipped
}

// output is the beginning of a stream and how much more there was.
type output struct {
	data []byte
	more int64
}

func (o *output) add(p []byte) {
	n := min(len(p), keep-len(o.data))
	o.data = append(o.data, p[:n]...)
	o.more += int64(len(p) - n)
}

// failed reports a command that did not end well.
func (j *job) failed() bool { return j.stage == ended && (j.err != nil || !j.exit.OK()) }

// Messages of the manager.
type (
	startMsg struct {
		targets []client.Sandbox
		line    string
	}
	startedMsg struct {
		run  *run
		job  *job
		proc client.Process
		err  error
	}
	endedMsg struct {
		run            *run
		job            *job
		exit           client.Exit
		err            error
		stdout, stderr output
	}
	stopMsg struct{ run *run }
)

// New makes a manager; it starts with Init.
func New(opt Options) *Manager { return &Manager{opt: opt} }

// Init implements ui.Background.
func (m *Manager) Init(env ui.Env) tea.Cmd {
	m.env = env
	m.ctx, m.cancel = context.WithCancel(env.Ctx)
	return nil
}

// Close implements ui.Background: it lets go of what still runs, which goes on.
func (m *Manager) Close() {
	if m.cancel != nil {
		m.cancel()
	}
	if m.run == nil {
		return
	}
	for _, j := range m.run.jobs {
		if j.proc != nil && j.stage == running {
			_ = j.proc.Close() // we are leaving; the command is the sandbox's now
		}
	}
}

// Status implements ui.Background.
func (m *Manager) Status() string {
	if m.run == nil || m.run.over() {
		return ""
	}
	done, failed := m.run.counts()
	out := m.env.Lang.T("running in %d: %d done", len(m.run.jobs), done)
	if failed > 0 {
		out += ", " + m.env.Lang.T("%d failed", failed)
	}
	return out
}

// Survives implements ui.Survivor.
func (m *Manager) Survives() []string {
	if m.run == nil || m.run.over() {
		return nil
	}
	done, _ := m.run.counts()
	left := len(m.run.jobs) - done
	return []string{m.env.Lang.N(left, "%s in %d sandbox", "%s in %d sandboxes", present.CleanMax(m.run.line, 30), left)}
}

func (r *run) counts() (done, failed int) {
	for _, j := range r.jobs {
		if j.stage == ended || j.stage == skipped {
			done++
		}
		if j.failed() {
			failed++
		}
	}
	return done, failed
}

func (r *run) over() bool {
	done, _ := r.counts()
	return done == len(r.jobs)
}

// Update implements ui.Background.
func (m *Manager) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case present.BroadcastMsg:
		return m.request(msg), false
	case startMsg:
		return m.start(msg), false
	case startedMsg:
		return m.started(msg), false
	case endedMsg:
		return m.ended(msg), false
	case stopMsg:
		return m.stop(msg.run), false
	}
	return nil, false
}

// request asks for the line, with the list of where it will run, or shows the
// broadcast that has not ended yet.
func (m *Manager) request(msg present.BroadcastMsg) tea.Cmd {
	switch {
	case m.opt.ReadOnly:
		return ui.Toast(ui.ToastWarn, m.env.Lang.T("read-only mode: nothing is run (%s)", client.CodeReadOnly))
	case len(msg.Targets) == 0:
		return nil
	case m.run != nil && !m.run.over():
		return ui.OpenOverlay(newGrid(m.run))
	case strings.TrimSpace(msg.Line) != "":
		return ui.Cmd(startMsg{msg.Targets, msg.Line})
	}
	tr, n := m.env.Lang, len(msg.Targets)
	return ui.OpenOverlay(dialog.Prompt(dialog.PromptOptions{
		Title: tr.N(n, "Run in %d sandbox", "Run in %d sandboxes", n), Label: "$ ",
		Placeholder: tr.T("a shell line; -e before it stops at the first failure"),
		History:     m.history,
		Lines:       dialog.Plain(names(msg.Targets, 12, tr)),
		Check: func(text string) error {
			if _, line := parse(text); line == "" {
				return lang.Errorf("type the command to run")
			}
			return nil
		},
		OnText: func(text string) tea.Cmd { return ui.Cmd(startMsg{msg.Targets, text}) },
	}))
}

// names lists sandboxes in one line each, up to a number.
func names(list []client.Sandbox, most int, tr *lang.Catalog) string {
	var b strings.Builder
	for i, s := range list {
		if i == most {
			b.WriteString(tr.T("and %d more", len(list)-i))
			break
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", present.LongLabel(s), present.Clean(s.Provider), tr.Word(present.StateWord(s)))
	}
	return strings.TrimRight(b.String(), "\n")
}

// parse takes the option off a line.
func parse(text string) (strict bool, line string) {
	line = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(line, "-e "); ok {
		return true, strings.TrimSpace(rest)
	}
	if line == "-e" {
		return true, ""
	}
	return false, line
}

func (m *Manager) start(msg startMsg) tea.Cmd {
	strict, line := parse(msg.line)
	if line == "" {
		return nil
	}
	m.history = append(m.history, msg.line)
	if len(m.history) > historyMax {
		m.history = m.history[1:]
	}
	r := &run{line: line, strict: strict, began: m.env.Now()}
	for _, sb := range msg.targets {
		j := &job{sb: sb}
		p := m.opt.Providers.Get(sb.Provider)
		switch {
		case p == nil:
			j.stage, j.why = skipped, m.env.Lang.T("its provider is not configured")
		case !p.Capabilities().Has(client.CapCommands):
			j.stage, j.why = skipped, present.Lacks(p, client.CapCommands, m.env.Lang)
		case !sb.Running():
			j.stage, j.why = skipped, m.env.Lang.T("it is %s", m.env.Lang.Word(present.StateWord(sb)))
		}
		r.jobs = append(r.jobs, j)
	}
	m.run = r
	return tea.Batch(ui.OpenOverlay(newGrid(r)), m.fill(r))
}

// fill begins waiting jobs as far as the cap allows.
func (m *Manager) fill(r *run) tea.Cmd {
	busy := 0
	for _, j := range r.jobs {
		if j.stage == running {
			busy++
		}
	}
	var cmds []tea.Cmd
	for _, j := range r.jobs {
		if j.stage != waiting {
			continue
		}
		if r.stopped {
			j.stage, j.why = skipped, m.env.Lang.T("stopped before it began")
			continue
		}
		if busy >= concurrency {
			break
		}
		busy++
		j.stage, j.began = running, m.env.Now()
		cmds = append(cmds, m.begin(r, j))
	}
	return tea.Batch(cmds...)
}

func (m *Manager) begin(r *run, j *job) tea.Cmd {
	ctx, p, id, line := m.ctx, m.opt.Providers.Get(j.sb.Provider), j.sb.ID, r.line
	return func() tea.Msg {
		proc, err := p.Commands().Start(ctx, id, client.ShellCommand(line))
		return startedMsg{run: r, job: j, proc: proc, err: err}
	}
}

func (m *Manager) started(msg startedMsg) tea.Cmd {
	if msg.err != nil {
		return m.ended(endedMsg{run: msg.run, job: msg.job, err: msg.err})
	}
	msg.job.proc = msg.proc
	read := func() tea.Msg {
		out := endedMsg{run: msg.run, job: msg.job}
		for {
			f, err := msg.proc.Next()
			switch {
			case errors.Is(err, io.EOF):
				out.exit = msg.proc.Exit()
				return out
			case err != nil:
				out.err = err
				return out
			case f.Stream == client.Stderr:
				out.stderr.add(f.Data)
			default:
				out.stdout.add(f.Data)
			}
		}
	}
	if msg.run.stopped {
		return tea.Batch(read, m.stop(msg.run))
	}
	return read
}

func (m *Manager) ended(msg endedMsg) tea.Cmd {
	j := msg.job
	j.stage, j.over = ended, m.env.Now()
	j.exit, j.err, j.stdout, j.stderr = msg.exit, msg.err, msg.stdout, msg.stderr
	if j.proc != nil {
		_ = j.proc.Close() // it has ended
	}
	if j.failed() && msg.run.strict {
		msg.run.stopped = true
	}
	next := m.fill(msg.run)
	if !msg.run.over() {
		return next
	}
	level := ui.ToastOK
	if _, failed := msg.run.counts(); failed > 0 {
		level = ui.ToastError
	}
	cmds := []tea.Cmd{next, ui.Toast(level, msg.run.summary(m.env.Lang))}
	if took := m.env.Now().Sub(msg.run.began); took >= worthACall {
		cmds = append(cmds, ui.Cmd(ui.AttentionMsg{Kind: ui.AttentionDone, Text: msg.run.summary(m.env.Lang)}))
	}
	return tea.Batch(cmds...)
}

// stop asks what runs to end and begins nothing more.
func (m *Manager) stop(r *run) tea.Cmd {
	r.stopped = true
	cmds := []tea.Cmd{m.fill(r)}
	ctx := m.ctx
	for _, j := range r.jobs {
		if j.stage != running || j.proc == nil {
			continue
		}
		proc := j.proc
		cmds = append(cmds, func() tea.Msg {
			if err := proc.Signal(ctx, client.SIGTERM); err != nil && !errors.Is(err, client.ErrNotFound) {
				return ui.ToastMsg{Level: ui.ToastError, Text: present.ErrorLine(err)}
			}
			return nil
		})
	}
	return tea.Batch(cmds...)
}

// summary words the result, e.g. "3 ok, 1 failed, 1 not run: pytest -q".
func (r *run) summary(tr *lang.Catalog) string {
	var ok, failed, not int
	for _, j := range r.jobs {
		switch {
		case j.stage == skipped:
			not++
		case j.failed():
			failed++
		case j.stage == ended:
			ok++
		}
	}
	parts := []string{tr.T("%d ok", ok)}
	if failed > 0 {
		parts = append(parts, tr.T("%d failed", failed))
	}
	if not > 0 {
		parts = append(parts, tr.T("%d not run", not))
	}
	return strings.Join(parts, ", ") + ": " + present.CleanMax(r.line, 60)
}

var (
	_ ui.Background = (*Manager)(nil)
	_ ui.Survivor   = (*Manager)(nil)
)
