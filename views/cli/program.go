package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/client/sdk"
	"abxdash/views/present"
)

// programFlags are the flags of run.
type programFlags struct {
	template, name, net, interpreter, out string
	lifetime, timeout                     time.Duration
	env, metadata, results                []string
	keep, noStdin                         bool
}

func (c *cli) programCmd() *cobra.Command {
	var p programFlags
	cmd := &cobra.Command{
		Use:   "run FILE [ARGS…]",
		Short: "Run a local script or static binary in a sandbox of its own",
		Long: `run makes a sandbox, sends FILE, runs it with ARGS, passes its input, output and
exit code through, fetches the files named by --result, and kills the sandbox.

FILE needs a #! line or to be a Linux binary; else its ending (.py .sh .js) or
--interpreter says what runs it. Flags of run itself stand before FILE.

The exit code is the program's, 128+n for signal n; when run itself fails, a
timeout included, it is 125.`,
		Args: func(cmd *cobra.Command, args []string) error {
			return own(argCount(1, -1, "run needs a local file")(cmd, args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return own(c.run(func(ctx context.Context, args []string) error { return c.program(ctx, p, args) })(cmd, args))
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVarP(&p.template, "template", "t", "", "template; default is the provider's")
	f.StringVarP(&p.name, "name", "n", "", "a name for the sandbox (default the file's)")
	f.DurationVar(&p.lifetime, "lifetime", 0, "how long the sandbox lives at most (default the provider's, or what --timeout needs)")
	f.DurationVar(&p.timeout, "timeout", 0, "end the program after this long (default no limit but the lifetime)")
	f.StringArrayVarP(&p.env, "env", "e", nil, "environment variable KEY=VALUE of the program; may be repeated")
	f.StringArrayVarP(&p.metadata, "metadata", "m", nil, "metadata KEY=VALUE of the sandbox; may be repeated")
	f.StringVar(&p.net, "net", "", "on or off: internet access (default is the provider's; local is off)")
	f.StringVar(&p.interpreter, "interpreter", "", "what runs the file, such as 'python3 -u'")
	f.StringArrayVar(&p.results, "result", nil, "a file or folder of the sandbox to fetch afterwards; may be repeated")
	f.StringVar(&p.out, "out", ".", "folder that results go to")
	f.BoolVar(&p.keep, "keep", false, "leave the sandbox running when the program has ended")
	f.BoolVar(&p.noStdin, "no-stdin", false, "do not forward standard input")
	return cmd
}

// lifetimeSpare is what a sandbox lives longer than its program may run.
const lifetimeSpare = 2 * time.Minute

// program words the flags as a program and runs it.
func (c *cli) program(ctx context.Context, p programFlags, args []string) error {
	const op = "run program"
	if err := c.writable(op); err != nil {
		return err
	}
	if p.timeout < 0 || p.lifetime < 0 {
		return client.Usagef(op, "--timeout and --lifetime must not be negative")
	}
	env, err := pairs("env", p.env)
	if err != nil {
		return err
	}
	meta, err := pairs("metadata", p.metadata)
	if err != nil {
		return err
	}
	internet, err := onOff(p.net)
	if err != nil {
		return err
	}
	interpreter, err := interpreterOf(args[0], p.interpreter)
	if err != nil {
		return err
	}
	if p.name == "" {
		p.name = filepath.Base(args[0])
	}
	if p.lifetime == 0 && p.timeout > lifetimeSpare {
		p.lifetime = p.timeout + lifetimeSpare
	}
	prog := sdk.Program{
		Path: args[0], Args: args[1:], Interpreter: interpreter, Keep: p.keep,
		Spec: client.CreateSpec{
			Template: p.template, Lifetime: p.lifetime, Internet: internet, Metadata: c.Owner.Tags("cli", p.name, meta),
			RequestTimeout: c.flags.RequestTimeout,
		},
		Run:     sdk.RunOptions{Timeout: p.timeout, Env: env},
		Results: p.results, ResultsDir: p.out, Transfer: sdk.TransferOptions{Overwrite: true},
	}
	if !p.noStdin && c.In != nil && !c.IsTerminal(c.In) {
		in, stop := cancellable(c.In)
		if stop != nil {
			defer stop()
		}
		prog.Run.Stdin = in
	}
	return c.runProgram(ctx, prog)
}

// runProgram runs it on the provider that create uses, and words its end.
func (c *cli) runProgram(ctx context.Context, prog sdk.Program) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := creator(s)
	if err != nil {
		return err
	}
	if c.flags.JSON {
		prog.Run.MaxOutput = maxKept
	} else {
		prog.Run.Stdout, prog.Run.Stderr = c.Out, c.Err
	}
	prog.Created = func(sb client.Sandbox) {
		if prog.Keep || c.IsTerminal(c.Err) {
			c.say("in %s on %s (%s)", present.LongLabel(sb), present.Clean(p.Name()), orDash(present.Clean(string(sb.Isolation))))
		}
	}
	r, err := sdk.RunProgram(ctx, p, prog)
	if r.Sandbox.ID == "" {
		return err
	}
	if c.flags.JSON {
		if err := c.printJSON(c.programJSON(p, prog, r)); err != nil {
			return err
		}
	}
	for i, report := range r.Reports {
		c.sayReport(prog.Results[i], report)
	}
	if r.Hint != "" {
		c.say("hint: %s", present.Clean(r.Hint))
	}
	if r.Kept {
		c.say("kept %s; end it with: abxdash kill %s", present.LongLabel(r.Sandbox), present.Clean(string(r.Sandbox.ID)))
	}
	return programEnd(r, err)
}

// programEnd is the exit code; a program that failed tells more than a result
// that is missing therefore.
func programEnd(r sdk.ProgramResult, err error) error {
	code := r.Exit.ShellCode()
	switch {
	case r.Exit.TimedOut, code <= 0, err != nil && len(r.Reports) == 0:
		return err
	default:
		return &exitError{code, err}
	}
}

// resultJSON is one fetched result in --json output.
type resultJSON struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
	// Bytes is the size of all of them.
	Bytes   int64      `json:"bytes"`
	Skipped []noteJSON `json:"skipped"`
}

// noteJSON is a remark about one path in --json output.
type noteJSON struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

func notesOf(list []sdk.Note) []noteJSON {
	out := make([]noteJSON, 0, len(list))
	for _, n := range list {
		out = append(out, noteJSON{n.Path, n.Text})
	}
	return out
}

// programJSON is what run --json prints.
func (c *cli) programJSON(p client.Provider, prog sdk.Program, r sdk.ProgramResult) any {
	results := make([]resultJSON, 0, len(r.Reports))
	for i, report := range r.Reports {
		results = append(results, resultJSON{prog.Results[i], report.Files, report.Bytes, notesOf(report.Skipped)})
	}
	return struct {
		Provider  string       `json:"provider"`
		ID        string       `json:"id"`
		Kept      bool         `json:"kept"`
		Stdout    string       `json:"stdout"`
		Stderr    string       `json:"stderr"`
		Truncated bool         `json:"truncated"`
		ExitCode  int          `json:"exit_code"`
		Signal    int          `json:"signal"`
		TimedOut  bool         `json:"timed_out"`
		Results   []resultJSON `json:"results"`
	}{p.Name(), string(r.Sandbox.ID), r.Kept, r.Stdout, r.Stderr, r.Truncated, r.Exit.ShellCode(), r.Exit.Signal, r.Exit.TimedOut, results}
}

// interpreterOf says what runs a file: what was asked for, nothing for a file
// that Linux can start, else what its ending stands for.
func interpreterOf(file, asked string) ([]string, error) {
	const op = "run program"
	if asked != "" {
		return client.CommandLine(asked)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, localError(op, err)
	}
	defer func() { _ = f.Close() }() // only read from
	head := make([]byte, 4)
	n, err := io.ReadFull(f, head)
	if err != nil && n == 0 {
		if info, serr := f.Stat(); serr == nil && info.IsDir() {
			return nil, client.Usagef(op, "%s is a folder", present.Clean(file))
		}
		return nil, client.Usagef(op, "%s is empty or cannot be read", present.Clean(file))
	}
	if bytes.HasPrefix(head[:n], []byte("#!")) || bytes.Equal(head[:n], []byte("\x7fELF")) {
		return nil, nil
	}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".py":
		return []string{"python3"}, nil
	case ".sh":
		return []string{"sh"}, nil
	case ".js", ".mjs", ".cjs":
		return []string{"node"}, nil
	}
	e := client.Usagef(op, "%s is neither a Linux binary nor a script with a #! line", present.Clean(file))
	e.Hint = "name what runs it: --interpreter 'python3'"
	return nil, e
}

// sayReport words what a transfer did.
func (c *cli) sayReport(name string, r sdk.Report) {
	for _, n := range r.Skipped {
		c.say("%s: %s", present.Clean(n.Path), present.Clean(n.Text))
	}
	for _, n := range r.Notes {
		c.say("%s: %s", present.Clean(n.Path), present.Clean(n.Text))
	}
	if r.Files+r.Dirs > 0 {
		c.say("%s: %s, %s", present.Clean(name), present.Plural(r.Files, "file", "files"), present.Size(r.Bytes))
	}
}

// failedNotes is an error for what should have been moved and was not.
func failedNotes(op string, r sdk.Report) error {
	n := 0
	for _, note := range r.Skipped {
		if note.Failed {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fileError(op, "%s could not be copied", fmt.Sprintf("%s of %d", present.Plural(n, "file", "files"), n+r.Files))
}
