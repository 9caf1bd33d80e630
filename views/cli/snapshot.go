package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

func (c *cli) snapshotCmd() *cobra.Command {
	var name string
	create := &cobra.Command{
		Use: "create SANDBOX", Short: "Save a sandbox; new ones can start from it",
		Args: argCount(1, 1, "snapshot create needs a sandbox"),
		RunE: c.run(func(ctx context.Context, args []string) error { return c.snapshot(ctx, args[0], name) }),
	}
	create.Flags().StringVarP(&name, "name", "n", "", "a name for it, such as project or project:v2")
	list := &cobra.Command{
		Use: "ls [SANDBOX]", Aliases: []string{"list"}, Short: "List snapshots",
		Args: argCount(0, 1, "snapshot ls takes at most a sandbox"), RunE: c.run(c.snapshots),
	}
	remove := &cobra.Command{
		Use: "rm SNAPSHOT…", Aliases: []string{"delete"}, Short: "Delete snapshots",
		Args: argCount(1, -1, "snapshot rm needs at least one snapshot"), RunE: c.run(c.removeSnapshots),
	}
	cmd := &cobra.Command{
		Use: "snapshot", Short: "Save sandboxes and start from what was saved",
		Long: `A snapshot's id goes into create --template. What it holds depends on the provider:
local ones hold the home folder, without memory and processes.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(create, list, remove)
	return cmd
}

// snapshotJSON is one snapshot in --json output.
type snapshotJSON struct {
	Provider string   `json:"provider"`
	ID       string   `json:"id"`
	Names    []string `json:"names"`
}

func snapshotOf(p client.Provider, s client.Snapshot) snapshotJSON {
	if s.Names == nil {
		s.Names = []string{}
	}
	return snapshotJSON{Provider: p.Name(), ID: s.ID, Names: s.Names}
}

func (c *cli) snapshot(ctx context.Context, sandbox, name string) error {
	if err := c.writable("snapshot"); err != nil {
		return err
	}
	sb, p, done, err := c.one(ctx, sandbox)
	if err != nil {
		return err
	}
	defer done()
	maker, err := offered[client.Snapshotter](p, client.CapSnapshot)
	if err != nil {
		return err
	}
	// It can take minutes: the bound of one call does not fit.
	snap, err := maker.Snapshot(ctx, sb.ID, name)
	if err != nil {
		return err
	}
	if c.flags.JSON {
		return c.printJSON(snapshotOf(p, snap))
	}
	if _, err := fmt.Fprintln(c.Out, present.Clean(snap.ID)); err != nil {
		return err
	}
	c.say("start from it with: abxdash create --provider %s --template %s", present.Clean(p.Name()), present.Clean(snap.ID))
	return nil
}

// snapshots lists what every provider that has snapshots keeps.
func (c *cli) snapshots(ctx context.Context, args []string) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	providers, q := []client.Provider(s.Providers), client.SnapshotQuery{}
	if len(args) == 1 {
		sb, p, err := c.find(ctx, s, args[0])
		if err != nil {
			return err
		}
		providers, q.Sandbox = []client.Provider{p}, sb.ID
	}
	out := []snapshotJSON{}
	var failed error
	for _, p := range providers {
		keeper, err := offered[client.Snapshotter](p, client.CapSnapshot)
		if err != nil {
			if len(providers) == 1 {
				return err
			}
			continue
		}
		list, err := c.allSnapshots(ctx, keeper, q)
		for _, snap := range list {
			out = append(out, snapshotOf(p, snap))
		}
		if err != nil {
			c.complain(err)
			failed = err
		}
	}
	if err := c.printSnapshots(out); err != nil {
		return err
	}
	if failed != nil && !c.flags.PartialOK {
		return &exitError{code: exitCode(failed)}
	}
	return nil
}

// maxPages keeps a service that always names a next page from looping.
const maxPages = 1000

func (c *cli) allSnapshots(ctx context.Context, keeper client.Snapshotter, q client.SnapshotQuery) ([]client.Snapshot, error) {
	var all []client.Snapshot
	for range maxPages {
		call, cancel := c.call(ctx)
		page, next, err := keeper.Snapshots(call, q)
		cancel()
		all = append(all, page...)
		if err != nil || next == "" || next == q.PageToken {
			return all, err
		}
		q.PageToken = next
	}
	return all, nil
}

func (c *cli) printSnapshots(list []snapshotJSON) error {
	if c.flags.JSON {
		return c.printJSON(list)
	}
	rows := [][]string{}
	if !c.flags.Quiet {
		rows = append(rows, []string{"ID", "NAMES", "PROVIDER"})
	}
	for _, s := range list {
		row := []string{present.Clean(s.ID), orDash(present.Clean(strings.Join(s.Names, ", "))), present.Clean(s.Provider)}
		if c.flags.Quiet {
			row = []string{row[0], "", ""}
		}
		rows = append(rows, row)
	}
	return printTable(c.Out, []bool{false, false, false}, rows)
}

func (c *cli) removeSnapshots(ctx context.Context, args []string) error {
	const op = "delete snapshot"
	if err := c.writable(op); err != nil {
		return err
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	// Snapshots belong to the provider that create would use, or to --provider.
	p, err := creator(s)
	if err != nil {
		return err
	}
	keeper, err := offered[client.Snapshotter](p, client.CapSnapshot)
	if err != nil {
		return err
	}
	if err := c.confirm(ctx, op, fmt.Sprintf("Delete %s on %s for good?", present.Plural(len(args), "snapshot", "snapshots"), present.Clean(p.Name()))); err != nil {
		return err
	}
	for _, name := range args {
		call, cancel := c.call(ctx)
		err := keeper.DeleteSnapshot(call, name)
		cancel()
		if err != nil {
			return err
		}
		c.say("deleted %s", present.Clean(name))
	}
	return nil
}
