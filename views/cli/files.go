package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

func (c *cli) filesCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "files", Short: "List, read, write, move and remove files of a sandbox",
		Long: `A file is named SANDBOX:PATH as in cp; a path is absolute or starts at the home, and
SANDBOX alone is the home.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use: "ls SANDBOX[:PATH]", Aliases: []string{"list"}, Short: "List a folder",
		Args: argCount(1, 1, "files ls needs a sandbox, and may have a path"), RunE: c.run(c.filesLs),
	}
	cat := &cobra.Command{
		Use: "cat SANDBOX:PATH…", Aliases: []string{"read"}, Short: "Print files",
		Long: `cat prints files as they are. On a terminal, control characters show as escapes.`,
		Args: argCount(1, -1, "files cat needs at least one SANDBOX:PATH"), RunE: c.run(c.filesCat),
	}
	stat := &cobra.Command{
		Use: "stat SANDBOX:PATH", Short: "Describe a file or folder",
		Args: argCount(1, 1, "files stat needs one SANDBOX:PATH"), RunE: c.run(c.filesStat),
	}
	write := &cobra.Command{
		Use: "write SANDBOX:PATH", Short: "Write standard input to a file",
		Long: `write replaces the file with what comes on standard input and makes its folders.
abxdash cp copies files and folders of this machine.`,
		Args: argCount(1, 1, "files write needs one SANDBOX:PATH"), RunE: c.run(c.filesWrite),
	}
	mkdir := &cobra.Command{
		Use: "mkdir SANDBOX:PATH…", Short: "Make folders, with their parents",
		Args: argCount(1, -1, "files mkdir needs at least one SANDBOX:PATH"), RunE: c.run(c.filesMkdir),
	}
	move := &cobra.Command{
		Use: "mv SANDBOX:FROM TO", Aliases: []string{"rename"}, Short: "Rename or move a file or folder within a sandbox",
		Args: argCount(2, 2, "files mv needs SANDBOX:FROM and the new path"), RunE: c.run(c.filesMove),
	}
	remove := &cobra.Command{
		Use: "rm SANDBOX:PATH…", Aliases: []string{"remove"}, Short: "Remove files, and folders with all that is in them",
		Long: `rm asks on a terminal and needs --yes without one. A path that is not there is an
