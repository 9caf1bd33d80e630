package present

import (
	"fmt"
	"strconv"
	"time"

	"abxdash/client"
	"abxdash/ui/lang"
)

// Rate is what one provider charges in US dollars an hour.
type Rate struct {
	// CPUHour is for one vCPU, GBHour for one GiB of memory, Hour for any sandbox.
	CPUHour, GBHour, Hour float64
	// Sizes are whole prices by size, "2x4096" for 2 vCPUs and 4096 MiB; they
	// replace the parts above.
	Sizes map[string]float64
	// PausedHour is what a paused sandbox costs; 0 is nothing.
	PausedHour float64
}

// Rates are the prices that cost is estimated with. The zero value knows only
// that this machine costs nothing.
type Rates struct {
	// Date says of when the prices are.
	Date string
	// Providers are by provider name.
	Providers map[string]Rate
}

// Hourly returns the estimated price of s per hour and true, or false when no
// rate is known.
func (r Rates) Hourly(s client.Sandbox) (float64, bool) {
	switch s.Isolation {
	case client.IsolationProcess, client.IsolationLandlock, client.IsolationNamespace, client.IsolationContainer:
		return 0, true
	}
	rate, ok := r.Providers[s.Provider]
	if !ok {
		return 0, false
	}
	if s.State == client.StatePaused {
		return rate.PausedHour, true
	}
	if p, ok := rate.Sizes[SizeKey(s)]; ok {
		return p, true
	}
	if s.CPU <= 0 && s.MemoryMB <= 0 && rate.Hour == 0 {
		return 0, false
	}
	return rate.Hour + rate.CPUHour*s.CPU + rate.GBHour*float64(s.MemoryMB)/1024, true
}

// SizeKey is the size of s as rates name it, "2x4096".
func SizeKey(s client.Sandbox) string {
	return strconv.FormatFloat(s.CPU, 'f', -1, 64) + "x" + strconv.FormatInt(s.MemoryMB, 10)
}

// Spent estimates what s has cost since its start, as if it had always been in
// its present state.
func (r Rates) Spent(s client.Sandbox, now time.Time) (float64, bool) {
	h, ok := r.Hourly(s)
	if !ok || s.StartedAt.Year() <= 1 {
		return 0, false
	}
	return h * max(0, now.Sub(s.StartedAt).Hours()), true
}

// ToCome estimates what s will still cost until its end: what killing it now
// would save. Without an end it is not known.
func (r Rates) ToCome(s client.Sandbox, now time.Time) (float64, bool) {
	h, ok := r.Hourly(s)
	left, kind := Left(s, now)
	if !ok || kind != client.EndAt {
		return 0, false
	}
	return h * max(0, left.Hours()), true
}

// Projected estimates what s will have cost in all when it ends by itself.
func (r Rates) Projected(s client.Sandbox, now time.Time) (float64, bool) {
	spent, ok := r.Spent(s, now)
	left, ok2 := r.ToCome(s, now)
	return spent + left, ok && ok2
}

// Label says what the figures are: an estimate, and of when its rates are.
func (r Rates) Label() string { return r.LabelIn(nil) }

// LabelIn is [Rates.Label] in a language; nil is English.
func (r Rates) LabelIn(l *lang.Catalog) string {
	if r.Date == "" {
		return l.T("estimate")
	}
	return l.T("estimate, rates of %s", l.Word(CleanMax(r.Date, 20)))
}

// Money words an amount: "$0", "$0.004", "$0.12", "$41".
func Money(v float64) string {
	switch {
	case v == 0:
		return "$0"
	case v < 0.01:
		return fmt.Sprintf("$%.3f", v)
	case v < 100:
		return fmt.Sprintf("$%.2f", v)
	default:
		return fmt.Sprintf("$%.0f", v)
	}
}

// MoneyOr is the amount, or "—" when it is not known.
func MoneyOr(v float64, ok bool) string {
	if !ok {
		return TTLUnset
	}
	return Money(v)
}

// Cost words [Rates.Hourly]: "$0.12" or "—".
func (r Rates) Cost(s client.Sandbox) string { return MoneyOr(r.Hourly(s)) }
