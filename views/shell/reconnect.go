package shell

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// lookTime bounds looking for earlier shells; a new one is started when it is over.
const lookTime = 5 * time.Second

// foundMsg are the shells of an earlier run that were joined again.
type foundMsg struct {
	key    present.Key
	joined []joined
	// lost are those that could not be joined.
	lost int
}

type joined struct {
	s    *session
	proc client.Process
	live *term.Session
	name string
}

// look joins the shells in a sandbox that this user started in an earlier run.
// It reports false when there is nothing to look for: the provider cannot do
// it, or it was done before.
func (m *Manager) look(sb client.Sandbox) (tea.Cmd, bool) {
	key := present.KeyOf(sb)
	p := m.providers.Get(key.Provider)
	if p == nil || m.looked[key] || !m.keeps(key.Provider) || len(m.shells[key]) > 0 {
		return nil, false
	}
	m.looked[key] = true
	ctx, owner, open, note := m.env.Ctx, m.opts.Owner, m.sessions, m.env.Lang.T("earlier output is not available")
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, lookTime)
		defer cancel()
		ps, err := p.Commands().Processes(ctx, key.ID)
		if err != nil {
			return foundMsg{key: key} // a new shell says what is wrong
		}
		out := foundMsg{key: key}
		for _, f := range present.OwnShells(owner, ps) {
			proc, err := p.Commands().Attach(ctx, key.ID, f.PID)
			if err != nil {
				out.lost++
				continue
			}
			s := &session{key: key, sizes: make(chan client.Size, 1), sized: true, rec: &recorder{}, open: open}
			// One row less than any pane: the true size then comes as a change, and
			// the program draws itself again.
			out.joined = append(out.joined, joined{s: s, proc: proc, live: s.beginOver(&noted{stream{proc}, note}, proc, 79, 2), name: f.Name})
		}
		return out
	}, true
}

// noted is a stream that begins with a dim line of ours. Providers do not send
// again what a shell has written, and an empty scroll-back alone would look as
// if there had been nothing.
type noted struct {
	stream
	note string
}

// Next implements term.Stream.
func (n *noted) Next() ([]byte, error) {
	if n.note == "" {
		return n.stream.Next()
	}
	line := "\x1b[2m" + n.note + "\x1b[m\r\n"
	n.note = ""
	return []byte(line), nil
}

// found takes the shells over.
func (m *Manager) found(msg foundMsg) tea.Cmd {
	var cmds []tea.Cmd
	for _, j := range msg.joined {
		j.s.live, j.s.proc, j.s.name = j.live, j.proc, j.name
		if given, ok := m.names.get(msg.key, j.proc.PID()); ok {
			j.s.name = given
		}
		m.shells[msg.key] = append(m.shells[msg.key], j.s)
		cmds = append(cmds, m.wait(j.s))
	}
	if n := len(msg.joined); n > 0 {
		cmds = append(cmds, m.count(msg.key), ui.Toast(ui.ToastInfo, m.env.Lang.N(n, "back in %d shell of an earlier run", "back in %d shells of an earlier run", n)))
	}
	if msg.lost > 0 {
		cmds = append(cmds, ui.Toast(ui.ToastWarn, m.env.Lang.N(msg.lost, "%d shell of an earlier run cannot be joined", "%d shells of an earlier run cannot be joined", msg.lost)))
	}
	return tea.Batch(cmds...)
}

// namesFile remembers names by sandbox and process.
const namesFile = "shells.json"

// maxNames bounds what is remembered.
const maxNames = 500

// names are the names that shells were given after their start.
type names struct {
	folder present.Folder
	given  map[string]string
}

func loadNames(f present.Folder) names {
	given, err := present.Load[map[string]string](f, namesFile)
	if err != nil || given == nil {
		given = map[string]string{} // a name is a convenience
	}
	return names{folder: f, given: given}
}

func nameKey(k present.Key, pid int) string { return fmt.Sprintf("%s#%d", k, pid) }

func (n *names) get(k present.Key, pid int) (string, bool) {
	name, ok := n.given[nameKey(k, pid)]
	return present.CleanMax(name, maxName), ok
}

// set notes a name and returns what saves it, to be run outside of the loop.
func (n *names) set(k present.Key, pid int, name string) (save func() error) {
	if len(n.given) >= maxNames {
		clear(n.given) // older sandboxes are long gone
	}
	n.given[nameKey(k, pid)] = name
	copied := make(map[string]string, len(n.given))
	for k, v := range n.given {
		copied[k] = v
	}
	f := n.folder
	return func() error { return present.Save(f, namesFile, copied) }
}

// maxName is the longest name of a shell, in characters.
const maxName = 24

// checkName says why a text is no name.
func checkName(text string) error {
	switch text = strings.TrimSpace(text); {
	case text == "":
		return fmt.Errorf("a name has at least one character")
	case len([]rune(text)) > maxName:
		return fmt.Errorf("a name has at most %d characters", maxName)
	case present.Clean(text) != text || strings.ContainsAny(text, ":[]"):
		return fmt.Errorf("this character cannot be in a name")
	}
	return nil
}
