//go:build linux || darwin

package isolate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// What the launcher can ask of init while the sandbox runs. Requests and
// answers are JSON documents on a socket of their own, in any order.
const (
	opHold   = "hold"   // start no command
	opStop   = "stop"   // hold, and stop every command by signal
	opResume = "resume" // undo both
	opUsage  = "usage"  // measure the commands from inside
	opDisk   = "disk"   // measure the home
)

type ctlRequest struct {
	Seq uint64
	Op  string
}

type ctlReply struct {
	Seq   uint64
	Error string
	Usage *Usage
	Bytes uint64
}

// control is the launcher's end.
type control struct {
	conn *net.UnixConn

	mu      sync.Mutex
	seq     uint64
	waiting map[uint64]chan ctlReply
	ended   bool
}

var errControl = errors.New("the sandbox does not answer any more")

// socketPair makes two connected stream sockets. Neither is inherited by accident.
func socketPair(name string) (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), name)
	if ours, err = unixConn(fds[0]); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}

// unixConn makes a connection of an owned descriptor.
func unixConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("use a socket: %w", err)
	}
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("not a unix socket"), c.Close())
	}
	return uc, nil
}

// newControl starts the one reader of conn; it ends with the connection.
func newControl(conn *net.UnixConn) *control {
	c := &control{conn: conn, waiting: map[uint64]chan ctlReply{}}
	go c.read()
	return c
}

func (c *control) close() { _ = c.conn.Close() }

func (c *control) read() {
	dec := json.NewDecoder(c.conn)
	for {
		var r ctlReply
		err := dec.Decode(&r)
		c.mu.Lock()
		if err != nil {
			c.ended = true
			for _, w := range c.waiting {
				close(w)
			}
			clear(c.waiting)
			c.mu.Unlock()
			return
		}
		if w := c.waiting[r.Seq]; w != nil {
			delete(c.waiting, r.Seq)
			w <- r
		}
		c.mu.Unlock()
	}
}

// ctlWriteLimit bounds writing a request: init reads all the time, unless it
// was stopped from outside.
const ctlWriteLimit = 10 * time.Second

// call asks for op and waits for the answer.
func (c *control) call(ctx context.Context, op string) (ctlReply, error) {
	if err := ctx.Err(); err != nil {
		return ctlReply{}, err
	}
	answer := make(chan ctlReply, 1)
	seq, err := c.send(op, answer)
	if err != nil {
		return ctlReply{}, err
	}
	select {
	case r, ok := <-answer:
		if !ok {
			return ctlReply{}, errControl
		}
		if r.Error != "" {
			return r, errors.New(r.Error)
		}
		return r, nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, seq)
		c.mu.Unlock()
		return ctlReply{}, ctx.Err()
	}
}

func (c *control) send(op string, answer chan ctlReply) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return 0, errControl
	}
	c.seq++
	c.waiting[c.seq] = answer
	err := c.conn.SetWriteDeadline(time.Now().Add(ctlWriteLimit))
	if err == nil {
		err = json.NewEncoder(c.conn).Encode(ctlRequest{Seq: c.seq, Op: op})
	}
	if err != nil {
		delete(c.waiting, c.seq)
		return 0, fmt.Errorf("%w: %w", errControl, err)
	}
	return c.seq, nil
}

// serveControl answers the launcher until it is gone.
func (in *initProc) serveControl(conn io.ReadWriteCloser) {
	defer conn.Close()
	var mu sync.Mutex
	enc, dec := json.NewEncoder(conn), json.NewDecoder(conn)
	for {
		var req ctlRequest
		if dec.Decode(&req) != nil {
			return
		}
		go func() {
			reply := in.answer(req.Op)
			reply.Seq = req.Seq
			mu.Lock()
			defer mu.Unlock()
			// A launcher that is gone has no use for it.
			_ = enc.Encode(reply)
		}()
	}
}

func (in *initProc) answer(op string) (r ctlReply) {
	var err error
	switch op {
	case opHold:
		err = in.sp.hold()
	case opStop:
		err = in.stopAll()
	case opResume:
		in.resumeAll()
	case opUsage:
		var u Usage
		if u, err = in.usage(); err == nil {
			r.Usage = &u
		}
	case opDisk:
		r.Bytes, err = diskUse(in.sp.user.Home, in.cfg.Mounts)
	default:
		err = errors.New("unknown request " + op)
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}
