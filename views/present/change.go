package present

import (
	"context"
	"time"

	"abxdash/client"
	"abxdash/ui/lang"
)

// ResumeLifetime is what a sandbox lives at least after it was resumed.
const ResumeLifetime = 30 * time.Minute

// SetTTL makes s end d from now, sooner or later than before, and re-reads it.
// now is the provider's time.
func SetTTL(ctx context.Context, p client.Provider, s client.Sandbox, d time.Duration, now time.Time) Extended {
	out := Extended{Key: KeyOf(s), Before: s}
	if d <= 0 {
		out.Err = client.Usagef("set lifetime", "the time left must be positive; kill ends it now")
		return out
	}
	if out.Err = p.Sandboxes().SetLifetime(ctx, s.ID, d); out.Err != nil {
		return out
	}
	out.reread(ctx, p)
	if out.Err != nil {
		return out
	}
	out.say(movedTTL(TTL(s, now), TTL(out.After, now)))
	// A minute of tolerance covers rounding and the time the two calls took.
	if got, kind := Left(out.After, now); kind == client.EndAt && (got-d).Abs() > time.Minute {
		out.Short = true
		out.say(otherTTL(Clean(s.Provider), TTL(out.After, now), Duration(d)))
	}
	return out
}

// Pause stops s, keeping its state, and re-reads it.
func Pause(ctx context.Context, p client.Provider, s client.Sandbox) Extended {
	out := Extended{Key: KeyOf(s), Before: s}
	var pauser client.Pauser
	if pauser, out.Err = pauserOf(p); out.Err == nil {
		out.Err = pauser.Pause(ctx, s.ID)
	}
	if out.Err != nil {
		return out
	}
	out.reread(ctx, p)
	before, after := StateWord(s), StateWord(out.After)
	out.say(func(l *lang.Catalog) string { return l.Word(before) + " → " + l.Word(after) })
	return out
}

// Resume wakes s for at least ResumeLifetime and re-reads it. now is the provider's time.
func Resume(ctx context.Context, p client.Provider, s client.Sandbox, now time.Time) Extended {
	out := Extended{Key: KeyOf(s), Before: s}
	var pauser client.Pauser
	if pauser, out.Err = pauserOf(p); out.Err == nil {
		out.Err = pauser.Resume(ctx, s.ID, ResumeLifetime)
	}
	if out.Err != nil {
		return out
	}
	out.reread(ctx, p)
	before, after, ttl := StateWord(s), StateWord(out.After), movedTTL(TTL(s, now), TTL(out.After, now))
	out.say(func(l *lang.Catalog) string { return l.Word(before) + " → " + l.Word(after) + ", " + ttl(l) })
	return out
}

func pauserOf(p client.Provider) (client.Pauser, error) {
	if err := p.Capabilities().Missing(p.Name(), client.CapPause); err != nil {
		return nil, err
	}
	pauser, ok := client.Find[client.Pauser](p)
	if !ok {
		return nil, &client.Error{Op: "pause", Provider: p.Name(), Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: "pausing is not offered"}
	}
	return pauser, nil
}

func (e *Extended) reread(ctx context.Context, p client.Provider) {
	after, err := p.Sandboxes().Get(ctx, e.Key.ID)
	if err != nil {
		e.Err = err
		return
	}
	after.Provider = e.Key.Provider
	e.After = after
}
