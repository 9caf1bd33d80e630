package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/client/sdk"
	"abxdash/views/present"
)

// codeFlags are the flags of code.
type codeFlags struct {
	lang, context, file, dir string
	restart, remove          string
	env                      []string
	timeout                  time.Duration
	list, create             bool
}

func (c *cli) codeCmd() *cobra.Command {
	var f codeFlags
	cmd := &cobra.Command{
		Use:   "code SANDBOX [CODE]",
		Short: "Run code in a sandbox's code interpreter",
		Long: `code runs CODE, the file of --file, or standard input in the sandbox's code
interpreter, and prints what it writes and the value of its last expression.
What it defines lasts in its context: the default one of its language, or one
made with --new-context.

With --json each event is one line: {"type": "stdout" | "stderr" | "result" |
"error", …}, and at last {"type": "end", "count": N, "ok": BOOL}.

Code that raises an error gives exit code 1, with the traceback on standard error.`,
		Args: argCount(1, 2, "code needs a sandbox, and code, --file or standard input"),
		RunE: c.run(func(ctx context.Context, args []string) error { return c.code(ctx, f, args) }),
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.lang, "language", "l", "", "language: python (default), javascript, bash, or what else the image has")
	fl.StringVarP(&f.context, "context", "c", "", "id of the context to run in")
	fl.StringVarP(&f.file, "file", "f", "", "file with the code; - is standard input")
	fl.StringArrayVarP(&f.env, "env", "e", nil, "environment variable KEY=VALUE; may be repeated")
	fl.DurationVar(&f.timeout, "timeout", 0, "interrupt the code after this long (default no limit)")
	fl.BoolVar(&f.create, "new-context", false, "make a context of --language first; without code only that, and print its id")
	fl.StringVarP(&f.dir, "cwd", "w", "", "working directory of a new context (default the home)")
	fl.BoolVar(&f.list, "contexts", false, "list the contexts instead")
	fl.StringVar(&f.restart, "restart-context", "", "make a context forget everything instead")
	fl.StringVar(&f.remove, "remove-context", "", "end a context instead")
	cmd.MarkFlagsMutuallyExclusive("contexts", "restart-context", "remove-context", "new-context")
	cmd.MarkFlagsMutuallyExclusive("context", "new-context")
	cmd.MarkFlagsMutuallyExclusive("context", "language")
	return cmd
}

// manages reports whether contexts are asked about instead of code being run.
func (f codeFlags) manages() bool { return f.list || f.restart != "" || f.remove != "" }

const opCode = "run code"

func (c *cli) code(ctx context.Context, f codeFlags, args []string) error {
	if !f.list {
		if err := c.writable(opCode); err != nil {
			return err
		}
	}
	env, err := pairs("env", f.env)
	if err != nil {
		return err
	}
	if f.timeout < 0 {
		return client.Usagef(opCode, "--timeout must not be negative; 0 is no limit")
	}
	text, has, err := c.codeText(f, args[1:])
	if err != nil {
		return err
	}
	found, p, done, err := c.one(ctx, args[0])
	if err != nil {
		return err
	}
	defer done()
	sb, err := sdk.Open(ctx, p, found.ID)
	if err != nil {
		return err
	}
	defer func() { _ = sb.Close() }()
	if f.manages() {
		return c.contexts(ctx, sb, f)
	}
	if f.create {
		made, err := sb.CreateContext(ctx, f.lang, f.dir)
		if err != nil {
			return err
		}
		if !has {
			return c.printContext(made)
		}
		c.say("context %s (%s)", present.Clean(made.ID), present.Clean(made.Language))
		f.context, f.lang = made.ID, ""
	}
	if f.timeout == 0 {
		f.timeout = -1
	}
	return c.runCode(ctx, sb, text, sdk.CodeOptions{Language: f.lang, Context: f.context, Env: env, Timeout: f.timeout})
}

