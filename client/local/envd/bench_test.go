//go:build linux

package envd_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"abxdash/client/local/envd"
	"abxdash/client/local/envd/envdtest"
)

// benchAgent serves on a unix socket, as in a sandbox.
func benchAgent(b *testing.B) (*http.Client, string) {
	b.Helper()
	dir := b.TempDir()
	home := b.TempDir()
	server := envd.New(envd.Config{Spawner: &envdtest.ExecSpawner{Home: home, User: "user"}})
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		b.Fatal(err)
	}
	httpServer := &http.Server{Handler: server}
	go func() { _ = httpServer.Serve(listener) }()
	transport := &http.Transport{
		DisableCompression: true, ReadBufferSize: 256 << 10, WriteBufferSize: 256 << 10,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", listener.Addr().String())
		},
	}
	b.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close(context.Background())
		_ = httpServer.Close()
	})
	return &http.Client{Transport: transport}, home
}

// send posts a body and reads the answer away.
func send(b *testing.B, c *http.Client, method, target, contentType string, body io.Reader) int64 {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, "http://agent"+target, body)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := c.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, make([]byte, 1<<20))
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("%d, %v", resp.StatusCode, err)
	}
	return n
}

const benchSize = 256 << 20

func BenchmarkOutput(b *testing.B) {
	for _, codec := range []string{"proto", "json"} {
		b.Run(codec, func(b *testing.B) {
			c, _ := benchAgent(b)
			line := fmt.Sprintf("yes 0123456789012345678901234567890123456789 | head -c %d", benchSize)
			// process {cmd "/bin/sh" args "-c", line}, in the codec's own form.
			config := append([]byte{0x0a, 7}, "/bin/sh"...)
			config = append(config, 0x12, 2, '-', 'c', 0x12, byte(len(line)))
			config = append(config, line...)
			request := append([]byte{0x0a, byte(len(config))}, config...)
			if codec == "json" {
				request = fmt.Appendf(nil, `{"process":{"cmd":"/bin/sh","args":["-c",%q]}}`, line)
			}
			b.SetBytes(benchSize)
			for b.Loop() {
				n := send(b, c, http.MethodPost, "/process.Process/Start", "application/connect+"+codec, bytes.NewReader(envelope(0, string(request))))
				if n < benchSize {
					b.Fatalf("%d bytes came", n)
				}
			}
		})
	}
}

func BenchmarkFiles(b *testing.B) {
	c, _ := benchAgent(b)
	content := strings.Repeat("0123456789abcdef", benchSize/16)
	put := func(b *testing.B) {
		send(b, c, http.MethodPost, "/files?path=big", octetStream, strings.NewReader(content))
	}
	b.Run("upload", func(b *testing.B) {
		b.SetBytes(benchSize)
		for b.Loop() {
			put(b)
		}
	})
	b.Run("download", func(b *testing.B) {
		put(b)
		b.SetBytes(benchSize)
		for b.Loop() {
			if n := send(b, c, http.MethodGet, "/files?path=big", "", nil); n != benchSize {
				b.Fatalf("%d bytes came", n)
			}
		}
	})
}
