//go:build linux

package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"abxdash/client"
)

// Sizes of what is moved, in bytes. The SDK gets less: it is slow.
const (
	ratioBytes    = 256 << 20
	ratioSDKBytes = 16 << 20
	ratioRounds   = 3
)

// BenchmarkRatios compares, within one run and on the same server, what the
// client moves a second with curl and with the official JavaScript SDK
// (product.md §7). Each figure is the best of a few rounds, in MB/s; a tool that
// is not there leaves its figure out. A budget that is missed fails.
func BenchmarkRatios(b *testing.B) {
	p := newProvider(b, Config{})
	sb := create(b, p, client.CreateSpec{Lifetime: time.Hour})
	l := listening(b, p, ListenOptions{Addr: "127.0.0.1:0"})
	file := filepath.Join(b.TempDir(), "data")
	if err := os.WriteFile(file, bytes.Repeat([]byte("0123456789abcdef"), ratioBytes/16), 0o600); err != nil {
		b.Fatal(err)
	}
	r := ratios{b: b, p: p, id: sb.ID, l: l, file: file}
	for b.Loop() {
		up, down := r.best(ratioBytes, r.put), r.best(ratioBytes, r.get)
		output := r.best(ratioBytes, r.output)
		b.ReportMetric(up, "put-MB/s")
		b.ReportMetric(down, "get-MB/s")
		b.ReportMetric(output, "output-MB/s")
		if _, err := exec.LookPath("curl"); err == nil {
			curlUp, curlDown := r.best(ratioBytes, r.curlPut), r.best(ratioBytes, r.curlGet)
			b.ReportMetric(curlUp, "curl-put-MB/s")
			b.ReportMetric(curlDown, "curl-get-MB/s")
			r.atLeast("upload to curl", up/curlUp, 0.9)
			r.atLeast("download to curl", down/curlDown, 0.9)
			r.atLeast("output to curl", output/curlDown, 0.25)
		} else {
			b.Log("no curl on this machine: nothing to compare files with")
		}
		if dir, ok := r.install(); ok {
			sdk := r.best(ratioSDKBytes, func() error { return r.sdk(dir) })
			b.ReportMetric(sdk, "sdk-output-MB/s")
			r.atLeast("output to the JavaScript SDK", output/sdk, 10)
		}
	}
	b.ReportMetric(0, "ns/op") // one round says nothing by itself
}

// ratios is one server with one sandbox and one file.
type ratios struct {
	b    *testing.B
	p    *Provider
	id   client.ID
	l    Listening
	file string
	// took replaces the time of a round whose tool measures itself.
	took time.Duration
}

// best is the highest rate of a few rounds, in MB/s.
func (r *ratios) best(size int, round func() error) float64 {
	r.b.Helper()
	best := 0.0
	for range ratioRounds {
		r.took = 0
		began := time.Now()
		if err := round(); err != nil {
			r.b.Fatal(err)
		}
		took := time.Since(began)
		if r.took > 0 {
			took = r.took
		}
		best = max(best, float64(size)/1e6/took.Seconds())
	}
	return best
}

// atLeast reports a ratio and fails below its budget.
func (r *ratios) atLeast(what string, got, budget float64) {
	r.b.Helper()
	r.b.ReportMetric(got, strings.ReplaceAll(what, " ", "-"))
	if got < budget {
		r.b.Errorf("%s is %.2f, the budget is %.2f", what, got, budget)
	}
}

func (r *ratios) put() error {
	f, err := os.Open(r.file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = r.p.Files().Put(r.b.Context(), r.id, "data", f, ratioBytes)
	return err
}

func (r *ratios) get() error {
	in, err := r.p.Files().Open(r.b.Context(), r.id, "data")
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(r.file + ".got")
	if err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{out}, in, make([]byte, 1<<20))
	if err == nil && n != ratioBytes {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, out.Close())
}

// output reads what a command writes.
func (r *ratios) output() error {
	proc, err := r.p.Commands().Start(r.b.Context(), r.id, client.Command{Argv: []string{"cat", "data"}})
	if err != nil {
		return err
	}
	defer func() { _ = proc.Close() }()
	n := 0
	for {
		f, err := proc.Next()
		n += len(f.Data)
		switch {
		case errors.Is(err, io.EOF) && n == ratioBytes && proc.Exit().OK():
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
}

func (r *ratios) curlPut() error {
	a, err := r.p.inner.UploadAddress(r.b.Context(), r.id, "data")
	if err != nil {
		return err
	}
	return r.curl(a, "--data-binary", "@"+r.file)
}

func (r *ratios) curlGet() error {
	a, err := r.p.inner.DownloadAddress(r.b.Context(), r.id, "data")
	if err != nil {
		return err
	}
	return r.curl(a, "-o", r.file+".curl")
}

// curl moves the file over the loopback listener; headers go in by a file, as
// tokens do not belong on a command line.
func (r *ratios) curl(a client.Address, args ...string) error {
	u, err := url.Parse(a.URL)
	if err != nil {
		return err
	}
	var head strings.Builder
	for name, values := range a.Header {
		head.WriteString(name + ": " + values[0] + "\n")
	}
	head.WriteString("E2b-Sandbox-Id: " + string(r.id) + "\nE2b-Sandbox-Port: 49983\nExpect:\n")
	headers := r.file + ".headers"
	if err := os.WriteFile(headers, []byte(head.String()), 0o600); err != nil {
		return err
	}
	args = append([]string{"-sS", "--fail", "-H", "@" + headers}, args...)
	if a.Method == "POST" {
		args = append(args, "-o", os.DevNull)
	}
	// curl's own start is not what is compared.
	args = append(args, "-w", "%{stderr}%{time_total}", r.l.URL+u.RequestURI())
	var errs bytes.Buffer
	cmd := exec.CommandContext(r.b.Context(), "curl", args...)
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		return errors.Join(err, errors.New(errs.String()))
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(errs.String()), 64)
	r.took = time.Duration(seconds * float64(time.Second))
	return err
}

// install makes a folder with the SDK; without node, npm or a registry there is none.
func (r *ratios) install() (string, bool) {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			r.b.Logf("no %s on this machine: the SDK is not compared", tool)
			return "", false
		}
	}
	dir := r.b.TempDir()
	files, err := fs.Sub(scripts, "testdata/sdk")
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		r.b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.b.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "e2b@2.50.0")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.b.Logf("npm cannot install the SDK, which is not compared: %v\n%s", err, out)
		return "", false
	}
	return dir, true
}

// sdk reads the output of a command with the SDK, which measures itself.
func (r *ratios) sdk(dir string) error {
	at, err := json.Marshal(map[string]any{"url": r.l.URL, "api_key": r.l.APIKey, "domain": r.l.Domain, "id": r.id, "bytes": ratioSDKBytes})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(r.b.Context(), "node", "bench.mjs", string(at))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	r.took = time.Duration(seconds * float64(time.Second))
	return err
}
