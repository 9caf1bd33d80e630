package e2b

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// maxLine bounds one line of a stream, in bytes.
const maxLine = maxAnswer

// asEnvelopes takes an answer that is JSON lines instead of a Connect stream,
// which some servers send (alicloud-express §8), and makes a Connect stream of
// it. false leaves the answer as it is.
func asEnvelopes(req *http.Request, resp *http.Response) bool {
	ct, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if req.Header.Get("Content-Type") != "application/connect+json" {
		return false
	}
	switch strings.TrimSpace(ct) {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/json":
	default:
		return false
	}
	resp.Header.Set("Content-Type", "application/connect+json")
	resp.Body = &envelopes{lines: bufio.NewReaderSize(resp.Body, 64<<10), body: resp.Body}
	return true
}

// envelopes reads JSON lines as envelopes. A line that is an error, or that holds
// an end event, ends the stream; lines that just stop do not.
type envelopes struct {
	lines *bufio.Reader
	body  io.ReadCloser
	rest  []byte
	ended bool
	last  error
}

func (e *envelopes) Close() error { return e.body.Close() }

func (e *envelopes) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		if e.last != nil {
			return 0, e.last
		}
		e.next()
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// errLongLine is a line over maxLine bytes.
var errLongLine = errors.New("a line of the stream is too long")

// next reads one line into rest.
func (e *envelopes) next() {
	var line []byte
	for {
		part, err := e.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			e.last = errLongLine
			return
		case err == nil, errors.Is(err, io.EOF):
			e.last = err
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		default:
			e.last = err
			return
		}
		break
	}
	line = bytes.TrimSpace(line)
	if len(line) > 0 && !e.ended {
		e.take(line)
	}
	if e.last != nil && e.ended {
		e.rest = append(e.rest, envelope(2, []byte("{}"))...)
	}
}

// take makes an envelope of a line.
func (e *envelopes) take(line []byte) {
	var head struct {
		Error json.RawMessage `json:"error"`
		Event struct {
			End json.RawMessage `json:"end"`
		} `json:"event"`
	}
	// What is no object goes on as it is: the decoder behind says what is wrong.
	if json.Unmarshal(line, &head) == nil && len(head.Error) > 0 {
		e.rest, e.last = envelope(2, line), io.EOF
		return
	}
	e.ended = len(head.Event.End) > 0
	e.rest = envelope(0, line)
}

// envelope is a payload with its prefix (e2b-protocol §8).
func envelope(flag byte, payload []byte) []byte {
	b := make([]byte, 0, len(payload)+5)
	b = append(b, flag)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}
