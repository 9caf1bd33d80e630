package envd

import (
	"io"
	"os"
	"sync/atomic"
	"time"
)

// pump reads one output stream of a process and hands it on.
type pump struct {
	p    *proc
	kind outputKind
	r    io.ReadCloser
	file *os.File // r when it is one

	// taken counts the bytes that were delivered; reading is set while the pump
	// waits for more and holds nothing.
	taken   atomic.Int64
	reading atomic.Bool
	eof     chan struct{}
}

func newPump(p *proc, kind outputKind, r io.ReadCloser) *pump {
	u := &pump{p: p, kind: kind, r: r, eof: make(chan struct{})}
	u.file, _ = r.(*os.File)
	if u.file != nil && kind == kindStdout {
		growPipe(u.file, pipeSize)
	}
	return u
}

// run reads until the stream ends: EOF, EIO of a terminal, or close.
func (u *pump) run() {
	defer close(u.eof)
	if u.r == nil {
		return
	}
	for {
		buf := u.p.pool.get()
		u.reading.Store(true)
		n, err := u.r.Read(buf.data)
		u.reading.Store(false)
		if n > 0 {
			u.p.deliver(chunk{kind: u.kind, buf: buf, n: n})
			u.taken.Add(int64(n))
		}
		if err != nil {
			return
		}
	}
}

// own is how many bytes the process itself can have written, once it has ended:
// what was read and what lies in the pipe. A read in progress may have taken up
// to readSize bytes uncounted.
func (u *pump) own() int64 {
	n := u.taken.Load() + readSize
	if u.file != nil {
		n += int64(max(0, pending(u.file)))
	}
	return n
}

// drain returns when the first own bytes were delivered. The end of the stream
// says so at once; a descendant that holds the pipe open costs until grace
// fires, and may even go on writing.
func (u *pump) drain(own int64, grace <-chan struct{}) {
	select {
	case <-u.eof:
		return
	case <-grace:
	}
	poll := time.NewTicker(pipePoll)
	defer poll.Stop()
	// A pump that was seen idle may be about to return from its read; twice the
	// same is idle indeed.
	idle := int64(-1)
	for {
		taken := u.taken.Load()
		if taken >= own || idle == taken {
			return
		}
		idle = -1
		if u.reading.Load() && (u.file == nil || pending(u.file) <= 0) {
			idle = taken
		}
		select {
		case <-u.eof:
			return
		case <-poll.C:
		}
	}
}

func (u *pump) close() {
	if u.r != nil {
		_ = u.r.Close()
	}
}
