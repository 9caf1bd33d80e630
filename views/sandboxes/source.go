package sandboxes

import (
	"errors"
	"math/rand/v2"
	"time"

	"abxdash/client"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

const (
	// pollFocused and pollHidden are how often a provider is asked while the
	// terminal has the focus, and while it has not.
	pollFocused = 5 * time.Second
	pollHidden  = 30 * time.Second
	// backoffMax bounds the wait after failures in a row.
	backoffMax = time.Minute
	// pauseDefault is the wait after a 429 that names none.
	pauseDefault = 30 * time.Second
)

// source is the state of polling one provider. Each has its own clock and its
// own single request in flight, so that a hung provider never slows another.
type source struct {
	provider client.Provider
	name     string
	// badges is what it can do, in letters.
	badges string

	gen      uint64 // of the last listing asked for
	startSeq uint64 // of the store when that was asked
	inFlight bool
	startAt  time.Time
	again    bool // another listing is wanted as soon as this one is in

	nextAt      time.Time
	pausedUntil time.Time // set by a 429
	failures    int
	err         error
	loaded      bool // at least one answer was good
	lastOK      time.Time
	clock       present.Clock
	incomplete  bool
	note        string

	cachedAt time.Time // of the remembered list that is shown until the first answer
	sampling bool      // a call for metrics is under way
	sampleAt time.Time // the next one is not before
}

// due reports whether a listing should start now.
func (s *source) due(now time.Time) bool {
	return !s.inFlight && !now.Before(s.nextAt) && !s.paused(now)
}

func (s *source) paused(now time.Time) bool { return now.Before(s.pausedUntil) }

// succeeded notes a good answer and plans the next listing.
func (s *source) succeeded(page client.Page, at time.Time, interval time.Duration) {
	s.inFlight, s.failures, s.err, s.loaded = false, 0, nil, true
	s.lastOK = at
	s.clock = present.NewClock(page.ServerTime, at)
	s.incomplete, s.note = page.MayBeIncomplete, page.Note
	s.plan(at, interval)
}

// failed notes a failure and plans the next try: as told by a 429, else with a growing wait.
func (s *source) failed(err error, at time.Time, interval time.Duration) {
	s.inFlight, s.err = false, err
	s.failures++
	wait := min(interval<<min(s.failures-1, 6), max(backoffMax, interval))
	after := client.RetryAfterOf(err)
	if after <= 0 && errors.Is(err, client.ErrRateLimited) {
		after = pauseDefault
	}
	if after > 0 {
		// What was asked for during the pause is asked once, after it.
		s.again = false
		s.pausedUntil = at.Add(after)
		s.nextAt = at.Add(max(wait, after))
		return
	}
	s.plan(at, wait)
}

// plan sets the time of the next listing, up to a tenth later than asked so
// that providers and dashboards do not fall into step.
func (s *source) plan(at time.Time, wait time.Duration) {
	if s.again {
		s.again = false
		s.nextAt = at
		return
	}
	s.nextAt = at.Add(wait + rand.N(wait/10+1))
}

// chip words the state of the provider for the header, with its level.
func (s *source) chip(now time.Time, tr *lang.Catalog) (text string, level chipLevel) {
	name := present.CleanMax(s.name, 30)
	switch {
	case s.paused(now):
		return name + " 429 " + present.Duration(s.pausedUntil.Sub(now)+time.Second-1), chipWarn
	case s.err != nil:
		return name + " " + string(client.CodeOf(s.err)), chipError
	case s.inFlight && now.Sub(s.startAt) > present.Late:
		return name + " " + present.Duration(now.Sub(s.startAt)), chipWarn
	case !s.loaded && !s.cachedAt.IsZero():
		return tr.T("%s of %s", name, asOf(s.cachedAt, now, tr)), chipIdle
	case !s.loaded:
		return name, chipIdle
	default:
		return name, chipOK
	}
}

type chipLevel uint8

const (
	chipIdle chipLevel = iota
	chipOK
	chipWarn
	chipError
)

// asOf words the time of a remembered list: the hour today, else the day too.
func asOf(at, now time.Time, tr *lang.Catalog) string {
	at, now = at.Local(), now.Local()
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04")
	}
	return at.Format(tr.T("Jan 2 15:04"))
}
