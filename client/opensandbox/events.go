package opensandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"abxdash/client"
)

// event is one line of execd's event stream (§4.2). It is not SSE: every event
// is a JSON object on a line of its own, blank lines between.
type event struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Error *struct {
		Name      string   `json:"ename"`
		Value     string   `json:"evalue"`
		Traceback []string `json:"traceback"`
	} `json:"error"`
	// Code and Message come in a line without a type, which ends the stream.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// maxLine bounds one event; a line of output has no limit of its own.
const maxLine = 64 << 20

var errLongLine = fmt.Errorf("a line of output is over %d MiB", maxLine>>20)

// events reads an event stream.
type events struct{ r *bufio.Reader }

func newEvents(r io.Reader) *events { return &events{bufio.NewReaderSize(r, 64<<10)} }

// next returns the next event. A line that is none is an error; the end of the
// stream is io.EOF.
func (e *events) next() (event, error) {
	for {
		line, err := e.line()
		line = bytes.TrimSpace(line)
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			line = bytes.TrimSpace(rest)
		}
		if len(line) == 0 {
			if err != nil {
				return event{}, err
			}
			continue
		}
		var ev event
		if jerr := json.Unmarshal(line, &ev); jerr != nil {
			if err != nil {
				// The connection broke inside a line.
				return event{}, io.ErrUnexpectedEOF
			}
			return event{}, errors.New("a line of the stream is not an event")
		}
		return ev, nil
	}
}

// line reads up to a line end.
func (e *events) line() ([]byte, error) {
	var whole []byte
	for {
		part, err := e.r.ReadSlice('\n')
		if len(whole)+len(part) > maxLine {
			return nil, errLongLine
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

// output is the bytes of a stdout or stderr event: a line without its end, or
// "\n" for a blank one.
func (ev event) output() []byte {
	if ev.Text == "\n" {
		return []byte("\n")
	}
	return append([]byte(ev.Text), '\n')
}

// exit reads a terminal event (§4.2); ok is false for any other.
func (ev event) exit() (x client.Exit, ok bool) {
	switch {
	case ev.Type == "execution_complete":
		return client.Exit{Status: "exit status 0"}, true
	case ev.Type == "error" && ev.Error != nil:
		x.Status = client.OneLine(strings.Join(ev.Error.Traceback, "; "), 200)
		n, err := strconv.Atoi(ev.Error.Value)
		if err != nil {
			// It could not be started.
			x.Code = 1
			x.Status = client.OneLine(ev.Error.Name+": "+ev.Error.Value, 200)
			return x, true
		}
		if x.Code = n; n < 0 {
			x.Code, x.Signal = -1, signalIn(x.Status)
		}
		return x, true
	case ev.Type == "" && ev.Code != "":
		return client.Exit{Code: -1, Status: client.OneLine(ev.Message, 200)}, true
	}
	return x, false
}

// signalIn is the number of a signal in words such as "signal: killed", 0 if unknown.
func signalIn(status string) int {
	_, name, ok := strings.Cut(status, "signal: ")
	if !ok {
		return 0
	}
	name, _, _ = strings.Cut(name, " (")
	return client.SignalNumber(name)
}
