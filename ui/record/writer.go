package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Header is the first line of a recording. Times are Unix seconds, sizes cells.
type Header struct {
	Version   int               `json:"version"`
	Width     int               `json:"width"`
	Height    int               `json:"height"`
	Timestamp int64             `json:"timestamp,omitempty"`
	Title     string            `json:"title,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

// Kinds of events.
const (
	Output = "o"
	Input  = "i"
	Resize = "r"
	Marker = "m"
)

// DefaultMaxBytes bounds a recording.
const DefaultMaxBytes = 512 << 20

// ErrFull says that a recording reached its bound and ended.
var ErrFull = errors.New("the recording reached its largest size")

// Options of a Writer; the zero value works.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Secrets are never written: wherever one appears, stars stand for it.
	// Those of fewer than four bytes are left alone, because they would be
	// found by chance.
	Secrets []string
	// Input records what is typed too.
	Input bool
	// MaxBytes bounds the file; 0 is DefaultMaxBytes.
	MaxBytes int64
}

// minSecret is the length in bytes from which on a secret is masked.
const minSecret = 4

// Mask stands for a secret.
const Mask = "*****"

// Writer records. Its methods may be called from several goroutines; none
// returns an error: the first one ends the recording, see Err.
type Writer struct {
	mu      sync.Mutex
	out     *bufio.Writer
	opt     Options
	now     func() time.Time
	start   time.Time
	last    time.Duration
	written int64
	err     error
	streams map[string]*masker
}

// NewWriter writes the header. The recording begins now.
func NewWriter(w io.Writer, h Header, o Options) *Writer {
	x := &Writer{out: bufio.NewWriterSize(w, 64<<10), opt: o, now: o.Now, streams: map[string]*masker{}}
	if x.now == nil {
		x.now = time.Now
	}
	if x.opt.MaxBytes <= 0 {
		x.opt.MaxBytes = DefaultMaxBytes
	}
	secrets := slices.DeleteFunc(slices.Clone(o.Secrets), func(s string) bool { return len(s) < minSecret })
	// Longer ones first: one may be the beginning of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	x.streams[Output], x.streams[Input] = &masker{secrets: secrets}, &masker{secrets: secrets}
	x.start = x.now()
	h.Version = 2
	if h.Timestamp == 0 {
		h.Timestamp = x.start.Unix()
	}
	for _, s := range secrets {
		h.Title = strings.ReplaceAll(h.Title, s, Mask)
	}
	line, err := json.Marshal(h)
	if err != nil {
		x.err = fmt.Errorf("write recording: %w", err)
		return x
	}
	x.line(line)
	return x
}

// Output records what the program wrote.
func (w *Writer) Output(p []byte) { w.data(Output, p) }

// Input records what was typed, if that was asked for.
func (w *Writer) Input(p []byte) {
	if w.opt.Input {
		w.data(Input, p)
	}
}

// Resize records a new size.
func (w *Writer) Resize(cols, rows int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.event(Resize, fmt.Sprintf("%dx%d", cols, rows))
}

// Mark records a marker.
func (w *Writer) Mark(label string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.event(Marker, label)
}

func (w *Writer) data(kind string, p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.streams[kind].take(p, false); s != "" {
		w.event(kind, s)
	}
}

// event writes one line. w.mu is held.
func (w *Writer) event(kind, data string) {
	// Time never goes back, whatever the clock does.
	w.last = max(w.last, w.now().Sub(w.start))
	text, err := json.Marshal(data)
	if err != nil {
		w.fail(err)
		return
	}
	b := make([]byte, 0, len(text)+24)
	b = append(b, '[')
	b = strconv.AppendFloat(b, math.Round(w.last.Seconds()*1e6)/1e6, 'f', -1, 64)
	b = append(b, ',', ' ', '"')
	b = append(b, kind...)
	b = append(b, '"', ',', ' ')
	b = append(b, text...)
	w.line(append(b, ']'))
}

func (w *Writer) line(b []byte) {
	if w.err != nil {
		return
	}
	if w.written+int64(len(b))+1 > w.opt.MaxBytes {
		w.err = ErrFull
		return
	}
	w.written += int64(len(b)) + 1
	if _, err := w.out.Write(append(b, '\n')); err != nil {
		w.fail(err)
	}
}

func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = fmt.Errorf("write recording: %w", err)
	}
}

// Err is why the recording ended early, nil while it goes on.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Elapsed is how long it has been going on.
func (w *Writer) Elapsed() time.Duration { return w.now().Sub(w.start) }

// Flush writes what is held back and buffered; nothing is recorded after it.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, kind := range []string{Output, Input} {
		if s := w.streams[kind].take(nil, true); s != "" {
			w.event(kind, s)
		}
	}
	if err := w.out.Flush(); err != nil {
		w.fail(err)
	}
	err := w.err
	if w.err == nil {
		w.err = errors.New("the recording is over")
	}
	if errors.Is(err, ErrFull) {
		return nil
	}
	return err
}

// masker makes text of bytes that may be cut anywhere, and replaces secrets.
// It holds back what may be the beginning of a character or of a secret.
type masker struct {
	secrets []string
	held    []byte
}

func (m *masker) take(p []byte, end bool) string {
	b := append(m.held, p...)
	m.held = nil
	var out strings.Builder
	for len(b) > 0 {
		// First, because one secret may be the beginning of another.
		if !end && (m.begins(b) || !utf8.FullRune(b)) {
			m.held = append([]byte(nil), b...)
			break
		}
		if n := m.secretAt(b); n > 0 {
			out.WriteString(Mask)
			b = b[n:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

func (m *masker) secretAt(b []byte) int {
	for _, s := range m.secrets {
		if len(b) >= len(s) && b[0] == s[0] && string(b[:len(s)]) == s {
			return len(s)
		}
	}
	return 0
}

// begins reports whether all of b is the beginning of a secret.
func (m *masker) begins(b []byte) bool {
	for _, s := range m.secrets {
		if len(b) < len(s) && b[0] == s[0] && s[:len(b)] == string(b) {
			return true
		}
	}
	return false
}
