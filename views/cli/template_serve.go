package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"abxdash/templates"
	"abxdash/templates/check"
	"abxdash/views/present"
)

func (c *cli) templateServeCmd() *cobra.Command {
	var (
		command  string
		patience time.Duration
	)
	cmd := &cobra.Command{
		Use: "serve SANDBOX", Short: "Start the server of named commands in a sandbox whose platform did not",
		Long: `serve asks port 9000 of a running sandbox for its health. If nothing answers it
starts the server through the sandbox's agent and waits until it does. This is
for platforms that take no start command, such as Express of generation 1. The
server goes on after this command; its output is in /tmp/agent-sandbox-server.log.`,
		Args: argCount(1, 1, "serve needs a sandbox"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if err := c.writable("template serve"); err != nil {
				return err
			}
			sb, p, done, err := c.one(ctx, args[0])
			if err != nil {
				return err
			}
			defer done()
			got, err := check.Serve(ctx, p, sb.ID, check.ServeOptions{Command: command, Target: templates.NewTarget(p.Name(), "", nil), Patience: patience})
			switch {
			case err != nil:
				return err
			case c.flags.JSON:
				return c.printJSON(got)
			case got.Already:
				_, err = fmt.Fprintf(c.Out, "port %d answers already\n", got.Port)
			default:
				_, err = fmt.Fprintf(c.Out, "started: port %d answers (pid %d, %s)\n", got.Port, got.PID, present.Clean(got.Command))
			}
			return err
		}),
	}
	f := cmd.Flags()
	f.StringVar(&command, "cmd", "", "shell command that starts it (default the provider's own)")
	f.DurationVar(&patience, "wait", 0, "how long it may take to answer (default 1m)")
	return cmd
}
