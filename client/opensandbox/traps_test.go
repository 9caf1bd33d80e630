//go:build linux

package opensandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/opensandbox"
	"abxdash/client/opensandbox/opensandboxtest"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

func create(t *testing.T, c *opensandbox.Client, edit ...func(*client.CreateSpec)) client.Sandbox {
	t.Helper()
	spec := client.CreateSpec{Lifetime: 10 * time.Minute, Metadata: map[string]string{}}
	for _, f := range edit {
		f(&spec)
	}
	sb, err := c.Sandboxes().Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return sb
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func start(t *testing.T, c *opensandbox.Client, id client.ID, cmd client.Command) client.Process {
	t.Helper()
	p, err := c.Commands().Start(t.Context(), id, cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func until(t *testing.T, p client.Process, want string) {
	t.Helper()
	stop := time.AfterFunc(patience, func() { _ = p.Close() })
	defer stop.Stop()
	var got bytes.Buffer
	for !strings.Contains(got.String(), want) {
		f, err := p.Next()
		if err != nil {
			t.Fatalf("waiting for %q: %v, got %q", want, err, got.String())
		}
		got.Write(f.Data)
	}
}

// TestTokenIsAlwaysOurs: §9.7, execd is never left open, and another client
// with the same key can still get in, because the token follows from the key.
func TestTokenIsAlwaysOurs(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{Key: "server-key-0123456789"})
	sb := create(t, open(t, s, key("server-key-0123456789")))
	token := s.Env(string(sb.ID), "EXECD_ACCESS_TOKEN")
	if len(token) < 32 {
		t.Fatalf("token %q", token)
	}
	if text := strings.Join([]string{sb.Name, string(sb.Raw)}, " "); strings.Contains(text, token) {
		t.Error("the token is shown")
	}
	if _, shown := sb.Metadata["abxdash.execd"]; shown {
		t.Error("the nonce is shown as metadata")
	}
	if _, err := open(t, s, key("server-key-0123456789")).Files().ReadDir(t.Context(), sb.ID, "/"); err != nil {
		t.Errorf("another client with the key: %v", err)
	}
	second := create(t, open(t, s, key("server-key-0123456789")))
	if s.Env(string(second.ID), "EXECD_ACCESS_TOKEN") == token {
		t.Error("two sandboxes share a token")
	}
}

// TestTokenWithoutKey: a server without a key gets a secret of this machine,
// kept 0600.
func TestTokenWithoutKey(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{})
	file := filepath.Join(t.TempDir(), "deep", "secret")
	with := func(c *opensandbox.Config) { c.SecretFile = file }
	sb := create(t, open(t, s, with))
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if _, err := open(t, s, with).Files().ReadDir(t.Context(), sb.ID, "/"); err != nil {
		t.Errorf("another client of this machine: %v", err)
	}
	_, err = open(t, s).Files().ReadDir(t.Context(), sb.ID, "/")
	if !errors.Is(err, client.ErrUnauthorized) || !strings.Contains(client.HintOf(err), "another program") {
		t.Errorf("a client of another machine: %v (%s)", err, client.HintOf(err))
	}
}

// TestCancelledForegroundEnds: §4.3, a command that nobody can read any more
// does not go on.
func TestCancelledForegroundEnds(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{})
	c := open(t, s)
	sb := create(t, c)
	p := start(t, c, sb.ID, client.Command{Argv: []string{"sleep", "1000"}})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	c.Close() // waits for the interrupt
	if n := s.Execd(string(sb.ID)).Count("DELETE /command"); n != 1 {
		t.Errorf("%d interrupts were sent", n)
	}
	eventually(t, "the end of the command", func() bool {
		list, err := c.Commands().Processes(t.Context(), sb.ID)
		return err == nil && len(list) == 0
	})
	// A command that has ended is not interrupted.
	q := start(t, c, sb.ID, client.Command{Argv: []string{"true"}})
	if _, err := client.Collect(q); err != nil {
		t.Fatal(err)
	}
	_ = q.Close()
	c.Close()
	if n := s.Execd(string(sb.ID)).Count("DELETE /command"); n != 1 {
		t.Errorf("%d interrupts were sent", n)
	}
}

