// Package metrics is the Metrics tab of a sandbox: what it used of CPU, memory
// and disk over the last five minutes, the last hour, or its whole life.
package metrics

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/lang"
	"abxdash/ui/spark"
	"abxdash/views/present"
)

// span is one of the ranges that can be looked at.
type span struct {
	name string
	// length is 0 for the whole life; every is how often it is read again.
	length, every time.Duration
}

func spans() []span {
	return []span{
		{lang.Mark("5 minutes"), 5 * time.Minute, 5 * time.Second},
		{lang.Mark("1 hour"), time.Hour, 30 * time.Second},
		{lang.Mark("life"), 0, time.Minute},
	}
}

// unfocused is how much less often it is read while the terminal has no focus.
const unfocused = 6

// maxPoints bounds what is kept of one answer.
const maxPoints = 20_000

// Options is what main hands in.
type Options struct{ Provider client.Provider }

// Screen is the Metrics tab.
type Screen struct {
	opts   Options
	env    ui.Env
	cancel context.CancelFunc
	sb     client.Sandbox

	span   int
	points []client.Metric
	from   time.Time
	to     time.Time
	known  bool
	err    error
	gen    uint64
	pace   present.Pace
}

// readMsg is the answer to one read.
type readMsg struct {
	owner    *Screen
	gen      uint64
	from, to time.Time
	points   []client.Metric
	err      error
}

// New makes the tab for s.
func New(o Options, s client.Sandbox) *Screen {
	out := &Screen{opts: o, sb: s}
	out.setPace()
	return out
}

// setPace reads a long range less often than a short one.
func (s *Screen) setPace() {
	s.pace.Every = spans()[s.span].every
	s.pace.Unfocused = s.pace.Every * unfocused
}

// Init implements ui.Screen.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	env.Ctx, s.cancel = context.WithCancel(env.Ctx)
	s.env = env
	return nil
}

// Close implements ui.Screen.
func (s *Screen) Close() { s.cancel() }

// Title implements ui.Screen.
func (s *Screen) Title() string { return s.env.Lang.T("Metrics") }

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context { return []keymap.Context{keymap.Metrics} }

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	if s.pace.Update(msg) {
		return s.read()
	}
	switch m := msg.(type) {
	case ui.ThemeMsg:
		s.env.Theme = m.Theme
	case present.UpdatedMsg:
		if present.KeyOf(m.Sandbox) == present.KeyOf(s.sb) {
			s.sb = m.Sandbox.Clone()
		}
	case readMsg:
		s.got(m)
	case ui.ActionMsg:
		switch m.Action {
		case keymap.NavBack:
			return ui.Cmd(ui.BackMsg{})
		case keymap.AppRefresh:
			return s.read()
		case keymap.MetricsRange:
			s.span = (s.span + 1) % len(spans())
			s.known, s.points = false, nil
			s.pace.End()
			s.setPace()
			return s.read()
		}
	}
	return nil
}

// read asks for the range, one call at a time.
func (s *Screen) read() tea.Cmd {
	r, ok := client.Find[client.MetricsReader](s.opts.Provider)
	if !ok || !s.pace.Begin(s.env.Now()) {
		return nil
	}
	s.gen++
	m := readMsg{owner: s, gen: s.gen, to: s.env.Now()}
	if length := spans()[s.span].length; length > 0 {
		m.from = m.to.Add(-length)
	} else {
		m.from = s.sb.StartedAt
	}
	ctx, id := s.env.Ctx, s.sb.ID
	return func() tea.Msg {
		m.points, m.err = r.Metrics(ctx, id, m.from, m.to)
		return m
	}
}

// got takes an answer unless another range was asked for meanwhile.
func (s *Screen) got(m readMsg) {
	if m.owner != s || m.gen != s.gen {
		return
	}
	s.pace.End()
	if errors.Is(m.err, context.Canceled) {
		return
	}
	if s.err = m.err; m.err != nil {
		return
	}
	s.points, s.known = m.points[max(0, len(m.points)-maxPoints):], true
	s.from, s.to = m.from, m.to
	if len(s.points) > 0 && (s.from.IsZero() || s.from.Year() <= 1) {
		s.from = s.points[0].At
	}
	// A sandbox's clock may be ahead of ours: what is newest is shown anyway.
	if n := len(s.points); n > 0 && s.points[n-1].At.After(s.to) {
		d := s.points[n-1].At.Sub(s.to)
		s.from, s.to = s.from.Add(d), s.to.Add(d)
	}
}

// chart is one value over time.
type chart struct {
	title, now string
	values     []float64
	// top is what the highest mark stands for; scale words it where that is not the bound.
	top   float64
	scale string
	style uv.Style
}

// small is the part of a bound below which a chart is scaled to what was used:
// it would be a flat line else.
const small = 0.1

