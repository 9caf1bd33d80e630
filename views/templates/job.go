package templates

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/client/stream"
	"abxdash/templates/deploy"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// phaseState is how far one step of a job is.
type phaseState uint8

const (
	phaseWaiting phaseState = iota
	phaseRunning
	phaseDone
	phaseFailed
	phaseCancelled
	// phaseSkipped had nothing to do.
	phaseSkipped
)

// phase is one step of a build or deploy.
type phase struct {
	step  deploy.Step
	state phaseState
	began time.Time
	took  time.Duration
	// detail is how far it is within itself, such as "step 3/6".
	detail string
	log    *stream.Ring
}

// job is one build or deploy. It belongs to the manager and goes on when its
// screen is left.
type job struct {
	number int
	dir    string
	// name is the template's, provider where it goes; "" for a build only.
	name, provider string
	opts           deploy.Options
	phases         []phase
	log            *stream.Ring
	signal         *stream.Signal

	running  bool
	attempts int
	began    time.Time
	took     time.Duration
	cancel   context.CancelFunc
	// stopped is set once the user asked for the end.
	stopped bool
	result  deploy.Result
	err     error

	mu     sync.Mutex
	events []deploy.Event
}

// jobMsg says that a job has something new, jobDoneMsg that it ended.
type (
	jobMsg     struct{ job *job }
	jobDoneMsg struct {
		job    *job
		result deploy.Result
		err    error
	}
)

// Bounds of what is kept: of every job, and of every step's log.
const (
	maxJobs  = 20
	logLines = 5000
	logBytes = 4 << 20
)

func (m *Manager) newJob(dir, provider, name string, o deploy.Options) *job {
	m.number++
	j := &job{number: m.number, dir: dir, name: name, provider: provider, opts: o, signal: stream.NewSignal()}
	for _, s := range plannedSteps(o) {
		j.phases = append(j.phases, phase{step: s, log: newLog(nil)})
	}
	j.log = newLog(j.signal)
	m.jobs = append(m.jobs, j)
	for i := 0; len(m.jobs) > maxJobs && i < len(m.jobs)-1; i++ { // never the new one
		if !m.jobs[i].running {
			m.jobs = slices.Delete(m.jobs, i, i+1)
			i--
		}
	}
	return j
}

func newLog(sig *stream.Signal) *stream.Ring {
	return stream.NewRing(stream.RingOptions{Lines: logLines, Bytes: logBytes, Signal: sig})
}

// plannedSteps are the steps that a deploy will take.
func plannedSteps(o deploy.Options) []deploy.Step {
	var out []deploy.Step
	for _, s := range deploy.Steps() {
		switch s {
		case deploy.StepBuild, deploy.StepPush:
			if o.Image != "" {
				continue
			}
		case deploy.StepLogin:
			if o.Login == nil && o.Ask == nil {
				continue
			}
		case deploy.StepCreate, deploy.StepReady:
			if o.Maker == nil {
				continue
			}
		}
		out = append(out, s)
		if s == o.Last {
			break
		}
	}
	return out
}

// jobOf is the newest job of a folder, nil if there is none.
func (m *Manager) jobOf(dir string) *job {
	for _, j := range slices.Backward(m.jobs) {
		if j.dir == dir {
			return j
		}
	}
	return nil
}

func (m *Manager) job(number int) *job {
	for _, j := range m.jobs {
		if j.number == number {
			return j
		}
	}
	return nil
}

// run starts a job, or goes on with it at its failed step.
func (m *Manager) run(j *job, from deploy.Step) tea.Cmd {
	now := m.env.Now()
	first := max(0, slices.IndexFunc(j.phases, func(p phase) bool { return p.step == from }))
	for i := range j.phases {
		if i >= first {
			j.phases[i].state, j.phases[i].took, j.phases[i].detail = phaseWaiting, 0, ""
		}
	}
	j.attempts++
	if j.attempts > 1 {
		j.say(deploy.Event{Step: j.phases[first].step, Text: m.env.Lang.T("attempt %d, from %s", j.attempts, j.phases[first].step)})
	}
	ctx, cancel := context.WithCancel(m.env.Ctx)
	j.running, j.stopped, j.cancel, j.err, j.began, j.took = true, false, cancel, nil, now, 0
	j.begin(first, now)
	o := j.opts
	o.From = from
	if from == deploy.StepReady {
		o.Resume = client.TemplateBuild{TemplateID: j.result.TemplateID, BuildID: j.result.BuildID}
	}
	o.Say = j.say
	work := m.opt.Deploy
	return tea.Batch(m.waitFor(j), func() tea.Msg {
		defer cancel()
		r, err := work(ctx, o)
		return jobDoneMsg{job: j, result: r, err: err}
	})
}

