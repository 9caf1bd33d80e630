//go:build linux

package envd_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"
	"time"

	"abxdash/client/envdpb/filesystem"
	"abxdash/client/local/envd"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// rpc calls a filesystem method with JSON.
func (a *agent) rpc(method, body string) (int, map[string]any) {
	a.t.Helper()
	resp, got := a.do(http.MethodPost, "/filesystem.Filesystem/"+method, strings.NewReader(body), "Content-Type", "application/json")
	return resp.StatusCode, decodeJSON(a.t, got)
}

// e2b-protocol §15.7
func TestStat(t *testing.T) {
	a := newAgent(t, envd.Config{})
	a.write("raw.bin", "12345")
	if err := os.Chmod(a.path("raw.bin"), 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"lnk": a.path("raw.bin"), "broken": "not-here", "self": "self", "dirlink": "."} {
		if err := os.Symlink(target, a.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("unix", a.path("sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	size := func(target string) string { return strconv.Itoa(len(target)) }
	tests := map[string]map[string]any{
		"raw.bin": {"type": "FILE_TYPE_FILE", "size": "5", "mode": 493.0, "permissions": "urwxr-xr-x"},
		"lnk":     {"type": "FILE_TYPE_FILE", "size": size(a.path("raw.bin")), "mode": 493.0, "permissions": "Lrwxrwxrwx", "symlinkTarget": a.path("raw.bin")},
		"broken":  {"size": size("not-here"), "permissions": "Lrwxrwxrwx", "symlinkTarget": a.path("broken")},
		"self":    {"size": size("self"), "permissions": "Lrwxrwxrwx", "symlinkTarget": a.path("self")},
		"dirlink": {"type": "FILE_TYPE_DIRECTORY", "size": "1", "mode": 493.0, "permissions": "Lrwxrwxrwx", "symlinkTarget": a.home},
		"sock":    {"mode": 493.0, "permissions": "Srwxr-xr-x"},
	}
	if err := os.Chmod(a.home, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range tests {
		status, got := a.rpc("Stat", jsonText(t, map[string]string{"path": name}))
		entry, _ := got["entry"].(map[string]any)
		if status != http.StatusOK || entry == nil {
			t.Errorf("%s: %d %v", name, status, got)
			continue
		}
		if _, err := time.Parse(time.RFC3339Nano, entry["modifiedTime"].(string)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if entry["owner"] != me.Username {
			t.Errorf("%s: owner %v", name, entry["owner"])
		}
		want["name"], want["path"] = name, a.path(name)
		ignore := cmpopts.IgnoreMapEntries(func(k string, _ any) bool { return k == "modifiedTime" || k == "owner" || k == "group" })
		if diff := cmp.Diff(want, entry, ignore); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	status, got := a.rpc("Stat", `{"path":"missing"}`)
	want := rpcFailure("not_found", "file not found: lstat "+a.path("missing")+": no such file or directory")
	if diff := cmp.Diff(want, got); status != http.StatusNotFound || diff != "" {
		t.Errorf("%d (-want +got):\n%s", status, diff)
	}
	status, got = a.rpc("Stat", `{"path":"/"}`)
	if entry, _ := got["entry"].(map[string]any); status != http.StatusOK || entry["path"] != "/" || entry["type"] != "FILE_TYPE_DIRECTORY" {
		t.Errorf("root: %d %v", status, got)
	}
}

// FIL-05 and the order and depth of listings.
func TestListDir(t *testing.T) {
	codecs(t, func(t *testing.T, opts ...connect.ClientOption) {
		a := newAgent(t, envd.Config{})
		a.write("d/b/c/deep", "")
		a.write("d/b/f", "")
		a.write("d/.hidden", "")
		a.write("d/bad-\xff-name", "")
		for link, target := range map[string]string{"d/dead": "none", "d/self": "self", "d/up": ".."} {
			if err := os.Symlink(target, a.path(link)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("d", a.path("alias")); err != nil {
			t.Fatal(err)
		}
		list := func(path string, depth uint32) []string {
			t.Helper()
			resp, err := a.filesystem(opts...).ListDir(t.Context(), connect.NewRequest(&filesystem.ListDirRequest{Path: path, Depth: depth}))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range resp.Msg.GetEntries() {
				got = append(got, strings.TrimPrefix(e.GetPath(), a.home+"/"))
			}
			return got
		}
		if diff := cmp.Diff([]string{"d/.hidden", "d/b", "d/bad-\uFFFD-name", "d/dead", "d/self", "d/up"}, list("d", 0)); diff != "" {
			t.Errorf("depth 0 (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"alias/.hidden", "alias/b", "alias/b/c", "alias/b/f", "alias/bad-\uFFFD-name", "alias/dead", "alias/self", "alias/up"}, list("alias", 2)); diff != "" {
			t.Errorf("through a link, depth 2 (-want +got):\n%s", diff)
		}
		if got := list("d", 9); len(got) != 9 {
			t.Errorf("depth 9: %q", got)
		}
		for path, want := range map[string]connect.Code{
			"d/b/f": connect.CodeInvalidArgument, "gone": connect.CodeNotFound, "d/self": connect.CodeFailedPrecondition,
			"~ghost": connect.CodeInvalidArgument,
		} {
			_, err := a.filesystem(opts...).ListDir(t.Context(), connect.NewRequest(&filesystem.ListDirRequest{Path: path}))
			if connect.CodeOf(err) != want {
				t.Errorf("%s: %v, want %v", path, err, want)
			}
		}
	})
}

func TestMakeDirMoveRemove(t *testing.T) {
	a := newAgent(t, envd.Config{})
	a.write("f", "content")
	tests := []struct {
		method, body string
		status       int
		code         string
		message      string
	}{
		{"MakeDir", `{"path":"n1/n2"}`, 200, "", ""},
		{"MakeDir", `{"path":"n1/n2"}`, 409, "already_exists", "directory already exists: " + a.path("n1/n2")},
		{"MakeDir", `{"path":"f"}`, 400, "invalid_argument", "path already exists but it is not a directory: " + a.path("f")},
		{"MakeDir", `{"path":"f/x"}`, 500, "internal", ""},
		{"ListDir", `{"path":"f"}`, 400, "invalid_argument", "path is not a directory: " + a.path("f")},
		{"Move", `{"source":"gone","destination":"x"}`, 404, "not_found", ""},
		{"Move", `{"source":"f","destination":"n1"}`, 500, "internal", ""},
		{"Move", `{"source":"f","destination":"m1/m2/g"}`, 200, "", ""},
		{"Remove", `{"path":"n1"}`, 200, "", ""},
		{"Remove", `{"path":"n1"}`, 200, "", ""},
		{"Remove", `{"path":"gone/deep"}`, 200, "", ""},
		{"Remove", `{"path":"/"}`, 500, "internal", ""},
	}
	for _, tt := range tests {
		status, got := a.rpc(tt.method, tt.body)
		code, _ := got["code"].(string)
		if status != tt.status || code != tt.code || tt.message != "" && got["message"] != tt.message {
			t.Errorf("%s %s: %d %v", tt.method, tt.body, status, got)
		}
	}
	if a.read("m1/m2/g") != "content" || exists(a.path("f")) || exists(a.path("n1")) {
		t.Errorf("home holds %q", a.names("."))
	}
	// A link is removed, what it points at is not.
	if err := os.Symlink("m1", a.path("link")); err != nil {
		t.Fatal(err)
	}
	a.rpc("Remove", `{"path":"link"}`)
	if a.read("m1/m2/g") != "content" || exists(a.path("link")) {
		t.Error("Remove followed a link")
	}
}

// watch opens a WatchDir stream after its start event.
func watch(a *agent, req *filesystem.WatchDirRequest, opts ...connect.ClientOption) *connect.ServerStreamForClient[filesystem.WatchDirResponse] {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	a.t.Cleanup(cancel)
	r := connect.NewRequest(req)
	r.Header().Set("Keepalive-Ping-Interval", "1")
	stream, err := a.filesystem(opts...).WatchDir(ctx, r)
	if err != nil {
		a.t.Fatal(err)
	}
	if !stream.Receive() || stream.Msg().GetStart() == nil {
		a.t.Fatalf("no start event: %v, %v", stream.Msg(), stream.Err())
	}
	return stream
}

// e2b-protocol §15.8
func TestWatchDir(t *testing.T) {
	codecs(t, func(t *testing.T, opts ...connect.ClientOption) {
		a := newAgent(t, envd.Config{})
		a.write("dir1/old", "")
		stream := watch(a, &filesystem.WatchDirRequest{Path: "dir1", IncludeEntry: true}, opts...)
		next := func() string {
			t.Helper()
			for stream.Receive() {
				if e := stream.Msg().GetFilesystem(); e != nil {
					text := e.GetName() + " " + e.GetType().String()
					if e.GetEntry() != nil {
						text += " " + strings.TrimPrefix(e.GetEntry().GetPath(), a.home+"/")
					}
					return text
				}
			}
			t.Fatalf("the stream ended: %v", stream.Err())
			return ""
		}
		want := func(events ...string) {
			t.Helper()
			for _, w := range events {
				if got := next(); got != w {
					t.Fatalf("event %q, want %q", got, w)
				}
			}
		}
		f, err := os.Create(a.path("dir1/w.txt"))
		if err != nil {
			t.Fatal(err)
		}
		want("w.txt EVENT_TYPE_CREATE dir1/w.txt")
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		want("w.txt EVENT_TYPE_WRITE dir1/w.txt")
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(a.path("dir1/w.txt"), 0o600); err != nil {
			t.Fatal(err)
		}
		want("w.txt EVENT_TYPE_CHMOD dir1/w.txt")
		if err := os.Rename(a.path("dir1/w.txt"), a.path("dir1/v.txt")); err != nil {
			t.Fatal(err)
		}
		want("w.txt EVENT_TYPE_RENAME", "v.txt EVENT_TYPE_CREATE dir1/v.txt")
		if err := os.Remove(a.path("dir1/v.txt")); err != nil {
			t.Fatal(err)
		}
		want("v.txt EVENT_TYPE_REMOVE")
		// Uploads look like plain writes, not like the renames that they are.
		a.do(http.MethodPost, filesURL("dir1/up"), strings.NewReader("x"), "Content-Type", octetStream)
		want("up EVENT_TYPE_CREATE dir1/up", "up EVENT_TYPE_WRITE dir1/up")
		a.do(http.MethodPost, filesURL("dir1/old"), strings.NewReader("x"), "Content-Type", octetStream)
		want("old EVENT_TYPE_WRITE dir1/old")
		for stream.Receive() {
			if stream.Msg().GetKeepalive() != nil {
				return
			}
			t.Fatalf("event %v, want a keepalive", stream.Msg())
		}
		t.Fatalf("no keepalive: %v", stream.Err())
	})
}

func TestWatcherPolling(t *testing.T) {
	a := newAgent(t, envd.Config{})
	a.write("dir1/sub/f", "")
	status, got := a.rpc("CreateWatcher", `{"path":"dir1","recursive":true}`)
	id, _ := got["watcherId"].(string)
	if status != http.StatusOK || !strings.HasPrefix(id, "w") {
		t.Fatalf("%d %v", status, got)
	}
	request := jsonText(t, map[string]string{"watcherId": id})
	seen := map[string]bool{}
	poll := func(want string) {
		t.Helper()
		eventually(t, want, func() bool {
			status, got := a.rpc("GetWatcherEvents", request)
			if status != http.StatusOK {
				t.Fatalf("%d %v", status, got)
			}
			events, _ := got["events"].([]any)
			for _, e := range events {
				event := e.(map[string]any)
				seen[event["name"].(string)+" "+event["type"].(string)] = true
			}
			return seen[want]
		})
	}
	a.write("dir1/sub/g", "x")
	poll("sub/g EVENT_TYPE_CREATE")
	// Directories made later join in, with what they already hold.
	a.write("dir1/new/deeper/h", "x")
	poll("new EVENT_TYPE_CREATE")
	poll("new/deeper EVENT_TYPE_CREATE")
	poll("new/deeper/h EVENT_TYPE_CREATE")
	a.write("dir1/new/deeper/i", "x")
	poll("new/deeper/i EVENT_TYPE_CREATE")
	if status, got := a.rpc("RemoveWatcher", request); status != http.StatusOK || len(got) != 0 {
		t.Errorf("remove: %d %v", status, got)
	}
	for _, method := range []string{"GetWatcherEvents", "RemoveWatcher"} {
		if status, got := a.rpc(method, request); status != http.StatusNotFound || got["code"] != "not_found" {
			t.Errorf("%s after removal: %d %v", method, status, got)
		}
	}
	for path, want := range map[string]string{"gone": "not_found", "dir1/sub/f": "invalid_argument", "/proc": "invalid_argument"} {
		if _, got := a.rpc("CreateWatcher", jsonText(t, map[string]string{"path": path})); got["code"] != want {
			t.Errorf("watching %s: %v", path, got)
		}
	}
}

// What the agent can see of itself must not come out, by no path.
func TestProcessFilesAreRefused(t *testing.T) {
	a := newAgent(t, envd.Config{})
	own := strconv.Itoa(os.Getpid())
	for link, target := range map[string]string{
		"l-self": "/proc/self", "l-root": "/proc/self/root", "l-environ": "/proc/" + own + "/environ", "l-proc": "/proc", "l-stdin": "/dev/stdin",
	} {
		if err := os.Symlink(target, a.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	a.write("secret", "secret")
	f, err := os.Open(a.path("secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	fd := strconv.Itoa(int(f.Fd()))
	paths := []string{
		"/proc/self/environ", "/proc/thread-self/environ", "/proc/" + own + "/environ", "/proc/" + own + "/mem", "/proc/" + own + "/maps",
		"/proc/" + own + "/task/" + own + "/environ", "/proc/1/environ", "/proc/self/fd/" + fd, "/proc/self/root" + a.path("secret"),
		"/proc/self/cwd/go.mod", "/dev/fd/" + fd, "/proc/self/../self/environ", "/proc/./self/environ", "//proc/self/environ",
		"l-self/environ", "l-root" + a.path("secret"), "l-environ", "l-proc/self/environ", "l-proc/" + own + "/cmdline",
	}
	for _, path := range paths {
		resp, body := a.do(http.MethodGet, filesURL(path), nil)
		if resp.StatusCode < 400 {
			t.Errorf("GET %s: %d, %d bytes", path, resp.StatusCode, len(body))
		}
		resp, body = a.do(http.MethodPost, filesURL(path), strings.NewReader("x"), "Content-Type", octetStream)
		if resp.StatusCode < 400 {
			t.Errorf("POST %s: %d %s", path, resp.StatusCode, body)
		}
		// A rename onto a link of the user's own replaces the link, which is fine.
		if path != "l-environ" {
			if status, got := a.rpc("Move", jsonText(t, map[string]string{"source": "secret", "destination": path})); status < 400 {
				t.Errorf("move to %s: %v", path, got)
			}
		}
		resp, body = a.do(http.MethodPost, "/files/compose", strings.NewReader(jsonText(t, map[string]any{"source_paths": []string{path}, "destination": "out"})))
		if resp.StatusCode < 400 {
			t.Errorf("compose from %s: %s", path, body)
		}
	}
	for _, dir := range []string{"/proc/self/fd", "/proc/self/root", "/proc/self/cwd", "/proc/1/root", "/proc/" + own, "/proc/" + own + "/task", "l-self/fd", "l-root", "/dev/fd"} {
		if status, got := a.rpc("ListDir", jsonText(t, map[string]string{"path": dir})); status < 400 {
			t.Errorf("list %s: %v", dir, got)
		}
		if status, got := a.rpc("MakeDir", jsonText(t, map[string]string{"path": dir + "/x"})); status < 400 {
			t.Errorf("mkdir below %s: %v", dir, got)
		}
		if status, got := a.rpc("CreateWatcher", jsonText(t, map[string]string{"path": dir})); status < 400 {
			t.Errorf("watch %s: %v", dir, got)
		}
	}
	// A deep listing names processes and goes into none of them; their targets stay untold.
	status, got := a.rpc("ListDir", `{"path":"/proc","depth":2}`)
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, got)
	}
	listing := jsonText(t, got)
	for _, hidden := range []string{"/proc/" + own + "/", `"/proc/1/`} {
		if strings.Contains(listing, hidden) {
			t.Errorf("the listing of /proc goes into %s", hidden)
		}
	}
	if !bytes.Contains([]byte(listing), []byte("/proc/sys/kernel")) {
		t.Error("the listing of /proc is not deep at all")
	}
	if a.read("secret") != "secret" {
		t.Error("the file was moved or written")
	}
	_, got = a.rpc("Stat", `{"path":"l-root"}`)
	if entry := got["entry"].(map[string]any); entry["symlinkTarget"] != a.path("l-root") || entry["type"] != nil {
		t.Errorf("a link to a refused place tells about it: %v", entry)
	}
}
