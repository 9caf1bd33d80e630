package plugin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"abxdash/client"
	"abxdash/client/plugin/wire"
)

// program is a plug-in that is a process. It is started by the first call, and
// again after it has died.
type program struct {
	argv []string
	dir  string
	env  []string
	log  *slog.Logger

	mu   sync.Mutex
	run  *run
	over bool
}

// run is one life of the process.
type run struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{}
	log   *slog.Logger

	wmu sync.Mutex

	mu    sync.Mutex
	next  int64
	calls map[int64]*execCall
	why   string
}

// execCall is one call to a program.
type execCall struct {
	r    *run
	id   int64
	ch   chan wire.Message
	done chan struct{}
	once sync.Once
}

// graceful is how long a program may take to end after its input has.
const graceful = 2 * time.Second

func (p *program) open(_ context.Context, method string, params json.RawMessage) (channel, error) {
	r, err := p.alive()
	if err != nil {
		return nil, err
	}
	c, err := r.call()
	if err != nil {
		return nil, err
	}
	if err := r.write(wire.Message{ID: c.id, Method: method, Params: params}); err != nil {
		c.close()
		return nil, errPlugin{"the plug-in does not take calls: " + r.reason(err)}
	}
	return c, nil
}

// call registers a call. One that comes after the failure, while the process is
// on its way out, would wait in vain: nobody is left to end it.
func (r *run) call() (*execCall, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why != "" {
		return nil, errPlugin{"the plug-in failed: " + r.why}
	}
	r.next++
	c := &execCall{r: r, id: r.next, ch: make(chan wire.Message, 64), done: make(chan struct{})}
	r.calls[c.id] = c
	return c, nil
}

// alive returns the running process, started if need be.
func (p *program) alive() (*run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil, errPlugin{"the plug-in is closed"}
	}
	if p.run != nil {
		select {
		case <-p.run.done:
		default:
			return p.run, nil
		}
	}
	// Its life is its own: it ends when its input does, or when close kills it.
	cmd := exec.CommandContext(context.Background(), p.argv[0], p.argv[1:]...) //nolint:gosec // installed on purpose, and pinned
	cmd.Dir, cmd.Env = p.dir, p.env
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, errPlugin{"the plug-in cannot be started: " + client.OneLine(err.Error(), 200)}
	}
	r := &run{cmd: cmd, stdin: stdin, done: make(chan struct{}), calls: map[int64]*execCall{}, log: p.log}
	var readers sync.WaitGroup
	readers.Go(func() { r.read(stdout) })
	readers.Go(func() { r.complaints(stderr) })
	go func() {
		readers.Wait()
		_ = cmd.Wait() // how it ended does not matter; that it did is what calls are told
		close(r.done)
	}()
	p.run = r
	return r, nil
}

// read hands messages to their calls. A call that is not read holds up the
// others: that is how a slow reader slows its sender.
func (r *run) read(out io.Reader) {
	br := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := readLine(br)
		if len(line) > 1 {
			var m wire.Message
			if jerr := json.Unmarshal(line, &m); jerr != nil {
				r.fail("it does not speak the plug-in protocol (its output is not JSON lines)")
				_, _ = io.Copy(io.Discard, br)
				return
			}
			r.mu.Lock()
			c := r.calls[m.ID]
			r.mu.Unlock()
			if c != nil {
				select {
				case c.ch <- m:
				case <-c.done:
				}
			}
		}
		if err != nil {
			r.fail("it has ended")
			return
		}
	}
}

