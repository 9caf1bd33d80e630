// Package check runs a template's commands.py in a sandbox: it lints the
// folder, copies it in, starts the server on port 9000, asks for its health,
// lists the named commands and calls each one.
package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"abxdash/client"
	"abxdash/client/agentserver"
	"abxdash/templates"
)

// Which server answered.
const (
	ServerReal    = "real"
	ServerStandIn = "stand-in"
)

const (
	// startPatience bounds how long the server may take to answer.
	startPatience = 60 * time.Second
	// callPatience bounds one call of a command.
	callPatience = 60 * time.Second
	// killPatience bounds the clean-up, whatever happened before.
	killPatience = 60 * time.Second
	// lifetime is the sandbox's own end, should nobody be left to kill it.
	lifetime = 10 * time.Minute
	pollPace = 50 * time.Millisecond
)

// Options describe a check.
type Options struct {
	Provider client.Provider
	Dir      string
	Lint     templates.LintOptions
	// Metadata marks the sandbox as ours.
	Metadata map[string]string
	// Env is given to the server, beside the template's own.
	Env map[string]string
	// Call names the only command to call, with Args; "" calls every one.
	Call string
	Args map[string]string
	// Wheel is a wheel of the server package that is used instead of what the
	// sandbox has; "" is the one in the folder, if there is one.
	Wheel string
	// NoCalls lists the commands without calling any.
	NoCalls bool
	// Say is told what happens, one clean line each; nil is fine.
	Say func(line string)
}

// Result is what a check found.
type Result struct {
	OK bool `json:"ok"`
	// Server is "real", "stand-in", or "" if none ran.
	Server string           `json:"server"`
	Lint   templates.Report `json:"lint"`
	// Commands is what the running server lists.
	Commands []agentserver.Command `json:"commands"`
	Calls    []Call                `json:"calls"`
	// Logs are the last lines that the server wrote, clean.
	Logs []string `json:"logs"`
	// Error and Code say why the check failed after the lint, "" if it did not.
	Error string      `json:"error,omitempty"`
	Code  client.Code `json:"code,omitempty"`
	Hint  string      `json:"hint,omitempty"`
	// Isolation is the level of the sandbox that was used.
	Isolation client.Isolation `json:"isolation,omitempty"`
}

// Call is one call of a named command.
type Call struct {
	Command string         `json:"command"`
	Args    map[string]any `json:"args"`
	OK      bool           `json:"ok"`
	// Result is the JSON that the command returned.
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
	Code   client.Code     `json:"code,omitempty"`
	// Milliseconds is how long the call took.
	Milliseconds int64 `json:"ms"`
}

// Run checks a folder. What is wrong with the template is in the result; the
// error is about everything else: the folder, the provider, the machine.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	r := Result{Commands: []agentserver.Command{}, Calls: []Call{}, Logs: []string{}}
	report, err := templates.Lint(ctx, o.Dir, o.Lint)
	r.Lint = report
	if err != nil {
		return r, err
	}
	o.Say("lint: " + report.Counts())
	if !report.OK {
		return r, nil
	}
	has := false
	for _, e := range report.Context.Entries {
		has = has || e.Path == templates.FileCommands
	}
	if !has {
		o.Say("there is no commands.py, so there is nothing to run")
		r.OK = true
		return r, nil
	}
	return r, run(ctx, o, &r)
}

// run is the part that needs a sandbox. It always kills the sandbox it made.
func run(ctx context.Context, o Options, r *Result) (err error) {
	for _, need := range []client.Capability{client.CapCommands, client.CapFiles, client.CapPorts} {
		if err := o.Provider.Capabilities().Missing(o.Provider.Name(), need); err != nil {
			return err
		}
	}
	sb, err := o.Provider.Sandboxes().Create(ctx, client.CreateSpec{Lifetime: lifetime, Metadata: o.Metadata})
	if err != nil {
		return err
	}
	r.Isolation = sb.Isolation
	o.Say(fmt.Sprintf("sandbox %s on %s", client.OneLine(string(sb.ID), 60), o.Provider.Name()))
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), killPatience)
		defer cancel()
		if kerr := o.Provider.Sandboxes().Kill(end, sb.ID); kerr != nil && !errors.Is(kerr, client.ErrNotFound) {
			err = errors.Join(err, kerr)
		}
	}()
	b := &box{p: o.Provider, id: sb.ID, o: o, r: r, port: portFor(sb.Isolation)}
	if err := b.upload(ctx); err != nil {
		return err
	}
	if err := b.pick(ctx); err != nil {
		return err
	}
	srv, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer srv.stop()
	err = b.serve(ctx, srv)
	r.Logs = srv.logs()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		// From here on it is the template's fault unless the sandbox went away.
		r.fail(err)
		return nil
	}
	r.OK = true
	for _, c := range r.Calls {
		r.OK = r.OK && c.OK
	}
	return nil
}

