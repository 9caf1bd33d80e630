package templates

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/templates/capture"
	"abxdash/templates/scaffold"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/views/present"
)

// captureTimeout bounds the reading of a sandbox.
const captureTimeout = 5 * time.Minute

// capturedMsg is what was done in a sandbox.
type capturedMsg struct {
	owner *Wizard
	box   string
	found capture.Found
	err   error
}

// boxes are the live sandboxes whose files can be read, as provider/id.
func (m *Manager) boxes() []string {
	var out []string
	for _, p := range m.opt.Providers {
		caps := p.Capabilities()
		if !caps.Has(client.CapCommands) || !caps.Has(client.CapFiles) {
			continue
		}
		for _, sb := range m.live[p.Name()] {
			if sb.Running() {
				out = append(out, p.Name()+"/"+string(sb.ID))
			}
		}
	}
	slices.Sort(out)
	return out
}

// box is a live sandbox by provider/id.
func (m *Manager) box(name string) (client.Provider, client.Sandbox, bool) {
	k, ok := present.ParseKey(name)
	if !ok {
		return nil, client.Sandbox{}, false
	}
	for _, sb := range m.live[k.Provider] {
		if sb.ID == k.ID {
			return m.provider(k.Provider), sb, true
		}
	}
	return nil, client.Sandbox{}, false
}

func (m *Manager) boxHelp(name string) string {
	if _, sb, ok := m.box(name); ok {
		return present.Label(sb)
	}
	return ""
}

// capture looks at the chosen sandbox; it is only read.
func (w *Wizard) capture() tea.Cmd {
	p, sb, ok := w.m.box(w.d.box)
	if !ok || p == nil {
		w.err = errors.New("there is no live sandbox to start from")
		return nil
	}
	w.busy = true
	ctx, work, msg := w.env.Ctx, w.m.opt.Capture, capturedMsg{owner: w, box: w.d.box}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, captureTimeout)
		defer cancel()
		msg.found, msg.err = work(ctx, p, sb, capture.Options{})
		return msg
	}
}

// captured goes on with the files, and says what was left out.
func (w *Wizard) captured(msg capturedMsg) tea.Cmd {
	w.busy = false
	if msg.box != w.d.box || w.d.kind != string(scaffold.FromSandbox) {
		return nil // the user chose something else meanwhile
	}
	if w.err = msg.err; msg.err != nil {
		return nil
	}
	w.d.changes = &msg.found.Changes
	if _, err := w.m.files(w.d); err != nil {
		w.d.changes, w.err = nil, err
		return nil
	}
	w.d.step++
	w.build()
	w.refresh()
	if len(msg.found.Left) == 0 {
		return nil
	}
	tr := w.env.Lang
	text := tr.T("Not taken from %s:", present.Clean(msg.box))
	for _, l := range msg.found.Left {
		text += "\n  " + present.Clean(l.Path) + ": " + present.Clean(tr.Word(l.Why))
	}
	return ui.OpenOverlay(dialog.Message(tr.T("Left out"), dialog.Plain(text)))
}
