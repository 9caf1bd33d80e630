package sandboxes

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/views/present"
)

const (
	// sampleActive and sampleResting are how often the use of the rows on screen
	// is asked for, while somebody uses the keys and while nobody does.
	sampleActive  = 5 * time.Second
	sampleResting = 30 * time.Second
	// restAfter is how long after the last key the dashboard counts as unused.
	restAfter = time.Minute
	// sampleMax bounds one call, as services do (e2b-protocol §3.10).
	sampleMax = 100
	// sampleBackoff is the wait after a call for metrics that failed.
	sampleBackoff = time.Minute
	// sampleTimeout bounds one such call.
	sampleTimeout = 10 * time.Second
	// sparkMax is how many values a spark line is made of.
	sparkMax = 12
	// idleCPU is the use in percent below which a sandbox counts as idle.
	idleCPU = 1.0
	// idleShown is from when on the state says "idle 38m".
	idleShown = 5 * time.Minute
	// lookBack is how far the recorded use is searched for the beginning of idleness.
	lookBack = 3 * time.Hour
	// gapMax is the time between two values over which idleness is not assumed.
	gapMax = 2 * time.Minute
)

// usage is what is known about the use of one sandbox.
type usage struct {
	// cpu is percent over all vCPUs, the newest last.
	cpu []float64
	// mem is bytes.
	mem int64
	at  time.Time
	// idleSince is when its CPU went quiet; zero while it is busy.
	idleSince time.Time
	// looked is set once the recorded past was searched.
	looked bool
}

// sampledMsg is one provider's answer about the use of some rows.
type sampledMsg struct {
	provider string
	values   map[client.ID]client.Metric
	at       time.Time
	err      error
}

// pastMsg is the recorded use of one sandbox.
type pastMsg struct {
	key    present.Key
	values []client.Metric
	err    error
}

// sample asks for the use of rows that are on screen, one call per provider at
// a time. Providers that can tell it only one by one are asked about the row
// under the cursor alone: a list of rows must never become a list of calls.
func (s *Store) sample(rows []*entry, cursor *entry, every time.Duration) tea.Cmd {
	if s.hidden {
		return nil
	}
	ids := map[*source][]client.ID{}
	for _, e := range rows {
		if e.sb.Running() && !e.buried() && !e.stale() && len(ids[e.src]) < sampleMax {
			ids[e.src] = append(ids[e.src], e.sb.ID)
		}
	}
	var cmds []tea.Cmd
	for _, src := range s.sources {
		if len(ids[src]) == 0 || src.sampling || s.now.Before(src.sampleAt) || src.paused(s.now) || !src.provider.Capabilities().Has(client.CapMetrics) {
			continue
		}
		if many, ok := client.Find[client.MetricsBatcher](src.provider); ok {
			cmds = append(cmds, s.ask(src, every, func(ctx context.Context) (map[client.ID]client.Metric, error) {
				return many.MetricsNow(ctx, ids[src])
			}))
			continue
		}
		one, ok := client.Find[client.MetricsReader](src.provider)
		if !ok || cursor == nil || cursor.src != src || !cursor.sb.Running() {
			continue
		}
		id, now := cursor.sb.ID, s.at(src)
		cmds = append(cmds, s.ask(src, every, func(ctx context.Context) (map[client.ID]client.Metric, error) {
			past, err := one.Metrics(ctx, id, now.Add(-time.Minute), time.Time{})
			if err != nil || len(past) == 0 {
				return nil, err
			}
			return map[client.ID]client.Metric{id: past[len(past)-1]}, nil
		}))
	}
	return tea.Batch(cmds...)
}

func (s *Store) at(src *source) time.Time { return src.clock.At(s.now) }

func (s *Store) ask(src *source, every time.Duration, call func(context.Context) (map[client.ID]client.Metric, error)) tea.Cmd {
	src.sampling, src.sampleAt = true, s.now.Add(every)
	parent, name, clock := s.ctx, src.name, s.env.Now
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(parent, sampleTimeout)
		defer cancel()
		values, err := call(ctx)
		return sampledMsg{provider: name, values: values, at: clock(), err: err}
	}
}

// sampled takes over what a provider said. A failure is not worth a message:
// the list itself tells when a provider does not answer.
func (s *Store) sampled(msg sampledMsg) tea.Cmd {
	src := s.source(msg.provider)
	if src == nil {
		return nil
	}
	src.sampling = false
	if msg.err != nil {
		src.sampleAt = s.now.Add(max(sampleBackoff, client.RetryAfterOf(msg.err)))
		if errors.Is(msg.err, client.ErrRateLimited) {
			src.pausedUntil = s.now.Add(max(client.RetryAfterOf(msg.err), sampleBackoff/4))
		}
		return nil
	}
	var quiet *entry
	for id, m := range msg.values {
		e := s.rows[present.Key{Provider: src.name, ID: id}]
		if e == nil {
			continue
		}
		if e.use == nil {
			e.use = &usage{}
		}
		e.use.add(m, src.clock.At(msg.at))
		e.version++
		s.restray(e)
		if !e.use.looked && !e.use.idleSince.IsZero() && (quiet == nil || e.id < quiet.id) {
			quiet = e
		}
	}
	s.structure++
	if quiet == nil {
		return nil
	}
	return s.past(quiet)
}

// past asks once how long a quiet sandbox has been quiet, one sandbox a round.
func (s *Store) past(e *entry) tea.Cmd {
	e.use.looked = true
	r, ok := client.Find[client.MetricsReader](e.src.provider)
	if !ok {
		return nil
	}
	parent, k, now := s.ctx, present.KeyOf(e.sb), s.at(e.src)
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(parent, sampleTimeout)
		defer cancel()
		values, err := r.Metrics(ctx, k.ID, now.Add(-lookBack), time.Time{})
		return pastMsg{key: k, values: values, err: err}
	}
}

func (s *Store) remembered(msg pastMsg) {
	e := s.rows[msg.key]
	if msg.err != nil || e == nil || e.use == nil || e.use.idleSince.IsZero() {
		return
	}
	if since := quietSince(msg.values, e.use.idleSince); since.Before(e.use.idleSince) {
		e.use.idleSince = since
		e.version++
		s.restray(e)
		s.structure++
	}
}

// quietSince is when the recorded use, oldest first, became quiet for good; it
// goes back no further than a gap in the record.
func quietSince(past []client.Metric, known time.Time) time.Time {
	since := known
	for i := len(past) - 1; i >= 0; i-- {
		m := past[i]
		if m.CPUUsed >= idleCPU || since.Sub(m.At) > gapMax {
			break
		}
		if m.At.Before(since) {
			since = m.At
		}
	}
	return since
}

// add takes one value; now is the provider's time.
func (u *usage) add(m client.Metric, now time.Time) {
	if len(u.cpu) == sparkMax {
		u.cpu = append(u.cpu[:0], u.cpu[1:]...)
	}
	u.cpu = append(u.cpu, m.CPUUsed)
	u.mem = m.MemUsed
	switch {
	case m.CPUUsed >= idleCPU:
		u.idleSince, u.looked = time.Time{}, false
	case u.idleSince.IsZero() || now.Sub(u.at) > gapMax:
		u.idleSince, u.looked = now, false
	}
	u.at = now
}

// idleFor is how long e has been quiet as far as that is known, else 0.
func (e *entry) idleFor(now time.Time) time.Duration {
	if e.use == nil || e.use.idleSince.IsZero() || now.Sub(e.use.at) > gapMax || !e.sb.Running() {
		return 0
	}
	return max(0, now.Sub(e.use.idleSince))
}
