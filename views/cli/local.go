package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

func (c *cli) localCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "local", Short: "The server that holds local sandboxes",
		Long: `Local sandboxes live in one server per user. The first create starts it, and it
ends by itself a minute after its last sandbox.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return client.Usagef("local", "there is no command local %s", client.OneLine(args[0], 40))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "status", Short: "Show whether it runs and what it holds",
			Args: argCount(0, 0, "local status takes no arguments"), RunE: c.run(c.localStatus),
		},
		&cobra.Command{
			Use: "run", Short: "Run it in the foreground",
			Args: argCount(0, 0, "local run takes no arguments"), RunE: c.run(c.localRun),
		},
		&cobra.Command{
			Use: "stop", Short: "End it and every sandbox it holds",
			Args: argCount(0, 0, "local stop takes no arguments"), RunE: c.run(c.localStop),
		},
		c.listenCmd(),
	)
	return cmd
}

func (c *cli) server() (Local, error) {
	if c.Local == nil {
		return nil, &client.Error{
			Op: "local", Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: "there are no local sandboxes on " + runtime.GOOS,
		}
	}
	return c.Local(c.flags)
}

func (c *cli) localStatus(ctx context.Context, _ []string) error {
	l, err := c.server()
	if err != nil {
		return err
	}
	st, err := l.Status(ctx)
	if err != nil {
		return err
	}
	if c.flags.JSON {
		return c.printJSON(st)
	}
	if c.flags.Quiet {
		return nil
	}
	return c.printStatus(st)
}

func (c *cli) printStatus(st LocalStatus) error {
	rows := [][]string{{"running", "no"}, {"socket", present.Clean(st.Socket)}}
	if st.Running {
		rows = [][]string{
			{"running", fmt.Sprintf("yes, pid %d", st.PID)},
			{"socket", present.Clean(st.Socket)},
			{"isolation", orDash(present.Clean(st.Isolation))},
			{"version", orDash(present.Clean(st.Version))},
			{"sandboxes", fmt.Sprint(st.Sandboxes)},
		}
		if st.IsolationReason != "" {
			rows = append(rows, []string{"not stronger because", present.Clean(st.IsolationReason)})
		}
	}
	if st.Note != "" {
		rows = append(rows, []string{"note", present.Clean(st.Note)})
	}
	return printTable(c.Out, []bool{false, false}, rows)
}

func (c *cli) localRun(ctx context.Context, _ []string) error {
	if err := c.writable("local run"); err != nil {
		return err
	}
	l, err := c.server()
	if err != nil {
		return err
	}
	err = l.Run(ctx, func(st LocalStatus) {
		c.say("local server at %s, isolation %s; ctrl+c ends it and its sandboxes", present.Clean(st.Socket), present.Clean(st.Isolation))
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (c *cli) localStop(ctx context.Context, _ []string) error {
	if err := c.writable("local stop"); err != nil {
		return err
	}
	l, err := c.server()
	if err != nil {
		return err
	}
	err = l.Stop(ctx, c.flags.Yes)
	if errors.Is(err, client.ErrConflict) && !c.flags.Yes && c.IsTerminal(c.In) && c.IsTerminal(c.Err) {
		what, serr := c.stopQuestion(ctx, l, err)
		if serr != nil {
			return serr
		}
		if err := c.confirm(ctx, "local stop", what+". End them all?"); err != nil {
			return err
		}
		err = l.Stop(ctx, true)
	}
	if err != nil {
		return err
	}
	c.say("the local server is stopped")
	return nil
}

// stopQuestion says what a stop would end: in the words of the refusal, which name
// the sandboxes, else by their number.
func (c *cli) stopQuestion(ctx context.Context, l Local, refusal error) (string, error) {
	var ce *client.Error
	if errors.As(refusal, &ce) && ce.Message != "" {
		return present.Clean(ce.Message), nil
	}
	st, err := l.Status(ctx)
	return "It holds " + present.Plural(st.Sandboxes, "sandbox", "sandboxes"), err
}
