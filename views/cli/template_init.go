package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/templates/capture"
	"abxdash/templates/scaffold"
	"abxdash/views/present"
)

// initFlags are those of template init.
type initFlags struct {
	kind, name, description, region, from string
	capabilities, groups                  []string
	cpu                                   float64
	memory                                int
	dryRun, list                          bool
	sandbox, in                           string
	allFiles                              bool
}

func (c *cli) templateInitCmd() *cobra.Command {
	var fl initFlags
	cmd := &cobra.Command{
		Use: "init [DIR]", Short: "Make a new template folder",
		Long: `init writes template.yaml, Dockerfile, commands.py, .dockerignore, README.md and a
test. A file that is there already and differs is shown as a diff first, and
replaced only after a yes (or --yes).

--from-dockerfile starts from a Dockerfile, --from-sandbox from what was done in a
running sandbox: the files of its home that came or changed since it was made go
into the folder "home", packages that pip and npm installed into the Dockerfile.
Keys, tools' own folders and what is too large are left out and named; the
sandbox is only read.`,
		Args: argCount(0, 1, "init takes one folder"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if fl.list {
				return c.listKinds()
			}
			return c.templateInit(ctx, templateDir(args), fl)
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&fl.kind, "kind", "k", "", "minimal, python, node, browser or agent (default python)")
	f.StringVarP(&fl.name, "name", "n", "", "the template's name (default the folder's)")
	f.StringVar(&fl.description, "description", "", "what sandboxes of it are for")
	f.StringVar(&fl.region, "region", "", "region of the target (default ABX_SANDBOX_REGION, else cn-hangzhou)")
	f.StringVar(&fl.from, "from-dockerfile", "", "start from this Dockerfile")
	f.StringVar(&fl.from, "from", "", "the same as --from-dockerfile")
	f.StringVar(&fl.sandbox, "from-sandbox", "", "start from what was done in this sandbox")
	f.StringVar(&fl.in, "in", "", "provider of that sandbox (default any that knows it)")
	f.BoolVar(&fl.allFiles, "all-files", false, "take every file of that sandbox's home, not only new and changed ones")
	f.StringSliceVar(&fl.capabilities, "capability", nil, "capabilities instead of the kind's: shell, files, code, terminal, ports")
	f.StringSliceVar(&fl.groups, "group", nil, "turn on a group of the server: dev_tools, browser, agents")
	f.Float64Var(&fl.cpu, "cpu", 0, "vCPUs (default the provider's)")
	f.IntVar(&fl.memory, "memory", 0, "memory in MiB (default the provider's)")
	f.BoolVar(&fl.dryRun, "dry-run", false, "show what would be written, write nothing")
	f.BoolVar(&fl.list, "list", false, "list the kinds")
	return cmd
}

func (c *cli) listKinds() error {
	type kind struct {
		Kind        string `json:"kind"`
		Description string `json:"description"`
	}
	var list []kind
	var rows [][]string
	for _, k := range scaffold.Kinds() {
		list = append(list, kind{string(k.Kind), k.What})
		rows = append(rows, []string{string(k.Kind), k.What})
	}
	if c.flags.JSON {
		return c.printJSON(list)
	}
	return printTable(c.Out, []bool{false, false}, rows)
}

// scaffoldOptions turns flags into options.
func (c *cli) scaffoldOptions(dir string, fl initFlags) (scaffold.Options, error) {
	o := scaffold.Options{
		Kind: scaffold.Kind(strings.ToLower(fl.kind)), Name: fl.name, Target: c.templateTarget(fl.region), Description: fl.description,
		Capabilities: fl.capabilities, Groups: fl.groups, CPU: fl.cpu, MemoryMB: fl.memory,
	}
	if o.Name == "" {
		full, err := filepath.Abs(dir)
		if err != nil {
			return o, &client.Error{Op: "scaffold template", Code: client.CodeFiles, Err: err}
		}
		o.Name = scaffold.NameFor(full)
	}
	if err := source(&o, fl); err != nil {
		return o, err
	}
	if fl.from != "" {
		data, err := readSmallFile(fl.from)
		if err != nil {
			return o, err
		}
		o.Dockerfile = data
	}
	return o, nil
}

// source decides the kind by where the template starts from.
func source(o *scaffold.Options, fl initFlags) error {
	const op = "scaffold template"
	switch {
	case fl.from != "" && fl.sandbox != "":
		return client.Usagef(op, "--from-dockerfile and --from-sandbox do not go together")
	case fl.sandbox == "" && (fl.in != "" || fl.allFiles):
		return client.Usagef(op, "--in and --all-files go with --from-sandbox only")
	case fl.from != "" && (o.Kind == "" || o.Kind == scaffold.FromDockerfile):
		o.Kind = scaffold.FromDockerfile
	case fl.sandbox != "" && (o.Kind == "" || o.Kind == scaffold.FromSandbox):
		o.Kind = scaffold.FromSandbox
	case fl.from != "" || fl.sandbox != "":
		return client.Usagef(op, "--kind %s does not go with --from-dockerfile or --from-sandbox", client.OneLine(string(o.Kind), 30))
	case o.Kind == scaffold.FromDockerfile:
		return client.Usagef(op, "--kind dockerfile needs --from-dockerfile FILE")
	case o.Kind == scaffold.FromSandbox:
		return client.Usagef(op, "--kind sandbox needs --from-sandbox SANDBOX")
	case o.Kind == "":
		o.Kind = scaffold.Python
	}
	return nil
}

// capture looks at the sandbox that a template starts from.
func (c *cli) capture(ctx context.Context, o *scaffold.Options, fl initFlags) ([]capture.Left, error) {
	// --provider is the template's target, not where the sandbox is.
	flags := c.flags
	flags.Provider = fl.in
	sb, p, done, err := (&cli{App: c.App, flags: flags}).one(ctx, fl.sandbox)
	if err != nil {
		return nil, err
	}
	defer done()
	got, err := capture.Run(ctx, p, sb, capture.Options{All: fl.allFiles, Say: func(line string) {
		if !c.flags.JSON {
			c.say("%s", present.Clean(line))
		}
	}})
	if err != nil {
		return nil, err
	}
	if len(got.Files)+len(got.Python)+len(got.Node) == 0 {
		e := client.Usagef("scaffold template", "nothing was changed in the home of %s since it was made", present.Clean(fl.sandbox))
		e.Hint = "--all-files takes every file of its home"
		return nil, e
	}
	o.Changes = &got.Changes
	return got.Left, nil
}

// maxFrom bounds a Dockerfile to start from.
const maxFrom = 1 << 20

func readSmallFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, &client.Error{Op: "read the Dockerfile", Code: client.CodeFileNotFound, Kind: client.ErrNotFound, Err: err}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFrom+1))
	if err == nil && len(data) > maxFrom {
		err = errors.New("it is over 1 MiB")
	}
	if err != nil {
		return nil, &client.Error{Op: "read the Dockerfile", Code: client.CodeFiles, Err: err}
	}
	return data, nil
}