// readLine reads a line of bounded length.
func readLine(br *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := br.ReadSlice('\n')
		if len(whole)+len(part) > maxLine {
			return nil, errPlugin{"a message is too long"}
		}
		if whole == nil && err == nil {
			return part, nil
		}
		whole = append(whole, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

// fail ends every call and the process.
func (r *run) fail(why string) {
	r.mu.Lock()
	if r.why == "" {
		r.why = why
	}
	calls := r.calls
	r.calls = map[int64]*execCall{}
	r.mu.Unlock()
	for _, c := range calls {
		c.finish()
	}
	_ = r.stdin.Close()
	if r.cmd.Process != nil {
		_ = r.cmd.Process.Kill()
	}
}

func (r *run) reason(err error) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why != "" {
		return r.why
	}
	return client.OneLine(err.Error(), 100)
}

// complaints logs what the program says on standard error, a little of it.
func (r *run) complaints(errs io.Reader) {
	s := bufio.NewScanner(errs)
	s.Buffer(nil, 64<<10)
	for n := 0; s.Scan(); n++ {
		if n < 100 {
			r.log.Info("plug-in says", "text", client.OneLine(s.Text(), 300))
		}
	}
	_, _ = io.Copy(io.Discard, errs)
}

func (r *run) write(m wire.Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	r.wmu.Lock()
	defer r.wmu.Unlock()
	_, err = r.stdin.Write(append(b, '\n'))
	return err
}

func (c *execCall) recv() (wire.Message, error) {
	select {
	case m := <-c.ch:
		return m, nil
	default:
	}
	select {
	case m := <-c.ch:
		return m, nil
	case <-c.done:
		// What came before the end still counts.
		select {
		case m := <-c.ch:
			return m, nil
		default:
		}
		c.r.mu.Lock()
		defer c.r.mu.Unlock()
		if c.r.why != "" {
			return wire.Message{}, errPlugin{"the plug-in failed: " + c.r.why}
		}
		return wire.Message{}, net.ErrClosed
	}
}

func (c *execCall) send(_ context.Context, in wire.Input) error {
	return c.r.write(wire.Message{ID: c.id, Input: &in})
}

func (c *execCall) finish() { c.once.Do(func() { close(c.done) }) }

func (c *execCall) close() {
	c.r.mu.Lock()
	_, running := c.r.calls[c.id]
	delete(c.r.calls, c.id)
	c.r.mu.Unlock()
	if running {
		_ = c.send(context.Background(), wire.Input{Cancel: true}) // a call that has ended ignores it
	}
	c.finish()
}

// close ends the process: its input ends, and after a while it is killed.
func (p *program) close() {
	p.mu.Lock()
	p.over = true
	r := p.run
	p.mu.Unlock()
	if r == nil {
		return
	}
	_ = r.stdin.Close()
	t := time.NewTimer(graceful)
	defer t.Stop()
	select {
	case <-r.done:
	case <-t.C:
		_ = r.cmd.Process.Kill()
		<-r.done
	}
}

// command is what starts a plug-in: a relative first word is one of its files.
func command(dir string, m Manifest) ([]string, error) {
	argv := m.Command
	if m.Kind == KindNode {
		node, err := exec.LookPath("node")
		if err != nil {
			return nil, &client.Error{
				Op: "start plug-in " + m.ID, Provider: m.ID, Code: client.CodeConfig, Message: "it is of kind node, and there is no node on this machine",
				Hint: "install Node.js, then try again",
			}
		}
		if len(argv) == 0 || m.Entry != "" {
			argv = []string{m.Entry}
		}
		file, err := inside(dir, argv[0])
		if err != nil {
			return nil, err
		}
		return append([]string{node, file}, argv[1:]...), nil
	}
	first := argv[0]
	switch {
	case filepath.IsAbs(first):
	case strings.ContainsAny(first, `/\`):
		file, err := inside(dir, first)
		if err != nil {
			return nil, err
		}
		first = file
	default:
		path, err := exec.LookPath(first)
		if err != nil {
			return nil, bad("the command %q of %s is not on this machine", client.OneLine(first, 60), m.ID)
		}
		first = path
	}
	return append([]string{first}, argv[1:]...), nil
}

// inside is a file of the plug-in's own folder.
func inside(dir, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", bad("%q leads out of the plug-in", client.OneLine(name, 60))
	}
	return filepath.Join(dir, name), nil
}
