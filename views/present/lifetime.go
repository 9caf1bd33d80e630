package present

import (
	"context"
	"time"

	"abxdash/client"
	"abxdash/ui/lang"
)

// ExtendStep is what one press of the extend key adds.
const ExtendStep = 30 * time.Minute

// Extended is the result of [Extend], and of the other changes of a lifetime or a state.
type Extended struct {
	Key Key
	// Before is the sandbox as it was shown, After as the provider reports it
	// now; After is valid only if Err is nil.
	Before, After client.Sandbox
	// Text says what happened in English, e.g. "TTL 17m → 47m"; clean.
	Text string
	// words is Text in a language; nil if nothing happened.
	words func(*lang.Catalog) string
	// Short is set when the provider accepted but the end did not move as asked.
	Short bool
	Err   error
}

// In is what happened in a language; nil is English.
func (e Extended) In(l *lang.Catalog) string {
	if e.words == nil {
		return e.Text
	}
	return e.words(l)
}

// say keeps the words for what happened.
func (e *Extended) say(words func(*lang.Catalog) string) { e.words, e.Text = words, words(nil) }

// movedTTL words a lifetime that was moved.
func movedTTL(from, to string) func(*lang.Catalog) string {
	return func(l *lang.Catalog) string { return l.T("TTL %s → %s", l.Word(from), l.Word(to)) }
}

// otherTTL words a lifetime that is not what was asked for.
func otherTTL(provider, got, want string) func(*lang.Catalog) string {
	return func(l *lang.Catalog) string {
		return l.T("%s accepted, but TTL is %s instead of %s", provider, l.Word(got), want)
	}
}

// Extend adds by to the remaining lifetime of s, re-reads it and words the
// difference. now is the provider's time. On failure nothing moves: After is
// not valid. A sandbox without an end is refused without a call.
func Extend(ctx context.Context, p client.Provider, s client.Sandbox, by time.Duration, now time.Time) Extended {
	const op = "extend lifetime"
	out := Extended{Key: KeyOf(s), Before: s}
	left, kind := Left(s, now)
	switch {
	case kind != client.EndAt:
		out.Err = client.Usagef(op, "%s has no end that could move", Label(s))
		return out
	case by <= 0:
		out.Err = client.Usagef(op, "the step must be positive")
		return out
	}
	want := max(0, left) + by
	if out.Err = p.Sandboxes().SetLifetime(ctx, s.ID, want); out.Err != nil {
		return out
	}
	after, err := p.Sandboxes().Get(ctx, s.ID)
	if err != nil {
		out.Err = err
		return out
	}
	after.Provider = s.Provider
	out.After = after
	got, gotKind := Left(after, now)
	out.say(movedTTL(TTL(s, now), TTL(after, now)))
	// A minute of tolerance covers rounding and the time the two calls took.
	if gotKind == client.EndAt && got < want-time.Minute {
		out.Short = true
		out.say(otherTTL(Clean(s.Provider), TTL(after, now), Duration(want)))
	}
	return out
}
