//go:build linux

package isolate

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"abxdash/client"
)

func startConfined(t *testing.T, cfg Config) *box {
	t.Helper()
	l := newLauncher(t)
	cfg.Level = client.IsolationLandlock
	if landlockABI() == 0 {
		t.Skip("no Landlock here")
	}
	if _, err := l.Probe(context.Background(), client.IsolationLandlock); err != nil {
		t.Fatal(err)
	}
	return startBox(t, l, cfg)
}

func TestLandlock(t *testing.T) {
	b := startConfined(t, Config{})
	if !strings.HasPrefix(b.Means().Files, "landlock ABI ") {
		t.Errorf("%+v", b.Means())
	}
	outside := tempDir(t)
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []string{
		"cat " + secret, "ls " + outside, "echo x >" + outside + "/new", "echo x >>" + secret, "rm " + secret, "mkdir " + outside + "/d",
		"ln -s " + secret + " link && cat link", "mv " + secret + " here", "echo x >/tmp/landlock-test-x", "touch /var/tmp/landlock-test-x",
		"cat /proc/" + strconv.Itoa(os.Getpid()) + "/environ",
	} {
		if os.Geteuid() == 0 && strings.HasSuffix(refused, "/environ") {
			continue // the right to watch performance is enough for that
		}
		if out := b.do(t, runRequest{Argv: []string{"sh", "-c", refused}}); out.Exit.Code == 0 {
			t.Errorf("allowed: %s: %s", refused, out.Stdout)
		}
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "s3cret" {
		t.Errorf("%q %v", got, err)
	}
	b.sh(t, `set -e
mkdir -p a/b && echo x >a/f && mv a/f a/b/g && ln a/b/g h && rm h && rm -r a
echo x >/dev/null; head -c 1 /dev/urandom >/dev/null; cat /etc/hostname >/dev/null; cat /proc/self/status >/dev/null; ls /usr/bin >/dev/null
export TMPDIR=$HOME/.tmp
t=$(mktemp) && echo x >$t`)
	if landlockABI() >= 6 {
		if out := b.do(t, runRequest{Argv: []string{"kill", "-0", strconv.Itoa(os.Getpid())}}); out.Exit.Code == 0 && os.Getpid() > 1 {
			t.Error("a process outside can be signalled")
		}
	}
}

// The agent is confined like the commands: a file request must not be a way out.
func TestLandlockBindsTheAgent(t *testing.T) {
	b := startConfined(t, Config{ID: realAgent, AccessToken: "t0ken"})
	secret := filepath.Join(tempDir(t), "secret")
	own := filepath.Join(b.home, "own")
	for _, file := range []string{secret, own} {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]bool{secret: false, own: true} {
		req, err := http.NewRequest(http.MethodGet, "http://agent/files?path="+file, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Access-Token", "t0ken")
		resp, err := b.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.StatusCode == http.StatusOK; got != want {
			t.Errorf("%s: %s", file, resp.Status)
		}
	}
}
