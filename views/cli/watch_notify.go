package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

const (
	// watchEvery is how often `watch` looks, watchLeast the least it may be told to.
	watchEvery = 10 * time.Second
	watchLeast = time.Second
	// watchSoon is the remaining lifetime from which on a sandbox expires soon.
	watchSoon = 5 * time.Minute
	// watchFailures is how many looks in a row must fail to be worth a line.
	watchFailures = 2
)

// watchEvent is one line of `watch`; with --json one object a line.
type watchEvent struct {
	At time.Time `json:"at"`
	// Kind is new, gone, state, stray, expiry, failure or recovered.
	Kind     string `json:"kind"`
	Provider string `json:"provider"`
	ID       string `json:"id,omitempty"`
	Name     string `json:"name,omitempty"`
	Text     string `json:"text,omitempty"`
}

// urgent reports what --notify calls the user for.
func (e watchEvent) urgent() bool {
	return e.Kind == "stray" || e.Kind == "expiry" || e.Kind == "failure"
}

// line words the event; clean.
func (e watchEvent) line() string {
	words := []string{e.At.Local().Format("15:04:05"), fmt.Sprintf("%-9s", e.Kind), present.Clean(e.Provider)}
	if e.ID != "" {
		words[2] += "/" + present.Clean(e.ID)
	}
	for _, w := range []string{e.Name, e.Text} {
		if w != "" {
			words = append(words, present.Clean(w))
		}
	}
	return strings.Join(words, "  ")
}

// watcher compares one look with the one before.
type watcher struct {
	rules present.StrayRules
	owner present.Owner
	alive func(int) bool
	seen  map[present.Key]*watched
	// failures counts looks in a row without an answer, by provider.
	failures map[string]int
	begun    map[string]bool
}

// watched is a sandbox as it was seen last.
type watched struct {
	state       client.State
	since       time.Time
	stray       []string
	soon        bool
	ends        time.Time
	renewed     int
	first, last time.Time
}

func newWatcher(rules present.StrayRules, owner present.Owner, alive func(int) bool) *watcher {
	return &watcher{rules: rules, owner: owner, alive: alive, seen: map[present.Key]*watched{}, failures: map[string]int{}, begun: map[string]bool{}}
}

// look takes one answer of every provider and returns what is new in it. The
// first answer of a provider tells only what needs attention: strays and ends.
func (w *watcher) look(answers []present.Listing, now time.Time) []watchEvent {
	var out []watchEvent
	for _, a := range answers {
		if a.Err != nil {
			w.failures[a.Provider]++
			if w.failures[a.Provider] == watchFailures {
				out = append(out, watchEvent{At: now, Kind: "failure", Provider: a.Provider, Text: present.ErrorLine(a.Err)})
			}
			continue
		}
		if w.failures[a.Provider] >= watchFailures {
			out = append(out, watchEvent{At: now, Kind: "recovered", Provider: a.Provider})
		}
		w.failures[a.Provider] = 0
		out = append(out, w.listed(a, now)...)
		w.begun[a.Provider] = true
	}
	return out
}

func (w *watcher) listed(a present.Listing, now time.Time) []watchEvent {
	var out []watchEvent
	server := present.NewClock(a.Page.ServerTime, now).At(now)
	in := map[present.Key]bool{}
	say := func(s client.Sandbox, kind, text string) {
		out = append(out, watchEvent{At: now, Kind: kind, Provider: a.Provider, ID: string(s.ID), Name: s.Name, Text: text})
	}
	for _, s := range a.Page.Sandboxes {
		k := present.KeyOf(s)
		in[k] = true
		e := w.seen[k]
		switch {
		case e == nil:
			e = &watched{state: s.State, since: server, ends: s.ExpiresAt}
			w.seen[k] = e
			if w.begun[a.Provider] {
				say(s, "new", present.StateWord(s)+", owner "+w.owner.Column(s))
			}
		case e.state != s.State:
			say(s, "state", present.CleanMax(string(e.state), 40)+" → "+present.StateWord(s))
			e.state, e.since = s.State, server
		}
		w.judge(e, s, server, say)
	}
	if !a.Page.MayBeIncomplete {
		for k := range w.seen {
			if k.Provider == a.Provider && !in[k] {
				out = append(out, watchEvent{At: now, Kind: "gone", Provider: k.Provider, ID: string(k.ID)})
				delete(w.seen, k)
			}
		}
	}
	return out
}

