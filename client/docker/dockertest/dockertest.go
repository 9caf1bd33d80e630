// Package dockertest gives tests a Docker engine of their own and a registry
// on loopback. The engine shares nothing with one that may run on the machine:
// it has its own folders, socket and pid file, no bridge, and leaves the
// firewall and forwarding alone (local-provider notes, "Docker").
package dockertest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/subtle"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	moby "github.com/moby/moby/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// MustEnv names a variable that turns a missing engine from a skip into a
// failure: a CI that installed one must not skip quietly.
const MustEnv = "ABXDASH_TEST_DOCKER"

const patience = time.Minute

// skip ends the test: skipped, unless an engine was promised.
func skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(MustEnv) != "" {
		t.Fatalf("no Docker engine although %s is set: %s", MustEnv, why)
	}
	t.Skipf("no Docker engine: %s", why)
}

// Start starts an engine with its classic builder and returns its address. It
// skips the test where there is no dockerd, or no right to run one.
func Start(t testing.TB) string {
	t.Helper()
	return start(t, `{"features":{"buildkit":false}}`)
}

// StartBuildKit is Start with an engine that builds with BuildKit.
func StartBuildKit(t testing.TB) string {
	t.Helper()
	return start(t, `{"features":{"buildkit":true}}`)
}

func start(t testing.TB, config string) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		skip(t, "a private one needs Linux and root")
	}
	dockerd, err := exec.LookPath("dockerd")
	if err != nil {
		skip(t, "dockerd is not installed (apt-get install docker.io)")
	}
	dir, err := os.MkdirTemp("", "dockertest")
	if err != nil {
		t.Fatal(err)
	}
	host := "unix://" + filepath.Join(dir, "s")
	cmd := exec.CommandContext(context.Background(), dockerd, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "pid"), "-H", host, "--bridge", "none", "--iptables=false", "--ip-forward=false",
		"--ip-masq=false", "--storage-driver", "vfs", "--config-file", filepath.Join(dir, "config.json"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		skip(t, err.Error())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in its log
	}()
	t.Cleanup(func() { stop(t, cmd, ended, dir) })
	api := connect(t, host)
	deadline := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := api.Ping(ctx, moby.PingOptions{NegotiateAPIVersion: true})
		cancel()
		if err == nil {
			return host
		}
		select {
		case <-ended:
			skip(t, "dockerd ended: "+lastLine(out.String()))
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("dockerd does not answer: %v", err)
		}
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// stop ends the engine and removes what it leaves, its mounts first.
func stop(t testing.TB, cmd *exec.Cmd, ended chan struct{}, dir string) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-ended:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-ended
		t.Error("dockerd had to be killed")
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir+"/") {
			if out, err := exec.CommandContext(context.Background(), "umount", "-l", f[4]).CombinedOutput(); err != nil {
				t.Errorf("unmount %s: %v %s", f[4], err, out)
			}
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

func connect(t testing.TB, host string) *moby.Client {
	t.Helper()
	api, err := moby.New(moby.WithHost(host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	return api
}

// Base imports a tiny base image under the given name: a static busybox, and a
// pip that only writes down what it was asked for.
func Base(t testing.TB, host, name string) {
	t.Helper()
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		skip(t, "there is no static busybox (apt-get install busybox-static)")
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"bin/", "tmp/", "etc/", "home/", "home/user/"} {
		add(tar.Header{Typeflag: tar.TypeDir, Name: d, Mode: 0o755}, nil)
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, busybox)
	for _, name := range []string{"sh", "ls", "rm", "cat", "echo", "false", "true", "sleep", "mkdir", "test"} {
		add(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox"}, nil)
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: "bin/pip", Mode: 0o755}, []byte("#!/bin/sh\necho pip \"$@\"\n"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	api := connect(t, host)
	if _, err := api.Ping(t.Context(), moby.PingOptions{NegotiateAPIVersion: true}); err != nil {
		t.Fatal(err)
	}
	repo, tag, _ := strings.Cut(name, ":")
	res, err := api.ImageImport(t.Context(), moby.ImageImportSource{Source: &b, SourceName: "-"}, repo,
		moby.ImageImportOptions{Tag: tag, Platform: ocispec.Platform{OS: "linux", Architecture: "amd64"}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	if text, err := io.ReadAll(res); err != nil || bytes.Contains(text, []byte("errorDetail")) {
		t.Fatalf("import %s: %v %s", name, err, text)
	}
}

// Registry is a registry on loopback behind a login. It returns host:port; got
// lists what was pushed (manifest paths).
func Registry(t testing.TB, user, password string) (host string, got func() []string) {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	pushed := make(chan string, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, p, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(u+":"+p), []byte(user+":"+password)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`)
			return
		}
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			pushed <- r.URL.Path
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://"), func() []string {
		var out []string
		for {
			select {
			case p := <-pushed:
				out = append(out, p)
			default:
				return out
			}
		}
	}
}
