//go:build unix

package toolserver

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/agentserver"
)

// everyGroup turns on what is off by itself.
const everyGroup = envGroups + "=dev_tools, Browser,agents,unheard-of"

// TestGroups: off groups answer 404 and name the group, on ones answer.
func TestGroups(t *testing.T) {
	r := newRig(t)
	want := map[agentserver.Group]bool{
		"core": true, "commands": true, "file_ops": true, "process": true, "terminal": true, "system": true,
		"dev_tools": false, "browser": false, "agents": false,
	}
	got, err := r.Capabilities(ctx(t))
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
	for path, group := range map[string]string{"/git/status?path=.": "dev_tools", "/browser/console": "browser", "/v1/agents/sessions": "agents"} {
		if text := r.raw(404, "GET", path, ""); !strings.Contains(text, "the group "+group+" is off") {
			t.Errorf("%s: %s", path, text)
		}
	}
	r.raw(404, "GET", "/nothing", "")
	r.raw(501, "PUT", "/health", "")
	r.raw(400, "POST", "/shell", "no json")
	r = newRig(t, everyGroup)
	for _, g := range []agentserver.Group{"dev_tools", "browser", "agents"} {
		want[g] = true
	}
	got, err = r.Capabilities(ctx(t))
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
}

// TestToken: only the open routes go without it, and no program sees it.
func TestToken(t *testing.T) {
	r := newRig(t, envToken+"=sesame")
	for path, status := range map[string]int{"/health": 200, "/capabilities/": 200, "/files/list": 401, "/git/status": 401, "/nothing": 404} {
		r.raw(status, "GET", path, "")
	}
	out, err := r.Shell(ctx(t), "env")
	if err != nil || !strings.Contains(out.Stdout, "LANG=C.UTF-8") || strings.Contains(out.Stdout, "sesame") {
		t.Errorf("%+v %v", out, err)
	}
}

