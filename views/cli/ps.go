package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

func (c *cli) psCmd() *cobra.Command {
	return &cobra.Command{
		Use: "ps SANDBOX", Short: "List the commands that run in a sandbox",
		Long: `ps lists the live commands that were started from outside: by exec, attach, run, or
any client of the sandbox's agent. What they started themselves is not listed;
abxdash exec SANDBOX -- ps aux shows that where the image has it.`,
		Args: argCount(1, 1, "ps needs one sandbox"), RunE: c.run(c.processes),
	}
}

// processJSON is one command in ps --json output.
type processJSON struct {
	PID  int      `json:"pid"`
	Argv []string `json:"argv"`
	Cwd  string   `json:"cwd"`
	Tag  string   `json:"tag"`
}

func (c *cli) processes(ctx context.Context, args []string) error {
	sb, p, done, err := c.one(ctx, args[0])
	if err != nil {
		return err
	}
	defer done()
	call, cancel := c.call(ctx)
	defer cancel()
	list, err := p.Commands().Processes(call, sb.ID)
	if err != nil {
		return err
	}
	if c.flags.JSON {
		out := make([]processJSON, 0, len(list))
		for _, x := range list {
			out = append(out, processJSON{x.PID, append([]string{}, x.Argv...), x.Dir, x.Tag})
		}
		return c.printJSON(out)
	}
	if len(list) == 0 {
		c.say("no command that was started from outside runs in %s", present.Label(sb))
		return nil
	}
	rows := [][]string{{"PID", "TAG", "COMMAND"}}
	for _, x := range list {
		// The words as they are: quoting them would be a shell's view.
		rows = append(rows, []string{strconv.Itoa(x.PID), orDash(present.Clean(x.Tag)), present.CleanMax(strings.Join(x.Argv, " "), 200)})
	}
	if c.flags.Quiet {
		for _, x := range list {
			if _, err := fmt.Fprintln(c.Out, x.PID); err != nil {
				return err
			}
		}
		return nil
	}
	return printTable(c.Out, []bool{true, false, false}, rows)
}

func (c *cli) signalCmd() *cobra.Command {
	return &cobra.Command{
		Use: "signal SANDBOX PID [TERM|KILL]", Short: "Send a signal to a command in a sandbox",
		Long: `signal sends SIGTERM (15, the default) or SIGKILL (9) to a command that ps lists;
sandboxes take no others. It goes to that process alone, not to its children.`,
		Args: argCount(2, 3, "signal needs a sandbox and a pid, and may have TERM or KILL"), RunE: c.run(c.signal),
	}
}

func (c *cli) signal(ctx context.Context, args []string) error {
	const op = "send signal"
	if err := c.writable(op); err != nil {
		return err
	}
	pid, err := strconv.Atoi(args[1])
	if err != nil || pid <= 0 {
		return client.Usagef(op, "%q is no pid; abxdash ps lists them", client.OneLine(args[1], 40))
	}
	sig, word := client.SIGTERM, "SIGTERM"
	if len(args) == 3 {
		switch strings.TrimPrefix(strings.ToUpper(args[2]), "SIG") {
		case "TERM", "15":
		case "KILL", "9":
			sig, word = client.SIGKILL, "SIGKILL"
		default:
			return client.Usagef(op, "only TERM (15) and KILL (9) can be sent, not %q", client.OneLine(args[2], 40))
		}
	}
	sb, p, done, err := c.one(ctx, args[0])
	if err != nil {
		return err
	}
	defer done()
	call, cancel := c.call(ctx)
	defer cancel()
	proc, err := p.Commands().Attach(call, sb.ID, pid)
	if err != nil {
		return err
	}
	defer func() { _ = proc.Close() }() // detaching has no failure to act on
	if err := proc.Signal(call, sig); err != nil {
		return err
	}
	if c.flags.JSON {
		return c.printJSON(struct {
			Provider string `json:"provider"`
			ID       string `json:"id"`
			PID      int    `json:"pid"`
			Signal   int    `json:"signal"`
		}{p.Name(), string(sb.ID), pid, int(sig)})
	}
	c.say("sent %s to %d in %s", word, pid, present.Label(sb))
	return nil
}
