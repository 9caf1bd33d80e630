package present

import (
	"strconv"
	"strings"
	"time"

	"abxdash/client"
)

const (
	// overdue is how long past its end a sandbox may still be listed before
	// that is a reason: providers reap with a delay.
	overdue = 2 * time.Minute
	// stuckAfter is how long an in-between state may last.
	stuckAfter = 10 * time.Minute
)

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
}

// StrayReasons tells why s looks forgotten, one short line each, or nil if it
// does not. Age alone is never a reason, and what is unknown is none either.
func StrayReasons(s client.Sandbox, in StrayInfo) []string {
	var out []string
	if s.Metadata[client.MetaOwner] == "" {
		out = append(out, "no owner tag")
	}
	if pid := creatorGone(s, in); pid > 0 {
		out = append(out, "its creator (process "+strconv.Itoa(pid)+") is gone")
	}
	if r := pastLife(s, in.Now); r != "" {
		out = append(out, r)
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

func pastLife(s client.Sandbox, now time.Time) string {
	if want, err := time.ParseDuration(s.Metadata[MetaExpected]); err == nil && want > 0 && s.StartedAt.Year() > 1 {
		if over := now.Sub(s.StartedAt.Add(want)); over > 0 {
			return "past its expected life by " + Duration(over)
		}
	}
	if left, kind := Left(s, now); kind == client.EndAt && -left > overdue {
		return "past its end by " + Duration(-left)
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
	if d := in.Now.Sub(since); d > stuckAfter {
		return "stuck in " + CleanMax(word, 20) + " for " + Duration(d)
	}
	return ""
}