// say takes what a job says, from its own goroutine.
func (j *job) say(e deploy.Event) {
	at := time.Now()
	// A pull or push has a line for each step of each layer: those are shown as
	// how far it is, not kept.
	if e.Docker == nil || e.Docker.Kind != "progress" {
		text := []byte(client.OneLine(e.Text, 2000) + "\n")
		for i := range j.phases {
			if j.phases[i].step == e.Step {
				j.phases[i].log.Append(client.Stdout, text, at)
			}
		}
		j.log.Append(client.Stdout, append([]byte(fmt.Sprintf("%-6s ", e.Step)), text...), at)
	}
	j.mu.Lock()
	j.events = append(j.events, e)
	j.mu.Unlock()
	j.signal.Set()
}

// waitFor wakes the screens when a job has said something.
func (m *Manager) waitFor(j *job) tea.Cmd {
	ctx := m.env.Ctx
	return func() tea.Msg {
		if j.signal.WaitFrame(ctx) != nil {
			return nil
		}
		return jobMsg{job: j}
	}
}

// jobMoved takes over what a job said.
func (m *Manager) jobMoved(j *job) tea.Cmd {
	if !j.running {
		return nil
	}
	j.take(m.env.Now(), m.env.Lang)
	return m.waitFor(j)
}

func (j *job) take(now time.Time, tr *lang.Catalog) {
	j.mu.Lock()
	events := j.events
	j.events = nil
	j.mu.Unlock()
	for _, e := range events {
		i := slices.IndexFunc(j.phases, func(p phase) bool { return p.step == e.Step })
		if i < 0 {
			continue
		}
		if j.phases[i].state == phaseWaiting {
			j.begin(i, now)
		}
		if e.Docker != nil {
			j.phases[i].detail = dockerDetail(tr, e)
		}
	}
}

// begin says that step i runs; those before it are done.
func (j *job) begin(i int, now time.Time) {
	for k := range j.phases[:i] {
		switch p := &j.phases[k]; p.state {
		case phaseRunning:
			p.state, p.took = phaseDone, now.Sub(p.began)
		case phaseWaiting:
			p.state = phaseSkipped
		}
	}
	j.phases[i].state, j.phases[i].began = phaseRunning, now
}

func dockerDetail(tr *lang.Catalog, e deploy.Event) string {
	d := e.Docker
	switch {
	case d.Total > 0:
		return present.Size(d.Current) + "/" + present.Size(d.Total)
	case d.Steps > 0:
		return tr.T("step %d/%d", d.Step, d.Steps)
	}
	return ""
}

// jobDone takes over how a job ended.
func (m *Manager) jobDone(msg jobDoneMsg) tea.Cmd {
	j, now, tr := msg.job, m.env.Now(), m.env.Lang
	j.take(now, tr)
	before := j.result
	j.running, j.result, j.err, j.took = false, msg.result, msg.err, now.Sub(j.began)
	if j.result.TemplateID == "" {
		// A retry from a later step knows the template from the attempt before.
		j.result.TemplateID, j.result.BuildID = before.TemplateID, before.BuildID
	}
	j.result.Updated = j.result.Updated || before.Updated
	if j.result.Name != "" {
		j.name = present.Clean(j.result.Name)
	}
	j.settlePhases(msg, now)
	if step, failed := j.failedStep(); failed && step == deploy.StepLint && !j.stopped {
		for l := range strings.Lines(lintText(tr, msg.result.Lint.Problems)) {
			j.say(deploy.Event{Step: deploy.StepLint, Text: strings.TrimRight(l, "\n")})
		}
	}
	j.signal.Set() // ends the waiting command
	title := j.title(tr)
	again := m.again(j.provider)
	switch {
	case j.stopped || errors.Is(msg.err, context.Canceled):
		return tea.Batch(again, ui.Toast(ui.ToastWarn, tr.T("%s was cancelled", title)))
	case msg.err != nil:
		return tea.Batch(again, m.failed(title, msg.err), ui.Cmd(ui.AttentionMsg{Kind: ui.AttentionFailures, Text: tr.T("%s failed", title)}))
	}
	return tea.Batch(again, ui.Toast(ui.ToastOK, tr.T("%s is done", title)), ui.Cmd(ui.AttentionMsg{Kind: ui.AttentionDone, Text: tr.T("%s is done", title)}))
}

