package sdk

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"abxdash/client"
)

const (
	// DefaultTries is how often a broken transfer of one file is taken up again.
	DefaultTries = 3
	// DefaultChunk is the size of the pieces of a resumable upload, in bytes.
	DefaultChunk = 64 << 20
	// parallel is how many files of a tree move at once.
	parallel = 4
	// cleanPatience bounds the removal of what a failed transfer left.
	cleanPatience = 10 * time.Second
	// renamePatience bounds giving a whole file its final name.
	renamePatience = time.Minute
)

// TransferOptions say how files are moved. The zero value is usable: nothing is
// replaced, each file is checked, and appears under its name only when whole.
type TransferOptions struct {
	// Overwrite replaces files that exist; else they are an error (ErrConflict).
	Overwrite bool
	// Resume keeps what came of a broken transfer, and takes it up again when the
	// same file is asked for once more.
	Resume bool
	// SkipChecksum leaves out the comparison by SHA-256, which costs one command
	// in the sandbox for each file.
	SkipChecksum bool
	// Tries is how often one file is tried; 0 is [DefaultTries].
	Tries int
	// Chunk is the size of the pieces of a resumable upload; 0 is [DefaultChunk].
	Chunk int64
	// Progress is called as bytes move, once at a time; the files of a tree move a
	// few at once. It must not block.
	Progress func(Progress)
}

// Progress is how far a transfer is.
type Progress struct {
	// Name is the file on its way, relative to the tree. Untrusted text.
	Name string
	// Done and Total are bytes of this file; Total is -1 if not known.
	Done, Total int64
	// Files and Bytes count what the whole transfer has moved so far.
	Files int
	Bytes int64
}

// Note is something about one path that the caller should know.
type Note struct {
	// Path is untrusted text.
	Path string
	Text string
	// Failed says that it should have been moved and could not be.
	Failed bool
}

// Report is what a transfer did.
type Report struct {
	Files, Dirs int
	Bytes       int64
	// Skipped lists what was left out, and why.
	Skipped []Note
	// Notes lists what was moved but is not quite the same, e.g. unchecked.
	Notes []Note
	// SHA256 is the sum of a single file, in hex.
	SHA256 string
}

// transfer is one Upload or Download.
type transfer struct {
	f    *Files
	opts TransferOptions
	// nosums is set once the sandbox has shown that it cannot compute sums.
	nosums atomic.Bool

	mu     sync.Mutex
	report Report
	// batch holds the files of a tree that were sent and are not settled yet.
	batch batch
	// moving is how much of each file on its way has moved.
	moving map[string]int64
}

func newTransfer(f *Files, opts TransferOptions) *transfer {
	if opts.Tries <= 0 {
		opts.Tries = DefaultTries
	}
	if opts.Chunk <= 0 {
		opts.Chunk = DefaultChunk
	}
	t := &transfer{f: f, opts: opts, moving: map[string]int64{}}
	t.nosums.Store(opts.SkipChecksum || !f.sb.p.Capabilities().Has(client.CapCommands))
	return t
}

// moved counts a file that has arrived.
func (t *transfer) moved(name string, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.moving, name)
	t.report.Files++
	t.report.Bytes += size
}

// done is the report, its lists in the order of paths.
func (t *transfer) done() Report {
	for _, list := range [][]Note{t.report.Skipped, t.report.Notes} {
		slices.SortStableFunc(list, func(a, b Note) int { return strings.Compare(a.Path, b.Path) })
	}
	return t.report
}

// skip lists what is left out by rule.
func (t *transfer) skip(name, format string, args ...any) {
	t.leave(Note{Path: name, Text: fmt.Sprintf(format, args...)})
}

// fail lists what could not be moved.
func (t *transfer) fail(name string, why string) {
	t.leave(Note{Path: name, Text: "left out: " + why, Failed: true})
}

func (t *transfer) leave(n Note) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.moving, n.Path)
	t.report.Skipped = append(t.report.Skipped, n)
}

func (t *transfer) note(name, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Notes = append(t.report.Notes, Note{Path: name, Text: fmt.Sprintf(format, args...)})
}

// progress tells the caller how far a file is.
func (t *transfer) progress(name string, done, total int64) {
	if t.opts.Progress == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moving[name] = done
	all := t.report.Bytes
	for _, n := range t.moving {
		all += n
	}
	t.opts.Progress(Progress{Name: name, Done: done, Total: total, Files: t.report.Files, Bytes: all})
}

// counting reports what is read through it, and ends with its context at once:
// what has arrived in buffers must not finish a transfer that was called off.
type counting struct {
	ctx   context.Context //nolint:containedctx // of the one transfer that it reads
	r     io.Reader
	done  int64
	moved func(done int64)
}

func (c *counting) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, cancelled(c.ctx)
	}
	n, err := c.r.Read(p)
	if n > 0 {
		c.done += int64(n)
		c.moved(c.done)
	}
	return n, err
}

// partName is the name of a file that is not whole yet, in the folder of its
// final name. Resumable ones are found again by what they are part of.
func partName(final, identity string, resume bool) string {
	sum := sha256.Sum256([]byte(identity))
	if !resume {
		_, _ = rand.Read(sum[:]) // never fails since Go 1.24
	}
	mark := hex.EncodeToString(sum[:8])
	base := path.Base(final)
	for len(base) > 120 { // names end at 255 bytes
		base = base[:120]
	}
	return path.Join(path.Dir(final), "."+strings.ToValidUTF8(base, "")+"."+mark+".part")
}

// again reports whether a transfer that failed with err may be taken up again.
func again(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrStreamBroken))
}

// differs is the error of a checksum that does not fit.
func (t *transfer) differs(op string) error {
	return &client.Error{
		Op: op, Provider: t.f.sb.p.Name(), Code: client.CodeFiles,
		Message: "the checksum of what arrived differs; the file may have changed on the way", Hint: "try again",
	}
}

// conflict is the error of a target that exists.
func (t *transfer) conflict(op, name string) error {
	return &client.Error{
		Op: op, Provider: t.f.sb.p.Name(), Code: client.CodeFiles, Kind: client.ErrConflict,
		Message: client.OneLine(name, 80) + " exists already and was left as it is", Hint: "allow it to be replaced, or choose another name",
	}
}

// cancelled is the error of a transfer whose context has ended.
func cancelled(ctx context.Context) error {
	return &client.Error{Op: "move files", Code: client.CodeFiles, Message: "cancelled", Err: context.Cause(ctx)}
}

// fileError words an error of this machine's files.
func fileError(op string, err error) error {
	var e *client.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &client.Error{Op: op, Code: client.CodeFiles, Err: err}
}