func TestFiles(t *testing.T) {
	r := newRig(t)
	content := []byte("\x00\xffabc")
	if err := r.MakeDir(ctx(t), "d/e"); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteFile(ctx(t), "d/a", content); err != nil {
		t.Fatal(err)
	}
	if err := r.MoveFile(ctx(t), "d/a", "d/e/b"); err != nil {
		t.Fatal(err)
	}
	if got, err := r.ReadFile(ctx(t), filepath.Join(r.home, "d/e/b")); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%q %v", got, err)
	}
	f, err := r.OpenFile(ctx(t), "d/e/b")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	if _ = f.Close(); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%q %v", got, err)
	}
	list, err := r.ListFiles(ctx(t), ".", true, 0)
	var names []string
	for _, e := range list {
		names = append(names, e.Type+" "+e.Path)
	}
	if d := cmp.Diff([]string{"directory d", "directory d/e", "file d/e/b"}, names); d != "" || err != nil {
		t.Error(err, d)
	}
	if e, err := r.StatFile(ctx(t), "gone"); err != nil || e.Exists {
		t.Errorf("%+v %v", e, err)
	}
	found, err := r.SearchFiles(ctx(t), ".", "?")
	if err != nil || len(found.Matches) != 3 || found.TimedOut {
		t.Errorf("%+v %v", found, err)
	}
	for body, want := range map[string]int{
		`{"path":".","pattern":"d/*/b"}`:                1,
		`{"path":".","pattern":"b","max_depth":2}`:      0,
		`{"path":"d","pattern":"*","max_results":1}`:    1,
		`{"path":"d/e","pattern":"*","max_results":-4}`: 1,
	} {
		if text := r.raw(200, "POST", "/files/search", body); strings.Count(text, `"name"`) != want {
			t.Errorf("%s: %s", body, text)
		}
	}
	r.raw(400, "POST", "/files/search", `{"path":".","pattern":"["}`)
	if err := r.RemoveFile(ctx(t), "d"); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"../x", "/etc/hostname", "a/../../x"} {
		if _, err := r.ReadFile(ctx(t), path); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestUploadReplacesAsAWhole: also through a link, and with the mode kept.
func TestUploadReplacesAsAWhole(t *testing.T) {
	r := newRig(t)
	r.write("d/script", "old")
	if err := os.Symlink("d/script", filepath.Join(r.home, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(r.home, "out")); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(filepath.Join(r.home, "d/script"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := r.WriteFile(ctx(t), "link", []byte("new!")); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteFile(ctx(t), "out", []byte("x")); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("outside: %v", err)
	}
	old, err := io.ReadAll(open)
	now, err2 := os.ReadFile(filepath.Join(r.home, "d/script"))
	info, err3 := os.Lstat(filepath.Join(r.home, "link"))
	if err = errors.Join(err, err2, err3); err != nil || string(old) != "old" || string(now) != "new!" || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("%q %q %v", old, now, err)
	}
	if info, err := os.Stat(filepath.Join(r.home, "d/script")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Join(r.home, "d")); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}

// TestBaseFolder: files are those below it, and it cannot lead out of the home.
func TestBaseFolder(t *testing.T) {
	for base, want := range map[string]int{"work": 400, "../..": 200, "/etc": 200, "way-out": 400} {
		r := newRig(t)
		home := r.home
		r.write("work/in", "in")
		r.write("beside", "beside")
		if err := os.Symlink("/", filepath.Join(home, "way-out")); err != nil {
			t.Fatal(err)
		}
		dir := base
		if !filepath.IsAbs(base) {
			dir = home + "/" + base
		}
		r.tool.cfg.Env[envBase] = dir
		r.raw(want, "GET", "/download?path="+home+"/beside", "")
		if base == "work" {
			if got, err := r.ReadFile(ctx(t), "in"); err != nil || string(got) != "in" {
				t.Errorf("%q %v", got, err)
			}
		}
		if base == "way-out" {
			r.raw(400, "GET", "/download?path=etc/hostname", "")
		}
	}
}

func TestArchive(t *testing.T) {
	r := newRig(t)
	r.write("p/one.txt", "1")
	r.write("p/q/two.txt", "22")
	r.write("other", "3")
	if err := os.Symlink("one.txt", filepath.Join(r.home, "p/link")); err != nil {
		t.Fatal(err)
	}
	want := []string{"other 3", "p/ ", "p/link ", "p/one.txt 1", "p/q/ ", "p/q/two.txt 22"}
	for _, format := range []string{"tar.gz", "zip"} {
		a, err := r.Archive(ctx(t), []string{"p", filepath.Join(r.home, "other")}, format)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(a)
		if _ = a.Close(); err != nil {
			t.Fatal(err)
		}
		var got []string
		if format == "zip" {
			got = unzip(t, data)
		} else {
			got = untar(t, data)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(format, d)
		}
	}
	for body, status := range map[string]int{
		`{"paths":["../x"]}`: 400, `{"paths":[]}`: 400, `{"paths":["p"],"format":"rar"}`: 400, `{"paths":["none"]}`: 404,
	} {
		r.raw(status, "POST", "/files/archive", body)
	}
	big, err := os.Create(filepath.Join(r.home, "big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(big.Truncate(archiveBytes+1), big.Close()); err != nil {
		t.Fatal(err)
	}
	r.raw(413, "POST", "/files/archive", `{"paths":["big"]}`)
}

func untar(t *testing.T, data []byte) []string {
	t.Helper()
	gz, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, h.Name+" "+string(content))
	}
	slices.Sort(got)
	return got
}

func unzip(t *testing.T, data []byte) []string {
	t.Helper()
	zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range zr.File {
		content := ""
		if f.Mode().IsRegular() {
			rc, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(rc)
			if _ = rc.Close(); err != nil {
				t.Fatal(err)
			}
			content = string(b)
		}
		got = append(got, f.Name+" "+content)
	}
	slices.Sort(got)
	return got
}

func TestProcesses(t *testing.T) {
	r := newRig(t)
	out, err := r.Shell(ctx(t), `sh -c 'echo out; echo err >&2; exit 3'`)
	if d := cmp.Diff(agentserver.Output{Stdout: "out\n", Stderr: "err\n", ExitCode: 3}, out); d != "" || err != nil {
		t.Error(err, d)
	}
	if out, err := r.Shell(ctx(t), "no-such-program"); err != nil || out.ExitCode != 127 {
		t.Errorf("%+v %v", out, err)
	}
	var events []string
	for ev, err := range r.ShellStream(ctx(t), `sh -c 'echo err >&2; printf "é1"; exit 4'`) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, fmt.Sprint(ev.Stream, ev.Data, ev.Ended, ev.ExitCode))
	}
	if d := cmp.Diff([]string{fmt.Sprint(client.Stdout, "é1", false, 0), fmt.Sprint(client.Stderr, "err\n", false, 0), fmt.Sprint(0, "", true, 4)}, events); d != "" {
		t.Error(d)
	}
	r.raw(400, "POST", "/shell/stream", `{"command":"'"}`)
	p, err := r.StartProcess(ctx(t), "sleep 600", "/")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := r.Processes(ctx(t)); err != nil || len(list) != 1 || list[0].State != "running" {
		t.Errorf("%+v %v", list, err)
	}
	if err := r.SignalProcess(ctx(t), p.PID, 15); err != nil {
		t.Error(err)
	}
	eventually(t, "it ends", func() bool {
		got, err := r.Process(ctx(t), p.PID)
		return err == nil && got.State == "exited" && got.ExitCode != nil
	})
}

