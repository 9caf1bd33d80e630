//go:build linux

package isolate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"abxdash/client"
	"abxdash/client/local/envd"
)

func TestCommandRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.ByteRange(1, 255)).Draw
		texts := func(name string, minLen int) []string {
			out := make([]string, rapid.IntRange(minLen, 5).Draw(t, name+" count"))
			for i := range out {
				out[i] = string(text(t, name))
			}
			return out
		}
		c := command{
			argv: texts("argument", 1), env: texts("variable", 0),
			dir: string(text(t, "directory")), tty: rapid.Bool().Draw(t, "tty"),
		}
		b, err := encodeCommand(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeCommand(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, got, cmp.AllowUnexported(command{}), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEncodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		in   command
		want syscall.Errno
	}{
		"NUL in an argument":    {command{argv: []string{"a\x00b"}}, syscall.EINVAL},
		"NUL in a variable":     {command{argv: []string{"a"}, env: []string{"A=\x00"}}, syscall.EINVAL},
		"NUL in a directory":    {command{argv: []string{"a"}, dir: "/\x00"}, syscall.EINVAL},
		"more than can be sent": {command{argv: []string{strings.Repeat("x", maxRequest)}}, syscall.E2BIG},
	} {
		if _, err := encodeCommand(c.in); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecodeCommand(f *testing.F) {
	f.Add([]byte("t\x00/\x001\x00sh\x00A=b"))
	f.Add([]byte("\x00\x00-1\x00"))
	f.Add([]byte("\x00\x009\x00a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCommand(b)
		if err == nil && len(c.argv) == 0 {
			t.Error("a command without a program")
		}
	})
}

func TestLoopbackPort(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1:9000": "9000", "localhost:1": "1", "[::1]:65535": "65535", "127.9.9.9:80": "80",
		"10.0.0.1:80": "", "example.com:80": "", "127.0.0.1:0": "", "127.0.0.1:65536": "", "127.0.0.1:http": "",
		"127.0.0.1": "", ":80": "", "": "", "0.0.0.0:80": "", "127.0.0.1.evil:80": "", "127.0.0.1:-1": "",
	} {
		port, ok := loopbackPort(in)
		if ok != (want != "") || ok && port != want {
			t.Errorf("%q: %q %v, want %q", in, port, ok, want)
		}
	}
}

// The relay by itself: half-close both ways, both loopback addresses, refusals,
// and other requests going to the agent.
func TestRelay(t *testing.T) {
	echo := func(t *testing.T, network, addr string) string {
		ln, err := net.Listen(network, addr)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				b, _ := io.ReadAll(c)
				_, _ = c.Write(append([]byte("got "), b...))
				_ = c.Close()
			}
		}()
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		return port
	}
	srv := httptest.NewServer(newRelay(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "agent")
	})))
	defer srv.Close()
	connect := func(t *testing.T, target, early string) (net.Conn, *bufio.Reader, int) {
		c, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		// What follows the header in the same segment must not be lost.
		if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s", target, target, early); err != nil {
			t.Fatal(err)
		}
		br := bufio.NewReader(c)
		resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
		if err != nil {
			t.Fatal(err)
		}
		return c, br, resp.StatusCode
	}
	for name, addr := range map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"} {
		t.Run(name, func(t *testing.T) {
			c, br, status := connect(t, "127.0.0.1:"+echo(t, name, addr), "early ")
			if status != http.StatusOK {
				t.Fatal(status)
			}
			_, _ = io.WriteString(c, "late")
			if tc, ok := c.(*net.TCPConn); !ok || tc.CloseWrite() != nil {
				t.Fatal("no half-close")
			}
			if got, err := io.ReadAll(br); err != nil || string(got) != "got early late" {
				t.Errorf("%q %v", got, err)
			}
		})
	}
	if _, _, status := connect(t, "192.0.2.1:80", ""); status != http.StatusBadRequest {
		t.Errorf("another host: %d", status)
	}
	if _, _, status := connect(t, "127.0.0.1:1", ""); status != http.StatusBadGateway {
		t.Errorf("closed port: %d", status)
	}
	resp, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); string(b) != "agent" {
		t.Errorf("%q", b)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestHostname(t *testing.T) {
	for in, want := range map[string]string{
		"": "sandbox", "web-1": "web-1", "a b\nc": "abc", "-x-": "x", "ö": "sandbox", "..": "sandbox",
		strings.Repeat("a", 70): strings.Repeat("a", 63),
	} {
		if got := hostname(initConfig{Hostname: in}); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestRootMap(t *testing.T) {
	for name, c := range map[string]struct {
		idMap string
		want  []syscall.SysProcIDMap
	}{
		"whole machine":       {"         0          0 4294967295\n", []syscall.SysProcIDMap{{ContainerID: 0, HostID: rootBase, Size: rootSize}}},
		"rootless container":  {"0 1000 1\n1 100000 65535\n", []syscall.SysProcIDMap{{ContainerID: 0, HostID: 65535, Size: 1}}},
		"nobody is not taken": {"0 1000 1\n1 100000 65534\n", []syscall.SysProcIDMap{{ContainerID: 0, HostID: 65533, Size: 1}}},
		"nothing but root":    {"0 1000 1\n", nil},
		"not a map":           {"x\n", nil},
	} {
		file := filepath.Join(t.TempDir(), "map")
		if err := os.WriteFile(file, []byte(c.idMap), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := rootMap(file)
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		for _, m := range got {
			if m.HostID == 0 {
				t.Errorf("%s: host id 0 is mapped", name)
			}
		}
	}
}

// A terminal's Read must end when it is closed, or attaching leaks.
func TestTerminalCloseEndsRead(t *testing.T) {
	m, term, err := openTerminal(envd.Winsize{Cols: 10, Rows: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := m.Read(make([]byte, 1))
		ended <- err
	}()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("read something")
	}
}

func TestStartRefusals(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	home := tempDir(t)
	for name, c := range map[string]struct {
		cfg  Config
		want client.Code
	}{
		"no listener":   {Config{Home: home}, client.CodeUsage},
		"unknown level": {Config{Home: home, Level: "magic", Listener: os.Stdin}, client.CodeIsolation},
		"no home":       {Config{Home: filepath.Join(home, "none"), Listener: os.Stdin}, client.CodeCreate},
		"not a socket":  {Config{Home: home, Listener: os.Stdin}, client.CodeCreate},
	} {
		_, err := l.Start(context.Background(), c.cfg)
		var ce *client.Error
		if !errors.As(err, &ce) || ce.Code != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if os.Geteuid() == 0 {
		if _, err := l.Start(context.Background(), Config{Home: home, Level: client.IsolationProcess, Listener: os.Stdin}); client.CodeOf(err) != client.CodeIsolation {
			t.Errorf("root at level process: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Start(ctx, Config{Home: home, Listener: os.Stdin}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if kids := descendants(os.Getpid()); len(kids) > 0 {
		t.Errorf("left: %v", kids)
	}
}

// The launcher's thread has another working directory than the caller.
func TestRelativeHome(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	t.Chdir(tempDir(t))
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: "sock", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	lf, err := ln.File()
	if err != nil {
		t.Fatal(err)
	}
	defer lf.Close()
	for _, home := range []string{"a", "b"} {
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
		s, err := l.Start(context.Background(), Config{Home: home, Listener: lf})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Kill(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// A binary that only root may execute is copied for the mapped id.
func TestPrivateBinary(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	src, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(tempDir(t), "private.test")
	if err := os.WriteFile(bin, src, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(bin, "-test.run=^TestExits$", "-test.v").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestExits/namespace") {
		t.Errorf("%v\n%s", err, out)
	}
}

// IsInit goes by argv[0] alone; a broken start is an error, not a hang.
func TestInitWithoutConfiguration(t *testing.T) {
	for _, name := range []string{initName, spawnerName} {
		cmd := reexec(t, nil, nil)
		cmd.Args[0] = name
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
}