// codeText is the code; has is false where none is needed and none was given.
func (c *cli) codeText(f codeFlags, args []string) (text string, has bool, err error) {
	switch {
	case len(args) > 0 && (f.file != "" || f.manages()):
		return "", false, client.Usagef(opCode, "the code is given once: as an argument, or by --file")
	case f.manages():
		return "", false, nil
	case len(args) > 0:
		return given(args[0])
	case f.file != "" && f.file != "-":
		return codeFile(f.file)
	case f.create && f.file == "":
		return "", false, nil
	case f.file == "" && c.IsTerminal(c.In):
		return "", false, noCode()
	}
	return readCode(c.In)
}

func codeFile(name string) (text string, has bool, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", false, localError(opCode, err)
	}
	if !info.Mode().IsRegular() {
		return "", false, client.Usagef(opCode, "%s is no file", present.Clean(name))
	}
	file, err := os.Open(name)
	if err != nil {
		return "", false, localError(opCode, err)
	}
	defer file.Close()
	return readCode(file)
}

// readCode reads code of at most maxKept bytes.
func readCode(r io.Reader) (text string, has bool, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxKept+1))
	switch {
	case err != nil:
		return "", false, localError(opCode, err)
	case len(data) > maxKept:
		return "", false, client.Usagef(opCode, "the code is over %d MiB", maxKept>>20)
	}
	return given(string(data))
}

// given refuses code that is nothing but blanks.
func given(text string) (string, bool, error) {
	if strings.TrimSpace(text) == "" {
		return "", false, noCode()
	}
	return text, true, nil
}

func noCode() error {
	e := client.Usagef(opCode, "there is no code")
	e.Hint = "give it as an argument, with --file, or on standard input"
	return e
}

// runCode runs code and prints its events as they come.
func (c *cli) runCode(ctx context.Context, sb *sdk.Sandbox, text string, o sdk.CodeOptions) error {
	var broken error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.OnEvent = func(ev sdk.CodeEvent) {
		if broken != nil {
			return
		}
		if c.flags.JSON {
			broken = c.eventLine(ev)
		} else {
			broken = c.eventText(ev)
		}
		if broken != nil {
			cancel() // nobody reads any more
		}
	}
	x, err := sb.RunCode(ctx, text, o)
	switch {
	case broken != nil:
		return broken
	case err != nil:
		return err
	}
	if c.flags.JSON {
		if err := c.printLine(struct {
			Type  string `json:"type"`
			Count int    `json:"count"`
			OK    bool   `json:"ok"`
		}{"end", x.Count, x.Error == nil}); err != nil {
			return err
		}
	}
	if x.Error != nil {
		return &exitError{code: ExitError}
	}
	return nil
}

// eventJSON is one event in code --json output; what an event lacks is left out.
type eventJSON struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// Main marks the value of the last expression.
	Main       bool                       `json:"main,omitempty"`
	HTML       string                     `json:"html,omitempty"`
	Markdown   string                     `json:"markdown,omitempty"`
	SVG        string                     `json:"svg,omitempty"`
	LaTeX      string                     `json:"latex,omitempty"`
	JavaScript string                     `json:"javascript,omitempty"`
	PNG        []byte                     `json:"png,omitempty"` // base64
	JPEG       []byte                     `json:"jpeg,omitempty"`
	PDF        []byte                     `json:"pdf,omitempty"`
	JSON       json.RawMessage            `json:"json,omitempty"`
	Data       json.RawMessage            `json:"data,omitempty"`
	Chart      json.RawMessage            `json:"chart,omitempty"`
	Extra      map[string]json.RawMessage `json:"extra,omitempty"`
	Name       string                     `json:"name,omitempty"`
	Value      string                     `json:"value,omitempty"`
	Traceback  string                     `json:"traceback,omitempty"`
}

