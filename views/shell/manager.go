// Package shell attaches to shells inside sandboxes. The [Manager] owns the
// sessions, which go on when the screen that showed them is closed; [Screen]
// shows one or two of them, as a tab or over the whole window.
package shell

import (
	"context"
	"fmt"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/attach"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// ManagerOptions are what a Manager can do beyond holding shells; the zero value works.
type ManagerOptions struct {
	Owner present.Owner
	// Folder remembers the names that shells were given.
	Folder present.Folder
	// RecordDir is where recordings go; "" switches recording off.
	RecordDir string
	// OpenLink hands an address to a browser; nil copies it instead.
	OpenLink func(target string) error
	// Tmux says that the dashboard runs inside tmux.
	Tmux bool
	// ReadOnly is why no shell may be started and no lifetime changed, "" if they may.
	ReadOnly string
}

// Manager owns all shells of this dashboard. It is a ui.Background.
type Manager struct {
	providers present.Providers
	opts      ManagerOptions
	env       ui.Env
	cancel    context.CancelFunc
	shells    map[present.Key][]*session
	// looked are the sandboxes in which earlier shells were looked for.
	looked   map[present.Key]bool
	names    names
	sessions *openSessions
	// clip is what was copied last.
	clip string
	// graphemes is set when the real terminal measures whole clusters.
	graphemes bool
}

// Messages of the manager.
type (
	startedMsg struct {
		s    *session
		live *term.Session
		proc client.Process
		err  error
	}
	changedMsg struct{ s *session }
	// endedMsg tells the screen that shows it that a shell has ended.
	endedMsg struct{ s *session }
)

// NewManager makes a manager over the configured providers.
func NewManager(p present.Providers) *Manager { return NewManagerWith(p, ManagerOptions{}) }

// NewManagerWith makes a manager with options.
func NewManagerWith(p present.Providers, o ManagerOptions) *Manager {
	if o.Owner == (present.Owner{}) {
		o.Owner = present.CurrentOwner()
	}
	return &Manager{
		providers: p, opts: o, shells: map[present.Key][]*session{}, looked: map[present.Key]bool{},
		names: loadNames(o.Folder), sessions: &openSessions{all: map[*session]*term.Session{}},
	}
}

// Init implements ui.Background.
func (m *Manager) Init(env ui.Env) tea.Cmd {
	env.Ctx, m.cancel = context.WithCancel(env.Ctx)
	m.env = env
	return nil
}

// Close implements ui.Background: it detaches from every shell and ends its
// recording. The shells themselves go on where the provider keeps them.
func (m *Manager) Close() {
	m.cancel()
	m.sessions.closeAll()
	clear(m.shells)
}

// Status implements ui.Background: a recording is never out of sight.
func (m *Manager) Status() string {
	n := 0
	for _, list := range m.shells {
		for _, s := range list {
			if s.rec.on() {
				n++
			}
		}
	}
	if n == 0 {
		return ""
	}
	return "● " + m.env.Lang.N(n, "rec %d shell", "rec %d shells", n)
}

// Survives implements ui.Survivor.
func (m *Manager) Survives() []string {
	var out []string
	for k, list := range m.shells {
		if n := alive(list); n > 0 && m.keeps(k.Provider) {
			out = append(out, m.env.Lang.N(n, "%d shell in %s", "%d shells in %s", n, present.Clean(string(k.ID))))
		}
	}
	return out
}

// AtStake implements ui.Staker: shells that end with the dashboard.
func (m *Manager) AtStake() []string {
	var out []string
	for k, list := range m.shells {
		if n := alive(list); n > 0 && !m.keeps(k.Provider) {
			out = append(out, m.env.Lang.N(n, "%d shell in %s would end", "%d shells in %s would end", n, present.Clean(string(k.ID))))
		}
	}
	return out
}

func (m *Manager) keeps(provider string) bool {
	p := m.providers.Get(provider)
	return p != nil && p.Capabilities().Has(client.CapReconnect)
}

func alive(list []*session) int {
	n := 0
	for _, s := range list {
		if s.live != nil && !s.over() {
			n++
		}
	}
	return n
}

// Update implements ui.Background.
func (m *Manager) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case startedMsg:
		return m.started(msg), false
	case changedMsg:
		return m.changed(msg.s), false
	case foundMsg:
		return m.found(msg), false
	case attach.DoneMsg:
		// The terminal was somebody else's: nothing on it can be relied upon, and
		// the framework does not switch this mode on again.
		if m.graphemes {
			return tea.Sequence(tea.Raw(ansi.SetModeUnicodeCore), tea.ClearScreen), false
		}
		return tea.ClearScreen, false
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeUnicodeCore && msg.Value != ansi.ModeNotRecognized && msg.Value != ansi.ModePermanentlyReset {
			m.graphemes = true
		}
	case recordedMsg:
		return m.recorded(msg), false
	case present.GoneMsg:
		var cmds []tea.Cmd
		for _, k := range msg.Keys {
			cmds = append(cmds, m.drop(k))
		}
		return tea.Batch(cmds...), false
	case ui.ActionMsg:
		if msg.Action == keymap.RecordPlay {
			return m.play(msg.Arg), true
		}
	}
	return nil, false
}

