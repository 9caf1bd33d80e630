package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// templateJSON is a template in --json.
type templateJSON struct {
	Provider  string    `json:"provider"`
	ID        string    `json:"id"`
	Names     []string  `json:"names"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	CPU       float64   `json:"cpu"`
	MemoryMB  int64     `json:"memory_mb"`
	Public    bool      `json:"public"`
	Builds    int64     `json:"builds"`
	Spawned   int64     `json:"spawned"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// UsedBy counts live sandboxes of it, where that was asked.
	UsedBy *int `json:"used_by,omitempty"`
	// History are the builds, newest first, where the provider tells them.
	History []buildJSON `json:"history,omitempty"`
}

// buildJSON is one build of a template in --json.
type buildJSON struct {
	ID        string    `json:"id"`
	State     string    `json:"state"`
	CreatedAt time.Time `json:"created_at"`
}

func asTemplateJSON(provider string, t client.TemplateInfo) templateJSON {
	names := t.Names
	if names == nil {
		names = []string{}
	}
	out := templateJSON{
		Provider: provider, ID: t.ID, Names: names, State: t.State, Reason: t.Reason, CPU: t.CPU, MemoryMB: t.MemoryMB,
		Public: t.Public, Builds: t.Builds, Spawned: t.Spawned, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
	for _, b := range t.History {
		out.History = append(out.History, buildJSON{b.ID, b.State, b.CreatedAt})
	}
	return out
}

func (c *cli) templateLsCmd() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the templates of all providers that have some",
		Args: argCount(0, 0, "ls takes no arguments"),
		RunE: c.run(func(ctx context.Context, _ []string) error { return c.listTemplates(ctx) }),
	}
}

func (c *cli) listTemplates(ctx context.Context) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	list := []templateJSON{}
	var failed error
	for _, p := range s.Providers {
		t, ok := client.Find[client.Templates](p)
		if !ok || !p.Capabilities().Has(client.CapTemplates) {
			if c.flags.Provider != "" {
				return p.Capabilities().Missing(p.Name(), client.CapTemplates)
			}
			continue
		}
		callCtx, cancel := c.call(ctx)
		all, err := t.Templates(callCtx)
		cancel()
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		for _, info := range all {
			list = append(list, asTemplateJSON(p.Name(), info))
		}
	}
	slices.SortStableFunc(list, func(a, b templateJSON) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	if err := c.printTemplates(list); err != nil {
		return err
	}
	if failed != nil && !c.flags.PartialOK {
		return failed
	}
	return nil
}

func (c *cli) printTemplates(list []templateJSON) error {
	switch {
	case c.flags.JSON:
		return c.printJSON(list)
	case len(list) == 0:
		c.say("no templates; `abxdash template init` starts one")
		return nil
	}
	rows := [][]string{{"NAME", "ID", "PROVIDER", "STATE", "CPU", "MEMORY", "BUILDS", "SPAWNED", "UPDATED"}}
	for _, t := range list {
		name := "—"
		if len(t.Names) > 0 {
			name = present.CleanMax(t.Names[0], 40)
		}
		rows = append(rows, []string{
			name, present.CleanMax(t.ID, 40), present.Clean(t.Provider), orDash(present.CleanMax(t.State, 20)), orDash(number(t.CPU)),
			orDash(number(float64(t.MemoryMB))), strconv.FormatInt(t.Builds, 10), strconv.FormatInt(t.Spawned, 10), day(t.UpdatedAt),
		})
	}
	return printTable(c.Out, []bool{false, false, false, false, true, true, true, true, false}, rows)
}

