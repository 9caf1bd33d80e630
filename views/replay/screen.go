// Package replay plays recordings of shells: pause, speed, jumps, search. What
// was recorded is drawn by the emulator and never reaches the terminal raw.
package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/form"
	"abxdash/ui/record"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// Paces of playing.
const (
	frame = 50 * time.Millisecond
	// maxIdle is the longest time in which nothing happens, at normal speed.
	maxIdle = 2 * time.Second
	jump    = 10 * time.Second
	minRate = 0.125
	maxRate = 64
)

// Options of a player.
type Options struct {
	Path string
	// Rate is the speed to begin with; 0 is 1.
	Rate float64
}

// Screen plays one recording.
type Screen struct {
	opts   Options
	env    ui.Env
	cancel context.CancelFunc

	file   *os.File
	rec    *record.Recording
	term   *term.Terminal
	widget *term.Widget
	player *record.Player
	err    error

	playing bool
	rate    float64
	// stop ends the step or the jump that is under way.
	stop   context.CancelFunc
	gen    int
	search *form.Input
	query  string
	closed bool
}

// Messages of the player.
type (
	openedMsg struct {
		to   *Screen
		file *os.File
		rec  *record.Recording
		err  error
	}
	playedMsg struct {
		to  *Screen
		gen int
		err error
	}
	foundMsg struct {
		to    *Screen
		gen   int
		at    time.Duration
		found bool
		err   error
	}
)

// New makes a player.
func New(o Options) *Screen {
	if o.Rate <= 0 {
		o.Rate = 1
	}
	return &Screen{opts: o, rate: min(max(o.Rate, minRate), maxRate)}
}

// Init implements ui.Screen: it opens the recording.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	env.Ctx, s.cancel = context.WithCancel(env.Ctx)
	s.env = env
	path := s.opts.Path
	return func() tea.Msg {
		f, rec, err := openFile(path)
		return openedMsg{to: s, file: f, rec: rec, err: err}
	}
}

func openFile(path string) (*os.File, *record.Recording, error) {
	// A pipe or a device would not end, or not answer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("this is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	rec, err := record.Open(f, info.Size())
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, rec, nil
}

// Close implements ui.Screen.
func (s *Screen) Close() {
	s.closed = true
	s.cancel()
	if s.file != nil {
		_ = s.file.Close() // it was only read
	}
}

// Title implements ui.Screen.
func (s *Screen) Title() string {
	return s.env.Lang.T("Recording %s", present.Clean(filepath.Base(s.opts.Path)))
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context {
	if s.search != nil {
		return []keymap.Context{keymap.Input}
	}
	return []keymap.Context{keymap.Replay}
}

// Captures implements ui.Capturer while something is searched for.
func (s *Screen) Captures() bool { return s.search != nil }

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case openedMsg:
		if m.to == s {
			return s.opened(m)
		}
	case playedMsg:
		if m.to == s && m.gen == s.gen {
			s.err = m.err
			return s.step()
		}
	case foundMsg:
		if m.to == s && m.gen == s.gen {
			return s.found(m)
		}
	case ui.ThemeMsg:
		s.env.Theme = m.Theme
		if s.widget != nil {
			s.widget.SetTheme(m.Theme)
		}
	case tea.KeyPressMsg, tea.PasteMsg:
		return s.searchKey(msg)
	case ui.ActionMsg:
		return s.act(m.Action)
	}
	return nil
}

func (s *Screen) opened(m openedMsg) tea.Cmd {
	if s.closed {
		if m.file != nil {
			_ = m.file.Close()
		}
		return nil
	}
	if m.err != nil {
		s.err = m.err
		return nil
	}
	s.file, s.rec = m.file, m.rec
	// Nobody is there to read answers to the queries of long ago.
	s.term = term.New(m.rec.Header.Width, m.rec.Header.Height, term.Options{})
	s.term.SuppressReplies(true)
	s.widget = term.NewWidget(s.term, s.env.Theme)
	s.player = record.NewPlayer(m.rec, s.term)
	s.playing = true
	return s.step()
}

// step plays on for a moment.
func (s *Screen) step() tea.Cmd {
	if !s.playing || s.err != nil {
		return nil
	}
	next, more := s.player.Next()
	if !more {
		s.playing = false
		return nil
	}
	pos := s.player.Position()
	wait, target := pace(next-pos, s.rate)
	target += pos
	return s.play(wait, target)
}

// pace is how long to wait before how much is played on.
func pace(gap time.Duration, rate float64) (wait, on time.Duration) {
	if gap > maxIdle {
		return time.Duration(float64(maxIdle) / rate), gap
	}
	wait = min(max(time.Duration(float64(gap)/rate), frame/3), frame)
	return wait, time.Duration(float64(wait) * rate)
}

// play waits and then plays to a time. It ends what was under way.
func (s *Screen) play(wait, target time.Duration) tea.Cmd {
	s.halt()
	var ctx context.Context
	ctx, s.stop = context.WithCancel(s.env.Ctx)
	player, gen := s.player, s.gen
	return func() tea.Msg {
		if wait > 0 {
			t := time.NewTimer(wait)
			defer t.Stop()
			select {
			case <-t.C:
			case <-ctx.Done():
				return nil
			}
		}
		err := player.Seek(ctx, target)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return playedMsg{to: s, gen: gen, err: err}
	}
}

