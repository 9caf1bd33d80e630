// Package logs is the Logs tab of a sandbox: what its provider or its system
// logged, followed while it is looked at.
package logs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/client/stream"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/logpane"
	"abxdash/ui/textbox"
	"abxdash/views/present"
)

// How often new entries are asked for while the tab is shown, and how many at a time.
const (
	readEvery        = 3 * time.Second
	readEveryUnfocus = 30 * time.Second
	batch            = 1000
)

// Options is what main hands in.
type Options struct {
	Provider client.Provider
	// Dir is where a saved log goes.
	Dir string
}

// Screen is the Logs tab.
type Screen struct {
	opts   Options
	env    ui.Env
	cancel context.CancelFunc
	sb     client.Sandbox

	ring  *stream.Ring
	pane  *logpane.Pane
	last  time.Time // of the newest entry
	known bool
	err   error
	pace  present.Pace
}

// readMsg is the answer to one read.
type readMsg struct {
	owner *Screen
	list  []client.LogEntry
	err   error
}

// New makes the tab for s.
func New(o Options, s client.Sandbox) *Screen {
	return &Screen{
		opts: o, sb: s, ring: stream.NewRing(stream.RingOptions{}),
		pace: present.Pace{Every: readEvery, Unfocused: readEveryUnfocus},
	}
}

// Init implements ui.Screen.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	env.Ctx, s.cancel = context.WithCancel(env.Ctx)
	s.env = env
	s.pane = logpane.New(env.Keys, s.ring)
	s.pane.Lang = env.Lang
	s.pane.SetTimes(true)
	return nil
}

// Close implements ui.Screen.
func (s *Screen) Close() { s.cancel() }

// Title implements ui.Screen.
func (s *Screen) Title() string { return s.env.Lang.T("Logs") }

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context { return s.pane.Keys() }

// Captures implements ui.Capturer.
func (s *Screen) Captures() bool { return s.pane.Captures() }

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	if s.pace.Update(msg) {
		return s.read()
	}
	switch m := msg.(type) {
	case ui.ThemeMsg:
		s.env.Theme = m.Theme
	case readMsg:
		return s.got(m)
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseMsg:
		s.pane.Update(m)
	case ui.ActionMsg:
		return s.act(m.Action)
	}
	return nil
}

// read asks for what is new, one call at a time.
func (s *Screen) read() tea.Cmd {
	r, ok := client.Find[client.LogReader](s.opts.Provider)
	if !ok || !s.pace.Begin(s.env.Now()) {
		return nil
	}
	since := s.last
	if !since.IsZero() {
		since = since.Add(time.Millisecond)
	}
	ctx, id := s.env.Ctx, s.sb.ID
	return func() tea.Msg {
		list, err := r.Logs(ctx, id, since, batch)
		return readMsg{owner: s, list: list, err: err}
	}
}

// got adds what is new; a full answer is followed by the next one at once.
func (s *Screen) got(m readMsg) tea.Cmd {
	if m.owner != s {
		return nil
	}
	s.pace.End()
	if errors.Is(m.err, context.Canceled) {
		return nil
	}
	if s.err = m.err; m.err != nil {
		return nil
	}
	s.known = true
	before := s.last
	for _, e := range m.list {
		if e.At.After(s.last) {
			s.last = e.At
		}
		s.ring.Append(kind(e), []byte(line(e)+"\n"), e.At)
	}
	// A provider that gives the same entries again ends here.
	if len(m.list) >= batch && s.last.After(before) && s.pace.Shown() {
		return s.read()
	}
	return nil
}

// kind is standard error for what "errors only" is to show.
func kind(e client.LogEntry) client.StreamKind {
	switch strings.ToLower(e.Level) {
	case "error", "fatal", "panic", "critical", "warn", "warning":
		return client.Stderr
	}
	return client.Stdout
}

// line words an entry on one line. Escapes stay for the pane to make visible.
func line(e client.LogEntry) string {
	var b strings.Builder
	if e.Level != "" {
		fmt.Fprintf(&b, "%-5s ", present.CleanMax(e.Level, 8))
	}
	b.WriteString(strings.NewReplacer("\n", "↵", "\r", "").Replace(textbox.Plain(e.Message)))
	for _, k := range slices.Sorted(maps.Keys(e.Fields)) {
		b.WriteString("  " + present.CleanMax(k, 40) + "=" + present.CleanMax(e.Fields[k], 200))
	}
	return b.String()
}

func (s *Screen) act(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.NavBack:
		if !s.pane.Back() {
			return ui.Cmd(ui.BackMsg{})
		}
	case keymap.AppRefresh:
		return s.read()
	case keymap.LogCopy:
		text := s.pane.Text()
		if len(text) > textbox.MaxCopy {
			return ui.Toast(ui.ToastWarn, s.env.Lang.T("%s is too much for the clipboard; save it to a file instead", present.Size(int64(len(text)))))
		}
		n := strings.Count(text, "\n")
		return tea.Batch(tea.SetClipboard(text), ui.Toast(ui.ToastOK, s.env.Lang.N(n, "copied %d line", "copied %d lines", n)))
	case keymap.LogLine:
		if text, ok := s.pane.FullLine(); ok {
			return ui.OpenOverlay(textbox.New(textbox.Options{Title: s.env.Lang.T("Log line"), Text: text}))
		}
	case keymap.LogSave:
		return s.save()
	default:
		s.pane.Do(a)
	}
	return nil
}

// save writes the lines held, made safe, to a new file and says where.
func (s *Screen) save() tea.Cmd {
	name := fmt.Sprintf("abxdash-%s-%s.log", s.sb.ID, s.env.Now().UTC().Format("20060102T150405"))
	return present.SaveLog(s.env.Lang, s.opts.Dir, name, s.pane.Text())
}

// Draw implements ui.Screen.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := s.env.Theme
	in := draw.Box(scr, area, t, s.Title()+" ─ "+s.pane.Status(), t.Border.Focused, t.Border.TitleFocused)
	if in.Dy() <= 0 {
		return nil
	}
	note, st := "", t.Text.Dim
	switch {
	case s.err != nil:
		note, st = present.ErrorLine(s.err), t.Text.Error
	case !s.known:
		note = s.env.Lang.T("reading …")
	case s.ring.Len() == 0:
		note = s.env.Lang.T("nothing was logged")
	}
	if note != "" {
		draw.Line(scr, in, 0, " "+note, st)
		in = uv.Rect(in.Min.X, in.Min.Y+1, in.Dx(), in.Dy()-1)
		if in.Dy() <= 0 {
			return nil
		}
	}
	return s.pane.Draw(scr, in, t)
}