// TestExitFromEvalue: the exit code is in the error event (§4.2).
func TestExitFromEvalue(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{})
	c := open(t, s)
	sb := create(t, c)
	for code, line := range map[int]string{0: "exit 0", 3: "exit 3", 127: "no-such-program-xyz", 255: "exit 255"} {
		out, err := client.Collect(start(t, c, sb.ID, client.Command{Argv: []string{"bash", "-c", line}}))
		if err != nil || out.Exit.Code != code {
			t.Errorf("%s: %+v, %v", line, out.Exit, err)
		}
	}
	out, err := client.Collect(start(t, c, sb.ID, client.Command{Argv: []string{"sh", "-c", "kill -KILL $$"}}))
	if err != nil || out.Exit.Signal != 9 || out.Exit.ShellCode() != 137 {
		t.Errorf("killed: %+v, %v", out.Exit, err)
	}
	// Blank lines, and a line end that was not there (§4.2).
	out, err = client.Collect(start(t, c, sb.ID, client.Command{Argv: []string{"printf", `a\n\nb`}}))
	if err != nil || string(out.Stdout) != "a\n\nb\n" {
		t.Errorf("%q, %v", out.Stdout, err)
	}
}

// TestBackground follows the log by bytes (§9.3), also from another handle.
func TestBackground(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{})
	c := open(t, s)
	sb := create(t, c)
	go1 := filepath.Join(s.Execd(string(sb.ID)).Home(), "go")
	p, err := c.Background(t.Context(), sb.ID, client.Command{Argv: []string{"sh", "-c", "echo ä1; until [ -e go ]; do sleep 0.05; done; echo ä2 >&2; exit 6"}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, p, "ä1\n")
	_ = p.Close()
	q, err := c.Commands().Attach(t.Context(), sb.ID, p.PID())
	if err != nil {
		t.Fatal(err)
	}
	until(t, q, "ä1\n")
	if err := os.WriteFile(go1, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := client.Collect(q)
	if err != nil || string(out.Stdout) != "ä2\n" || out.Exit.Code != 6 {
		t.Errorf("%q, %+v, %v", out.Stdout, out.Exit, err)
	}
	// SIGTERM ends one, and interrupting it again is no failure (§9.14).
	r, err := c.Background(t.Context(), sb.ID, client.Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Signal(t.Context(), client.SIGTERM); err != nil {
			t.Errorf("signal: %v", err)
		}
	}
	if out, err := client.Collect(r); err != nil || out.Exit.Signal != 15 {
		t.Errorf("%+v, %v", out.Exit, err)
	}
}

// TestShellSurvivesABreak: §4.6, the connection is got back where it broke off,
// and nothing is shown twice.
func TestShellSurvivesABreak(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{})
	c := open(t, s)
	sb := create(t, c)
	p := start(t, c, sb.ID, client.InteractiveShell(client.Size{Cols: 80, Rows: 24}))
	type1 := func(line string) {
		t.Helper()
		if err := p.Write(t.Context(), []byte(line+"\r")); err != nil {
			t.Fatal(err)
		}
	}
	type1("X=kept; echo on''e")
	until(t, p, "one\r\n")
	s.Execd(string(sb.ID)).Drop()
	read := make(chan string, 1)
	go func() {
		var got strings.Builder
		for !strings.Contains(got.String(), "kept-2") {
			f, err := p.Next()
			if err != nil {
				got.WriteString("ERROR " + err.Error())
				break
			}
			got.Write(f.Data)
		}
		read <- got.String()
	}()
	// Input fails until the connection is back.
	eventually(t, "the connection coming back", func() bool { return p.Write(t.Context(), []byte("echo $X-2\r")) == nil })
	select {
	case got := <-read:
		if !strings.Contains(got, "kept-2") || strings.Contains(got, "one\r\n") {
			t.Errorf("after the break: %q", got)
		}
	case <-time.After(patience):
		t.Fatal("nothing came after the break")
	}
	if n := s.Execd(string(sb.ID)).Runs(); n != 1 {
		t.Errorf("the shell was started %d times", n)
	}
}

// TestTakeover: §4.6, who loses a terminal does not fight for it.
func TestTakeover(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{})
	c := open(t, s)
	sb := create(t, c)
	p := start(t, c, sb.ID, client.InteractiveShell(client.Size{Cols: 80, Rows: 24}))
	if err := p.Write(t.Context(), []byte("X=mine; echo rea''dy\r")); err != nil {
		t.Fatal(err)
	}
	until(t, p, "ready\r\n")
	q, err := c.Commands().Attach(t.Context(), sb.ID, p.PID())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for {
		_, err = p.Next()
		if err != nil {
			break
		}
	}
	if !errors.Is(err, client.ErrConflict) || !strings.Contains(err.Error(), "taken") {
		t.Errorf("the first holder: %v", err)
	}
	if err := q.Write(t.Context(), []byte("echo $X; exit 5\r")); err != nil {
		t.Fatal(err)
	}
	until(t, q, "mine\r\n")
	if out, err := client.Collect(q); err != nil || out.Exit.Code != 5 {
		t.Errorf("%+v, %v", out.Exit, err)
	}
	if _, err := c.Commands().Attach(t.Context(), sb.ID, p.PID()); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("attached to a shell that has ended, which would start it again: %v", err)
	}
}

