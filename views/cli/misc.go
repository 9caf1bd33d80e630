package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

func (c *cli) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version",
		Args: argCount(0, 0, "version takes no arguments"),
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version string `json:"version"`
				Commit  string `json:"commit"`
				Go      string `json:"go"`
				OS      string `json:"os"`
				Arch    string `json:"arch"`
			}{Version: c.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						v.Commit = s.Value
					}
				}
			}
			if c.flags.JSON {
				return c.printJSON(v)
			}
			_, err := fmt.Fprintf(c.Out, "abxdash %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			return err
		},
	}
}

func (c *cli) demoCmd() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Open the dashboard on 5,000 made-up sandboxes",
		Args: argCount(0, 0, "demo takes no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.dashboard(cmd.Context(), c.Demo) },
	}
}

func (c *cli) doctorCmd() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check this machine, the configuration and the keys",
		Args: argCount(0, 0, "doctor takes no arguments"),
		RunE: c.run(func(ctx context.Context, _ []string) error {
			checks := append(c.Checks(ctx, c.flags), c.terminalCheck())
			if err := c.printChecks(checks); err != nil {
				return err
			}
			for _, k := range checks {
				if k.Status == Fail {
					return &exitError{code: ExitError}
				}
			}
			return nil
		}),
	}
}

func (c *cli) terminalCheck() Check {
	if c.IsTerminal(c.In) && c.IsTerminal(c.Out) {
		return Check{Name: "terminal", Status: OK, Detail: "standard input and output are one"}
	}
	return Check{Name: "terminal", Status: Note, Detail: "standard input or output is none: the dashboard and attach need it"}
}

func (c *cli) printChecks(checks []Check) error {
	if c.flags.JSON {
		return c.printJSON(checks)
	}
	var rows [][]string
	for _, k := range checks {
		if c.flags.Quiet && (k.Status == OK || k.Status == Note) {
			continue
		}
		rows = append(rows, []string{string(k.Status), present.Clean(k.Name), present.Clean(k.Detail)})
		if k.Hint != "" {
			rows = append(rows, []string{"", "", "hint: " + present.Clean(k.Hint)})
		}
	}
	return printTable(c.Out, []bool{false, false, false}, rows)
}

// unsupported is the error of a provider without a capability that a command needs.
func unsupported(p client.Provider, k client.Capability) error {
	return p.Capabilities().Missing(p.Name(), k)
}
