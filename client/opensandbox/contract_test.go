//go:build linux

package opensandbox_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"abxdash/client/contract"
	"abxdash/client/opensandbox"
	"abxdash/client/opensandbox/opensandboxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a client of a server.
func open(t testing.TB, s *opensandboxtest.Server, change ...func(*opensandbox.Config)) *opensandbox.Client {
	t.Helper()
	cfg := opensandbox.Config{APIURL: s.URL, Image: "test", RequestTimeout: 30 * time.Second}
	for _, f := range change {
		f(&cfg)
	}
	c, err := opensandbox.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func key(k string) func(*opensandbox.Config) {
	return func(c *opensandbox.Config) { c.APIKey = k }
}

func mode(m opensandbox.Mode) func(*opensandbox.Config) {
	return func(c *opensandbox.Config) { c.Mode = m }
}

// TestContract runs the suite over every way in which execd is reached.
// ABXDASH_EXECD names a real execd to use instead of the one that plays it.
func TestContract(t *testing.T) {
	ways := map[string]struct {
		server opensandboxtest.Options
		mode   opensandbox.Mode
	}{
		"direct":       {mode: opensandbox.ModeDirect},
		"server proxy": {server: opensandboxtest.Options{Unreachable: true, CheckProxy: true, SettleAfter: 1}, mode: opensandbox.ModeAuto},
		"gateway":      {server: opensandboxtest.Options{Gateway: true}, mode: opensandbox.ModeAuto},
	}
	for name, w := range ways {
		if testing.Short() && name != "direct" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			contract.Run(t, func(t *testing.T) contract.Setup {
				w.server.Key = "contract-key-0123456789"
				if daemon := os.Getenv("ABXDASH_EXECD"); daemon != "" {
					w.server.Launch = launcher(daemon)
				}
				s := opensandboxtest.New(t, w.server)
				return contract.Setup{
					Provider: open(t, s, key(w.server.Key), mode(w.mode)), MinLifetime: opensandbox.MinLifetime, Lines: true,
				}
			})
		})
	}
}

// launcher starts a real execd for every sandbox.
func launcher(daemon string) func(t testing.TB, env map[string]string) string {
	return func(t testing.TB, env map[string]string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		home := t.TempDir()
		cmd := exec.Command("sh", "-c", `trap "" INT QUIT; exec "$0" --port "$1"`, daemon, fmt.Sprint(port))
		cmd.Dir = home
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
		for k, v := range env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return fmt.Sprintf("127.0.0.1:%d", port)
	}
}
