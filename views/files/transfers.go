package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// maxRunning is how many transfers run at a time; the others wait their turn.
const maxRunning = 3

// maxListed is how many transfers are remembered; the oldest that are over are
// forgotten beyond it.
const maxListed = 200

// cleanupTime bounds what is waited for when the dashboard ends: half files are
// removed before the process is gone.
const cleanupTime = 2 * time.Second

// Transfers owns all uploads and downloads of this dashboard, so that they go
// on while other screens are looked at. It is a ui.Background.
type Transfers struct {
	env     ui.Env
	cancel  context.CancelFunc
	list    []*transfer // oldest first
	next    int
	running sync.WaitGroup
}

// status is how a transfer stands.
type status uint8

const (
	waiting status = iota
	moving
	failed
	done
	cancelled
)

// transfer is a file or a folder on its way. The counters are written by the
// copying goroutine; everything else belongs to the program's loop, except what
// copy.go says about its own part.
type transfer struct {
	n   int
	key present.Key
	fs  client.Files
	up  bool
	// from and to are where it comes from and what it is called in the end; name
	// is the last part of from. All are untrusted text.
	from, to, name string

	state    status
	err      error
	stop     context.CancelFunc
	gate     gate
	rate     speed
	counters counters
	copy     copyState
}

// counters are what the screen reads while the copying goes on.
type counters struct {
	// bytes and total are in bytes; total is -1 until it is known.
	bytes, total atomic.Int64
	// files and allFiles count the files of a folder; allFiles is 0 for one file.
	files, allFiles atomic.Int64
}

// transferMsg says that a transfer ended, for now or for good.
type transferMsg struct {
	t   *transfer
	err error
}

// NewTransfers makes an empty list.
func NewTransfers() *Transfers { return &Transfers{} }

// Init implements ui.Background.
func (m *Transfers) Init(env ui.Env) tea.Cmd {
	env.Ctx, m.cancel = context.WithCancel(env.Ctx)
	m.env = env
	return nil
}

// Close implements ui.Background: it cancels everything and waits, for a
// moment, until half files are removed.
func (m *Transfers) Close() {
	m.cancel()
	for _, t := range m.list {
		if t.state == failed {
			m.running.Add(1)
			go func() {
				defer m.running.Done()
				t.discard()
			}()
		}
	}
	gone := make(chan struct{})
	go func() {
		m.running.Wait()
		close(gone)
	}()
	timer := time.NewTimer(cleanupTime)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
	}
}

// Status implements ui.Background.
func (m *Transfers) Status() string {
	var n int
	var bytes, total int64
	var rate float64
	for _, t := range m.list {
		if t.over() {
			continue
		}
		n++
		rate += t.rate.value
		bytes += t.counters.bytes.Load()
		if all := t.counters.total.Load(); all > 0 {
			total += all
		}
	}
	if n == 0 {
		return ""
	}
	out := m.env.Lang.N(n, "%d transfer", "%d transfers", n)
	if total > 0 {
		out += fmt.Sprintf(" %d%%", min(100, bytes*100/total))
	}
	if rate >= 1 {
		out += " " + present.Size(int64(rate)) + "/s"
	}
	return out + "  " + m.env.Lang.T("%s shows them", m.env.Keys.Hint(keymap.AppTasks))
}

// AtStake implements ui.Staker.
func (m *Transfers) AtStake() []string {
	var out []string
	for _, t := range m.list {
		if !t.over() {
			out = append(out, t.what(m.env.Lang))
		}
	}
	return out
}

// Update implements ui.Background.
func (m *Transfers) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case ui.TickMsg:
		for _, t := range m.list {
			if t.state == moving {
				t.rate.sample(t.counters.bytes.Load(), msg.Now)
			}
		}
	case transferMsg:
		return m.ended(msg), false
	case ui.ActionMsg:
		if msg.Action == keymap.AppTasks && len(m.list) > 0 {
			return ui.OpenOverlay(&tasks{all: m}), true
		}
	}
	return nil, false
}

// add takes a transfer on and starts it if there is room.
func (m *Transfers) add(t *transfer) tea.Cmd {
	m.next++
	t.n = m.next
	t.counters.total.Store(-1)
	m.list = append(m.list, t)
	for i := 0; len(m.list) > maxListed && i < len(m.list); {
		if s := m.list[i].state; s == done || s == cancelled {
			m.list = slices.Delete(m.list, i, i+1)
			continue
		}
		i++
	}
	return m.pump()
}

// pump starts what waits, as far as there is room.
func (m *Transfers) pump() tea.Cmd {
	busy := 0
	for _, t := range m.list {
		if t.state == moving {
			busy++
		}
	}
	var cmds []tea.Cmd
	for _, t := range m.list {
		if t.state == waiting && busy < maxRunning {
			busy++
			cmds = append(cmds, m.start(t))
		}
	}
	return tea.Batch(cmds...)
}

func (m *Transfers) start(t *transfer) tea.Cmd {
	ctx, stop := context.WithCancel(m.env.Ctx)
	t.state, t.stop, t.err = moving, stop, nil
	t.rate = speed{}
	t.rate.sample(t.counters.bytes.Load(), m.env.Now())
	m.running.Add(1)
	return func() tea.Msg {
		defer m.running.Done()
		defer stop()
		err := t.run(ctx)
		if ctx.Err() != nil {
			t.discard()
		}
		return transferMsg{t: t, err: err}
	}
}

