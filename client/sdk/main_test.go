//go:build unix

package sdk_test

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/engine"
	"abxdash/client/express"
	"abxdash/client/express/expresstest"
	"abxdash/client/local"
	"abxdash/client/sdk"
)

func TestMain(m *testing.M) {
	if local.Reexec() {
		return
	}
	if url := os.Getenv(drainEnv); url != "" {
		drain(url)
		return
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must happen. The machine may be busy.
const patience = 60 * time.Second

func ctx(t *testing.T) context.Context {
	t.Helper()
	c, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return c
}

// provider makes an Express provider of a fake server.
func provider(t *testing.T, sw expresstest.Switches, change ...func(*express.Config)) (*express.Provider, *expresstest.Server) {
	t.Helper()
	s := expresstest.New(t, sw)
	return connect(t, s, sw, change...), s
}

func connect(t *testing.T, s *expresstest.Server, sw expresstest.Switches, change ...func(*express.Config)) *express.Provider {
	t.Helper()
	hc, err := engine.NewHTTPClient(engine.Net{DialContext: s.Dial})
	if err != nil {
		t.Fatal(err)
	}
	cfg := express.Config{
		APIKey: expresstest.Key, APIURL: "http://api." + expresstest.Domain, AllowHTTP: true, HTTPClient: hc,
		Generation: sw.Generation, Pause: sw.Pause, Snapshots: sw.Snapshots, Metrics: sw.Metrics,
	}
	for _, fn := range change {
		fn(&cfg)
	}
	p, err := express.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// sandbox makes a sandbox of a fake server.
func sandbox(t *testing.T, sw expresstest.Switches, opts ...sdk.Option) (*sdk.Sandbox, *expresstest.Server) {
	t.Helper()
	p, s := provider(t, sw)
	sb, err := sdk.Create(ctx(t), p, client.CreateSpec{Template: "base"}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return sb, s
}

// wantCode fails unless err has a code and, if kind is not nil, matches it.
func wantCode(t *testing.T, what string, err error, code client.Code, kind error) {
	t.Helper()
	var e *client.Error
	if !errors.As(err, &e) || client.CodeOf(err) != code || kind != nil && !errors.Is(err, kind) {
		t.Errorf("%s: %v (%s), want %s and %v", what, err, client.CodeOf(err), code, kind)
	}
}

// files is a provider's files with some calls replaced.
type files struct {
	client.Files
	readDir func(path string) ([]client.Entry, error)
	openAt  func(path string, offset int64) (io.ReadCloser, error)
	put     func(path string, r io.Reader, size int64) (client.Entry, error)
}

func (f *files) ReadDir(ctx context.Context, id client.ID, path string) ([]client.Entry, error) {
	if f.readDir != nil {
		return f.readDir(path)
	}
	return f.Files.ReadDir(ctx, id, path)
}

func (f *files) OpenAt(ctx context.Context, id client.ID, path string, offset int64) (io.ReadCloser, error) {
	if f.openAt != nil {
		return f.openAt(path, offset)
	}
	return f.Files.(client.RangeOpener).OpenAt(ctx, id, path, offset)
}

func (f *files) Put(ctx context.Context, id client.ID, path string, r io.Reader, size int64) (client.Entry, error) {
	if f.put != nil {
		return f.put(path, r, size)
	}
	return f.Files.Put(ctx, id, path, r, size)
}

// patched is a provider with other files and capabilities.
type patched struct {
	client.Provider
	files *files
	lacks []client.Capability
}

func (p *patched) Files() client.Files {
	if p.files == nil {
		return p.Provider.Files()
	}
	return p.files
}

func (p *patched) Capabilities() client.Capabilities {
	have := map[client.Capability]bool{}
	for k, v := range p.Provider.Capabilities().Have {
		have[k] = v
	}
	for _, k := range p.lacks {
		have[k] = false
	}
	return client.Capabilities{Have: have}
}

// output collects what is written, from any goroutine.
type output struct {
	mu sync.Mutex
	b  []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b = append(o.b, p...)
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.b)
}