func (c *cli) templateInit(ctx context.Context, dir string, fl initFlags) error {
	o, err := c.scaffoldOptions(dir, fl)
	if err != nil {
		return err
	}
	var left []capture.Left
	if fl.sandbox != "" {
		if left, err = c.capture(ctx, &o, fl); err != nil {
			return err
		}
	}
	list, err := scaffold.New(o)
	if err != nil {
		return err
	}
	changes, err := scaffold.Compare(dir, list)
	if err != nil {
		return err
	}
	replaced, err := c.showChanges(changes)
	if err != nil {
		return err
	}
	if !fl.dryRun {
		if err := c.writable("template init"); err != nil {
			return err
		}
		if replaced > 0 {
			if err := c.confirm(ctx, "template init", fmt.Sprintf("replace %s?", present.Plural(replaced, "file", "files"))); err != nil {
				return err
			}
		}
		if err := scaffold.Write(dir, changes); err != nil {
			return err
		}
	}
	return c.printInit(dir, o, changes, left, fl.dryRun)
}

// showChanges shows a diff of every file that would be replaced.
func (c *cli) showChanges(changes []scaffold.Change) (replaced int, err error) {
	for _, ch := range changes {
		if ch.Action != scaffold.Replace {
			continue
		}
		replaced++
		for line := range strings.Lines(ch.Diff) {
			if _, err := fmt.Fprintln(c.Err, present.Clean(strings.TrimRight(line, "\r\n"))); err != nil {
				return replaced, err
			}
		}
	}
	return replaced, nil
}

func (c *cli) printInit(dir string, o scaffold.Options, changes []scaffold.Change, left []capture.Left, dry bool) error {
	type file struct {
		Path   string          `json:"path"`
		Action scaffold.Action `json:"action"`
	}
	out := struct {
		Dir    string `json:"dir"`
		Name   string `json:"name"`
		Kind   string `json:"kind"`
		Target string `json:"target"`
		DryRun bool   `json:"dry_run"`
		Files  []file `json:"files"`
		// LeftOut is what was not taken of a sandbox.
		LeftOut []capture.Left `json:"left_out,omitempty"`
	}{dir, o.Name, string(o.Kind), o.Target.Provider, dry, nil, left}
	for _, ch := range changes {
		out.Files = append(out.Files, file{ch.Path, ch.Action})
	}
	if c.flags.JSON {
		return c.printJSON(out)
	}
	for _, f := range out.Files {
		if c.flags.Quiet {
			break
		}
		word := string(f.Action)
		if dry {
			word = map[scaffold.Action]string{scaffold.Create: "would create", scaffold.Replace: "would replace"}[f.Action]
			if word == "" {
				word = string(f.Action)
			}
		}
		if _, err := fmt.Fprintf(c.Out, "%-13s  %s\n", word, present.Clean(filepath.Join(dir, filepath.FromSlash(f.Path)))); err != nil {
			return err
		}
	}
	for _, l := range left {
		c.say("left out  %s: %s", present.Clean(l.Path), present.Clean(l.Why))
	}
	c.say("%s for %s; next: abxdash template check %s", present.Clean(o.Name), present.Clean(o.Target.Provider), present.Clean(dir))
	if left := scaffold.Lint(filesOf(changes), o.Target); len(left) > 0 {
		return c.printProblems(left)
	}
	return nil
}

func filesOf(changes []scaffold.Change) []scaffold.File {
	var out []scaffold.File
	for _, ch := range changes {
		out = append(out, ch.File)
	}
	return out
}

// asExit reports whether err only carries an exit code.
func asExit(err error, e **exitError) bool { return errors.As(err, e) && (*e).err == nil }
