package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"abxdash/client"
)

// IO is what a [Program] works with.
type IO struct {
	// Args are the arguments, the program's name first.
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Dir is the working directory.
	Dir string
	// Env looks up a variable.
	Env func(name string) string

	proc *process
}

// Sandbox is the id of the sandbox in which the program runs.
func (io IO) Sandbox() client.ID { return io.proc.box.sb.ID }

// Program is a command of the sandbox. It returns its exit code and should end when ctx does.
type Program func(ctx context.Context, io IO) int

// shell runs the process's command and returns its exit code.
func (pr *process) shell(ctx context.Context) int {
	out, errw := io.Writer(outWriter{ctx, pr, client.Stdout}), io.Writer(outWriter{ctx, pr, client.Stderr})
	if pr.tty != nil {
		out = outWriter{ctx, pr, client.Terminal}
		errw = out
	}
	r, err := pr.runner(pr.dir, envList(pr.env), pr.stdin, out, errw, pr.cmd.Argv)
	if err != nil {
		fmt.Fprintln(errw, err)
		return 126
	}
	return runText(ctx, r, `"$@"`, errw)
}

func envList(env map[string]string) expand.Environ {
	list := make([]string, 0, len(env))
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	return expand.ListEnviron(list...)
}

// runner makes a shell whose files and programs are the sandbox's.
func (pr *process) runner(dir string, env expand.Environ, in io.Reader, out, errw io.Writer, params []string) (*interp.Runner, error) {
	r, err := interp.New(
		interp.Env(env),
		interp.StdIO(in, out, errw),
		interp.Params(append([]string{"--"}, params...)...),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return pr.exec }),
		interp.CallHandler(pr.call),
		interp.OpenHandler(pr.open),
		interp.StatHandler(pr.stat),
		interp.ReadDirHandler2(pr.readDir),
		interp.AccessHandler(func(ctx context.Context, name string, _ interp.AccessMode) error {
			_, err := pr.stat(ctx, name, true)
			return err
		}),
	)
	if err != nil {
		return nil, err
	}
	r.Dir = dir // set here because interp.Dir would look at the real file system
	return r, nil
}

// runText parses and runs a script.
func runText(ctx context.Context, r *interp.Runner, text string, errw io.Writer) int {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		fmt.Fprintln(errw, "sh:", err)
		return 2
	}
	err = r.Run(ctx, file)
	if status := interp.ExitStatus(0); errors.As(err, &status) {
		return int(status)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(errw, "sh:", err)
		return 1
	}
	return 0
}

// call renames the builtins that must know about the sandbox's processes.
func (pr *process) call(_ context.Context, args []string) ([]string, error) {
	if args[0] == "kill" {
		return append([]string{"/bin/kill"}, args[1:]...), nil
	}
	return args, nil
}

// exec runs one external command.
func (pr *process) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	io := IO{
		Args: args, Stdin: hc.Stdin, Stdout: hc.Stdout, Stderr: hc.Stderr, Dir: hc.Dir,
		Env:  func(name string) string { return hc.Env.Get(name).String() },
		proc: pr,
	}
	if pr.tty != nil && hc.Stdin == pr.stdin {
		io.Stdin = ttyReader{pr.stdin}
	}
	name := args[0]
	if dir := path.Dir(name); dir == "/bin" || dir == "/usr/bin" {
		name = path.Base(name)
	}
	var code int
	switch run := pr.box.prov.programs[name]; {
	case name == "sh" || name == "bash":
		code = pr.shellMain(ctx, hc, io)
	case run != nil:
		code = run(ctx, io)
	default:
		fmt.Fprintf(io.Stderr, "sh: %s: not found\n", args[0])
		code = 127
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if code != 0 {
		return interp.ExitStatus(uint8(code))
	}
	return nil
}

// shellMain is sh and bash: -c line, else a script on standard input, else an interactive shell.
func (pr *process) shellMain(ctx context.Context, hc interp.HandlerContext, io IO) int {
	line, params, isLine, interactive := shellFlags(io.Args[1:])
	r, err := pr.runner(hc.Dir, hc.Env, hc.Stdin, io.Stdout, io.Stderr, params)
	if err != nil {
		fmt.Fprintln(io.Stderr, err)
		return 126
	}
	switch {
	case isLine:
		return runText(ctx, r, line, io.Stderr)
	case interactive || pr.tty != nil:
		return pr.interactive(ctx, r, io)
	default:
		text, err := readAll(io.Stdin)
		if err != nil {
			return 1
		}
		return runText(ctx, r, text, io.Stderr)
	}
}

func readAll(r io.Reader) (string, error) {
	b, err := io.ReadAll(r)
	return string(b), err
}

// shellFlags reads the flags of sh that matter here. After -c comes the line, $0, then the parameters.
func shellFlags(args []string) (line string, params []string, isLine, interactive bool) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		isLine = isLine || strings.Contains(args[0], "c") && !strings.HasPrefix(args[0], "--")
		interactive = interactive || args[0] == "-i"
		args = args[1:]
	}
	if isLine && len(args) > 0 {
		return args[0], args[min(2, len(args)):], true, false
	}
	return "", args, false, interactive
}

