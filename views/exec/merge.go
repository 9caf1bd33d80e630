package exec

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"abxdash/client"
	"abxdash/client/stream"
	"abxdash/views/present"
)

// mergedBefore is how many earlier lines of each command a merged stream begins with.
const mergedBefore = 200

// merged is one stream made of the output of many commands: each line says
// whose it is. Lines of one command stay whole and in order.
type merged struct{ ring *stream.Ring }

func newMerged(sig *stream.Signal) *merged {
	return &merged{ring: stream.NewRing(stream.RingOptions{Signal: sig})}
}

// begin fills in what was there before, by time.
func (m *merged) begin(runs []*run) {
	type line struct {
		text   string
		stderr bool
		at     time.Time
	}
	var all []line
	for _, r := range runs {
		n := r.ring.Len()
		for i := max(0, n-mergedBefore); i < n; i++ {
			text, stderr, at := r.ring.At(i)
			all = append(all, line{r.label() + text, stderr, at})
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return a.at.Compare(b.at) })
	for _, l := range all {
		kind := client.Stdout
		if l.stderr {
			kind = client.Stderr
		}
		m.ring.Append(kind, []byte(l.text+"\n"), l.at)
	}
}

// label is what stands before each line of a command in a merged stream.
func (r *run) label() string {
	return fmt.Sprintf("%-14s #%-3d ", present.Elide(present.CleanMax(r.name, 40), 14), r.n)
}

// tee is the sink of one command: its own ring, and the merged stream while there is one.
type tee struct {
	ring  *stream.Ring
	label []byte

	mu   sync.Mutex
	to   *merged
	part [client.Terminal + 1][]byte // unfinished lines, by stream
}

// maxPart is where an unfinished line is passed on anyway, in bytes.
const maxPart = 16 << 10

// join begins, or with nil ends, to add to a merged stream.
func (t *tee) join(m *merged) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.to = m
	t.part = [client.Terminal + 1][]byte{}
}

// Append implements stream.Sink.
func (t *tee) Append(kind client.StreamKind, p []byte, at time.Time) {
	t.ring.Append(kind, p, at)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.to == nil || kind > client.Terminal {
		return
	}
	part := append(t.part[kind], p...)
	end := bytes.LastIndexByte(part, '\n') + 1
	if end == 0 && len(part) > maxPart {
		end = len(part)
	}
	if end > 0 {
		t.pass(kind, part[:end], at)
		part = append([]byte(nil), part[end:]...)
	}
	t.part[kind] = part
}

// pass adds whole lines, each with the label.
func (t *tee) pass(kind client.StreamKind, lines []byte, at time.Time) {
	var out []byte
	for l := range bytes.Lines(lines) {
		out = append(out, t.label...)
		out = append(out, l...)
	}
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	t.to.ring.Append(kind, out, at)
}

// Finish implements stream.Sink.
func (t *tee) Finish() {
	t.mu.Lock()
	for kind, part := range t.part {
		if t.to != nil && len(part) > 0 {
			t.pass(client.StreamKind(kind), part, time.Now())
		}
	}
	t.part = [client.Terminal + 1][]byte{}
	t.mu.Unlock()
	t.ring.Finish()
}
