package check

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"abxdash/client"
)

const (
	// wheelDir is where a wheel of the server package is unpacked, relative to
	// the sandbox's home.
	wheelDir = ".agent-sandbox-server"
	maxWheel = 256 << 20
)

// addWheel puts the server package of a wheel on the server's Python path: the
// one that was named, else the one in the folder, which the image would get too.
func (b *box) addWheel(ctx context.Context) error {
	name := b.o.Wheel
	if wheels := b.r.Lint.Context.Wheels; name == "" && len(wheels) > 0 {
		name = filepath.Join(b.o.Dir, wheels[len(wheels)-1])
	}
	if name == "" {
		return nil
	}
	put, err := b.putWheel(ctx, name)
	if err != nil {
		return err
	}
	to := b.home + "/" + wheelDir
	// A wheel is a zip file; unpacked, its data files are there too.
	out, ok, err := b.quick(ctx, "python3", "-I", "-m", "zipfile", "-e", put.Path, to)
	if err != nil {
		return err
	}
	if !ok {
		return &client.Error{Op: "unpack the server wheel", Code: client.CodeFiles, Message: client.OneLine(filepath.Base(name)+" is no wheel: "+out, 200)}
	}
	b.env["PYTHONPATH"] = joinPath(to, b.env["PYTHONPATH"])
	b.o.Say("server package from " + client.OneLine(name, 160))
	return nil
}

func (b *box) putWheel(ctx context.Context, name string) (client.Entry, error) {
	const op = "find the server wheel"
	f, err := os.Open(name)
	if err != nil {
		return client.Entry{}, &client.Error{Op: op, Code: client.CodeFileNotFound, Kind: client.ErrNotFound, Err: err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return client.Entry{}, &client.Error{Op: op, Code: client.CodeFiles, Err: err}
	}
	if !info.Mode().IsRegular() || info.Size() > maxWheel || !strings.HasSuffix(name, ".whl") {
		return client.Entry{}, client.Usagef(op, "%s is no wheel file", client.OneLine(name, 120))
	}
	return b.p.Files().Put(ctx, b.id, wheelDir+"/"+filepath.Base(name), io.LimitReader(f, info.Size()), info.Size())
}

// joinPath puts a folder before a Python path.
func joinPath(first, rest string) string {
	if rest == "" {
		return first
	}
	return first + ":" + rest
}

// realServer reports whether the server's Python finds the package: where it is
// installed, on the path that the server gets, or beside commands.py.
func (b *box) realServer(ctx context.Context) (bool, error) {
	_, ok, err := b.python(ctx, "import agent_sandbox.server")
	return ok, err
}

// python runs a line with the module path that the server will have.
func (b *box) python(ctx context.Context, line string) (string, bool, error) {
	argv := []string{"python3", "-c", "import sys; sys.path.insert(0, sys.argv[1]); " + line, b.app}
	if b.env["PYTHONPATH"] != "" {
		argv = append([]string{"env", "PYTHONPATH=" + b.env["PYTHONPATH"]}, argv...)
	}
	return b.quickIn(ctx, b.app, argv...)
}

// realStart chooses how the real package is started: the way the platform does
// where that can be done, else the way an image does.
func (b *box) realStart(ctx context.Context, commands string) error {
	if !b.o.Lint.Target.IsExpress() {
		return nil
	}
	serve := []string{"serve", "--port", b.env["ABX_SERVER_PORT"], "--commands", commands}
	_, script, err := b.quick(ctx, "sh", "-c", "command -v agent-sandbox-server")
	if err != nil {
		return err
	}
	if script && b.env["PYTHONPATH"] == "" {
		b.argv = append([]string{"agent-sandbox-server"}, serve...)
		return nil
	}
	// A package on the path has no script, but may be run as a module.
	_, module, err := b.python(ctx, "import importlib.util as u; sys.exit(u.find_spec('agent_sandbox.server.__main__') is None)")
	if err == nil && module {
		b.argv = append([]string{"python3", "-m", "agent_sandbox.server"}, serve...)
	}
	return err
}
