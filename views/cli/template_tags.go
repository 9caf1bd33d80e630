package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/templates/deploy"
	"abxdash/views/present"
)

// tagger is the provider's way with tags.
func (c *cli) tagger(ctx context.Context) (client.Templates, client.TemplateTagger, func(), error) {
	all, p, done, err := c.templateOf(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	t, ok := client.Find[client.TemplateTagger](p)
	if !ok {
		done()
		return nil, nil, nil, &client.Error{Op: "template tags", Provider: p.Name(), Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: p.Name() + " has no template tags"}
	}
	return all, t, done, nil
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
			_, t, done, err := c.tagger(ctx)
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
	f.StringVar(&from, "from", "", "tag whose build the added ones shall name (default: the tag default)")
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
		Use: "rollback TEMPLATE", Short: "Make an earlier good build of a template the default again",
		Long: `rollback moves the tag "default" back to an earlier build: the one that --to names,
else the newest build that became ready, has a tag and is not the default. A
deploy puts the tag "previous" on the build before it. Sandboxes that run are
not touched.`,
		Args: argCount(1, 1, "rollback needs a template"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if err := c.writable("template rollback"); err != nil {
				return err
			}
			all, tagger, done, err := c.tagger(ctx)
			if err != nil {
				return err
			}
			defer done()
			plan, err := deploy.PlanRollback(ctx, all, tagger, args[0], to)
			if err != nil {
				return err
			}
			return c.rollBack(ctx, plan, tagger)
		}),
	}
	cmd.Flags().StringVar(&to, "to", "", "tag to go back to (default the newest good one)")
	return cmd
}

// rollBack shows from where to where, asks, and does it.
func (c *cli) rollBack(ctx context.Context, plan deploy.Rollback, tagger client.TemplateTagger) error {
	way := fmt.Sprintf("%s: %s → %s", present.Clean(plan.Template), plan.From, plan.To)
	if !plan.Needless {
		if err := c.confirm(ctx, "template rollback", "roll back "+way+"?"); err != nil {
			return err
		}
		if err := plan.Do(ctx, tagger); err != nil {
			return err
		}
	}
	if c.flags.JSON {
		return c.printJSON(plan)
	}
	if plan.Needless {
		_, err := fmt.Fprintf(c.Out, "%s is that build already: %s\n", present.Clean(plan.Template), plan.To)
		return err
	}
	_, err := fmt.Fprintln(c.Out, "rolled back "+way)
	return err
}
