package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

func (c *cli) lsCmd() *cobra.Command {
	var (
		states, metadata []string
		template, filter string
		stray            bool
	)
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List sandboxes of all providers",
		Args: argCount(0, 0, "ls takes no arguments"),
		RunE: c.run(func(ctx context.Context, _ []string) error {
			meta, err := pairs("metadata", metadata)
			if err != nil {
				return err
			}
			if stray {
				filter = strings.TrimSpace(filter + " stray")
			}
			match, err := present.ParseFilter(filter)
			if err != nil {
				return client.Usagef("read the filter", "%s", err)
			}
			q := client.Query{Metadata: meta, Template: template}
			for _, s := range states {
				q.States = append(q.States, client.State(s))
			}
			return c.list(ctx, q, match)
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&states, "state", nil, "only these states, such as running,paused")
	f.StringArrayVarP(&metadata, "metadata", "m", nil, "only with this metadata, KEY=VALUE; may be repeated")
	f.StringVarP(&template, "template", "t", "", "only of this template")
	f.StringVarP(&filter, "filter", "f", "", "filter as in the dashboard: words, !not, key=value, state:, ttl<5m, age>1h")
	f.BoolVar(&stray, "stray", false, "only those with a reason to be a stray")
	return cmd
}

func (c *cli) list(ctx context.Context, q client.Query, match present.Filter) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	callCtx, cancel := c.listCall(ctx, len(s.Providers))
	defer cancel()
	var rows []present.Row
	var failed []error
	for _, l := range present.Gather(callCtx, s.Providers, q) {
		if l.Err != nil {
			failed = append(failed, l.Err)
			continue
		}
		if l.Page.Note != "" {
			c.say("note: %s: %s", present.Clean(l.Provider), present.Clean(l.Page.Note))
		}
		rows = append(rows, c.rows(l.Page, match)...)
	}
	if err := c.printRows(rows); err != nil {
		return err
	}
	if len(failed) == 0 {
		return nil
	}
	if c.flags.PartialOK && len(failed) < len(s.Providers) {
		for _, err := range failed {
			c.say("note: %s", present.ErrorLine(err))
		}
		return nil
	}
	for _, err := range failed[1:] {
		c.complain(err)
	}
	if len(failed) > 1 {
		// Several reasons have no code of their own; standard error names them.
		c.complain(failed[0])
		return &exitError{code: ExitError}
	}
	return failed[0]
}

// rows prepares the sandboxes of one page, newest first.
func (c *cli) rows(page client.Page, match present.Filter) []present.Row {
	now := present.NewClock(page.ServerTime, c.Now()).At(c.Now())
	var out []present.Row
	var rates present.Rates
	if c.Rates != nil {
		rates = c.Rates()
	}
	for _, s := range page.Sandboxes {
		r := present.Row{Sandbox: s, Now: now, Owner: c.Owner, Rates: rates, Stray: present.StrayReasons(s, present.StrayInfo{Now: now, Host: c.Owner.Host, Alive: c.Alive, Rules: c.rules()})}
		fr := present.NewFilterRow(r)
		if match.Match(&fr) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b present.Row) int { return b.Sandbox.StartedAt.Compare(a.Sandbox.StartedAt) })
	return out
}

