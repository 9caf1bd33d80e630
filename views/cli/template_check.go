package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/templates/check"
	"abxdash/views/present"
)

func (c *cli) templateCheckCmd() *cobra.Command {
	var (
		l         lintFlags
		in, call  string
		args, env []string
		noCalls   bool
		watch     bool
		wheel     string
	)
	cmd := &cobra.Command{
		Use: "check [DIR]", Short: "Run a template's commands.py in a local sandbox and call its commands",
		Long: `check lints the folder, copies it into a local sandbox, starts commands.py on port
9000, asks for its health, lists its named commands and calls each one.

The server is the real agent-sandbox-server package where the sandbox's python3
has it, or a wheel of it is given or lies in the folder; else a strict stand-in,
and it is called so. Nothing is built: programs
that only the image would have are not there.`,
		Args: argCount(0, 1, "check takes one folder"),
		RunE: c.run(func(ctx context.Context, words []string) error {
			if err := c.writable("template check"); err != nil {
				return err
			}
			values, err := pairs("arg", args)
			if err != nil {
				return err
			}
			if len(values) > 0 && call == "" {
				return client.Usagef("read the flags", "--arg needs --call")
			}
			envs, err := pairs("env", env)
			if err != nil {
				return err
			}
			o := check.Options{Dir: templateDir(words), Lint: c.lintOptions(l), Env: envs, Call: call, Args: values, NoCalls: noCalls}
			if o.Wheel = wheel; wheel == "" {
				o.Wheel = c.setting("ABX_SERVER_WHEEL")
			}
			if watch {
				return c.watchTemplate(ctx, o, in)
			}
			return c.checkTemplate(ctx, o, in)
		}),
	}
	l.add(cmd)
	f := cmd.Flags()
	f.StringVar(&in, "in", "local", "provider of the sandbox it runs in")
	f.StringVar(&call, "call", "", "call only this command")
	f.StringArrayVar(&args, "arg", nil, "argument KEY=VALUE for --call; may be repeated")
	f.StringArrayVarP(&env, "env", "e", nil, "environment variable KEY=VALUE for the server; may be repeated")
	f.StringVar(&wheel, "wheel", "", "wheel of agent-sandbox-server to serve with (default ABX_SERVER_WHEEL, else one in the folder)")
	f.BoolVar(&noCalls, "no-calls", false, "list the commands without calling any")
	f.BoolVarP(&watch, "watch", "w", false, "check again after every save, until interrupted")
	return cmd
}

// checkTemplate checks once and prints the result.
func (c *cli) checkTemplate(ctx context.Context, o check.Options, in string) error {
	// --provider is the template's target, not where it runs.
	flags := c.flags
	flags.Provider = in
	s, err := (&cli{App: c.App, flags: flags}).open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if o.Provider, err = creator(s); err != nil {
		return err
	}
	o.Metadata = c.Owner.Tags("template check", "", nil)
	o.Say = func(line string) {
		if !c.flags.JSON {
			c.say("%s", present.Clean(line))
		}
	}
	r, err := check.Run(ctx, o)
	if err != nil {
		return err
	}
	if c.flags.JSON {
		err = c.printJSON(r)
	} else {
		err = c.printCheck(r)
	}
	if err == nil && !r.OK {
		err = &exitError{code: ExitError}
	}
	return err
}

// watchTemplate checks now and after every save. A check that fails does not end it.
func (c *cli) watchTemplate(ctx context.Context, o check.Options, in string) error {
	once := func() {
		if err := c.checkTemplate(ctx, o, in); err != nil && ctx.Err() == nil {
			var e *exitError
			if !asExit(err, &e) {
				c.complain(err)
			}
		}
		if !c.flags.JSON && ctx.Err() == nil {
			c.say("watching %s; ctrl+c ends it", present.Clean(o.Dir))
		}
	}
	once()
	return check.Watch(ctx, o.Dir, once)
}

func (c *cli) printCheck(r check.Result) error {
	if err := c.printProblems(r.Lint.Problems); err != nil {
		return err
	}
	if r.Error != "" {
		for _, line := range r.Logs {
			c.say("    %s", present.Clean(line))
		}
	}
	for _, call := range r.Calls {
		word, text := "ok", present.CleanMax(string(call.Result), 200)
		if !call.OK {
			word, text = "FAILED", fmt.Sprintf("%s (%s)", present.Clean(call.Error), call.Code)
		}
		if _, err := fmt.Fprintf(c.Out, "%-6s  %-20s  %s\n", word, present.Clean(call.Command), text); err != nil {
			return err
		}
	}
	server := "no server ran"
	if r.Server != "" {
		server = r.Server + " server, isolation " + present.Clean(string(r.Isolation))
	}
	switch {
	case r.Error != "":
		c.complain(&client.Error{Message: r.Error, Code: r.Code, Hint: r.Hint})
	case !r.OK && len(r.Calls) == 0:
		c.say("the files need work first; nothing was run")
	case !c.flags.Quiet:
		verdict := "all of it worked"
		if !r.OK {
			verdict = "not all of it worked"
		}
		_, err := fmt.Fprintf(c.Out, "%s: %s, %s\n", verdict, server, present.Plural(len(r.Commands), "command", "commands"))
		return err
	}
	return nil
}
