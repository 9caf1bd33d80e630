package present

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"abxdash/client"
)

// fullID is the form of E2B ids (e2b-protocol §1); other providers may use others.
var fullID = regexp.MustCompile(`^i[a-z0-9]{20}$`)

// IsFullID reports whether text is certainly a whole id and not a prefix or a
// name: such an id that is not found "was already gone" rather than mistyped.
func IsFullID(text string) bool {
	if k, ok := ParseKey(text); ok {
		text = string(k.ID)
	}
	return fullID.MatchString(text)
}

// Resolve finds the one sandbox that text names: "provider/…" or not, a whole
// id, a name, or a prefix of an id that fits only one, in this order. Several
// that fit give E9007 with the candidates, none gives an error that matches
// client.ErrNotFound. If none fits but a provider could not be asked, that
// provider's error is returned instead.
func Resolve(ctx context.Context, ps Providers, text string) (client.Sandbox, error) {
	const op = "find sandbox"
	text = strings.TrimSpace(text)
	if k, ok := ParseKey(text); ok {
		if p := ps.Get(k.Provider); p != nil {
			ps, text = Providers{p}, string(k.ID)
		}
	}
	if text == "" {
		return client.Sandbox{}, client.Usagef(op, "no sandbox named")
	}
	if fullID.MatchString(text) {
		return getAny(ctx, ps, client.ID(text))
	}
	var ids, names, prefixes []client.Sandbox
	var failed error
	for _, l := range Gather(ctx, ps, client.Query{}) {
		if l.Err != nil {
			failed = errors.Join(failed, l.Err)
			continue
		}
		for _, s := range l.Page.Sandboxes {
			switch {
			case string(s.ID) == text:
				ids = append(ids, s)
			case s.Name == text:
				names = append(names, s)
			case strings.HasPrefix(string(s.ID), text):
				prefixes = append(prefixes, s)
			}
		}
	}
	for _, found := range [][]client.Sandbox{ids, names, prefixes} {
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return client.Sandbox{}, ambiguous(op, text, found)
		}
	}
	if failed != nil {
		return client.Sandbox{}, firstError(failed)
	}
	return client.Sandbox{}, notFound(op, text)
}

// getAny asks every provider for a whole id, which works where a list lags.
func getAny(ctx context.Context, ps Providers, id client.ID) (client.Sandbox, error) {
	var found []client.Sandbox
	var failed error
	type answer struct {
		s   client.Sandbox
		err error
	}
	ch := make(chan answer, len(ps))
	for _, p := range ps {
		go func() {
			s, err := p.Sandboxes().Get(ctx, id)
			s.Provider = p.Name()
			ch <- answer{s, err}
		}()
	}
	for range ps {
		switch a := <-ch; {
		case a.err == nil:
			found = append(found, a.s)
		case !errors.Is(a.err, client.ErrNotFound):
			failed = errors.Join(failed, a.err)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return client.Sandbox{}, ambiguous("find sandbox", string(id), found)
	case failed != nil:
		return client.Sandbox{}, firstError(failed)
	default:
		return client.Sandbox{}, notFound("find sandbox", string(id))
	}
}

// firstError unpacks a joined error so that its one line stays one line.
func firstError(err error) error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		if es := j.Unwrap(); len(es) > 0 {
			return es[0]
		}
	}
	return err
}

func notFound(op, text string) error {
	return &client.Error{
		Op: op, Code: client.CodeNotFound, Kind: client.ErrNotFound,
		Message: fmt.Sprintf("no sandbox is called %q", CleanMax(text, 80)),
	}
}

func ambiguous(op, text string, found []client.Sandbox) error {
	const show = 5
	var names []string
	for _, s := range found[:min(show, len(found))] {
		n := KeyOf(s).String()
		if s.Name != "" {
			n += " " + s.Name
		}
		names = append(names, Clean(n))
	}
	if len(found) > show {
		names = append(names, fmt.Sprintf("and %d more", len(found)-show))
	}
	return &client.Error{
		Op: op, Code: client.CodeAmbiguous,
		Message: fmt.Sprintf("%q fits %d sandboxes: %s", CleanMax(text, 80), len(found), strings.Join(names, ", ")),
		Hint:    "give more of the id, or provider/id",
	}
}