// TestPausedIsNotAsked: §2.6, execd of a paused sandbox would hang.
func TestPausedIsNotAsked(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{SettleAfter: 2})
	c := open(t, s)
	sb := create(t, c)
	pauser, _ := client.Find[client.Pauser](c)
	if err := pauser.Pause(t.Context(), sb.ID); err != nil {
		t.Fatal(err)
	}
	if err := pauser.Pause(t.Context(), sb.ID); !errors.Is(err, client.ErrConflict) {
		t.Errorf("second pause: %v", err)
	}
	_, err := c.Commands().Start(t.Context(), sb.ID, client.Command{Argv: []string{"true"}})
	if !errors.Is(err, client.ErrConflict) || client.HintOf(err) == "" {
		t.Errorf("start in a paused sandbox: %v", err)
	}
	if err := pauser.Resume(t.Context(), sb.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	got, err := c.Sandboxes().Get(t.Context(), sb.ID)
	if left, _ := got.Remaining(time.Now()); err != nil || left < 50*time.Minute {
		t.Errorf("%s left, %v", left, err)
	}
}

// TestEndpointRewrite: a server in a container gives addresses that only it knows.
func TestEndpointRewrite(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{Internal: "host.docker.internal"})
	c := open(t, s, mode(opensandbox.ModeDirect), func(cfg *opensandbox.Config) {
		cfg.Rewrite = map[string]string{"host.docker.internal": "127.0.0.1"}
	})
	sb := create(t, c)
	if _, err := c.Files().ReadDir(t.Context(), sb.ID, "/"); err != nil {
		t.Error(err)
	}
}

// TestKeyGoesToTheServerOnly: §3.2, never to a direct address.
func TestKeyGoesToTheServerOnly(t *testing.T) {
	const secret = "server-key-0123456789"
	s := opensandboxtest.New(t, opensandboxtest.Options{Key: secret})
	c := open(t, s, key(secret), mode(opensandbox.ModeDirect))
	sb := create(t, c)
	a, err := c.ResolvePort(t.Context(), sb.ID, 3000)
	if err != nil || a.Header.Get("OPEN-SANDBOX-API-KEY") != "" || a.Header.Get("X-EXECD-ACCESS-TOKEN") == "" || !strings.HasSuffix(a.URL, "/proxy/3000") {
		t.Errorf("%s %v, %v", a.URL, a.Header, err)
	}
	p := open(t, s, key(secret), mode(opensandbox.ModeProxy))
	a, err = p.ResolvePort(t.Context(), sb.ID, 3000)
	if err != nil || a.Header.Get("OPEN-SANDBOX-API-KEY") != secret {
		t.Errorf("through the server's proxy: %v, %v", a.Header, err)
	}
}

// TestFileTraps: §9.10 to §9.14.
func TestFileTraps(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{})
	c := open(t, s)
	sb := create(t, c)
	f := c.Files()
	home := s.Execd(string(sb.ID)).Home()
	if _, err := f.Put(t.Context(), sb.ID, "a $HOME.txt", strings.NewReader("0123456789"), 10); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(home, "a $HOME.txt")); err != nil || string(data) != "0123456789" {
		t.Errorf("a dollar in a name: %q, %v", data, err)
	}
	if e, err := f.Stat(t.Context(), sb.ID, "a $HOME.txt"); err != nil || e.Mode != 0o644 || e.Permissions != "-rw-r--r--" {
		t.Errorf("mode: %+v, %v", e, err)
	}
	if err := os.Symlink(home, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "link"} {
		if r, err := f.Open(t.Context(), sb.ID, dir); err == nil {
			_ = r.Close()
			t.Errorf("a directory (%q) was opened", dir)
		}
	}
	at, _ := client.Find[client.RangeOpener](c)
	for offset, want := range map[int64]string{4: "456789", 10: "", 99: ""} {
		r, err := at.OpenAt(t.Context(), sb.ID, "a $HOME.txt", offset)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != want {
			t.Errorf("from %d: %q, %v", offset, got, err)
		}
		_ = r.Close()
	}
	if _, err := f.Put(t.Context(), sb.ID, "b", strings.NewReader(""), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Rename(t.Context(), sb.ID, "a $HOME.txt", "b"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("rename onto a file: %v", err)
	}
}

