// Package shell attaches to shells inside sandboxes. The [Manager] owns the
// sessions, which go on when the screen that showed them is closed; [Screen]
// shows one of them, as a tab or over the whole window.
package shell

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// Manager owns all shells of this dashboard. It is a ui.Background.
type Manager struct {
	providers present.Providers
	env       ui.Env
	cancel    context.CancelFunc
	shells    map[present.Key][]*session
	next      int
}

// session is one shell. It is nil-safe only where said; all fields belong to the
// program's loop except what term.Session guards itself.
type session struct {
	n    int // number within the dashboard, for results that come late
	key  present.Key
	name string
	// live is nil until the shell has started, and after it could not start.
	live *term.Session
	proc client.Process
	// err is why it could not start.
	err error
	// said is set once the end has been reported.
	said bool
}

// over reports whether there is nothing more to type into.
func (s *session) over() bool {
	return s.err != nil || s.live != nil && s.live.End() != nil
}

// ending words how the shell ended.
func (s *session) ending() string {
	if s.err != nil {
		return "could not start: " + present.ErrorLine(s.err)
	}
	end := s.live.End()
	switch {
	case end == nil:
		return ""
	case errors.Is(end.Err, client.ErrNotFound):
		return "the sandbox is gone"
	case end.Err != nil:
		return present.ErrorLine(end.Err)
	}
	return "shell ended: " + s.proc.Exit().String()
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
)

// NewManager makes a manager over the configured providers.
func NewManager(p present.Providers) *Manager {
	return &Manager{providers: p, shells: map[present.Key][]*session{}}
}

// Init implements ui.Background.
func (m *Manager) Init(env ui.Env) tea.Cmd {
	env.Ctx, m.cancel = context.WithCancel(env.Ctx)
	m.env = env
	return nil
}

// Close implements ui.Background: it detaches from every shell. The shells
// themselves go on where the provider keeps them.
func (m *Manager) Close() {
	m.cancel()
	for _, list := range m.shells {
		for _, s := range list {
			if s.live != nil {
				_ = s.live.Close() // detaching; a failure has no consequence here
			}
		}
	}
	clear(m.shells)
}

// Status implements ui.Background.
func (m *Manager) Status() string { return "" }

// Survives implements ui.Survivor.
func (m *Manager) Survives() []string {
	var out []string
	for k, list := range m.shells {
		if n := alive(list); n > 0 && m.keeps(k.Provider) {
			out = append(out, fmt.Sprintf("%s in %s", present.Plural(n, "shell", "shells"), present.Clean(string(k.ID))))
		}
	}
	return out
}

// AtStake implements ui.Staker: shells that end with the dashboard.
func (m *Manager) AtStake() []string {
	var out []string
	for k, list := range m.shells {
		if n := alive(list); n > 0 && !m.keeps(k.Provider) {
			out = append(out, fmt.Sprintf("%s in %s would end", present.Plural(n, "shell", "shells"), present.Clean(string(k.ID))))
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
	case present.GoneMsg:
		for _, k := range msg.Keys {
			m.drop(k)
		}
	}
	return nil, false
}

// sizeWait is how long a new shell waits to learn the size of its pane.
const sizeWait = time.Second

// open starts one more shell in a sandbox and returns it at once. The shell is
// created with the first size that comes, so that its first line is not laid
// out for a wrong one.
func (m *Manager) open(sb client.Sandbox, sizes <-chan client.Size) (*session, tea.Cmd) {
	key := present.KeyOf(sb)
	m.next++
	s := &session{n: m.next, key: key, name: fmt.Sprintf("%d", len(m.shells[key])+1)}
	m.shells[key] = append(m.shells[key], s)
	p, ctx := m.providers.Get(key.Provider), m.env.Ctx
	return s, func() tea.Msg {
		if p == nil {
			return startedMsg{s: s, err: fmt.Errorf("provider %s is not configured", key.Provider)}
		}
		size := client.Size{Cols: 80, Rows: 24}
		timer := time.NewTimer(sizeWait)
		defer timer.Stop()
		select {
		case size = <-sizes:
		case <-timer.C:
		case <-ctx.Done():
		}
		proc, err := p.Commands().Start(ctx, key.ID, client.InteractiveShell(size))
		if err != nil {
			return startedMsg{s: s, err: err}
		}
		live := term.NewSession(stream{proc}, size.Cols, size.Rows, term.SessionOptions{})
		return startedMsg{s: s, live: live, proc: proc}
	}
}

// started notes a shell that runs now, or why it does not.
func (m *Manager) started(msg startedMsg) tea.Cmd {
	s := msg.s
	if !m.known(s) {
		if msg.live != nil {
			return func() tea.Msg { _ = msg.live.Close(); return nil }
		}
		return nil
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
		return tea.Batch(ui.Cmd(endedMsg{s}), m.count(s.key))
	}
	return m.wait(s)
}

// endedMsg tells the screen that shows it that a shell has ended.
type endedMsg struct{ s *session }

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

// forget drops an ended shell.
func (m *Manager) forget(s *session) {
	list := m.shells[s.key]
	for i, x := range list {
		if x == s {
			m.shells[s.key] = append(list[:i:i], list[i+1:]...)
		}
	}
	if s.live != nil {
		_ = s.live.Close()
	}
}

// drop forgets the shells of a sandbox that no longer exists, once they have ended themselves.
func (m *Manager) drop(k present.Key) {
	for _, s := range append([]*session(nil), m.shells[k]...) {
		if s.over() && s.said {
			m.forget(s)
		}
	}
}

// stream lets a terminal session read a process.
type stream struct{ p client.Process }

// Next implements term.Stream.
func (s stream) Next() ([]byte, error) {
	f, err := s.p.Next()
	return f.Data, err
}

// Write implements term.Stream.
func (s stream) Write(ctx context.Context, p []byte) error { return s.p.Write(ctx, p) }

// Resize implements term.Stream.
func (s stream) Resize(ctx context.Context, cols, rows int) error {
	return s.p.Resize(ctx, client.Size{Cols: cols, Rows: rows})
}

// Close implements term.Stream.
func (s stream) Close() error { return s.p.Close() }