// judge says once when a sandbox begins to look forgotten, or to end soon.
func (w *watcher) judge(e *watched, s client.Sandbox, server time.Time, say func(client.Sandbox, string, string)) {
	if s.End == client.EndAt && s.ExpiresAt.Sub(e.ends) > 30*time.Second {
		if e.renewed == 0 {
			e.first = server
		}
		e.renewed++
		e.last = server
	}
	e.ends = s.ExpiresAt
	stray := present.StrayReasons(s, present.StrayInfo{
		Now: server, Host: w.owner.Host, StateSince: e.since, Alive: w.alive, Rules: w.rules,
		Renewed: e.renewed, RenewedOver: e.last.Sub(e.first),
	})
	if len(stray) > 0 && len(e.stray) == 0 {
		say(s, "stray", strings.Join(stray, ", "))
	}
	e.stray = stray
	left, kind := present.Left(s, server)
	soon := kind == client.EndAt && left > 0 && left < watchSoon && s.Running()
	if soon && !e.soon {
		say(s, "expiry", "ends in "+present.TTL(s, server))
	}
	e.soon = soon
}

// watchFlags are those of `watch`.
type watchFlags struct {
	notify, once bool
	every        time.Duration
}

func (c *cli) watchCmd() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use: "watch", Short: "Print what happens to sandboxes, one line each",
		Long: `watch looks at all sandboxes again and again and prints a line for what is new:
strays with their reasons, sandboxes that end within five minutes, providers
that do not answer, new and gone ones, changes of state. It changes nothing.

--notify rings and sends a desktop notification for strays, ends and failures,
if the output is a terminal that can. --once looks one time, prints strays and
ends only, and prints nothing if there are none: fit for cron.`,
		Args: argCount(0, 0, "watch takes no arguments; --provider chooses one"),
		RunE: c.run(func(ctx context.Context, _ []string) error { return c.watchAll(ctx, f) }),
	}
	cmd.Flags().BoolVar(&f.notify, "notify", false, "ring and notify for strays, ends and failures")
	cmd.Flags().BoolVar(&f.once, "once", false, "look one time")
	cmd.Flags().DurationVar(&f.every, "every", watchEvery, "how often to look")
	return cmd
}

func (c *cli) watchAll(ctx context.Context, f watchFlags) error {
	if f.every < watchLeast {
		return client.Usagef("watch", "--every must be at least %s", watchLeast)
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	w := newWatcher(c.rules(), c.Owner, c.Alive)
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	for {
		answers := c.lookOnce(ctx, s)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.printEvents(w.look(answers, c.Now()), f.notify); err != nil {
			return err
		}
		if f.once {
			return onceError(answers)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// rules are the thresholds of the configuration.
func (c *cli) rules() present.StrayRules {
	if c.Rules == nil {
		return present.StrayRules{}
	}
	return c.Rules()
}

func (c *cli) lookOnce(ctx context.Context, s *Session) []present.Listing {
	ctx, cancel := c.call(ctx)
	defer cancel()
	return present.Gather(ctx, s.Providers, client.Query{})
}

// onceError is the first failure of a single look, so that cron says it.
func onceError(answers []present.Listing) error {
	i := slices.IndexFunc(answers, func(a present.Listing) bool { return a.Err != nil })
	if i < 0 {
		return nil
	}
	return answers[i].Err
}

// printEvents writes the lines and calls the user if asked to.
func (c *cli) printEvents(events []watchEvent, notify bool) error {
	enc := json.NewEncoder(c.Out)
	for _, e := range events {
		if c.flags.JSON {
			if err := enc.Encode(e); err != nil {
				return err
			}
			continue
		}
		text := e.line() + "\n"
		if notify && e.urgent() && c.IsTerminal(c.Out) {
			text = "\a" + ansi.Notify("abxdash: "+present.CleanMax(e.line(), 120)) + text
		}
		if _, err := fmt.Fprint(c.Out, text); err != nil {
			return err
		}
	}
	return nil
}
