package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/templates"
	"abxdash/templates/deploy"
	"abxdash/views/present"
)

// TemplateTools is what the template commands need besides providers.
type TemplateTools struct {
	// Setting looks up a setting: process environment, then ./.env. nil is none.
	Setting func(name string) string
	// Base is the base image that a plug-in's profile names, "" for the usual
	// one; nil is none.
	Base func(provider string) string
	// Engine makes the client of the Docker engine; nil is none.
	Engine func() (deploy.Engine, error)
	// Native makes the native API of Express with an access key pair. Without a
	// pair the error is E1001.
	Native func(region, team string) (NativeTemplates, error)
}

// NativeTemplates is the native API of Express.
type NativeTemplates struct {
	Maker client.TemplateMaker
	// Login asks for a temporary login to the container registry: of an
	// Enterprise instance, or with "" of the personal edition.
	Login func(ctx context.Context, instance string) (client.RegistryLogin, error)
}

// setting looks up a setting; "" if it is not set.
func (c *cli) setting(name string) string {
	if c.Templates.Setting == nil {
		return ""
	}
	return strings.TrimSpace(c.Templates.Setting(name))
}

func (c *cli) templateCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "template", Aliases: []string{"templates"}, Short: "Scaffold, check, build and deploy sandbox templates",
		Long: `A template is a folder with template.yaml, Dockerfile and commands.py of which a
provider makes sandboxes. --provider names the provider it is written for; the
default is alicloud-express, whatever provider create uses.`,
		Args: argCount(0, 0, "template needs one of its commands"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			e := client.Usagef("template", "which one? init, lint, check, build, deploy, ls, info, rm, tags, rollback, serve")
			e.Hint = "see: abxdash template --help"
			return e
		},
	}
	cmd.AddCommand(
		c.templateInitCmd(), c.templateLintCmd(), c.templateCheckCmd(), c.templateBuildCmd(), c.templateDeployCmd(),
		c.templateLsCmd(), c.templateInfoCmd(), c.templateRmCmd(), c.templateTagsCmd(), c.templateRollbackCmd(), c.templateServeCmd(),
	)
	return cmd
}

// templateDir is the folder that a template command works on.
func templateDir(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// templateTarget is the provider that a template is written for.
func (c *cli) templateTarget(region string) templates.Target {
	if region == "" {
		region = c.setting("ABX_SANDBOX_REGION")
	}
	t := templates.NewTarget(c.flags.Provider, region, c.setting)
	if c.Templates.Base != nil {
		t.Base = c.Templates.Base(t.Provider)
	}
	return t
}

// printProblems lists problems, each with the line it is about.
func (c *cli) printProblems(ps templates.Problems) error {
	for _, p := range ps {
		if c.flags.Quiet && p.Severity != templates.SeverityError {
			continue
		}
		if _, err := fmt.Fprintf(c.Out, "%s: %s: %s (%s)\n", present.Clean(p.Place()), p.Severity, present.Clean(p.Message), p.Code); err != nil {
			return err
		}
		for _, line := range p.Caret() {
			if _, err := fmt.Fprintf(c.Out, "    %s\n", line); err != nil {
				return err
			}
		}
		if p.Hint == "" {
			continue
		}
		if _, err := fmt.Fprintf(c.Out, "    hint: %s\n", present.Clean(p.Hint)); err != nil {
			return err
		}
	}
	return nil
}
