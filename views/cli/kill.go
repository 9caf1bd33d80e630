package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// manyKills is from where on the count has to be typed (product.md §6).
const manyKills = 10

func (c *cli) killCmd() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "kill SANDBOX…", Short: "Kill sandboxes",
		Long: `kill ends sandboxes for good. It asks on a terminal and needs --yes without one.
A full id that the provider no longer has "was already gone", which is a success.`,
		Args: argCount(1, -1, "kill needs at least one sandbox"),
		RunE: c.run(func(ctx context.Context, args []string) error { return c.kill(ctx, args, force) }),
	}
	cmd.Flags().BoolVar(&force, "force", false, "kill protected sandboxes too")
	return cmd
}

// killResult is one line of kill --json.
type killResult struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	Name     string `json:"name"`
	// Result is killed, already_gone or failed.
	Result string `json:"result"`
	Error  string `json:"error,omitempty"`
}

func (c *cli) kill(ctx context.Context, names []string, force bool) error {
	if err := c.writable("kill"); err != nil {
		return err
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	// Every name is resolved before anything is killed: a typing error in the
	// last one must not cost the first ones.
	var targets []client.Sandbox
	results := []killResult{}
	seen := map[present.Key]bool{}
	for _, name := range names {
		sb, _, err := c.find(ctx, s, name)
		switch {
		case errors.Is(err, client.ErrNotFound) && present.IsFullID(name):
			results = append(results, gone(name))
		case err != nil:
			return err
		case !force && c.protected(sb):
			return &client.Error{
				Op: "kill", Code: client.CodeReadOnly, Message: present.LongLabel(sb) + " is protected, nothing was killed",
				Hint: "--force kills it all the same",
			}
		case !seen[present.KeyOf(sb)]:
			seen[present.KeyOf(sb)] = true
			targets = append(targets, sb)
		}
	}
	if len(targets) > 0 {
		if err := c.reviewKill(ctx, targets); err != nil {
			return err
		}
	}
	var failed []error
	for _, sb := range targets {
		res, err := c.killOne(ctx, s.Providers.Get(sb.Provider), sb)
		results = append(results, res)
		if err != nil {
			failed = append(failed, err)
		}
	}
	if err := c.printKills(results); err != nil || len(failed) == 0 {
		return err
	}
	for _, err := range failed[1:] {
		c.complain(err)
	}
	return failed[0]
}

func gone(name string) killResult {
	res := killResult{ID: name, Result: "already_gone"}
	if k, ok := present.ParseKey(name); ok {
		res.Provider, res.ID = k.Provider, string(k.ID)
	}
	return res
}

// reviewKill shows what would be killed and asks.
func (c *cli) reviewKill(ctx context.Context, targets []client.Sandbox) error {
	if c.flags.Yes {
		return nil
	}
	if c.IsTerminal(c.In) && c.IsTerminal(c.Err) {
		for _, sb := range targets {
			fmt.Fprintf(c.Err, "  %s  %s  %s  age %s\n", present.LongLabel(sb), present.Clean(sb.Provider), present.StateWord(sb), present.Age(sb.StartedAt, c.Now()))
		}
	}
	n := len(targets)
	if n <= manyKills {
		return c.confirm(ctx, "kill", "Kill "+present.Plural(n, "sandbox", "sandboxes")+"?")
	}
	answer, err := c.ask(ctx, "kill", fmt.Sprintf("Type %d to kill them all: ", n))
	if err != nil {
		return err
	}
	if answer != strconv.Itoa(n) {
		return c.notDone()
	}
	return nil
}

// protected reports whether a sandbox was set apart: by its maker in its metadata, or by the dashboard's user.
func (c *cli) protected(sb client.Sandbox) bool {
	return client.Protected(sb) || c.Protected != nil && c.Protected(present.KeyOf(sb))
}

func (c *cli) killOne(ctx context.Context, p client.Provider, sb client.Sandbox) (killResult, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res := killResult{Provider: sb.Provider, ID: string(sb.ID), Name: sb.Name, Result: "killed"}
	err := p.Sandboxes().Kill(ctx, sb.ID)
	switch {
	case errors.Is(err, client.ErrNotFound):
		res.Result, err = "already_gone", nil
	case err != nil:
		res.Result, res.Error = "failed", present.ErrorLine(err)
	}
	return res, err
}

func (c *cli) printKills(results []killResult) error {
	if c.flags.JSON {
		return c.printJSON(results)
	}
	if c.flags.Quiet {
		return nil
	}
	for _, r := range results {
		label := present.Clean(r.ID)
		if r.Name != "" {
			label = present.Clean(r.Name) + " (" + label + ")"
		}
		var err error
		switch r.Result {
		case "killed":
			_, err = fmt.Fprintf(c.Out, "killed %s\n", label)
		case "already_gone":
			_, err = fmt.Fprintf(c.Out, "%s was already gone\n", label)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