// interactive reads lines from the terminal and runs them one by one.
func (pr *process) interactive(ctx context.Context, r *interp.Runner, io IO) int {
	code := 0
	pr.setInterrupt(func() {})
	for ctx.Err() == nil {
		dir := r.Dir
		if rest, ok := strings.CutPrefix(dir, home); ok {
			dir = "~" + rest
		}
		fmt.Fprintf(io.Stdout, "user@sandbox:%s$ ", dir)
		line, ok := readLine(io.Stdin)
		if !ok {
			fmt.Fprintln(io.Stdout, "exit")
			return code
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		fg, cancel := context.WithCancel(ctx)
		pr.setInterrupt(cancel)
		code = runText(fg, r, line, io.Stderr)
		interrupted := fg.Err() != nil
		pr.setInterrupt(func() {}) // at the prompt there is nothing to end
		cancel()
		if interrupted {
			code = 130
		} else if r.Exited() {
			return code
		}
	}
	return code
}

func readLine(r io.Reader) (string, bool) {
	var b strings.Builder
	one := make([]byte, 1)
	for {
		n, err := r.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return b.String(), true
		case n == 1:
			b.WriteByte(one[0])
		case err != nil:
			return b.String(), b.Len() > 0
		}
	}
}

// place makes a path of the shell absolute within the tree.
func place(dir, name string) string {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = dir + "/" + name
	}
	return path.Clean(name)
}

// memFile is an open file of the tree.
type memFile struct {
	t       *tree
	name    string
	data    []byte
	pos     int
	writing bool
}

func (f *memFile) Read(p []byte) (int, error) {
	if f.name == "/dev/zero" {
		clear(p)
		return len(p), nil
	}
	if f.pos >= len(f.data) {
		return 0, io.EOF
	}
	n := copy(p, f.data[f.pos:])
	f.pos += n
	return n, nil
}

func (f *memFile) Write(p []byte) (int, error) {
	if strings.HasPrefix(f.name, "/dev/") {
		return len(p), nil
	}
	f.data = append(f.data, p...)
	f.t.mu.Lock()
	defer f.t.mu.Unlock()
	f.t.put(f.name, slices.Clone(f.data))
	return len(p), nil
}

func (f *memFile) Close() error { return nil }

func (pr *process) open(ctx context.Context, name string, flag int, _ os.FileMode) (io.ReadWriteCloser, error) {
	return pr.openFile(place(interp.HandlerCtx(ctx).Dir, name), flag)
}

func (pr *process) openFile(q string, flag int) (io.ReadWriteCloser, error) {
	t := pr.box.files()
	f := &memFile{t: t, name: q, writing: flag&(os.O_WRONLY|os.O_RDWR) != 0}
	if q == "/dev/null" || q == "/dev/zero" {
		return f, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[q]
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, &fs.PathError{Op: "open", Path: q, Err: fs.ErrNotExist}
	case n != nil && n.dir:
		return nil, &fs.PathError{Op: "open", Path: q, Err: errors.New("is a directory")}
	case n != nil && flag&os.O_TRUNC == 0:
		f.data = slices.Clone(n.data)
	}
	if f.writing {
		if err := t.check(q); err != nil {
			return nil, &fs.PathError{Op: "open", Path: q, Err: err}
		}
		t.put(q, f.data)
	}
	return f, nil
}

// fileInfo makes an entry of the tree an fs.FileInfo.
type fileInfo struct{ e client.Entry }

func (i fileInfo) Name() string       { return i.e.Name }
func (i fileInfo) Size() int64        { return i.e.Size }
func (i fileInfo) ModTime() time.Time { return i.e.ModifiedAt }
func (i fileInfo) IsDir() bool        { return i.e.Type == client.FileDir }
func (i fileInfo) Sys() any           { return nil }
func (i fileInfo) Mode() fs.FileMode {
	m := fs.FileMode(i.e.Mode)
	if i.IsDir() {
		m |= fs.ModeDir
	}
	return m
}

func (pr *process) stat(ctx context.Context, name string, _ bool) (fs.FileInfo, error) {
	q := place(interp.HandlerCtx(ctx).Dir, name)
	t := pr.box.files()
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[q]
	if n == nil {
		return nil, &fs.PathError{Op: "stat", Path: q, Err: fs.ErrNotExist}
	}
	return fileInfo{t.entry(q, n)}, nil
}

func (pr *process) readDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	q := place(interp.HandlerCtx(ctx).Dir, name)
	t := pr.box.files()
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.nodes[q]; n == nil || !n.dir {
		return nil, &fs.PathError{Op: "readdir", Path: q, Err: fs.ErrNotExist}
	}
	var out []fs.DirEntry
	for _, e := range t.children(q) {
		out = append(out, fs.FileInfoToDirEntry(fileInfo{e}))
	}
	return out, nil
}