func (r *Result) fail(err error) {
	r.OK = false
	r.Error, r.Code, r.Hint = client.OneLine(err.Error(), 400), client.CodeOf(err), client.HintOf(err)
}

// serve waits for the server and uses it.
func (b *box) serve(ctx context.Context, srv *server) error {
	c, err := reach(b.p, b.id, b.port)
	if err != nil {
		return err
	}
	if err := b.wait(ctx, c, srv); err != nil {
		return err
	}
	b.o.Say("GET /health answered (" + b.r.Server + " server)")
	commands, err := c.Commands(ctx)
	if err != nil && !errors.Is(err, client.ErrUnsupported) {
		return err
	}
	if err != nil {
		// Not every server lists them; what the file declares is as good.
		commands = declared(b.r.Lint.Commands)
	}
	b.r.Commands = append(b.r.Commands, commands...)
	if b.o.NoCalls {
		return nil
	}
	return b.calls(ctx, c, srv)
}

func declared(c templates.Commands) []agentserver.Command {
	var out []agentserver.Command
	for _, d := range c.Commands {
		cmd := agentserver.Command{Name: d.Name, Description: d.Description}
		for _, a := range d.Args {
			cmd.Args = append(cmd.Args, agentserver.Argument{Name: a.Name, Type: a.Type, Required: a.Required, Default: a.Default})
		}
		if !d.Hidden {
			out = append(out, cmd)
		}
	}
	return out
}

// wait asks for the server's health until the template's own server answers or
// has ended. A sandbox may have a server of the provider's on that port until
// then, which may even serve the same commands: that one listens outside.
func (b *box) wait(ctx context.Context, c *agentserver.Client, srv *server) error {
	limit, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	tick := time.NewTicker(pollPace)
	defer tick.Stop()
	for {
		err := b.ready(limit, c)
		if err == nil {
			err = b.listens(limit)
		}
		if err == nil {
			return nil
		}
		select {
		case <-srv.done:
			return srv.failure()
		case <-limit.Done():
			return &client.Error{
				Op: "start the server", Code: client.CodeRunTimeout,
				Message: fmt.Sprintf("port %d did not answer within %s: %s", b.port, startPatience, err),
			}
		case <-tick.C:
		}
	}
}

// listens reports nil once something inside the sandbox takes connections on
// the server's port.
func (b *box) listens(ctx context.Context) error {
	_, ok, err := b.python(ctx, fmt.Sprintf("import socket; socket.create_connection(('127.0.0.1', %d), 2).close()", b.port))
	if err == nil && !ok {
		err = fmt.Errorf("nothing in the sandbox listens on port %d", b.port)
	}
	return err
}

// ready reports nil once the server answers and lists what commands.py declares.
func (b *box) ready(ctx context.Context, c *agentserver.Client) error {
	if err := c.Health(ctx); err != nil {
		return err
	}
	want := declared(b.r.Lint.Commands)
	if len(want) == 0 {
		return nil
	}
	have, err := c.Commands(ctx)
	if errors.Is(err, client.ErrUnsupported) {
		return nil // not every server lists them
	}
	if err != nil {
		return err
	}
	for _, w := range want {
		if !slices.ContainsFunc(have, func(h agentserver.Command) bool { return h.Name == w.Name }) {
			return fmt.Errorf("the server does not list the command %s", w.Name)
		}
	}
	return nil
}

func (b *box) calls(ctx context.Context, c *agentserver.Client, srv *server) error {
	for _, cmd := range b.r.Commands {
		if b.o.Call != "" && cmd.Name != b.o.Call {
			continue
		}
		args, err := arguments(cmd, b.o.Args)
		if err != nil {
			return err
		}
		call := b.call(ctx, c, cmd.Name, args)
		b.r.Calls = append(b.r.Calls, call)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		select {
		case <-srv.done:
			return srv.failure()
		default:
		}
	}
	if b.o.Call != "" && len(b.r.Calls) == 0 {
		args := map[string]any{}
		for k, v := range b.o.Args {
			args[k] = v
		}
		// A hidden command can be called all the same; an unknown one says so itself.
		b.r.Calls = append(b.r.Calls, b.call(ctx, c, b.o.Call, args))
	}
	return nil
}

func (b *box) call(ctx context.Context, c *agentserver.Client, name string, args map[string]any) Call {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	call := Call{Command: name, Args: args}
	begun := time.Now()
	result, err := c.Run(ctx, name, args)
	call.Milliseconds = time.Since(begun).Milliseconds()
	if err != nil {
		call.Error, call.Code = client.OneLine(err.Error(), 300), client.CodeOf(err)
		b.o.Say("POST /commands/" + client.OneLine(name, 60) + ": " + call.Error)
		return call
	}
	call.OK, call.Result = true, result
	b.o.Say("POST /commands/" + client.OneLine(name, 60) + " answered " + client.OneLine(string(result), 120))
	return call
}
