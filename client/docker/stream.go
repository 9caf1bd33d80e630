package docker

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/jsonstream"
	"google.golang.org/protobuf/encoding/protowire"

	"abxdash/client"
)

// Kind is what an event tells.
type Kind string

// Kinds of event.
const (
	// KindStep is a new step of a build.
	KindStep Kind = "step"
	// KindLog is a line of output.
	KindLog Kind = "log"
	// KindProgress is how far a layer is.
	KindProgress Kind = "progress"
)

// Event is one thing that happened in a build or a push. Text is one clean line.
type Event struct {
	Kind Kind
	// Step and Steps count from 1; 0 is unknown.
	Step, Steps int
	Text        string
	// Cached tells that a step was not run again.
	Cached bool
	// ID names the layer of a progress; Current and Total are bytes, 0 is unknown.
	ID             string
	Current, Total int64
}

const (
	maxText = 2000
	// maxStream bounds how much of an answer is read at all.
	maxStream = 1 << 30
	// maxOpen bounds a line that has no end yet.
	maxOpen = 64 << 10
)

// outcome is what a stream ended with.
type outcome struct {
	// image is a build's, digest a push's result.
	image, digest string
	// step is the last step that began.
	step string
}

// decode reads the engine's stream of JSON messages to its end. The error in
// the stream is returned as a *streamError; a stream that is no such thing or
// breaks off as another error.
func decode(r io.Reader, say func(Event)) (outcome, error) {
	if say == nil {
		say = func(Event) {}
	}
	d := &decoding{say: say, steps: map[string]int{}}
	dec := json.NewDecoder(io.LimitReader(r, maxStream))
	for {
		var m struct {
			jsonstream.Message
			// Old engines put the text of an error here only.
			ErrorText string `json:"error"`
		}
		err := dec.Decode(&m)
		if errors.Is(err, io.EOF) {
			d.flush()
			return d.out, nil
		}
		if err != nil {
			d.flush()
			return d.out, fmt.Errorf("it is no stream of messages: %w", err)
		}
		if m.Error != nil || m.ErrorText != "" {
			d.flush()
			e := &streamError{text: m.ErrorText}
			if m.Error != nil {
				e.code = m.Error.Code
				if m.Error.Message != "" {
					e.text = m.Error.Message
				}
			}
			return d.out, e
		}
		d.message(m.Message)
	}
}

type decoding struct {
	say  func(Event)
	out  outcome
	open string // a line that has no end yet
	// steps numbers BuildKit's vertexes as they begin.
	steps map[string]int
}

func (d *decoding) message(m jsonstream.Message) {
	switch {
	case m.Aux != nil:
		d.aux(m.ID, *m.Aux)
	case m.Stream != "":
		d.text(m.Stream)
	case m.Status != "":
		e := Event{Kind: KindLog, ID: client.OneLine(m.ID, 80), Text: client.OneLine(m.Status, maxText)}
		if m.Progress != nil && m.Progress.Total > 0 {
			e.Kind, e.Current, e.Total = KindProgress, m.Progress.Current, m.Progress.Total
		}
		d.say(e)
	}
}

// text splits the classic builder's text into lines.
func (d *decoding) text(s string) {
	d.open += s
	for {
		line, rest, ok := strings.Cut(d.open, "\n")
		if !ok {
			if len(d.open) > maxOpen {
				d.open = d.open[:maxOpen]
			}
			return
		}
		d.open = rest
		d.line(line)
	}
}

func (d *decoding) flush() {
	if d.open != "" {
		d.line(d.open)
		d.open = ""
	}
}

func (d *decoding) line(line string) {
	line = strings.TrimRight(line, "\r")
	// A line that draws over itself shows what it ended with.
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	if strings.TrimSpace(line) == "" {
		return
	}
	e := Event{Kind: KindLog, Text: client.OneLine(line, maxText)}
	if m := regexp.MustCompile(`^Step (\d{1,6})/(\d{1,6}) : (.*)$`).FindStringSubmatch(line); m != nil {
		e.Kind, e.Text = KindStep, client.OneLine(m[3], maxText)
		e.Step, _ = strconv.Atoi(m[1])  // digits only
		e.Steps, _ = strconv.Atoi(m[2]) // digits only
		d.out.step = fmt.Sprintf("step %s/%s %s", m[1], m[2], e.Text)
	}
	d.say(e)
}

// aux reads results and BuildKit's progress.
func (d *decoding) aux(id string, raw json.RawMessage) {
	if id == "moby.buildkit.trace" {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return
		}
		data, err := base64.StdEncoding.DecodeString(text)
		if err == nil {
			d.trace(data)
		}
		return
	}
	var res struct {
		ID     string `json:"ID"`
		Digest string `json:"Digest"`
	}
	if json.Unmarshal(raw, &res) != nil {
		return
	}
	if res.ID != "" {
		d.out.image = client.OneLine(res.ID, 200)
	}
	if res.Digest != "" {
		d.out.digest = client.OneLine(res.Digest, 200)
	}
}

// trace reads one StatusResponse of BuildKit: vertexes are field 1, logs field 3.
func (d *decoding) trace(data []byte) {
	fields(data, func(num protowire.Number, body []byte) {
		switch num {
		case 1:
			d.vertex(body)
		case 3:
			d.log(body)
		}
	})
}

// vertex reads digest 1, name 3, cached 4, started 5, error 7.
func (d *decoding) vertex(data []byte) {
	var digest, name, failure string
	started := false
	fields(data, func(num protowire.Number, body []byte) {
		switch num {
		case 1:
			digest = string(body)
		case 3:
			name = string(body)
		case 5:
			started = true
		case 7:
			failure = string(body)
		}
	})
	if digest == "" || !started {
		return
	}
	cached := flag(data, 4)
	if _, known := d.steps[digest]; !known && name != "" {
		d.steps[digest] = len(d.steps) + 1
		e := Event{Kind: KindStep, Text: client.OneLine(name, maxText), Cached: cached}
		if m := regexp.MustCompile(`^\[(?:[^\]]* )?(\d{1,6})/(\d{1,6})\] `).FindStringSubmatch(name); m != nil {
			e.Step, _ = strconv.Atoi(m[1])  // digits only
			e.Steps, _ = strconv.Atoi(m[2]) // digits only
			d.out.step = "step " + e.Text
		}
		d.say(e)
	}
	if failure != "" {
		d.out.step = "step " + client.OneLine(name, maxText)
	}
}

// log reads the text, field 4.
func (d *decoding) log(data []byte) {
	fields(data, func(num protowire.Number, body []byte) {
		if num != 4 {
			return
		}
		for line := range strings.Lines(string(body)) {
			d.line(strings.TrimRight(line, "\n"))
		}
	})
}

// fields calls f for every length-delimited field; what cannot be read ends it.
func fields(data []byte, f func(protowire.Number, []byte)) {
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return
		}
		data = data[n:]
		if typ != protowire.BytesType {
			n = protowire.ConsumeFieldValue(num, typ, data)
			if n < 0 {
				return
			}
			data = data[n:]
			continue
		}
		body, n := protowire.ConsumeBytes(data)
		if n < 0 {
			return
		}
		f(num, body)
		data = data[n:]
	}
}

// flag reads a boolean field.
func flag(data []byte, want protowire.Number) bool {
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return false
		}
		data = data[n:]
		if num == want && typ == protowire.VarintType {
			v, n := protowire.ConsumeVarint(data)
			return n > 0 && v != 0
		}
		if n = protowire.ConsumeFieldValue(num, typ, data); n < 0 {
			return false
		}
		data = data[n:]
	}
	return false
}