// TestManage: snapshots, pools, metrics, logs, network, metadata.
func TestManage(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{})
	c := open(t, s)
	deny := false
	sb := create(t, c, func(spec *client.CreateSpec) { spec.Internet = &deny })
	snap, err := c.Snapshot(t.Context(), sb.ID, "cp")
	if err != nil || !strings.HasPrefix(snap.ID, "snapshot:") {
		t.Fatalf("%+v, %v", snap, err)
	}
	if got := create(t, c, func(spec *client.CreateSpec) { spec.Template = snap.ID }); got.Template != snap.ID {
		t.Errorf("made of a snapshot: %+v", got)
	}
	list, _, err := c.Snapshots(t.Context(), client.SnapshotQuery{Sandbox: sb.ID})
	if err != nil || len(list) != 1 || list[0].Names[0] != "cp" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := c.DeleteSnapshot(t.Context(), snap.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Pools(t.Context()); !errors.Is(err, client.ErrUnsupported) || client.CodeOf(err) != client.CodeUnsupported {
		t.Errorf("pools: %v", err)
	}
	m, err := c.Metrics(t.Context(), sb.ID, time.Time{}, time.Time{})
	if err != nil || len(m) != 1 || m[0].MemTotal != 2048<<20 {
		t.Errorf("%+v, %v", m, err)
	}
	_, _ = c.Metrics(t.Context(), sb.ID, time.Time{}, time.Time{})
	if n := s.Execd(string(sb.ID)).Count("GET /metrics"); n != 1 {
		t.Errorf("%d readings within 2 s", n)
	}
	logs, err := c.Logs(t.Context(), sb.ID, time.Time{}, 10)
	if err != nil || len(logs) != 2 || logs[0].Message != "execd started" || logs[0].At.IsZero() {
		t.Errorf("%+v, %v", logs, err)
	}
	for _, allow := range [][]string{{"pypi.org", "*.test"}, {"example.org"}, nil} {
		if err := c.UpdateNetwork(t.Context(), sb.ID, client.NetworkUpdate{AllowOut: allow, Internet: &deny}); err != nil {
			t.Fatal(err)
		}
		p, err := c.Egress(t.Context(), sb.ID)
		if err != nil || len(p.Rules) != len(allow) || p.DefaultAction != "deny" {
			t.Errorf("%v: %+v, %v", allow, p, err)
		}
	}
	if err := c.UpdateNetwork(t.Context(), sb.ID, client.NetworkUpdate{AllowOut: []string{"10.0.0.0/8"}}); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("an address range: %v", err)
	}
	other := create(t, c)
	if err := c.UpdateNetwork(t.Context(), other.ID, client.NetworkUpdate{Internet: &deny}); !errors.Is(err, client.ErrUnsupported) {
		t.Errorf("a sandbox without a policy: %v", err)
	}
	text := "ä b"
	got, err := c.PatchMetadata(t.Context(), sb.ID, map[string]*string{"odd key": &text})
	if err != nil || got.Metadata["odd key"] != text {
		t.Errorf("%+v, %v", got.Metadata, err)
	}
	if got, err = c.PatchMetadata(t.Context(), sb.ID, map[string]*string{"odd key": nil}); err != nil || got.Metadata["odd key"] != "" {
		t.Errorf("%+v, %v", got.Metadata, err)
	}
}

func TestRefused(t *testing.T) {
	s := opensandboxtest.New(t, opensandboxtest.Options{Key: "server-key-0123456789"})
	c := open(t, s, key("server-key-0123456789"))
	sbs := c.Sandboxes()
	for name, x := range map[string]struct {
		spec client.CreateSpec
		code client.Code
		says string
	}{
		"image":      {client.CreateSpec{Template: "missing:1"}, client.CodeServer, "Failed to pull"},
		"pool":       {client.CreateSpec{Template: "pool:x"}, client.CodeUnsupported, "poolRef"},
		"auto pause": {client.CreateSpec{AutoPause: true}, client.CodeUnsupported, "cannot pause"},
		"reserved":   {client.CreateSpec{Metadata: map[string]string{"opensandbox.io/x": "y"}}, client.CodeUsage, "belong to the server"},
		"long value": {client.CreateSpec{Metadata: map[string]string{"x": strings.Repeat("ä", 40)}}, client.CodeUsage, "too long"},
	} {
		_, err := sbs.Create(t.Context(), x.spec)
		if client.CodeOf(err) != x.code || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v (%s)", name, err, client.CodeOf(err))
		}
	}
	_, err := open(t, s).Sandboxes().List(t.Context(), client.Query{})
	if !errors.Is(err, client.ErrUnauthorized) || client.CodeOf(err) != client.CodeAuthMissing {
		t.Errorf("without the key: %v", err)
	}
	if _, err := opensandbox.New(opensandbox.Config{APIURL: "http://far.test"}); client.CodeOf(err) != client.CodeConfig {
		t.Errorf("plain http: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sbs.List(ctx, client.Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, r := range s.Requests() {
		if r.Method == http.MethodDelete {
			t.Errorf("something was deleted: %s", r.URL)
		}
	}
}
