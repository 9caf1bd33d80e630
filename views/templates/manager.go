package templates

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	tpl "abxdash/templates"
	"abxdash/templates/capture"
	"abxdash/templates/check"
	"abxdash/templates/deploy"
	"abxdash/ui"
	"abxdash/views/present"
)

// Manager keeps what outlives the screens: the lists of templates, which live
// sandboxes there are, checks, builds and deploys, and the draft of the wizard.
// It is a ui.Background and a ui.Staker; everything happens in Update, so it
// needs no lock and the screens read it directly.
type Manager struct {
	opt     Options
	env     ui.Env
	cancel  context.CancelFunc
	now     time.Time
	sources []*source
	// live are the sandboxes that each provider listed last.
	live map[string][]client.Sandbox
	// listed changes with every list of templates, counted with every list of sandboxes.
	listed, counted uint64

	jobs   []*job
	number int
	checks map[string]*checking
	// targets are the providers that folders are for, where the user said so.
	targets map[string]string
	draft   draft
}

// New makes a manager; it starts with Init.
func New(opt Options) *Manager {
	if opt.Check == nil {
		opt.Check = check.Run
	}
	if opt.Deploy == nil {
		opt.Deploy = deploy.Run
	}
	if opt.Capture == nil {
		opt.Capture = capture.Run
	}
	if len(opt.Targets) == 0 {
		opt.Targets = []string{tpl.Express}
	}
	m := &Manager{opt: opt, live: map[string][]client.Sandbox{}, checks: map[string]*checking{}, targets: map[string]string{}}
	for _, p := range opt.Providers {
		m.sources = append(m.sources, newSource(p))
	}
	return m
}

// Init implements ui.Background.
func (m *Manager) Init(env ui.Env) tea.Cmd {
	env.Ctx, m.cancel = context.WithCancel(env.Ctx)
	m.env, m.now = env, env.Now()
	m.draft = m.newDraft()
	return nil
}

// Update implements ui.Background.
func (m *Manager) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case ui.TickMsg:
		m.now = msg.Now
	case present.ListedMsg:
		if msg.Err == nil {
			m.live[msg.Provider] = msg.Page.Sandboxes
			m.counted++
		}
	case templatesMsg:
		m.gotTemplates(msg)
	case beginMsg:
		return m.begin(msg), false
	case stopMsg:
		msg.job.stop()
	case jobMsg:
		return m.jobMoved(msg.job), false
	case jobDoneMsg:
		return m.jobDone(msg), false
	case checkMsg:
		return m.checkMoved(msg.check), false
	case checkDoneMsg:
		return m.checkDone(msg), false
	case saveMsg:
		return m.wasSaved(msg), false
	case savedMsg:
		return m.saved(msg), false
	case editorMsg:
		return m.edited(msg), false
	}
	return nil, false
}

// Close ends checks, builds and deploys.
func (m *Manager) Close() {
	if m.cancel != nil {
		m.cancel()
	}
}

// Status implements ui.Background.
func (m *Manager) Status() string {
	var out []string
	for _, j := range m.jobs {
		if j.running {
			out = append(out, j.title(m.env.Lang)+": "+j.where()+" "+present.Duration(m.now.Sub(j.began)))
		}
	}
	for _, dir := range m.checkedDirs() {
		if c := m.checks[dir]; c.running {
			out = append(out, m.env.Lang.T("checking %s", m.folderName(dir)))
		}
	}
	return strings.Join(out, "   ")
}

// AtStake implements ui.Staker: a build ends with the dashboard.
func (m *Manager) AtStake() []string {
	n := 0
	for _, j := range m.jobs {
		if j.running {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{m.env.Lang.N(n, "%d template is being built", "%d templates are being built", n)}
}

func (m *Manager) checkedDirs() []string {
	out := make([]string, 0, len(m.checks))
	for dir := range m.checks {
		out = append(out, dir)
	}
	slices.Sort(out)
	return out
}

// provider is a configured provider, or nil.
func (m *Manager) provider(name string) client.Provider { return m.opt.Providers.Get(name) }

// readOnly says why nothing is changed, nil if it may be.
func (m *Manager) readOnly() tea.Cmd {
	if !m.opt.ReadOnly {
		return nil
	}
	return ui.Toast(ui.ToastWarn, m.env.Lang.T("read-only mode: nothing is changed (%s)", client.CodeReadOnly))
}

// folderName is the short form of a folder's path: relative to the current
// folder where it is below it, else from ~ on; clean.
func (m *Manager) folderName(dir string) string {
	if rel, err := filepath.Rel(m.opt.Dir, dir); err == nil && m.opt.Dir != "" && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		if rel == "." {
			return present.Clean(filepath.Base(dir))
		}
		return present.Clean(rel)
	}
	return m.path(dir)
}

// path is a whole path, from ~ on where it is in the home; clean.
func (m *Manager) path(dir string) string {
	if rel, ok := strings.CutPrefix(dir, m.opt.Home+string(filepath.Separator)); ok && m.opt.Home != "" {
		return present.Clean("~/" + filepath.ToSlash(rel))
	}
	return present.Clean(dir)
}

// targetOf is the provider that a folder is for: what the user chose, else
// what its Dockerfile looks like.
func (m *Manager) targetOf(f *folder) string {
	if t := m.targets[f.dir]; t != "" {
		return t
	}
	if f.express {
		return m.opt.Targets[0]
	}
	for _, t := range m.opt.Targets {
		if !(tpl.Target{Provider: t}).IsExpress() {
			return t
		}
	}
	return m.opt.Targets[0]
}

// start asks for a sandbox of a template.
func start(provider, template string) tea.Cmd {
	return ui.Cmd(present.CreateRequestMsg{Full: true, Provider: provider, Template: template})
}

// failed is a toast about an error, with its hint.
func (m *Manager) failed(what string, err error) tea.Cmd {
	text := what + ": " + present.ErrorLine(err)
	if h := present.Hint(err); h != "" {
		text += "  " + m.env.Lang.T("hint: %s", m.env.Lang.Word(h))
	}
	return ui.Toast(ui.ToastError, text)
}
