package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// mcpDrain is how long calls that were sent may still be answered when the
// input has ended: a script pipes its requests in and hangs up at once.
const mcpDrain = 10 * time.Second

// mcpPipe is standard input and output of the protocol. It holds the end of the
// input back until what was asked before has been answered.
type mcpPipe struct {
	ctx   context.Context //nolint:containedctx // of the one session that it carries
	lines *bufio.Reader
	rest  []byte

	outMu sync.Mutex
	out   io.Writer

	mu      sync.Mutex
	waiting map[string]bool // ids of requests without an answer
	// answered gets a word, if there is room, with each answer.
	answered chan struct{}
}

func newMCPPipe(ctx context.Context, in io.Reader, out io.Writer) *mcpPipe {
	return &mcpPipe{ctx: ctx, lines: bufio.NewReaderSize(in, 64<<10), out: out, waiting: map[string]bool{}, answered: make(chan struct{}, 1)}
}

// mcpNoJSON is the answer to a line that is none (JSON-RPC 2.0, "Parse error").
const mcpNoJSON = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this line is no JSON"}}` + "\n"

// Read hands on whole lines. One that is no JSON is answered here: it must not
// end the session.
func (p *mcpPipe) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		line, err := mcpReadLine(p.lines)
		switch {
		case len(bytes.TrimSpace(line)) == 0 && errors.Is(err, io.EOF):
			p.drain()
			return 0, err
		case len(bytes.TrimSpace(line)) == 0 && err != nil:
			return 0, err
		case len(bytes.TrimSpace(line)) == 0:
		case json.Valid(line):
			p.note(line)
			p.rest = line
		default:
			if _, err := p.Write([]byte(mcpNoJSON)); err != nil {
				return 0, err
			}
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// mcpReadLine reads a line of at most mcpLine bytes with its end, which a last
// line may lack.
func mcpReadLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > mcpLine:
			return nil, fmt.Errorf("a message is over %d MiB", mcpLine>>20)
		case err == nil, !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// Write sends one message.
func (p *mcpPipe) Write(b []byte) (int, error) {
	p.outMu.Lock()
	n, err := p.out.Write(b)
	p.outMu.Unlock()
	for line := range bytes.Lines(b) {
		p.note(line)
	}
	return n, err
}

// note keeps account of requests, which have an id and a method, and of
// answers, which have no method.
func (p *mcpPipe) note(line []byte) {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &head) != nil || len(head.ID) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if head.Method != "" {
		p.waiting[string(head.ID)] = true
		return
	}
	delete(p.waiting, string(head.ID))
	select {
	case p.answered <- struct{}{}:
	default:
	}
}

// drain waits for the answers that are still out.
func (p *mcpPipe) drain() {
	limit := time.NewTimer(mcpDrain)
	defer limit.Stop()
	for {
		p.mu.Lock()
		n := len(p.waiting)
		p.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-p.answered:
		case <-limit.C:
			return
		case <-p.ctx.Done():
			return
		}
	}
}

// Close does nothing: the streams are the program's.
func (p *mcpPipe) Close() error { return nil }
