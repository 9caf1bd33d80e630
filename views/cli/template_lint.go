package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"abxdash/templates"
	"abxdash/views/present"
)

// lintFlags are shared by every command that lints.
type lintFlags struct {
	region, alias, dockerfile string
	allowSecrets              bool
}

func (l *lintFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.region, "region", "", "region of the target (default ABX_SANDBOX_REGION, else cn-hangzhou)")
	f.StringVarP(&l.dockerfile, "dockerfile", "f", "", "name of the Dockerfile in the folder")
	f.BoolVar(&l.allowSecrets, "allow-secrets", false, "only warn about files that look like secrets")
}

func (c *cli) lintOptions(l lintFlags) templates.LintOptions {
	return templates.LintOptions{
		Target: c.templateTarget(l.region), Alias: l.alias, Python: templates.Interpreter(),
		Dockerfile: l.dockerfile, AllowSecrets: l.allowSecrets,
	}
}

func (c *cli) templateLintCmd() *cobra.Command {
	var l lintFlags
	cmd := &cobra.Command{
		Use: "lint [DIR]", Short: "Check a template's files without running anything",
		Long: `lint reads template.yaml, Dockerfile, commands.py and .dockerignore and reports
everything it finds at once, with file, line and column. Nothing is run or sent.
It exits 1 if there is an error.`,
		Args: argCount(0, 1, "lint takes one folder"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			r, err := templates.Lint(ctx, templateDir(args), c.lintOptions(l))
			if err != nil {
				return err
			}
			if c.flags.JSON {
				err = c.printJSON(r)
			} else {
				err = c.printLint(r)
			}
			if err == nil && !r.OK {
				err = &exitError{code: ExitError}
			}
			return err
		}),
	}
	l.add(cmd)
	cmd.Flags().StringVarP(&l.alias, "alias", "a", "", "check this alias too")
	return cmd
}

func (c *cli) printLint(r templates.Report) error {
	if err := c.printProblems(r.Problems); err != nil {
		return err
	}
	if c.flags.Quiet {
		return nil
	}
	name := present.Clean(r.Dir)
	if r.Template != nil && r.Template.Name != "" {
		name = present.Clean(r.Template.Name)
	}
	_, err := fmt.Fprintf(c.Out, "%s for %s: %s, %s, %s, build context %d files, %s\n", name, present.Clean(r.Target),
		present.Plural(r.Errors, "error", "errors"), present.Plural(r.Warnings, "warning", "warnings"),
		present.Plural(len(r.Commands.Commands), "command", "commands"), r.ContextFiles, present.Size(r.ContextBytes))
	return err
}