// ended notes how a transfer ended and says so.
func (m *Transfers) ended(msg transferMsg) tea.Cmd {
	t := msg.t
	what := t.what(m.env.Lang)
	next := m.pumpAfter(t, msg.err)
	switch t.state {
	case cancelled:
		return next
	case failed:
		return tea.Batch(next, ui.Toast(ui.ToastError, what+": "+present.ErrorLine(t.err)),
			present.Event(present.EventMsg{Key: t.key, At: m.env.Now(), Kind: present.EventFile, Text: m.env.Lang.T("%s failed", what), Bad: true}))
	}
	text := m.env.Lang.T("downloaded %s", present.Clean(t.to))
	if t.up {
		text = m.env.Lang.T("uploaded %s", present.Clean(t.to))
	}
	level := ui.ToastOK
	if n := len(t.copy.skipped); n > 0 {
		level = ui.ToastWarn
		text += "; " + m.env.Lang.N(n, "%d entry left out: %s", "%d entries left out: %s", n, present.CleanMax(t.copy.skipped[0].words(m.env.Lang), 80))
	}
	return tea.Batch(next, ui.Toast(level, text), ui.Cmd(arrivedMsg{key: t.key, up: t.up, to: t.to}),
		present.Event(present.EventMsg{Key: t.key, At: m.env.Now(), Kind: present.EventFile, Text: text}))
}

func (m *Transfers) pumpAfter(t *transfer, err error) tea.Cmd {
	switch {
	case err == nil:
		t.state = done // even if it was cancelled a moment too late
	case t.state == cancelled:
	case errors.Is(err, context.Canceled):
		t.state = cancelled
	default:
		t.state, t.err = failed, err
	}
	return m.pump()
}

// arrivedMsg tells the Files tab that something is in place now.
type arrivedMsg struct {
	key present.Key
	up  bool
	to  string
}

// cancelOne gives a transfer up; what is half done is removed.
func (m *Transfers) cancelOne(t *transfer) tea.Cmd {
	switch t.state {
	case waiting:
		t.state = cancelled
	case moving:
		t.state = cancelled
		t.stop() // the copying goroutine removes what is half done
	case failed:
		t.state = cancelled
		m.running.Add(1)
		return func() tea.Msg {
			defer m.running.Done()
			t.discard()
			return nil
		}
	}
	return nil
}

// pause stops a transfer where it is, or lets it go on.
func (t *transfer) pause() {
	if t.state == moving || t.state == waiting {
		t.gate.toggle()
	}
}

// retry takes a failed transfer up again, from where it stopped if the
// provider can do that.
func (m *Transfers) retry(t *transfer) tea.Cmd {
	if t.state != failed {
		return nil
	}
	t.state = waiting
	return m.pump()
}

// forget drops what is over.
func (m *Transfers) forget() {
	m.list = slices.DeleteFunc(m.list, func(t *transfer) bool { return t.state == done || t.state == cancelled })
}

// of are the transfers of one sandbox that are not over.
func (m *Transfers) of(k present.Key) []*transfer {
	var out []*transfer
	for _, t := range m.list {
		if t.key == k && !t.over() {
			out = append(out, t)
		}
	}
	return out
}

// over reports whether nothing of it is under way.
func (t *transfer) over() bool { return t.state >= failed }

func (t *transfer) what(tr *lang.Catalog) string {
	if t.up {
		return tr.T("upload of %s", present.Clean(t.name))
	}
	return tr.T("download of %s", present.Clean(t.name))
}

// part is how much is done, 0 to 1, and false if that is not known.
func (t *transfer) part() (float64, bool) {
	total := t.counters.total.Load()
	if total <= 0 {
		return 0, false
	}
	return min(1, float64(t.counters.bytes.Load())/float64(total)), true
}

// progress words how far it is, e.g. "↑ model.bin 212M of 840M 25% 14M/s 45s left".
func (t *transfer) progress(tr *lang.Catalog) string {
	arrow := "↓"
	if t.up {
		arrow = "↑"
	}
	bytes, total := t.counters.bytes.Load(), t.counters.total.Load()
	out := fmt.Sprintf("%s %s %s", arrow, present.CleanMax(t.name, 40), present.Size(bytes))
	if total > 0 {
		out += " " + tr.T("of %s %d%%", present.Size(total), min(100, bytes*100/total))
	}
	if n := t.counters.allFiles.Load(); n > 0 {
		out += " " + tr.T("%d/%d files", t.counters.files.Load(), n)
	}
	switch {
	case t.gate.shut():
		return out + " " + tr.T("paused")
	case t.state == waiting:
		return out + " " + tr.T("waiting")
	case t.rate.value >= 1:
		out += " " + present.Size(int64(t.rate.value)) + "/s"
		if left := total - bytes; total > 0 && left > 0 {
			out += " " + tr.T("%s left", present.Duration(time.Duration(float64(left)/t.rate.value*float64(time.Second))))
		}
	}
	return out
}

// speed is a smoothed rate in bytes per second.
type speed struct {
	value float64
	bytes int64
	at    time.Time
	known bool
}

// sample takes the counter at a time.
func (s *speed) sample(bytes int64, now time.Time) {
	dt := now.Sub(s.at).Seconds()
	if s.at.IsZero() || dt <= 0 {
		s.bytes, s.at = bytes, now
		return
	}
	v := max(0, float64(bytes-s.bytes)/dt)
	if s.known {
		v = 0.6*s.value + 0.4*v
	}
	s.value, s.bytes, s.at, s.known = v, bytes, now, true
}

// gate lets a copying goroutine pass, or holds it.
type gate struct {
	mu   sync.Mutex
	held chan struct{} // closed to let go; nil while open
}

func (g *gate) toggle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == nil {
		g.held = make(chan struct{})
		return
	}
	close(g.held)
	g.held = nil
}

func (g *gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held != nil
}

// pass waits while the gate is shut.
func (g *gate) pass(ctx context.Context) error {
	for {
		g.mu.Lock()
		held := g.held
		g.mu.Unlock()
		if held == nil {
			return ctx.Err()
		}
		select {
		case <-held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