func (c *cli) printRows(rows []present.Row) error {
	switch {
	case c.flags.JSON:
		list := make([]present.SandboxJSON, 0, len(rows))
		for _, r := range rows {
			list = append(list, present.JSON(r.Sandbox, r.Stray))
		}
		return c.printJSON(list)
	case c.flags.Quiet:
		for _, r := range rows {
			if _, err := fmt.Fprintln(c.Out, present.Clean(string(r.Sandbox.ID))); err != nil {
				return err
			}
		}
		return nil
	case len(rows) == 0:
		c.say("no sandboxes; `abxdash create` makes one")
		return nil
	}
	columns := append(present.ColumnsByKey("id"),
		present.Column{Key: "name", Title: "NAME", Value: func(r present.Row) string { return present.CleanMax(r.Sandbox.Name, 40) }})
	columns = append(columns, present.ColumnsByKey("provider", "template", "state")...)
	columns = append(columns,
		present.Column{Key: "isolation", Title: "ISOLATION", Value: func(r present.Row) string { return present.Clean(string(r.Sandbox.Isolation)) }})
	columns = append(columns, present.ColumnsByKey("age", "ttl")...)
	if priced(rows) {
		columns = append(columns, present.ColumnsByKey("cost")...)
		c.say("note: $/H is an %s", rows[0].Rates.Label())
	}
	columns = append(columns, present.ColumnsByKey("owner", "stray")...)
	table := [][]string{{}}
	right := make([]bool, len(columns))
	for i, col := range columns {
		table[0] = append(table[0], col.Title)
		right[i] = col.Right
	}
	for _, r := range rows {
		line := make([]string, len(columns))
		for i, col := range columns {
			line[i] = col.Value(r)
		}
		table = append(table, line)
	}
	return printTable(c.Out, right, table)
}

// priced reports whether something is known to cost anything.
func priced(rows []present.Row) bool {
	return slices.ContainsFunc(rows, func(r present.Row) bool {
		h, ok := r.Rates.Hourly(r.Sandbox)
		return ok && h > 0
	})
}

func (c *cli) infoCmd() *cobra.Command {
	return &cobra.Command{
		Use: "info SANDBOX", Short: "Show one sandbox",
		Args: argCount(1, 1, "info needs one sandbox"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			s, err := c.open(ctx)
			if err != nil {
				return err
			}
			defer s.Close()
			sb, p, err := c.find(ctx, s, args[0])
			if err != nil {
				return err
			}
			callCtx, cancel := c.call(ctx)
			defer cancel()
			full, err := p.Sandboxes().Get(callCtx, sb.ID)
			if errors.Is(err, client.ErrNotFound) {
				return &client.Error{
					Op: "show sandbox", Provider: p.Name(), Code: client.CodeNotFound, Kind: client.ErrNotFound,
					Message: fmt.Sprintf("%s no longer exists", present.LongLabel(sb)),
				}
			}
			if err != nil {
				return err
			}
			full.Provider = p.Name()
			return c.printInfo(full)
		}),
	}
}

func (c *cli) printInfo(sb client.Sandbox) error {
	now := c.Now()
	stray := present.StrayReasons(sb, present.StrayInfo{Now: now, Host: c.Owner.Host, Alive: c.Alive, Rules: c.rules()})
	if c.flags.JSON {
		return c.printJSON(present.JSON(sb, stray))
	}
	if c.flags.Quiet {
		_, err := fmt.Fprintln(c.Out, present.Clean(string(sb.ID)))
		return err
	}
	rows := [][]string{
		{"id", present.Clean(string(sb.ID))},
		{"name", orDash(present.Clean(sb.Name))},
		{"provider", present.Clean(sb.Provider)},
		{"template", present.Template(sb)},
		{"state", present.StateWord(sb)},
		{"isolation", orDash(present.Clean(string(sb.Isolation)))},
		{"age", present.Age(sb.StartedAt, now)},
		{"ttl", present.TTL(sb, now)},
		{"cpu", present.CPU(sb.CPU)},
		{"memory", present.Memory(sb.MemoryMB)},
		{"owner", c.Owner.Column(sb)},
	}
	for _, r := range stray {
		rows = append(rows, []string{"stray", present.Clean(r)})
	}
	keys := make([]string, 0, len(sb.Metadata))
	for k := range sb.Metadata {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		rows = append(rows, []string{"metadata", present.Clean(k) + "=" + present.Clean(sb.Metadata[k])})
	}
	return printTable(c.Out, []bool{false, false}, rows)
}

func orDash(s string) string {
	if s == "" {
		return present.TTLUnset
	}
	return s
}
