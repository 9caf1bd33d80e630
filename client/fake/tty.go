package fake

import (
	"io"
	"sync"

	"abxdash/client"
)

// eot is what ctrl+d puts into the input of a terminal; the reader takes it as the end.
const eot = 0x04

// tty is the line discipline of a terminal: echo, erase, and the keys that
// interrupt and end. Lines reach the program when they are complete.
type tty struct {
	proc *process

	mu   sync.Mutex
	line []byte
}

// input takes what was typed and returns what the program may read now.
func (t *tty) input(p []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ready, echo []byte
	for _, c := range p {
		switch {
		case c == '\r' || c == '\n':
			ready = append(append(ready, t.line...), '\n')
			echo = append(echo, "\r\n"...)
			t.line = t.line[:0]
		case c == 0x03:
			echo = append(echo, "^C\r\n"...)
			t.line = t.line[:0]
			t.flush(echo)
			echo = nil
			t.proc.interrupt()
		case c == eot:
			ready = append(append(ready, t.line...), eot)
			t.line = t.line[:0]
		case c == 0x7f || c == 0x08:
			if n := len(t.line); n > 0 {
				t.line = t.line[:n-1]
				echo = append(echo, "\b \b"...)
			}
		case c < 0x20 && c != '\t':
			echo = append(echo, '^', c+'@')
		default:
			t.line = append(t.line, c)
			echo = append(echo, c)
		}
	}
	t.flush(echo)
	return ready
}

func (t *tty) flush(echo []byte) {
	if len(echo) > 0 {
		_ = t.proc.emit(t.proc.ctx, client.Terminal, echo) // fails only when the process has ended
	}
}

// ttyReader reads terminal input; one ctrl+d is one end of file.
type ttyReader struct{ r io.Reader }

func (t ttyReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	// One byte at a time: what follows an end of file belongs to the next reader.
	n, err := t.r.Read(p[:1])
	if n == 1 && p[0] == eot {
		return 0, io.EOF
	}
	return n, err
}