// TestStreamIsLive: output comes before the end, and a caller that leaves ends
// the command.
func TestStreamIsLive(t *testing.T) {
	r := newRig(t)
	for ev, err := range r.ShellStream(ctx(t), `sh -c 'echo $$; exec sleep 600'`) {
		if err != nil {
			t.Fatal(err)
		}
		pid := strings.TrimSpace(ev.Data)
		go r.srv.CloseClientConnections()
		eventually(t, "the command ends with its caller", func() bool {
			_, err := os.Stat("/proc/" + pid)
			return err != nil
		})
		break
	}
}

func TestSystem(t *testing.T) {
	r := newRig(t, "MY_SECRET=hidden", "ABX_SERVER_TOKENS=hidden")
	info, err := r.SystemInfo(ctx(t))
	if err != nil || info.OS == "" || info.Hostname == "" || info.CPUCount < 1 || info.MemoryTotalMB < 1 || info.DiskTotalGB <= 0 {
		t.Errorf("%+v %v", info, err)
	}
	if _, err := exec.LookPath("python3"); err == nil && !strings.HasPrefix(info.PythonVersion, "3.") {
		t.Errorf("python %q", info.PythonVersion)
	}
	m, err := r.SystemMetrics(ctx(t))
	if err != nil || m.MemoryUsedMB <= 0 || m.UptimeSeconds <= 0 || m.DiskTotalGB <= 0 {
		t.Errorf("%+v %v", m, err)
	}
	if err := r.SetEnv(ctx(t), map[string]string{"MINE": "1", "DB_PASSWORD": "p"}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"PATH", "HOME", "ABX_SERVER_TOKEN", "E2B_X", "SANDBOX_Y"} {
		if err := r.SetEnv(ctx(t), map[string]string{name: "1"}); client.CodeOf(err) != client.CodeAuth {
			t.Errorf("%s: %v", name, err)
		}
	}
	env, err := r.Env(ctx(t), "")
	if d := cmp.Diff(map[string]string{"MINE": "1", "LANG": "C.UTF-8", "PATH": searchPath()}, env); d != "" || err != nil {
		t.Error(err, d)
	}
	if env, err = r.Env(ctx(t), "min"); err != nil || len(env) != 1 {
		t.Errorf("%v %v", env, err)
	}
	if out, err := r.Shell(ctx(t), "printenv MINE DB_PASSWORD"); err != nil || out.Stdout != "1\np\n" {
		t.Errorf("%+v %v", out, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ports, err := r.Listeners(ctx(t))
	mine := slices.IndexFunc(ports, func(p agentserver.Listener) bool { return p.Port == l.Addr().(*net.TCPAddr).Port })
	if err != nil || mine < 0 || ports[mine].PID != os.Getpid() || ports[mine].Address != "127.0.0.1" {
		t.Errorf("%+v %v", ports, err)
	}
	r.raw(400, "GET", "/packages?manager=cargo", "")
}

func TestPackages(t *testing.T) {
	needs(t, "python3", "npm")
	r := newRig(t)
	// A package of our own, as both managers know it.
	r.write("lib/found_it-1.5.dist-info/METADATA", "Metadata-Version: 2.1\nName: found-it\nVersion: 1.5\n")
	r.tool.env["PYTHONPATH"] = r.home + "/lib"
	list, err := r.Packages(ctx(t), "pip")
	if err != nil || !slices.Contains(list, agentserver.Package{Name: "found-it", Version: "1.5"}) {
		t.Errorf("%v %v", list, err)
	}
	r.write("global/lib/node_modules/here/package.json", `{"name":"here","version":"2.0.1"}`)
	r.tool.env["npm_config_prefix"] = r.home + "/global"
	list, err = r.Packages(ctx(t), "npm")
	if err != nil || !slices.Contains(list, agentserver.Package{Name: "here", Version: "2.0.1"}) {
		t.Errorf("%v %v", list, err)
	}
}

func TestDevTools(t *testing.T) {
	needs(t, "python3", "git")
	r := newRig(t, everyGroup)
	for _, c := range []struct{ language, code, want string }{
		{"python", "print(6*7)", "42\n"}, {"bash", "echo $((6*7))", "42\n"}, {"", "print('d')", "d\n"},
	} {
		if out, err := r.RunCode(ctx(t), c.code, c.language, time.Minute); err != nil || out.Stdout != c.want || out.ExitCode != 0 {
			t.Errorf("%s: %+v %v", c.language, out, err)
		}
	}
	if _, err := exec.LookPath("node"); err == nil {
		if out, err := r.RunCode(ctx(t), "console.log(6*7)", "node", time.Minute); err != nil || out.Stdout != "42\n" {
			t.Errorf("%+v %v", out, err)
		}
	}
	if _, err := r.RunCode(ctx(t), "while True: pass", "python", time.Second); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("beyond its time: %v", err)
	}
	r.raw(400, "POST", "/code/run", `{"code":"1","language":"cobol"}`)
	r.raw(400, "POST", "/code/run", `{"code":"1","timeout":301}`)
	if out, err := r.Shell(ctx(t), `sh -c 'mkdir repo && cd repo && git init -q -b trunk && echo a > "a b" && git add . && git -c user.name=n -c user.email=e@example.test commit -qm one && echo b >> "a b" && echo n > new'`); err != nil || out.ExitCode != 0 {
		t.Fatalf("%+v %v", out, err)
	}
	status, err := r.GitStatus(ctx(t), "repo")
	want := `{"branch":"trunk","clean":false,"files":[{"path":"a b","index":" ","worktree":"M"},{"path":"new","index":"?","worktree":"?"}]}`
	if err != nil || string(status) != want {
		t.Errorf("%s %v", status, err)
	}
	diff, err := r.GitDiff(ctx(t), "repo", "a b", false)
	if err != nil || !strings.Contains(diff, "\n+b\n") {
		t.Errorf("%q %v", diff, err)
	}
	if diff, err = r.GitDiff(ctx(t), "repo", "", true); err != nil || diff != "" {
		t.Errorf("staged: %q %v", diff, err)
	}
	r.raw(400, "GET", "/git/status?path=../..", "")
	r.raw(400, "GET", "/git/status?path=.", "")
}

// TestRenamesInAStatus: the old name follows as an entry of its own.
func TestRenamesInAStatus(t *testing.T) {
	branch, files := readStatus("## No commits yet on main\x00R  new\x00old\x00 M x\x00")
	want := []change{{Path: "new", Index: "R", Worktree: " ", From: "old"}, {Path: "x", Index: " ", Worktree: "M"}}
	if d := cmp.Diff(want, files); d != "" || branch != "main" {
		t.Error(branch, d)
	}
}
