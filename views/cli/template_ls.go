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
}

func asTemplateJSON(provider string, t client.TemplateInfo) templateJSON {
	names := t.Names
	if names == nil {
		names = []string{}
	}
	return templateJSON{
		Provider: provider, ID: t.ID, Names: names, State: t.State, Reason: t.Reason, CPU: t.CPU, MemoryMB: t.MemoryMB,
		Public: t.Public, Builds: t.Builds, Spawned: t.Spawned, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
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
			return printTable(c.Out, []bool{false, false}, rows)
		}),
	}
}

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

// tagger is the provider's way with tags.
func (c *cli) tagger(ctx context.Context) (client.TemplateTagger, func(), error) {
	_, p, done, err := c.templateOf(ctx)
	if err != nil {
		return nil, nil, err
	}
	t, ok := client.Find[client.TemplateTagger](p)
	if !ok {
		done()
		return nil, nil, &client.Error{Op: "template tags", Provider: p.Name(), Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: p.Name() + " has no template tags"}
	}
	return t, done, nil
}

func (c *cli) templateTagsCmd() *cobra.Command {
	var add, remove []string
	var from string
	cmd := &cobra.Command{
		Use: "tags TEMPLATE", Short: "List, add or remove tags of a template",
		Args: argCount(1, 1, "tags needs a template"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if len(add)+len(remove) > 0 {
				if err := c.writable("template tags"); err != nil {
					return err
				}
			}
			t, done, err := c.tagger(ctx)
			if err != nil {
				return err
			}
			defer done()
			target := args[0]
			if from != "" {
				target += ":" + from
			}
			if len(add) > 0 {
				if err := t.AssignTags(ctx, target, add); err != nil {
					return err
				}
			}
			if len(remove) > 0 {
				if err := t.RemoveTags(ctx, args[0], remove); err != nil {
					return err
				}
			}
			return c.printTags(ctx, t, args[0])
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&add, "add", nil, "tags to add")
	f.StringSliceVar(&remove, "rm", nil, "tags to remove; default cannot go")
	f.StringVar(&from, "from", "", "tag that the added ones shall point at (default default)")
	return cmd
}

func (c *cli) printTags(ctx context.Context, t client.TemplateTagger, name string) error {
	tags, err := t.TemplateTags(ctx, name)
	if err != nil {
		return err
	}
	type tagJSON struct {
		Tag       string    `json:"tag"`
		BuildID   string    `json:"build_id"`
		CreatedAt time.Time `json:"created_at"`
	}
	list := []tagJSON{}
	rows := [][]string{{"TAG", "BUILD", "CREATED"}}
	for _, tag := range tags {
		list = append(list, tagJSON{tag.Tag, tag.BuildID, tag.CreatedAt})
		rows = append(rows, []string{present.CleanMax(tag.Tag, 60), present.CleanMax(tag.BuildID, 60), day(tag.CreatedAt)})
	}
	if c.flags.JSON {
		return c.printJSON(list)
	}
	return printTable(c.Out, []bool{false, false, false}, rows)
}

func (c *cli) templateRollbackCmd() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "rollback TEMPLATE --to TAG", Short: "Make an earlier tag of a template the default again",
		Args: argCount(1, 1, "rollback needs a template"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if to == "" {
				e := client.Usagef("template rollback", "--to TAG is needed")
				e.Hint = "see them: abxdash template tags " + present.Clean(args[0])
				return e
			}
			if err := c.writable("template rollback"); err != nil {
				return err
			}
			t, done, err := c.tagger(ctx)
			if err != nil {
				return err
			}
			defer done()
			tags, err := t.TemplateTags(ctx, args[0])
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(tags, func(tag client.TemplateTag) bool { return tag.Tag == to }) {
				return &client.Error{
					Op: "roll back", Code: client.CodeTemplateMissing, Kind: client.ErrNotFound,
					Message: fmt.Sprintf("%s has no tag %s", present.Clean(args[0]), present.Clean(to)), Hint: "see them: abxdash template tags " + present.Clean(args[0]),
				}
			}
			if err := c.confirm(ctx, "template rollback", fmt.Sprintf("make %s:%s the default of %s?", present.Clean(args[0]), present.Clean(to), present.Clean(args[0]))); err != nil {
				return err
			}
			if err := t.AssignTags(ctx, args[0]+":"+to, []string{"default"}); err != nil {
				return err
			}
			return c.printTags(ctx, t, args[0])
		}),
	}
	cmd.Flags().StringVar(&to, "to", "", "tag to go back to")
	return cmd
}
