package present

import (
	"fmt"
	"strconv"
	"time"

	"abxdash/client"
)

// Words for lifetimes that are not a countdown.
const (
	TTLExpired = "expired" // lang.Catalog.Word knows it
	TTLUnset   = "—"
	TTLNever   = "∞"
	TTLInvalid = "?"
)

// forever is the distance from which an end is not a date any more but a way
// to say "never" (year 2999 and the like).
const forever = 50 * 365 * 24 * time.Hour

// Duration words d with at most two units: "0s", "42s", "17m", "2h10m", "3d4h",
// "41d". It is never negative.
func Duration(d time.Duration) string {
	d = max(0, d)
	days := int64(d / (24 * time.Hour))
	hours := int64(d/time.Hour) % 24
	minutes := int64(d/time.Minute) % 60
	switch {
	case days >= 10 || days > 0 && hours == 0:
		return strconv.FormatInt(days, 10) + "d"
	case days > 0:
		return strconv.FormatInt(days, 10) + "d" + strconv.FormatInt(hours, 10) + "h"
	case hours > 0 && minutes == 0:
		return strconv.FormatInt(hours, 10) + "h"
	case hours > 0:
		return strconv.FormatInt(hours, 10) + "h" + strconv.FormatInt(minutes, 10) + "m"
	case minutes > 0:
		return strconv.FormatInt(minutes, 10) + "m"
	default:
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
}

// Age words how long ago started was; now is server time. An absent start is
// "—", one that cannot be right is "?", one in the future "0s".
func Age(started, now time.Time) string {
	if started.IsZero() || started.Year() <= 1 {
		return TTLUnset
	}
	d := now.Sub(started)
	if d > forever {
		return TTLInvalid
	}
	return Duration(d)
}

// TTL words the remaining lifetime of s; now is server time (see [Clock]). It
// is never negative and never counts down from centuries: an end in the past
// is "expired", none or a past one of a paused sandbox is "—", a far-away one "∞", one that is not a time "?".
// The last five minutes count in minutes and seconds.
func TTL(s client.Sandbox, now time.Time) string {
	left, kind := Left(s, now)
	// A second that has begun counts whole: "1h" right after asking for an hour.
	left = (left + time.Second - 1).Truncate(time.Second)
	switch {
	case kind == client.EndUnset, left <= 0 && s.State == client.StatePaused: // its time stands still
		return TTLUnset
	case kind == client.EndNever:
		return TTLNever
	case kind == client.EndInvalid:
		return TTLInvalid
	case left <= 0:
		return TTLExpired
	case left < 5*time.Minute && left >= time.Minute:
		return fmt.Sprintf("%dm%02ds", left/time.Minute, left/time.Second%60)
	default:
		return Duration(left)
	}
}

// Left returns the remaining lifetime and how to read it. A real end that is
// too far away to be meant counts as EndNever, and one at the zero time as
// EndUnset, whatever the provider called it.
func Left(s client.Sandbox, now time.Time) (time.Duration, client.EndKind) {
	if s.End != client.EndAt {
		return 0, s.End
	}
	if s.ExpiresAt.IsZero() || s.ExpiresAt.Year() <= 1 {
		return 0, client.EndUnset
	}
	left := s.ExpiresAt.Sub(now)
	if left > forever {
		return 0, client.EndNever
	}
	return left, client.EndAt
}

// Size words a number of bytes in powers of 1024: "0B", "812B", "1.2K", "34M".
func Size(n int64) string {
	if n < 0 {
		return "?"
	}
	if n < 1024 {
		return strconv.FormatInt(n, 10) + "B"
	}
	f, units := float64(n)/1024, "KMGTPE"
	i := 0
	for f >= 999.5 && i < len(units)-1 {
		f /= 1024
		i++
	}
	if f < 9.95 {
		return strconv.FormatFloat(f, 'f', 1, 64) + units[i:i+1]
	}
	return strconv.FormatFloat(f, 'f', 0, 64) + units[i:i+1]
}

// Memory words a size in MiB, "—" for none.
func Memory(mb int64) string {
	if mb <= 0 {
		return TTLUnset
	}
	return Size(mb << 20)
}

// CPU words a number of vCPUs, "—" for none.
func CPU(n float64) string {
	if n <= 0 {
		return TTLUnset
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// Plural returns "1 sandbox", "3 sandboxes" and the like.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Clock turns local time into a provider's time, so that a wrong clock on this
// machine does not make running sandboxes look expired. The zero value is no skew.
type Clock struct{ skew time.Duration }

// NewClock compares a server's Date with the local time at which it arrived.
// Less than two seconds is within the rounding of that header and counts as none.
func NewClock(server, local time.Time) Clock {
	if server.IsZero() {
		return Clock{}
	}
	d := server.Sub(local)
	if d.Abs() < 2*time.Second {
		return Clock{}
	}
	return Clock{skew: d}
}

// At returns the server's time when it is local here.
func (c Clock) At(local time.Time) time.Time { return local.Add(c.skew) }
