package present

import (
	"strconv"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/ui/lang"
)

// StrayRules are the thresholds of [StrayReasons]. Zero values mean the usual ones.
type StrayRules struct {
	// Overdue is how long past its end a sandbox may still be listed before
	// that is a reason: providers reap with a delay. Usually 2 m.
	Overdue time.Duration
	// Stuck is how long an in-between state may last. Usually 10 m.
	Stuck time.Duration
	// Idle is how long a running sandbox may use next to no CPU. Usually 30 m;
	// negative switches the reason off.
	Idle time.Duration
	// Renewals is how often an end may be moved on by others, as far as it was
	// seen, over at least RenewedOver. Usually 24 over 6 h; negative switches it off.
	Renewals    int
	RenewedOver time.Duration
}

// filled are the rules with the usual values for what is zero.
func (r StrayRules) filled() StrayRules {
	usual := StrayRules{Overdue: 2 * time.Minute, Stuck: 10 * time.Minute, Idle: 30 * time.Minute, Renewals: 24, RenewedOver: 6 * time.Hour}
	if r.Overdue == 0 {
		r.Overdue = usual.Overdue
	}
	if r.Stuck == 0 {
		r.Stuck = usual.Stuck
	}
	if r.Idle == 0 {
		r.Idle = usual.Idle
	}
	if r.Renewals == 0 {
		r.Renewals = usual.Renewals
	}
	if r.RenewedOver == 0 {
		r.RenewedOver = usual.RenewedOver
	}
	return r
}

// StrayInfo is what is known about a sandbox beyond the provider's own fields.
type StrayInfo struct {
	// Now is the provider's time.
	Now time.Time
	// Host is this machine, to know whose processes can be checked.
	Host string
	// StateSince is when the present state was first seen, zero if unknown.
	StateSince time.Time
	// Alive tells whether a process of this machine lives; nil means unknown.
	Alive func(pid int) bool
	Rules StrayRules
	// Lang is the language of the reasons; nil is English.
	Lang *lang.Catalog
	// IdleFor is how long it has used next to no CPU as far as that was
	// measured; 0 means not idle, or not known.
	IdleFor time.Duration
	// Attached is set while a shell of this dashboard is open in it.
	Attached bool
	// Renewed counts how often its end was seen to move on by others' doing,
	// RenewedOver is the time between the first and the last.
	Renewed     int
	RenewedOver time.Duration
}

// StrayReasons tells why s looks forgotten, one short line each, or nil if it
// does not. Age alone is never a reason, and what is unknown is none either.
func StrayReasons(s client.Sandbox, in StrayInfo) []string {
	var out []string
	in.Rules = in.Rules.filled()
	if s.Metadata[client.MetaOwner] == "" {
		out = append(out, in.Lang.T("no owner tag"))
	}
	if pid := creatorGone(s, in); pid > 0 {
		out = append(out, in.Lang.T("its creator (process %d) is gone", pid))
	}
	if r := pastLife(s, in); r != "" {
		out = append(out, r)
	}
	if in.Rules.Idle > 0 && in.IdleFor >= in.Rules.Idle && s.Running() && !in.Attached {
		out = append(out, in.Lang.T("idle for %s", Duration(in.IdleFor)))
	}
	if in.Rules.Renewals > 0 && in.Renewed >= in.Rules.Renewals && in.RenewedOver >= in.Rules.RenewedOver {
		out = append(out, in.Lang.T("its end was moved on %d times in %s", in.Renewed, Duration(in.RenewedOver)))
	}
	if r := stuck(s, in); r != "" {
		out = append(out, r)
	}
	return out
}

// creatorGone returns the creator's pid if it named one on this machine and that has ended.
func creatorGone(s client.Sandbox, in StrayInfo) int {
	if in.Alive == nil || in.Host == "" || s.Metadata[client.MetaHost] != in.Host {
		return 0
	}
	pid, err := strconv.Atoi(s.Metadata[MetaPID])
	if err != nil || pid <= 0 || in.Alive(pid) {
		return 0
	}
	return pid
}

func pastLife(s client.Sandbox, in StrayInfo) string {
	now := in.Now
	if want, err := time.ParseDuration(s.Metadata[MetaExpected]); err == nil && want > 0 && s.StartedAt.Year() > 1 {
		if over := now.Sub(s.StartedAt.Add(want)); over > 0 {
			return in.Lang.T("past its expected life by %s", Duration(over))
		}
	}
	if left, kind := Left(s, now); kind == client.EndAt && -left > in.Rules.Overdue {
		return in.Lang.T("past its end by %s", Duration(-left))
	}
	return ""
}

// stuck knows only words that name a passage from one state to another; a
// state nobody documented may be a resting place.
func stuck(s client.Sandbox, in StrayInfo) string {
	word := strings.ToLower(string(s.State))
	since := in.StateSince
	switch word {
	case "creating", "starting", "pending", "building":
		// Nothing came before these, so the start is a safe lower bound.
		if since.IsZero() && s.StartedAt.Year() > 1 {
			since = s.StartedAt
		}
	case "pausing", "resuming", "stopping", "deleting", "killing", "terminating", "snapshotting":
	default:
		return ""
	}
	if since.IsZero() {
		return ""
	}
	if d := in.Now.Sub(since); d > in.Rules.Stuck {
		return in.Lang.T("stuck in %s for %s", in.Lang.Word(CleanMax(word, 20)), Duration(d))
	}
	return ""
}
