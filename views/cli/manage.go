package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// sandboxCmds are the commands of a sandbox's life and of what it can be asked.
func (c *cli) sandboxCmds() []*cobra.Command {
	return []*cobra.Command{
		c.pauseCmd(), c.resumeCmd(), c.ttlCmd(), c.metricsCmd(), c.logsCmd(),
		c.portsCmd(), c.urlCmd(), c.forwardCmd(), c.snapshotCmd(),
	}
}

// offered finds an optional interface of a provider; without its capability
// the error is E8004 and gives the reason.
func offered[T any](p client.Provider, k client.Capability) (T, error) {
	var none T
	if err := p.Capabilities().Missing(p.Name(), k); err != nil {
		return none, err
	}
	x, ok := client.Find[T](p)
	if !ok {
		return none, &client.Error{
			Op: string(k), Provider: p.Name(), Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: present.Clean(p.Name()) + " has no call for it",
		}
	}
	return x, nil
}

// one opens the session and finds one sandbox.
func (c *cli) one(ctx context.Context, name string) (client.Sandbox, client.Provider, func(), error) {
	s, err := c.open(ctx)
	if err != nil {
		return client.Sandbox{}, nil, nil, err
	}
	sb, p, err := c.find(ctx, s, name)
	if err != nil {
		s.Close()
		return sb, nil, nil, err
	}
	return sb, p, s.Close, nil
}

func (c *cli) pauseCmd() *cobra.Command {
	return &cobra.Command{
		Use: "pause SANDBOX", Short: "Pause a sandbox; its lifetime stands still",
		Args: argCount(1, 1, "pause needs a sandbox"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			return c.change(ctx, "pause", args[0], func(ctx context.Context, p client.Provider, sb client.Sandbox) error {
				pauser, err := offered[client.Pauser](p, client.CapPause)
				if err != nil {
					return err
				}
				return pauser.Pause(ctx, sb.ID)
			})
		}),
	}
}

// resumeDefault is the new lifetime of a resumed sandbox (e2b-protocol §14).
const resumeDefault = 5 * time.Minute

func (c *cli) resumeCmd() *cobra.Command {
	var lifetime time.Duration
	cmd := &cobra.Command{
		Use: "resume SANDBOX", Short: "Let a paused sandbox go on, with a new lifetime",
		Args: argCount(1, 1, "resume needs a sandbox"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if lifetime <= 0 {
				return client.Usagef("resume", "--lifetime must be positive")
			}
			return c.change(ctx, "resume", args[0], func(ctx context.Context, p client.Provider, sb client.Sandbox) error {
				pauser, err := offered[client.Pauser](p, client.CapPause)
				if err != nil {
					return err
				}
				return pauser.Resume(ctx, sb.ID, lifetime)
			})
		}),
	}
	cmd.Flags().DurationVar(&lifetime, "lifetime", resumeDefault, "how long it lives from now")
	return cmd
}

// change makes one change of a sandbox and shows what became of it.
func (c *cli) change(ctx context.Context, op, name string, do func(context.Context, client.Provider, client.Sandbox) error) error {
	if err := c.writable(op); err != nil {
		return err
	}
	sb, p, done, err := c.one(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	call, cancel := c.call(ctx)
	defer cancel()
	if err := do(call, p, sb); err != nil {
		return err
	}
	after, err := p.Sandboxes().Get(call, sb.ID)
	if err != nil {
		return err
	}
	after.Provider = sb.Provider
	if c.flags.JSON {
		return c.printJSON(present.JSON(after, nil))
	}
	c.say("%s: %s, TTL %s → %s", present.LongLabel(after), present.StateWord(after), present.TTL(sb, c.Now()), present.TTL(after, c.Now()))
	return nil
}

func (c *cli) ttlCmd() *cobra.Command {
	return &cobra.Command{
		Use: "ttl SANDBOX [DURATION|+DURATION]", Short: "Show how long a sandbox lives, or change it",
		Long: `ttl shows the remaining lifetime and changes nothing. With 30m the sandbox ends
half an hour from now, be that sooner or later; with +30m half an hour is added.`,
		Args: argCount(1, 2, "ttl needs a sandbox, and may have a duration such as 30m or +30m"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				return c.showTTL(ctx, args[0])
			}
			return c.setTTL(ctx, args[0], args[1])
		}),
	}
}

// ttlJSON is what ttl --json prints.
type ttlJSON struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	// ExpiresAt is null for a sandbox without a known end.
	ExpiresAt *time.Time `json:"expires_at"`
	// RemainingS is in seconds, null without a known end.
	RemainingS *int64 `json:"remaining_s"`
}

func (c *cli) showTTL(ctx context.Context, name string) error {
	sb, _, done, err := c.one(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	return c.printTTL(sb)
}

func (c *cli) printTTL(sb client.Sandbox) error {
	if !c.flags.JSON {
		return printTable(c.Out, []bool{false}, [][]string{{present.TTL(sb, c.Now())}})
	}
	out := ttlJSON{Provider: sb.Provider, ID: string(sb.ID), ExpiresAt: present.JSON(sb, nil).ExpiresAt}
	if left, ok := sb.Remaining(c.Now()); ok {
		s := int64(left / time.Second)
		out.RemainingS = &s
	}
	return c.printJSON(out)
}

func (c *cli) setTTL(ctx context.Context, name, text string) error {
	const op = "ttl"
	if err := c.writable(op); err != nil {
		return err
	}
	d, err := time.ParseDuration(strings.TrimPrefix(text, "+"))
	if err != nil || d <= 0 {
		return client.Usagef(op, "%q is not a duration such as 30m or +30m", client.OneLine(text, 40))
	}
	sb, p, done, err := c.one(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	call, cancel := c.call(ctx)
	defer cancel()
	if strings.HasPrefix(text, "+") {
		left, ok := sb.Remaining(c.Now())
		if !ok {
			return client.Usagef(op, "%s has no end that could move", present.Label(sb))
		}
		d += left
	}
	if err := p.Sandboxes().SetLifetime(call, sb.ID, d); err != nil {
		return err
	}
	after, err := p.Sandboxes().Get(call, sb.ID)
	if err != nil {
		return err
	}
	after.Provider = sb.Provider
	if c.flags.JSON {
		return c.printTTL(after)
	}
	c.say("TTL %s → %s", present.TTL(sb, c.Now()), present.TTL(after, c.Now()))
	return nil
}
