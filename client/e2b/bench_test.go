package e2b

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"abxdash/client"
	processpb "abxdash/client/envdpb/process"
)

// endless writes the same frame of output until nobody reads any more.
func endless(b *testing.B, chunk int) http.HandlerFunc {
	event := func(e *processpb.ProcessEvent) []byte {
		raw, err := proto.Marshal(&processpb.StartResponse{Event: e})
		if err != nil {
			b.Fatal(err)
		}
		packed := frames(string(raw), "")
		return packed[:5+len(raw)]
	}
	start := event(&processpb.ProcessEvent{Event: &processpb.ProcessEvent_Start{Start: &processpb.ProcessEvent_StartEvent{Pid: 1}}})
	data := event(&processpb.ProcessEvent{Event: &processpb.ProcessEvent_Data{Data: &processpb.ProcessEvent_DataEvent{
		Output: &processpb.ProcessEvent_DataEvent_Stdout{Stdout: make([]byte, chunk)},
	}}})
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/connect+proto")
		if _, err := w.Write(start); err != nil {
			return
		}
		for {
			if _, err := w.Write(data); err != nil {
				return
			}
		}
	}
}

// BenchmarkNext measures output over a unix socket, as the local provider has it.
func BenchmarkNext(b *testing.B) {
	for name, chunk := range map[string]int{"32KiB": 32 << 10, "80B": 80} {
		b.Run(name, func(b *testing.B) {
			socket := filepath.Join(b.TempDir(), "s")
			ln, err := net.Listen("unix", socket)
			if err != nil {
				b.Fatal(err)
			}
			srv := &httptest.Server{Listener: ln, Config: &http.Server{Handler: endless(b, chunk)}}
			srv.Start()
			defer srv.Close()
			var d net.Dialer
			c, err := New(Config{
				APIURL: "http://local", DataURL: "http://local",
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) },
			})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			c.learn("i1", wireSandbox{})
			p, err := c.Commands().Start(context.Background(), "i1", client.Command{Argv: []string{"yes"}})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(chunk))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Next(); err != nil {
					b.Fatal(err)
				}
			}
			_ = p.Close()
		})
	}
}

// BenchmarkDownload measures Open over TCP loopback, 64 MiB at a time.
func BenchmarkDownload(b *testing.B) {
	const size = 64 << 20
	chunk := make([]byte, 256<<10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range size / len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	c, err := New(Config{APIURL: srv.URL, DataURL: srv.URL})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	c.learn("i1", wireSandbox{})
	buf := make([]byte, 256<<10)
	b.SetBytes(size)
	for b.Loop() {
		body, err := c.Files().Open(context.Background(), "i1", "x")
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{body}, buf)
		if err != nil || n != size {
			b.Fatal(n, err)
		}
		_ = body.Close()
	}
}
