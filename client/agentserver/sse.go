package agentserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"

	"abxdash/client"
)

// maxEvent bounds one server-sent event, in bytes.
const maxEvent = 8 << 20

// event is one server-sent event.
type event struct {
	name string
	data string
}

// errEventTooLong is an event over maxEvent bytes.
var errEventTooLong = errors.New("a server-sent event is too long")

// readEvents reads server-sent events until the stream ends: fields up to a
// blank line, comments left out, data lines joined, a byte order mark and any
// of CRLF, LF and CR as line end taken. An event cut off by the end of the
// stream is dropped, as the format demands.
func readEvents(r io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		lines := &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
		var ev event
		data, any, first := []string(nil), false, true
		size := 0
		for {
			line, err := lines.next(maxEvent)
			if first {
				line, first = strings.TrimPrefix(line, "\ufeff"), false
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(event{}, err)
				}
				return
			}
			if line == "" {
				if any {
					ev.data = strings.Join(data, "\n")
					if !yield(ev, nil) {
						return
					}
				}
				ev, data, any, size = event{}, nil, false, 0
				continue
			}
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "event":
				ev.name = value
			case "data":
				data, any = append(data, value), true
				if size += len(value) + 1; size > maxEvent {
					yield(event{}, errEventTooLong)
					return
				}
			}
		}
	}
}

// lineReader reads lines that end in LF, CR or CRLF.
type lineReader struct {
	r      *bufio.Reader
	skipLF bool
}

// next returns a line without its end; a last line without one is io.EOF.
func (l *lineReader) next(limit int) (string, error) {
	var b strings.Builder
	for {
		c, err := l.r.ReadByte()
		if err != nil {
			return "", err
		}
		skip := l.skipLF
		l.skipLF = false
		switch {
		case c == '\n' && skip:
		case c == '\n':
			return b.String(), nil
		case c == '\r':
			l.skipLF = true
			return b.String(), nil
		default:
			if b.Len() >= limit {
				return "", errEventTooLong
			}
			b.WriteByte(c)
		}
	}
}

// events opens a stream of server-sent events.
func (c *Client) events(ctx context.Context, r request) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		r.accept = "text/event-stream"
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, addr, err := c.open(ctx, r)
		if err != nil {
			yield(event{}, err)
			return
		}
		defer resp.Body.Close()
		if ct := resp.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
			yield(event{}, c.bad(r.op, resp.StatusCode, "the answer is no event stream"))
			return
		}
		for ev, err := range readEvents(resp.Body) {
			if err != nil {
				err = c.broken(ctx, r.op, addr, err)
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// broken words the end of a stream in the middle.
func (c *Client) broken(ctx context.Context, op string, addr client.Address, err error) error {
	if ctx.Err() != nil {
		return c.unreached(ctx, op, addr, err)
	}
	return &client.Error{
		Op: op, Provider: c.cfg.Provider, Code: client.CodeNetwork, Kind: client.ErrStreamBroken, Err: err,
		Message: clean(addr, client.ErrStreamBroken.Error()+" ("+err.Error()+")"),
	}
}

// ShellEvent is a piece of a streamed command: output, or its end.
type ShellEvent struct {
	// Stream is 0 for the end.
	Stream client.StreamKind
	Data   string
	// Ended is set on the last event, with the exit code.
	Ended    bool
	ExitCode int
}

// ShellStream runs a command and yields what it writes (POST /shell/stream). The
// server sends all of stdout before stderr. A stream that ends without an exit
// gives ErrStreamBroken.
func (c *Client) ShellStream(ctx context.Context, command string) iter.Seq2[ShellEvent, error] {
	return func(yield func(ShellEvent, error) bool) {
		r := request{op: "run command", method: http.MethodPost, path: "/shell/stream", body: map[string]string{"command": command}}
		for ev, err := range c.events(ctx, r) {
			if err != nil {
				yield(ShellEvent{}, err)
				return
			}
			var body struct {
				Data     string `json:"data"`
				Error    string `json:"error"`
				ExitCode int    `json:"exit_code"`
			}
			if json.Unmarshal([]byte(ev.data), &body) != nil {
				yield(ShellEvent{}, c.bad(r.op, http.StatusOK, "an event is not the expected JSON"))
				return
			}
			var out ShellEvent
			switch ev.name {
			case "stdout":
				out = ShellEvent{Stream: client.Stdout, Data: body.Data}
			case "stderr":
				out = ShellEvent{Stream: client.Stderr, Data: body.Data}
			case "error":
				yield(ShellEvent{}, &client.Error{Op: r.op, Provider: c.cfg.Provider, Code: client.CodeRun, Message: client.OneLine(body.Error+body.Data, 300)})
				return
			case "exit":
				yield(ShellEvent{Ended: true, ExitCode: body.ExitCode}, nil)
				return
			default:
				continue
			}
			if !yield(out, nil) {
				return
			}
		}
		if ctx.Err() == nil {
			yield(ShellEvent{}, &client.Error{Op: r.op, Provider: c.cfg.Provider, Code: client.CodeNetwork, Kind: client.ErrStreamBroken})
		}
	}
}