error; with --yes it is not.`,
		Args: argCount(1, -1, "files rm needs at least one SANDBOX:PATH"), RunE: c.run(c.filesRemove),
	}
	cmd.AddCommand(list, cat, stat, write, mkdir, move, remove)
	return cmd
}

// place is one file of one sandbox.
type place struct {
	sb    client.Sandbox
	files client.Files
	// path is "" for the home.
	path string
}

// label names it for people.
func (p place) label() string { return present.Label(p.sb) + ":" + present.Clean(p.path) }

// places finds sandboxes by SANDBOX:PATH, each once; a path is needed unless home is set.
func (c *cli) places(ctx context.Context, op string, home bool, args []string) ([]place, func(), error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]place{}
	out := make([]place, 0, len(args))
	for _, arg := range args {
		name, file, has := strings.Cut(arg, ":")
		if name == "" || !home && (!has || file == "") {
			s.Close()
			return nil, nil, client.Usagef(op, "%q is not SANDBOX:PATH", client.OneLine(arg, 80))
		}
		p, ok := known[name]
		if !ok {
			sb, provider, err := c.find(ctx, s, name)
			if err != nil {
				s.Close()
				return nil, nil, err
			}
			if err := provider.Capabilities().Missing(provider.Name(), client.CapFiles); err != nil {
				s.Close()
				return nil, nil, err
			}
			p = place{sb: sb, files: provider.Files()}
			known[name] = p
		}
		p.path = file
		out = append(out, p)
	}
	return out, s.Close, nil
}

// entryJSON is one file in --json output.
type entryJSON struct {
	Name string `json:"name"`
	// Path is absolute in the sandbox, Type one of file, dir, link, other.
	Path string `json:"path"`
	Type string `json:"type"`
	// Size is in bytes, Mode the permission bits in octal, such as "0644".
	Size        int64  `json:"size"`
	Mode        string `json:"mode"`
	Permissions string `json:"permissions"`
	Owner       string `json:"owner"`
	Group       string `json:"group"`
	// ModifiedAt is RFC 3339 in UTC, null if unknown.
	ModifiedAt *time.Time `json:"modified_at"`
	LinkTarget string     `json:"link_target"`
}

func entryOf(e client.Entry) entryJSON {
	out := entryJSON{
		Name: e.Name, Path: e.Path, Type: typeWord(e), Size: e.Size, Mode: fmt.Sprintf("%04o", e.Mode&0o777),
		Permissions: e.Permissions, Owner: e.Owner, Group: e.Group, LinkTarget: e.LinkTarget,
	}
	if e.ModifiedAt.Year() > 1 {
		t := e.ModifiedAt.UTC()
		out.ModifiedAt = &t
	}
	return out
}

// readDir lists a folder by name.
func (c *cli) readDir(ctx context.Context, at place) ([]client.Entry, error) {
	call, cancel := c.call(ctx)
	defer cancel()
	list, err := at.files.ReadDir(call, at.sb.ID, at.path)
	slices.SortStableFunc(list, func(a, b client.Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

func entriesOf(list []client.Entry) []entryJSON {
	out := make([]entryJSON, 0, len(list))
	for _, e := range list {
		out = append(out, entryOf(e))
	}
	return out
}

func typeWord(e client.Entry) string {
	switch {
	case e.LinkTarget != "" || e.Type == client.FileSymlink:
		return "link"
	case e.Type == client.FileDir:
		return "dir"
	case e.Type == client.FileRegular:
		return "file"
	default:
		return "other"
	}
}

func (c *cli) filesLs(ctx context.Context, args []string) error {
	at, done, err := c.places(ctx, "list files", true, args)
	if err != nil {
		return err
	}
	defer done()
	list, err := c.readDir(ctx, at[0])
	if err != nil {
		return err
	}
	if c.flags.JSON {
		return c.printJSON(entriesOf(list))
	}
	rows := make([][]string, 0, len(list))
	for _, e := range list {
		name := present.Clean(e.Name)
		if c.flags.Quiet {
			rows = append(rows, []string{name, "", "", "", ""})
			continue
		}
		switch typeWord(e) {
		case "dir":
			name += "/"
		case "link":
			name += " -> " + present.Clean(e.LinkTarget)
		}
		when := present.TTLUnset
		if e.ModifiedAt.Year() > 1 {
			when = e.ModifiedAt.UTC().Format("2006-01-02 15:04")
		}
		rows = append(rows, []string{present.Clean(e.Permissions), present.Clean(e.Owner), present.Size(e.Size), when, name})
	}
	if c.flags.Quiet {
		return printTable(c.Out, make([]bool, 5), rows)
	}
	return printTable(c.Out, []bool{false, false, true, false, false}, rows)
}

func (c *cli) filesStat(ctx context.Context, args []string) error {
	at, done, err := c.places(ctx, "stat file", true, args)
	if err != nil {
		return err
	}
	defer done()
	call, cancel := c.call(ctx)
	defer cancel()
	e, err := at[0].files.Stat(call, at[0].sb.ID, at[0].path)
	if err != nil {
		return err
	}
	out := entryOf(e)
	if c.flags.JSON {
		return c.printJSON(out)
	}
	when := present.TTLUnset
	if out.ModifiedAt != nil {
		when = out.ModifiedAt.Format(time.RFC3339)
	}
	return printTable(c.Out, []bool{false, false}, [][]string{
		{"path", present.Clean(e.Path)},
		{"type", out.Type},
		{"size", fmt.Sprintf("%d", e.Size)},
		{"mode", out.Mode},
		{"permissions", orDash(present.Clean(e.Permissions))},
		{"owner", orDash(strings.Trim(present.Clean(e.Owner)+":"+present.Clean(e.Group), ":"))},
		{"modified", when},
		{"link target", orDash(present.Clean(e.LinkTarget))},
	})
}

func (c *cli) filesCat(ctx context.Context, args []string) error {
	at, done, err := c.places(ctx, "read file", false, args)
	if err != nil {
		return err
	}
	defer done()
	for _, p := range at {
		if err := c.cat(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) cat(ctx context.Context, p place) error {
	r, err := p.files.Open(ctx, p.sb.ID, p.path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read from
	if c.IsTerminal(c.Out) {
		return catClean(c.Out, ctxReader{ctx, r})
	}
	_, err = io.CopyBuffer(onlyWriter{c.Out}, ctxReader{ctx, r}, make([]byte, copyBuffer))
	return err
}

// catClean prints a file for a terminal: what would move it shows as escapes.
func catClean(w io.Writer, r io.Reader) error {
	in, out := bufio.NewReaderSize(r, 64<<10), bufio.NewWriter(w)
	for {
		// A longer line comes in pieces; each is cleaned by itself.
		part, err := in.ReadSlice('\n')
		text, ended := strings.CutSuffix(string(part), "\n")
		for i, field := range strings.Split(strings.TrimSuffix(text, "\r"), "\t") {
			if i > 0 {
				_ = out.WriteByte('\t') // Flush tells
			}
			_, _ = out.WriteString(present.CleanMax(field, len(field)+1))
		}
		if ended {
			_ = out.WriteByte('\n')
		}
		switch {
		case errors.Is(err, io.EOF):
			return out.Flush()
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			_ = out.Flush() // what came is shown, the error is told
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

func (c *cli) filesWrite(ctx context.Context, args []string) error {
	const op = "write file"
	if err := c.writable(op); err != nil {
		return err
	}
	at, done, err := c.places(ctx, op, false, args)
	if err != nil {
		return err
	}
	defer done()
	e, err := put(ctx, at[0], ctxReader{ctx, c.In}, -1)
	if err != nil {
		return err
	}
	if c.flags.JSON {
		return c.printJSON(entryOf(e))
	}
	c.say("%s: %s", at[0].label(), present.Size(e.Size))
	return nil
}

// put writes a file and describes it: the answer to a write knows its path alone.
func put(ctx context.Context, at place, r io.Reader, size int64) (client.Entry, error) {
	e, err := at.files.Put(ctx, at.sb.ID, at.path, r, size)
	if err != nil {
		return e, err
	}
	if full, err := at.files.Stat(ctx, at.sb.ID, e.Path); err == nil {
		return full, nil
	}
	return e, nil
}

func (c *cli) filesMkdir(ctx context.Context, args []string) error {
	const op = "make folder"
	if err := c.writable(op); err != nil {
		return err
	}
	at, done, err := c.places(ctx, op, false, args)
	if err != nil {
		return err
	}
	defer done()
	for _, p := range at {
		call, cancel := c.call(ctx)
		err := p.files.Mkdir(call, p.sb.ID, p.path)
		cancel()
		// As mkdir -p: one that is there already is what was asked for.
		if err != nil && !errors.Is(err, client.ErrConflict) {
			return err
		}
	}
	return nil
}

func (c *cli) filesMove(ctx context.Context, args []string) error {
	const op = "rename file"
	if err := c.writable(op); err != nil {
		return err
	}
	at, done, err := c.places(ctx, op, false, args[:1])
	if err != nil {
		return err
	}
	defer done()
	from, to := at[0], args[1]
	if name, file, ok := remotePath(to); ok {
		if own, _, _ := strings.Cut(args[0], ":"); name != own {
			return client.Usagef(op, "a file is moved within its sandbox; copy it with cp between two")
		}
		to = file
	}
	if to == "" {
		return client.Usagef(op, "the new path is empty")
	}
	call, cancel := c.call(ctx)
	defer cancel()
	if e, err := from.files.Stat(call, from.sb.ID, to); err == nil && e.Type == client.FileDir {
		to = path.Join(to, path.Base(from.path))
	}
	if err := from.files.Rename(call, from.sb.ID, from.path, to); err != nil {
		return err
	}
	c.say("%s -> %s", from.label(), present.Clean(to))
	return nil
}

func (c *cli) filesRemove(ctx context.Context, args []string) error {
	const op = "remove file"
	if err := c.writable(op); err != nil {
		return err
	}
	at, done, err := c.places(ctx, op, false, args)
	if err != nil {
		return err
	}
	defer done()
	if !c.flags.Yes {
		if err := c.askRemove(ctx, op, at); err != nil {
			return err
		}
	}
	for _, p := range at {
		call, cancel := c.call(ctx)
		err := p.files.Remove(call, p.sb.ID, p.path)
		cancel()
		switch {
		case client.CodeOf(err) == client.CodeFileNotFound && c.flags.Yes:
			c.say("%s was not there", p.label())
		case err != nil:
			return err
		default:
			c.say("removed %s", p.label())
		}
	}
	return nil
}

// askRemove looks at what would be removed and asks.
func (c *cli) askRemove(ctx context.Context, op string, at []place) error {
	names := make([]string, 0, len(at))
	for _, p := range at {
		call, cancel := c.call(ctx)
		e, err := p.files.Stat(call, p.sb.ID, p.path)
		cancel()
		if err != nil {
			return err
		}
		name := p.label()
		if e.Type == client.FileDir {
			name += " with all that is in it"
		}
		names = append(names, name)
	}
	return c.confirm(ctx, op, "Remove "+strings.Join(names, ", ")+"?")
}
