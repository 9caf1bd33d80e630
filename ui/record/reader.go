package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"time"
)

// Bounds of what is read. A recording may come from anyone.
const (
	maxHeader = 1 << 20
	maxLine   = 16 << 20
	maxEvents = 5_000_000
	maxCells  = 1000
)

// Event is one line of a recording.
type Event struct {
	At   time.Duration
	Kind string
	Data string
}

// place is where an event lies in the file.
type place struct {
	at  time.Duration
	off int64
	len int32
}

// Recording is an opened recording: its header and where its events lie. The
// events themselves stay in the file.
type Recording struct {
	Header Header
	src    io.ReaderAt
	events []place
	// Skipped counts lines that are no events; a file that was cut has one at its end.
	Skipped int
}

// Open reads the header and finds the events. size is that of src in bytes.
func Open(src io.ReaderAt, size int64) (*Recording, error) {
	r := &Recording{src: src}
	in := bufio.NewReaderSize(io.NewSectionReader(src, 0, size), 256<<10)
	line, n, err := readLine(in, maxHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	if err := json.Unmarshal(line, &r.Header); err != nil {
		return nil, errors.New("this is no recording: the first line is no asciicast header")
	}
	h := &r.Header
	if h.Version != 2 {
		return nil, fmt.Errorf("this is asciicast version %d; version 2 can be played", h.Version)
	}
	if h.Width < 1 || h.Height < 1 {
		return nil, errors.New("this recording has no size")
	}
	h.Width, h.Height = min(h.Width, maxCells), min(h.Height, maxCells)
	var last time.Duration
	for off := n; ; {
		line, n, err := readLine(in, maxLine)
		if len(bytes.TrimSpace(line)) > 0 {
			if at, ok := timeOf(line); ok && len(r.events) < maxEvents {
				last = max(last, at) // time never goes back
				r.events = append(r.events, place{at: last, off: off, len: int32(len(line))})
			} else {
				r.Skipped++
			}
		}
		off += n
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read recording: %w", err)
		}
	}
}

// readLine returns a line without its end, and how many bytes it took. What is
// beyond limit is read over; the line is then empty.
func readLine(in *bufio.Reader, limit int) (line []byte, n int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		n += int64(len(part))
		if n <= int64(limit) {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), n, err
		}
	}
}

// timeOf is the time of an event, for lines that look like one.
func timeOf(line []byte) (time.Duration, bool) {
	if line[0] != '[' {
		return 0, false
	}
	i := bytes.IndexByte(line, ',')
	if i < 0 || line[len(line)-1] != ']' {
		return 0, false
	}
	var s float64
	if err := json.Unmarshal(bytes.TrimSpace(line[1:i]), &s); err != nil || s < 0 || s > math.MaxInt32 {
		return 0, false
	}
	return time.Duration(s * float64(time.Second)), true
}

// Len is the number of events.
func (r *Recording) Len() int { return len(r.events) }

// Length is the time of the last event.
func (r *Recording) Length() time.Duration {
	if len(r.events) == 0 {
		return 0
	}
	return r.events[len(r.events)-1].at
}

// At is the time of event i.
func (r *Recording) At(i int) time.Duration { return r.events[i].at }

// After is the number of events that have happened by d.
func (r *Recording) After(d time.Duration) int {
	return sort.Search(len(r.events), func(i int) bool { return r.events[i].at > d })
}

// Event reads event i. One that is broken has an empty kind.
func (r *Recording) Event(i int) (Event, error) {
	p := r.events[i]
	b := make([]byte, p.len)
	if _, err := r.src.ReadAt(b, p.off); err != nil && !errors.Is(err, io.EOF) {
		return Event{}, fmt.Errorf("read recording: %w", err)
	}
	e := Event{At: p.at}
	if !e.parse(b) {
		return Event{At: p.at}, nil
	}
	return e, nil
}

// parse takes kind and data from a line [seconds, kind, data]; false means that it is broken.
func (e *Event) parse(line []byte) bool {
	var parts []json.RawMessage
	return json.Unmarshal(line, &parts) == nil && len(parts) == 3 &&
		json.Unmarshal(parts[1], &e.Kind) == nil && json.Unmarshal(parts[2], &e.Data) == nil
}
