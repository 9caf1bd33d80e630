package shell

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/record"
	"abxdash/views/present"
)

// recorder is the recording of one shell, if there is one. The hooks are called
// by the goroutines of the terminal session.
type recorder struct {
	mu   sync.Mutex
	file *record.File
	// input is set when what is typed is recorded too.
	keys bool
}

func (r *recorder) get() *record.File {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file
}

func (r *recorder) on() bool { return r.get() != nil }

func (r *recorder) output(p []byte) {
	if f := r.get(); f != nil {
		f.Output(p)
	}
}

func (r *recorder) input(p []byte) {
	if f := r.get(); f != nil {
		f.Input(p)
	}
}

func (r *recorder) resize(cols, rows int) {
	if f := r.get(); f != nil {
		f.Resize(cols, rows)
	}
}

// start reports false when there is a recording already.
func (r *recorder) start(f *record.File, keys bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		return false
	}
	r.file, r.keys = f, keys
	return true
}

// stop ends the recording and returns its path, "" if there was none. It does I/O.
func (r *recorder) stop() (string, error) {
	r.mu.Lock()
	f := r.file
	r.file = nil
	r.mu.Unlock()
	if f == nil {
		return "", nil
	}
	return f.Path(), f.Close()
}

// mark is what the bar shows while recording, "" otherwise.
func (r *recorder) mark() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return ""
	}
	d := r.file.Elapsed().Truncate(time.Second)
	text := fmt.Sprintf("● rec %02d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	if r.keys {
		text += " +keys"
	}
	if r.file.Err() != nil {
		text += " STOPPED"
	}
	return text
}

// recordedMsg tells that a recording began or ended.
type recordedMsg struct {
	s *session
	// path is that of a recording that ended.
	path string
	err  error
}

// toggleRecording begins or ends a recording.
func (m *Manager) toggleRecording(s *session, label string, keys bool) tea.Cmd {
	if s.rec.on() {
		return m.stopRecording(s)
	}
	if m.opts.RecordDir == "" {
		return ui.Toast(ui.ToastWarn, m.env.Lang.T("there is no folder for recordings"))
	}
	p := m.providers.Get(s.key.Provider)
	if p == nil || !s.running() {
		return nil
	}
	ctx, id, live, rec := m.env.Ctx, s.key.ID, s.live, s.rec
	now := m.env.Now()
	path := filepath.Join(m.opts.RecordDir, record.Name(label+"-"+s.name, now))
	return func() tea.Msg {
		secrets, err := present.EnvSecrets(ctx, p, id)
		if err != nil {
			return recordedMsg{s: s, err: fmt.Errorf("not recording, because the secrets to mask cannot be read: %w", err)}
		}
		cols, rows := live.Terminal().Size()
		f, err := record.Create(path, record.Header{Width: cols, Height: rows, Title: label, Env: map[string]string{"TERM": "xterm-256color"}},
			record.Options{Secrets: secrets, Input: keys})
		if err != nil {
			return recordedMsg{s: s, err: err}
		}
		taken := false
		live.Snapshot(func(paint []byte) {
			// What is on the screen already is where the recording starts.
			f.Output(paint)
			taken = rec.start(f, keys)
		})
		if !taken {
			_ = f.Close() // another one began meanwhile
		}
		return recordedMsg{s: s}
	}
}

// stopRecording ends a recording, if there is one.
func (m *Manager) stopRecording(s *session) tea.Cmd {
	if !s.rec.on() {
		return nil
	}
	return func() tea.Msg {
		path, err := s.rec.stop()
		return recordedMsg{s: s, path: path, err: err}
	}
}

func (m *Manager) recorded(msg recordedMsg) tea.Cmd {
	switch {
	case msg.err != nil:
		return ui.Toast(ui.ToastError, present.ErrorLine(msg.err))
	case msg.path != "":
		return ui.Toast(ui.ToastOK, m.env.Lang.T("recorded %s", present.Clean(msg.path)))
	case !m.known(msg.s):
		return func() tea.Msg { msg.s.close(); return nil }
	}
	return nil
}

// play opens a recording, or offers those there are.
func (m *Manager) play(file string) tea.Cmd {
	if file != "" {
		return ui.Open(present.RouteReplay, present.ReplayParams{Path: file})
	}
	dir, tr := m.opts.RecordDir, m.env.Lang
	return func() tea.Msg {
		found, err := record.List(dir)
		if err != nil {
			return ui.ToastMsg{Level: ui.ToastError, Text: present.ErrorLine(err)}
		}
		if len(found) == 0 {
			return ui.ToastMsg{Text: tr.T("no recordings yet; the leader and r in a shell makes one")}
		}
		var items []dialog.Item
		for _, f := range found {
			items = append(items, dialog.Item{
				Label: present.Clean(filepath.Base(f.Path)), Hint: f.At.Format(tr.T("Jan 2 15:04")),
				Cmd: ui.Open(present.RouteReplay, present.ReplayParams{Path: f.Path}),
			})
		}
		return ui.OverlayMsg{Overlay: dialog.Menu(tr.T("Recordings"), items)}
	}
}
