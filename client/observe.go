package client

import (
	"context"
	"io"
	"time"
)

// Metric is what a sandbox used at one time (e2b-protocol §3.1). Sizes are bytes.
type Metric struct {
	At time.Time
	// CPUCount is the number of vCPUs, CPUUsed 0 to 100 over all of them.
	CPUCount, CPUUsed           float64
	MemUsed, MemTotal, MemCache int64
	DiskUsed, DiskTotal         int64
}

// MetricsReader is found on a provider that declares CapMetrics.
type MetricsReader interface {
	// Metrics returns the recorded use between two times, oldest first; a zero
	// time leaves that end open. An unknown sandbox may give an empty list.
	Metrics(ctx context.Context, id ID, from, to time.Time) ([]Metric, error)
}

// MetricsBatcher is found on a provider that declares CapMetrics and can tell
// the present use of many sandboxes in one call (e2b-protocol §3.10).
type MetricsBatcher interface {
	// MetricsNow returns the newest value of each of up to 100 sandboxes.
	// Sandboxes that are unknown or were not measured yet are left out.
	MetricsNow(ctx context.Context, ids []ID) (map[ID]Metric, error)
}

// LogEntry is one line of a sandbox's own log. All of it is untrusted text.
type LogEntry struct {
	At time.Time
	// Level is debug, info, warn or error.
	Level, Message string
	Fields         map[string]string
}

// LogReader is found on a provider that declares CapLogs.
type LogReader interface {
	// Logs returns up to limit entries at or after since, oldest first. To
	// follow, ask again from the last entry's time plus one millisecond. limit 0
	// is the provider's own.
	Logs(ctx context.Context, id ID, since time.Time, limit int) ([]LogEntry, error)
}

// Snapshot is a saved state that new sandboxes can be made of: ID goes into
// [CreateSpec.Template] (e2b-protocol §3.11).
type Snapshot struct {
	ID string
	// Names are untrusted text.
	Names []string
}

// SnapshotQuery selects snapshots; the zero value is all of them.
type SnapshotQuery struct {
	// Sandbox restricts to snapshots of one sandbox.
	Sandbox ID
	Name    string
	// Limit is the page size, 1 to 100; 0 is the provider's default.
	Limit     int
	PageToken string
}

// Snapshotter is found on a provider that declares CapSnapshot.
type Snapshotter interface {
	// Snapshot saves a running sandbox, which goes on. name may be "". It can
	// take minutes.
	Snapshot(ctx context.Context, id ID, name string) (Snapshot, error)
	// Snapshots returns one page and the token of the next, "" on the last.
	Snapshots(ctx context.Context, q SnapshotQuery) (page []Snapshot, next string, err error)
	// DeleteSnapshot takes an id or a name. A missing one is ErrNotFound.
	DeleteSnapshot(ctx context.Context, snapshot string) error
}

// FileChange is what happened to a watched file.
type FileChange string

// Kinds of change (e2b-protocol §10.2).
const (
	FileCreated FileChange = "create"
	FileWritten FileChange = "write"
	FileRemoved FileChange = "remove"
	FileRenamed FileChange = "rename"
	FileChmod   FileChange = "chmod"
	FileChanged FileChange = "?" // a kind this version does not know
)

// FileEvent is one change below a watched directory.
type FileEvent struct {
	// Name is relative to the watched directory. It is untrusted text.
	Name   string
	Change FileChange
}

// Watch is a running watch. One goroutine reads it.
type Watch interface {
	// Next waits for the next change. After Close, or when the connection is
	// lost, it returns an error (see ErrStreamBroken); a watch has no EOF.
	Next() (FileEvent, error)
	Close() error
}

// Watcher is found on the Files of a provider that declares CapWatch.
type Watcher interface {
	// Watch reports changes in a directory from now on. Cancelling ctx ends it.
	Watch(ctx context.Context, id ID, dir string, recursive bool) (Watch, error)
}

// RangeOpener is found on Files that can read from the middle of a file.
type RangeOpener interface {
	// OpenAt streams a file from a byte offset on. An offset at or behind the
	// end gives no bytes. The caller closes it.
	OpenAt(ctx context.Context, id ID, path string, offset int64) (io.ReadCloser, error)
}

// FileLinks is found on a provider that declares CapTransfer: addresses at
// which another program can move one file. The headers of the [Address] are
// needed too: no address is valid by its URL alone.
type FileLinks interface {
	// UploadAddress takes the file's bytes as the body (application/octet-stream).
	UploadAddress(ctx context.Context, id ID, path string) (Address, error)
	DownloadAddress(ctx context.Context, id ID, path string) (Address, error)
}

// Find looks for an optional interface on a provider and on its parts.
// Capabilities, not Find, say whether a call can succeed.
func Find[T any](p Provider) (T, bool) {
	if x, ok := p.(T); ok {
		return x, true
	}
	if x, ok := p.Sandboxes().(T); ok {
		return x, true
	}
	if x, ok := p.Files().(T); ok {
		return x, true
	}
	x, ok := p.Commands().(T)
	return x, ok
}