// settlePhases takes the exact times and outcomes of the steps.
func (j *job) settlePhases(msg jobDoneMsg, now time.Time) {
	for _, d := range msg.result.Steps {
		for i := range j.phases {
			p := &j.phases[i]
			if p.step != d.Step {
				continue
			}
			p.took, p.state = time.Duration(d.MS)*time.Millisecond, phaseDone
			if !d.OK {
				p.state = phaseFailed
			}
		}
	}
	for i := range j.phases {
		p := &j.phases[i]
		if p.state == phaseRunning {
			p.took = now.Sub(p.began)
			if p.state = phaseDone; msg.err != nil {
				p.state = phaseFailed
			}
		}
		if p.state == phaseWaiting && msg.err == nil {
			p.state = phaseSkipped
		}
		if p.state == phaseFailed && j.stopped {
			p.state = phaseCancelled
		}
	}
}

// failedStep is where a retry begins.
func (j *job) failedStep() (deploy.Step, bool) {
	for _, p := range j.phases {
		if p.state == phaseFailed || p.state == phaseCancelled {
			return p.step, true
		}
	}
	return "", false
}

// retryFrom is the step that a retry begins with: the failed one, except that a
// build which the provider ended in an error has to be started anew.
func (j *job) retryFrom() deploy.Step {
	step, _ := j.failedStep()
	switch {
	case step == deploy.StepLint:
		return ""
	case step == deploy.StepReady && client.CodeOf(j.err) == client.CodeTemplateBuild:
		return deploy.StepCreate
	}
	return step
}

// current is the step that runs, or the last one that did.
func (j *job) current() int {
	at := 0
	for i, p := range j.phases {
		if p.state != phaseWaiting {
			at = i
		}
	}
	return at
}

// stop ends a job.
func (j *job) stop() {
	if j.running {
		j.stopped = true
		j.cancel()
	}
}

// ready reports that there is a template to start sandboxes from.
func (j *job) ready() bool {
	return !j.running && j.err == nil && j.result.OK && j.result.TemplateID != ""
}

// title is what the job does: "deploy demo"; clean.
func (j *job) title(tr *lang.Catalog) string {
	name := present.Clean(j.name)
	if name == "" {
		name = present.Clean(filepath.Base(j.dir))
	}
	if j.provider == "" {
		return tr.T("build %s", name)
	}
	return tr.T("deploy %s", name)
}

// where says in a word which step runs.
func (j *job) where() string {
	p := j.phases[j.current()]
	if p.detail != "" {
		return string(p.step) + " " + p.detail
	}
	return string(p.step)
}

// verdict is the job in the list of folders.
func (j *job) verdict(t *theme.Theme, tr *lang.Catalog) (string, uv.Style) {
	kind := tr.T("deploy")
	if j.provider == "" {
		kind = tr.T("build")
	}
	switch {
	case j.running:
		return t.Symbol.Busy + " " + kind + ": " + j.where(), t.Text.Info
	case j.stopped:
		return t.Symbol.Warn + " " + tr.T("%s cancelled", kind), t.Text.Warn
	case j.err != nil:
		step, _ := j.failedStep()
		return t.Symbol.Fail + " " + kind + ": " + string(step), t.Text.Error
	}
	return t.Symbol.OK + " " + kind + " " + present.Duration(j.took), t.Text.OK
}

// begin makes a job, starts it and shows it.
func (m *Manager) begin(msg beginMsg) tea.Cmd {
	if m.opt.ReadOnly {
		return m.readOnly()
	}
	j := m.newJob(msg.dir, msg.provider, msg.name, msg.opts)
	return tea.Batch(m.run(j, ""), ui.Open(RouteRun, RunParams{Number: j.number}))
}