// eventLine prints one event as a line of JSON.
func (c *cli) eventLine(ev sdk.CodeEvent) error {
	out := eventJSON{Type: ev.Type, Text: ev.Text}
	if r := ev.Result; r != nil {
		out.Text, out.Main, out.HTML, out.Markdown, out.SVG, out.LaTeX, out.JavaScript = r.Text, r.Main, r.HTML, r.Markdown, r.SVG, r.LaTeX, r.JavaScript
		out.PNG, out.JPEG, out.PDF, out.JSON, out.Data, out.Chart, out.Extra = r.PNG, r.JPEG, r.PDF, r.JSON, r.Data, r.Chart, r.Extra
	}
	if e := ev.Error; e != nil {
		out.Name, out.Value, out.Traceback = e.Name, e.Value, e.Traceback
	}
	return c.printLine(out)
}

// eventText prints one event for people: output as it is, like exec does.
func (c *cli) eventText(ev sdk.CodeEvent) error {
	var err error
	switch {
	case ev.Type == "stdout":
		_, err = io.WriteString(c.Out, ev.Text)
	case ev.Type == "stderr":
		_, err = io.WriteString(c.Err, ev.Text)
	case ev.Result != nil:
		if ev.Result.Text != "" {
			_, err = fmt.Fprintln(c.Out, strings.TrimSuffix(ev.Result.Text, "\n"))
		}
		if kinds := mediaOf(*ev.Result); len(kinds) > 0 {
			c.say("the result has %s; --json gives it whole", strings.Join(kinds, ", "))
		}
	case ev.Error != nil:
		text := ev.Error.Traceback
		if strings.TrimSpace(text) == "" {
			text = ev.Error.Name + ": " + ev.Error.Value
		}
		_, err = fmt.Fprintln(c.Err, strings.TrimSuffix(text, "\n"))
	}
	return err
}

// mediaOf names what a result has besides its text, with sizes of pictures.
func mediaOf(r sdk.CodeResult) []string {
	var out []string
	for _, m := range []struct {
		kind string
		size int
	}{
		{"HTML", len(r.HTML)},
		{"Markdown", len(r.Markdown)},
		{"LaTeX", len(r.LaTeX)},
		{"JavaScript", len(r.JavaScript)},
		{"an SVG picture", len(r.SVG)},
		{"a PNG picture", len(r.PNG)},
		{"a JPEG picture", len(r.JPEG)},
		{"a PDF", len(r.PDF)},
	} {
		if m.size > 0 {
			out = append(out, fmt.Sprintf("%s (%s)", m.kind, present.Size(int64(m.size))))
		}
	}
	return out
}

// contextJSON is one context in --json output.
type contextJSON struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	Cwd      string `json:"cwd"`
}

func (c *cli) printContext(x sdk.CodeContext) error {
	if c.flags.JSON {
		return c.printJSON(contextJSON{x.ID, x.Language, x.Dir})
	}
	_, err := fmt.Fprintln(c.Out, present.Clean(x.ID))
	return err
}

// contexts lists, restarts or removes contexts.
func (c *cli) contexts(ctx context.Context, sb *sdk.Sandbox, f codeFlags) error {
	switch {
	case f.restart != "":
		if err := sb.RestartContext(ctx, f.restart); err != nil {
			return err
		}
		c.say("restarted %s", present.Clean(f.restart))
		return nil
	case f.remove != "":
		if err := sb.RemoveContext(ctx, f.remove); err != nil {
			return err
		}
		c.say("removed %s", present.Clean(f.remove))
		return nil
	}
	list, err := sb.Contexts(ctx)
	if err != nil {
		return err
	}
	if c.flags.JSON {
		out := make([]contextJSON, 0, len(list))
		for _, x := range list {
			out = append(out, contextJSON{x.ID, x.Language, x.Dir})
		}
		return c.printJSON(out)
	}
	rows := [][]string{}
	if !c.flags.Quiet {
		rows = append(rows, []string{"ID", "LANGUAGE", "CWD"})
	}
	for _, x := range list {
		rows = append(rows, []string{present.Clean(x.ID), present.Clean(x.Language), present.Clean(x.Dir)})
	}
	return printTable(c.Out, []bool{false, false, false}, rows)
}
