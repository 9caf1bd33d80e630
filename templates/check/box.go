package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"abxdash/client"
	"abxdash/client/commandserver"
	"abxdash/templates"
)

const (
	// appDir and standInDir are relative to the sandbox's home.
	appDir     = "app"
	standInDir = ".agent-sandbox-stand-in"
	// maxUpload and maxFiles bound what is copied in; a larger folder is copied
	// without its large files.
	maxUpload = 64 << 20
	maxFiles  = 2000
	// maxLogLines and maxLogLine bound what is kept of the server's output.
	maxLogLines = 200
	maxLogLine  = 400
)

// box is the sandbox of one check.
type box struct {
	p  client.Provider
	id client.ID
	o  Options
	r  *Result
	// home is the sandbox user's home; app holds the template's files.
	home, app string
	// port is where the server listens.
	port int
	// argv and env start the server.
	argv []string
	env  map[string]string
}

// portFor is port 9000, except at levels where a sandbox shares this machine's
// ports: there another server may listen on it, and its answers would be taken
// for the template's.
func portFor(level client.Isolation) int {
	if level != client.IsolationProcess && level != client.IsolationLandlock {
		return templates.ServerPort
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return templates.ServerPort
	}
	defer l.Close()
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return templates.ServerPort
}

// upload copies the template's files into the sandbox, as .dockerignore leaves them.
func (b *box) upload(ctx context.Context) error {
	root, err := templates.OpenFolder(b.o.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var size int64
	count, left := 0, 0
	for _, e := range b.r.Lint.Context.Entries {
		if !e.Mode.IsRegular() {
			continue
		}
		if e.Path != templates.FileCommands && (size+e.Size > maxUpload || count >= maxFiles) {
			left++
			continue
		}
		size += e.Size
		count++
		put, err := b.put(ctx, root, e)
		if err != nil {
			return err
		}
		if e.Path == templates.FileCommands {
			b.app = path.Dir(put.Path)
			b.home = path.Dir(b.app)
		}
	}
	b.o.Say(fmt.Sprintf("copied %d files", count))
	if left > 0 {
		b.o.Say(fmt.Sprintf("left out %d files over the limit of %d MiB", left, maxUpload>>20))
	}
	return nil
}

func (b *box) put(ctx context.Context, root *os.Root, e templates.ContextEntry) (client.Entry, error) {
	f, err := root.Open(filepath.FromSlash(e.Path))
	if err != nil {
		return client.Entry{}, &client.Error{Op: "read the template folder", Code: client.CodeFiles, Err: err}
	}
	defer f.Close()
	return b.p.Files().Put(ctx, b.id, appDir+"/"+e.Path, io.LimitReader(f, maxUpload), -1)
}

// quick runs a short command and returns its output and whether it succeeded.
func (b *box) quick(ctx context.Context, argv ...string) (string, bool, error) {
	return b.quickIn(ctx, "", argv...)
}

// quickIn is quick in a folder.
func (b *box) quickIn(ctx context.Context, dir string, argv ...string) (string, bool, error) {
	out, err := client.RunToEnd(ctx, b.p, b.id, client.Command{Argv: argv, Dir: dir, Timeout: startPatience})
	return string(bytes.TrimSpace(out.Stdout)), out.Exit.OK(), err
}

// pick decides between the real package and the stand-in, and how to start it.
func (b *box) pick(ctx context.Context) error {
	_, ok, err := b.quick(ctx, "sh", "-c", "command -v python3")
	if err != nil {
		return err
	}
	if !ok {
		return &client.Error{Op: "start the server", Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: "the sandbox has no python3", Hint: "install python3; lint works without it"}
	}
	commands := b.app + "/" + templates.FileCommands
	b.env = map[string]string{"ABX_SERVER_PORT": strconv.Itoa(b.port), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
	if b.r.Lint.Template != nil {
		maps.Copy(b.env, b.r.Lint.Template.Env)
	}
	maps.Copy(b.env, b.o.Env)
	b.argv = []string{"python3", commands}
	if err := b.addWheel(ctx); err != nil {
		return err
	}
	real, err := b.realServer(ctx)
	if err != nil {
		return err
	}
	if real {
		b.r.Server = ServerReal
		return b.realStart(ctx, commands)
	}
	b.r.Server = ServerStandIn
	b.env["PYTHONPATH"] = joinPath(b.home+"/"+standInDir, b.env["PYTHONPATH"])
	if b.o.Lint.Target.IsExpress() {
		b.argv = []string{"python3", "-m", "agent_sandbox.server", "serve", "--port", b.env["ABX_SERVER_PORT"], "--commands", commands}
	}
	files, err := commandserver.StandIn()
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := b.p.Files().Put(ctx, b.id, standInDir+"/"+f.Path, bytes.NewReader(f.Data), int64(len(f.Data))); err != nil {
			return err
		}
	}
	return nil
}

// server is the running server process.
type server struct {
	proc client.Process
	done chan struct{}

	mu    sync.Mutex
	lines []string
	part  []byte
	err   error
}

func (b *box) start(ctx context.Context) (*server, error) {
	proc, err := b.p.Commands().Start(ctx, b.id, client.Command{Argv: b.argv, Env: b.env, Dir: b.app, Tag: "template check"})
	if err != nil {
		return nil, err
	}
	s := &server{proc: proc, done: make(chan struct{})}
	go s.read()
	return s, nil
}

// stop detaches and waits for the reader; the process ends with its sandbox.
func (s *server) stop() {
	_ = s.proc.Close() // detaching has no failure to act on
	<-s.done
}

// read keeps the last lines of output until the process has ended.
func (s *server) read() {
	defer close(s.done)
	for {
		f, err := s.proc.Next()
		s.mu.Lock()
		s.add(f.Data)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
			s.add([]byte("\n"))
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}

func (s *server) add(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			if room := 8*maxLogLine - len(s.part); room > 0 {
				s.part = append(s.part, p[:min(room, len(p))]...)
			}
			return
		}
		line := append(s.part, p[:i]...)
		p, s.part = p[i+1:], nil
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		s.lines = append(s.lines, client.OneLine(strings.TrimRight(string(line), "\r"), maxLogLine))
		if len(s.lines) > maxLogLines {
			s.lines = s.lines[1:]
		}
	}
}

func (s *server) logs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.lines...)
}

// failure words the end of a server that should have gone on: the last line of
// a Python traceback, and the place in commands.py it names.
func (s *server) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &client.Error{Op: "start the server", Code: client.CodeRunExit, Message: "it ended: " + s.proc.Exit().String()}
	if s.err != nil {
		e.Err, e.Message, e.Code = s.err, "it was lost: "+s.err.Error(), client.CodeRun
		return e
	}
	if len(s.lines) == 0 {
		return e
	}
	e.Message = client.OneLine(strings.TrimSpace(s.lines[len(s.lines)-1]), 300)
	for i := len(s.lines) - 1; i >= 0; i-- {
		_, rest, ok := strings.Cut(s.lines[i], "/"+templates.FileCommands+"\", line ")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, ",")
		if strings.Trim(number, "0123456789") == "" && number != "" {
			e.Message = templates.FileCommands + ":" + number + ": " + e.Message
		}
		break
	}
	return e
}