func number(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func day(t time.Time) string {
	if t.IsZero() {
		return "—"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// templateOf opens the provider of a template: --provider, else the default one.
func (c *cli) templateOf(ctx context.Context) (client.Templates, client.Provider, func(), error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := creator(s)
	if err == nil {
		err = p.Capabilities().Missing(p.Name(), client.CapTemplates)
	}
	var missing *client.Error
	if errors.As(err, &missing) && missing.Code == client.CodeUnsupported && missing.Hint == "" {
		missing.Hint = "name the provider that has it: --provider NAME"
	}
	if err != nil {
		s.Close()
		return nil, nil, nil, err
	}
	t, ok := client.Find[client.Templates](p)
	if !ok {
		s.Close()
		return nil, nil, nil, &client.Error{Op: "templates", Provider: p.Name(), Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: p.Name() + " has no template calls"}
	}
	return t, p, s.Close, nil
}

// usedBy lists live sandboxes of a template.
func usedBy(ctx context.Context, p client.Provider, t client.TemplateInfo) ([]client.Sandbox, error) {
	page, err := present.ListAll(ctx, p, client.Query{})
	if err != nil {
		return nil, err
	}
	var out []client.Sandbox
	for _, sb := range page.Sandboxes {
		if sb.TemplateID == t.ID || slices.Contains(t.Names, sb.Template) || sb.Template == t.ID {
			out = append(out, sb)
		}
	}
	return out, nil
}

func (c *cli) templateInfoCmd() *cobra.Command {
	return &cobra.Command{
		Use: "info TEMPLATE", Short: "Show one template, by id or name",
		Args: argCount(1, 1, "info needs a template"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			t, p, done, err := c.templateOf(ctx)
			if err != nil {
				return err
			}
			defer done()
			info, err := t.Template(ctx, args[0])
			if err != nil {
				return err
			}
			live, err := usedBy(ctx, p, info)
			if err != nil {
				return err
			}
			out := asTemplateJSON(p.Name(), info)
			n := len(live)
			out.UsedBy = &n
			if c.flags.JSON {
				return c.printJSON(out)
			}
			rows := [][]string{
				{"id", present.Clean(info.ID)},
				{"names", orDash(present.Clean(strings.Join(info.Names, ", ")))},
				{"provider", present.Clean(p.Name())},
				{"state", orDash(present.Clean(info.State + " " + info.Reason))},
				{"size", orDash(number(info.CPU)) + " vCPU, " + orDash(number(float64(info.MemoryMB))) + " MiB"},
				{"builds", strconv.FormatInt(info.Builds, 10)},
				{"used by", present.Plural(n, "sandbox", "sandboxes")},
				{"created", day(info.CreatedAt)},
				{"updated", day(info.UpdatedAt)},
			}
			for _, b := range info.History[:min(len(info.History), shownBuilds)] {
				rows = append(rows, []string{"build", present.CleanMax(b.ID, 60) + "  " + orDash(present.CleanMax(b.State, 20)) + "  " + day(b.CreatedAt)})
			}
			return printTable(c.Out, []bool{false, false}, rows)
		}),
	}
}

// shownBuilds is how many builds of a template are shown.
const shownBuilds = 5

func (c *cli) templateRmCmd() *cobra.Command {
	return &cobra.Command{
		Use: "rm TEMPLATE", Aliases: []string{"delete"}, Short: "Delete a template, by id or name",
		Args: argCount(1, 1, "rm needs a template"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if err := c.writable("template rm"); err != nil {
				return err
			}
			t, p, done, err := c.templateOf(ctx)
			if err != nil {
				return err
			}
			defer done()
			info, err := t.Template(ctx, args[0])
			if err != nil {
				return err
			}
			live, err := usedBy(ctx, p, info)
			if err != nil {
				return err
			}
			if len(live) > 0 {
				return &client.Error{
					Op: "delete template", Provider: p.Name(), Code: client.CodeConflict, Kind: client.ErrConflict,
					Message: fmt.Sprintf("%s is used by %s", present.Clean(info.Name()), present.Plural(len(live), "sandbox", "sandboxes")),
					Hint:    "see them: abxdash ls --template " + present.Clean(info.Name()),
				}
			}
			if err := c.confirm(ctx, "template rm", fmt.Sprintf("delete the template %s of %s for good?", present.Clean(info.Name()), present.Clean(p.Name()))); err != nil {
				return err
			}
			if err := t.DeleteTemplate(ctx, info.ID); err != nil {
				return err
			}
			c.say("deleted %s", present.Clean(info.Name()))
			return nil
		}),
	}
}
