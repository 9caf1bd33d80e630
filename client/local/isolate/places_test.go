//go:build linux

package isolate

import (
	"os"
	"path/filepath"
	"testing"

	"abxdash/client"
)

func TestPlaceOf(t *testing.T) {
	for p, want := range map[string]string{
		"/app": "/app", "/app/": "/app", "/app/src/x": "/app", "/opt/tool/bin": "/opt/tool", "/srv/www": "/srv/www", "/data/../app": "/app",
		"/home/user": "", "/home/user/a": "", "/tmp/x": "", "/var/tmp": "",
	} {
		got, err := PlaceOf(p)
		if err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", p, got, err, want)
		}
	}
	for _, p := range []string{"", "app", "/", "/usr/local/bin", "/etc/x", "/opt", "/srv/", "/var/lib/x", "/home", "/home/other", "/root", "/nix/x", "/a\x00"} {
		if got, err := PlaceOf(p); err == nil {
			t.Errorf("%q is %q", p, got)
		}
	}
}

// A place is a folder of the sandbox's own: commands write there, it lies in the
// home on the host, and its own links lead nowhere else.
func TestPlaces(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	b := startBox(t, l, Config{ID: realAgent, Places: []string{"/app/deep", "/opt/tool"}, Workdir: "/app"})
	out, code := runReal(t, b, "sh", "-c", "echo kept > /app/f && echo too > /opt/tool/g && cd /app && pwd -P && cat f /home/user/.abx-root/opt/tool/g; touch /new 2>/dev/null || echo no; touch /opt/x 2>/dev/null || echo no")
	if want := "/app\nkept\ntoo\nno\nno\n"; out != want || code != 0 {
		t.Errorf("exit %d: %q, want %q", code, out, want)
	}
	got, err := os.ReadFile(filepath.Join(b.home, PlacesDir, "app", "f"))
	if err != nil || string(got) != "kept\n" {
		t.Errorf("%q %v", got, err)
	}
}

func TestPlacesRefused(t *testing.T) {
	home := tempDir(t)
	for name, cfg := range map[string]Config{
		"system":     {Level: client.IsolationNamespace, Places: []string{"/usr/x"}},
		"weak level": {Level: client.IsolationProcess, Places: []string{"/app"}},
		"overlap":    {Level: client.IsolationNamespace, Places: []string{"/app"}, Mounts: []Mount{{Target: "/app/x"}}},
	} {
		cfg.Home = home
		if _, err := checkPlaces(cfg); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A link in the home does not lead a place out of it.
	l := newLauncher(t)
	wantNamespace(t, l)
	trap := tempDir(t)
	if err := os.Symlink("/etc", filepath.Join(trap, PlacesDir)); err != nil {
		t.Fatal(err)
	}
	if b, err := l.start(t.Context(), Config{Level: client.IsolationNamespace, Home: trap, Places: []string{"/app"}}, true); err == nil {
		_ = b.Kill(t.Context())
		t.Error("it started")
	}
}