// bytesChart scales a chart of sizes.
func bytesChart(title, now string, values []float64, bound int64, st uv.Style, tr *lang.Catalog) chart {
	c := chart{title: title, now: now, values: values, top: float64(bound), style: st}
	largest := 0.0
	for _, v := range values {
		largest = max(largest, v)
	}
	if largest > 0 && largest < small*c.top {
		c.top = largest * 1.25
		c.scale = tr.T("chart up to %s", present.Size(int64(c.top)))
	}
	return c
}

// charts words what there is to draw. Disk is left out where nothing is known of it.
func (s *Screen) charts() []chart {
	t, tr := s.env.Theme, s.env.Lang
	n := len(s.points)
	cpu, mem, disk := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, p := range s.points {
		cpu[i], mem[i], disk[i] = p.CPUUsed, float64(p.MemUsed), float64(p.DiskUsed)
	}
	last := s.points[n-1]
	out := []chart{
		{title: tr.T("CPU"), now: tr.T("%.0f%% of %s vCPU", last.CPUUsed, present.CPU(last.CPUCount)), values: cpu, top: 100, style: t.Text.Info},
		bytesChart(tr.T("Memory"), of(last.MemUsed, last.MemTotal, tr), mem, last.MemTotal, t.Text.OK, tr),
	}
	if last.DiskTotal > 0 || last.DiskUsed > 0 {
		out = append(out, bytesChart(tr.T("Disk"), of(last.DiskUsed, last.DiskTotal, tr), disk, last.DiskTotal, t.Text.Warn, tr))
	}
	return out
}

// hold is how long a value stands for the time after it: three times what is
// usual between two of them, in seconds.
func hold(at []float64) float64 {
	var gaps []float64
	for i := 1; i < len(at); i++ {
		gaps = append(gaps, at[i]-at[i-1])
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return 3 * gaps[len(gaps)/2]
}

// of words a use and, if it is known, its bound.
func of(used, total int64, tr *lang.Catalog) string {
	if total <= 0 {
		return present.Size(used)
	}
	return tr.T("%s of %s, %d%%", present.Size(used), present.Size(total), used*100/total)
}

// Draw implements ui.Screen: the charts one above the other; without room for
// charts, the numbers.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := s.env.Theme
	title := s.Title() + " ─ " + s.env.Lang.Word(spans()[s.span].name) + " ─ " + s.env.Lang.T("%s range", s.env.Keys.HintIn(keymap.Metrics, keymap.MetricsRange))
	in := draw.Box(scr, area, t, title, t.Border.Focused, t.Border.TitleFocused)
	if in.Dy() <= 0 {
		return nil
	}
	note, st := "", t.Text.Dim
	switch {
	case s.err != nil:
		note, st = present.ErrorLine(s.err), t.Text.Error
	case !s.known:
		note = s.env.Lang.T("reading …")
	case len(s.points) == 0:
		note = s.env.Lang.T("nothing was measured in this range")
	}
	if note != "" {
		draw.Line(scr, in, 0, " "+note, st)
		if len(s.points) == 0 {
			return nil
		}
		in = uv.Rect(in.Min.X, in.Min.Y+1, in.Dx(), in.Dy()-1)
	}
	list := s.charts()
	each := in.Dy() / len(list)
	for i, c := range list {
		rows := max(each, 1)
		y := in.Min.Y + i*rows
		if y >= in.Max.Y {
			break
		}
		rows = min(rows, in.Max.Y-y)
		x := in.Min.X + 1
		x += draw.Text(scr, x, y, in.Max.X-x, draw.Pad(c.title, 8), t.Text.Heading)
		x += draw.Text(scr, x, y, in.Max.X-x, c.now, t.Text.Normal)
		if rows >= 3 && c.scale != "" {
			draw.Text(scr, x, y, in.Max.X-x, "   "+c.scale, t.Text.Dim)
		}
		if rows < 2 {
			continue
		}
		// Without room for the times below, the chart has what there is.
		plot := uv.Rect(in.Min.X+1, y+1, in.Dx()-2, max(1, rows-2))
		at := make([]float64, len(s.points))
		for k, p := range s.points {
			at[k] = p.At.Sub(s.from).Seconds()
		}
		spark.Chart(scr, plot, spark.Buckets(at, c.values, 0, s.to.Sub(s.from).Seconds(), plot.Dx(), hold(at)), c.top, c.style, t)
		if rows < 3 {
			continue
		}
		left, right := s.from.Local().Format("15:04:05"), s.to.Local().Format("15:04:05")
		draw.Text(scr, plot.Min.X, plot.Max.Y, plot.Dx(), left, t.Text.Dim)
		if plot.Dx() > 20 {
			draw.Text(scr, plot.Max.X-len(right), plot.Max.Y, len(right), right, t.Text.Dim)
		}
	}
	return nil
}