// sizeWait is how long a new shell waits to learn the size of its pane.
const sizeWait = time.Second

// open starts one more shell in a sandbox and returns it at once. The shell is
// created with the first size that comes, so that its first line is not laid
// out for a wrong one.
func (m *Manager) open(sb client.Sandbox) (*session, tea.Cmd) {
	key := present.KeyOf(sb)
	s := m.add(key, m.freeName(key))
	p, ctx, tag, sizes := m.providers.Get(key.Provider), m.env.Ctx, present.ShellTag(m.opts.Owner, s.name), s.sizes
	return s, func() tea.Msg {
		if p == nil {
			return startedMsg{s: s, err: fmt.Errorf("provider %s is not configured", key.Provider)}
		}
		size := firstSize(ctx, sizes)
		cmd := present.ShellCommand(size, tag)
		proc, err := p.Commands().Start(ctx, key.ID, cmd)
		if err != nil {
			return startedMsg{s: s, err: err}
		}
		return startedMsg{s: s, live: s.begin(proc, size.Cols, size.Rows), proc: proc}
	}
}

// firstSize waits for the size of the pane, not for long.
func firstSize(ctx context.Context, sizes <-chan client.Size) client.Size {
	timer := time.NewTimer(sizeWait)
	defer timer.Stop()
	select {
	case size := <-sizes:
		return size
	case <-timer.C:
	case <-ctx.Done():
	}
	return client.Size{Cols: 80, Rows: 24}
}

func (m *Manager) add(key present.Key, name string) *session {
	s := &session{key: key, name: name, sizes: make(chan client.Size, 1), rec: &recorder{}, open: m.sessions}
	m.shells[key] = append(m.shells[key], s)
	return s
}

// freeName is the smallest number that no shell of the sandbox is called.
func (m *Manager) freeName(key present.Key) string {
	for n := 1; ; n++ {
		name, taken := strconv.Itoa(n), false
		for _, s := range m.shells[key] {
			taken = taken || s.name == name
		}
		if !taken {
			return name
		}
	}
}

// rename gives a shell a name and remembers it for the next start.
func (m *Manager) rename(s *session, name string) tea.Cmd {
	s.name = name
	if s.proc == nil {
		return nil
	}
	save, tr := m.names.set(s.key, s.proc.PID(), name), m.env.Lang
	return func() tea.Msg {
		if err := save(); err != nil {
			return ui.ToastMsg{Level: ui.ToastWarn, Text: tr.T("the name is not remembered: %s", present.ErrorLine(err))}
		}
		return nil
	}
}

// started notes a shell that runs now, or why it does not.
func (m *Manager) started(msg startedMsg) tea.Cmd {
	s := msg.s
	if !m.known(s) {
		return func() tea.Msg { s.close(); return nil }
	}
	s.live, s.proc, s.err = msg.live, msg.proc, msg.err
	if s.err != nil {
		return nil
	}
	return tea.Batch(m.wait(s), m.count(s.key))
}

// changed re-arms the one wait of a session and reports its end once.
func (m *Manager) changed(s *session) tea.Cmd {
	if !m.known(s) {
		return nil
	}
	if s.over() {
		if s.said {
			return nil
		}
		s.said = true
		return tea.Batch(ui.Cmd(endedMsg{s}), m.count(s.key), m.stopRecording(s))
	}
	s.pace(m.env.Pace)
	return m.wait(s)
}

func (m *Manager) wait(s *session) tea.Cmd {
	live, ctx := s.live, m.env.Ctx
	return func() tea.Msg {
		if !live.Wait(ctx) {
			return nil
		}
		return changedMsg{s}
	}
}

func (m *Manager) count(k present.Key) tea.Cmd {
	return ui.Cmd(present.ShellCountMsg{Key: k, N: alive(m.shells[k])})
}

func (m *Manager) known(s *session) bool {
	for _, x := range m.shells[s.key] {
		if x == s {
			return true
		}
	}
	return false
}

// in returns the shells of a sandbox, ended ones included.
func (m *Manager) in(k present.Key) []*session { return m.shells[k] }

// forget drops a shell: an ended one, or one that could not start.
func (m *Manager) forget(s *session) tea.Cmd {
	list := m.shells[s.key]
	for i, x := range list {
		if x == s {
			m.shells[s.key] = append(list[:i:i], list[i+1:]...)
		}
	}
	return func() tea.Msg { s.close(); return nil }
}

// drop forgets the shells of a sandbox that no longer exists, once they have ended themselves.
func (m *Manager) drop(k present.Key) tea.Cmd {
	var cmds []tea.Cmd
	for _, s := range append([]*session(nil), m.shells[k]...) {
		if s.over() && s.said {
			cmds = append(cmds, m.forget(s))
		}
	}
	return tea.Batch(cmds...)
}