// halt ends what is under way; its result no longer counts.
func (s *Screen) halt() {
	s.gen++
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

func (s *Screen) act(a keymap.Action) tea.Cmd {
	if a == keymap.NavBack {
		return ui.Cmd(ui.BackMsg{})
	}
	if s.player == nil {
		return nil
	}
	switch a {
	case keymap.ReplayPause:
		s.playing = !s.playing
		if !s.playing {
			s.halt()
			return nil
		}
		if _, more := s.player.Next(); !more {
			return s.play(0, 0)
		}
		return s.step()
	case keymap.ReplayFaster:
		s.rate = min(s.rate*2, maxRate)
		return s.step()
	case keymap.ReplaySlower:
		s.rate = max(s.rate/2, minRate)
		return s.step()
	case keymap.ReplayBack:
		return s.play(0, s.player.Position()-jump)
	case keymap.ReplayForward:
		return s.play(0, s.player.Position()+jump)
	case keymap.ReplayStart:
		return s.play(0, 0)
	case keymap.ReplayEnd:
		s.playing = false
		return s.play(0, s.rec.Length())
	case keymap.SearchOpen:
		s.search = form.NewInput(s.env.Keys, keymap.Input, "/")
	case keymap.SearchNext, keymap.SearchPrev:
		return s.find(a == keymap.SearchPrev)
	}
	return nil
}

func (s *Screen) searchKey(msg tea.Msg) tea.Cmd {
	if s.search == nil {
		return nil
	}
	switch s.search.Update(msg) {
	case form.Cancelled:
		s.search = nil
	case form.Accepted:
		s.query, s.search = s.search.Value(), nil
		s.widget.SetQuery(s.query)
		return s.find(false)
	}
	return nil
}

// find looks for the text before or after the present place, and pauses there.
func (s *Screen) find(older bool) tea.Cmd {
	if s.query == "" {
		return ui.Toast(ui.ToastInfo, s.env.Lang.T("nothing is searched for yet"))
	}
	s.halt()
	s.playing = false
	var ctx context.Context
	ctx, s.stop = context.WithCancel(s.env.Ctx)
	rec, query, from, gen := s.rec, s.query, s.player.Position(), s.gen
	return func() tea.Msg {
		at, found, err := rec.Search(ctx, query, from, older)
		return foundMsg{to: s, gen: gen, at: at, found: found, err: err}
	}
}

func (s *Screen) found(m foundMsg) tea.Cmd {
	switch {
	case m.err != nil:
		return ui.Toast(ui.ToastError, present.ErrorLine(m.err))
	case !m.found:
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("not found: %s", present.CleanMax(s.query, 40)))
	}
	return s.play(0, m.at)
}

// Draw implements ui.Screen.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := s.env.Theme
	body := uv.Rect(area.Min.X, area.Min.Y, area.Dx(), max(area.Dy()-1, 0))
	row := uv.Rect(area.Min.X, area.Max.Y-1, area.Dx(), 1)
	if body.Empty() {
		return nil
	}
	switch {
	case s.err != nil:
		draw.Text(scr, body.Min.X+1, body.Min.Y, body.Dx()-2, s.env.Lang.T("This recording cannot be played: %s", present.ErrorLine(s.err)), t.Text.Error)
		return nil
	case s.player == nil:
		draw.Text(scr, body.Min.X+1, body.Min.Y, body.Dx()-2, s.env.Lang.T("reading …"), t.Text.Dim)
		return nil
	}
	s.widget.SetFocused(false)
	s.widget.Draw(scr, body)
	draw.Line(scr, row, 0, "", t.Bar.Status)
	if s.search != nil {
		return s.search.Draw(scr, uv.Rect(row.Min.X+1, row.Min.Y, row.Dx()-1, 1), t)
	}
	x := row.Min.X + 1
	x += draw.Text(scr, x, row.Min.Y, row.Max.X-x, s.barText(), t.Bar.Status) + 1
	s.drawGauge(scr, uv.Rect(x, row.Min.Y, max(row.Max.X-x-1, 0), 1))
	return nil
}

func (s *Screen) barText() string {
	tr := s.env.Lang
	state := tr.T("playing")
	if _, more := s.player.Next(); !more {
		state = tr.T("ended")
	} else if !s.playing {
		state = tr.T("paused")
	}
	text := fmt.Sprintf("%s %s/%s ×%g", state, clock(s.player.Position()), clock(s.rec.Length()), s.rate)
	if title := present.CleanMax(s.rec.Header.Title, 40); title != "" {
		text += " " + title
	}
	if s.query != "" {
		text += " /" + present.CleanMax(s.query, 20)
	}
	if s.rec.Skipped > 0 {
		text += " " + tr.N(s.rec.Skipped, "%d broken line", "%d broken lines", s.rec.Skipped)
	}
	return text
}

func (s *Screen) drawGauge(scr uv.Screen, area uv.Rectangle) {
	if area.Dx() < 10 || s.rec.Length() == 0 {
		return
	}
	t := s.env.Theme
	full := int(float64(area.Dx()) * float64(s.player.Position()) / float64(s.rec.Length()))
	draw.Text(scr, area.Min.X, area.Min.Y, full, strings.Repeat(t.Symbol.GaugeFull, full), t.Bar.GaugeFull)
	draw.Text(scr, area.Min.X+full, area.Min.Y, area.Dx()-full, strings.Repeat(t.Symbol.GaugeEmpty, area.Dx()-full), t.Bar.GaugeEmpty)
}

// clock writes a time as minutes and seconds.
func clock(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}
