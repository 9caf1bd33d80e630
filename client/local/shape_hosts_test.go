//go:build linux

package local

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"abxdash/client"
)

// hostEnv names the host that TestInsideAnotherHost finds itself on.
const hostEnv = "LOCAL_TEST_HOST"

// anotherHost is a machine with other folders than this one, made of nothing but
// a static busybox and this test.
type anotherHost struct {
	name string
	// programs is the folder that holds busybox and its names.
	programs string
	// links are symbolic links, by place.
	links map[string]string
	// path is where a user of that host finds programs.
	path string
}

func anotherHosts() []anotherHost {
	const store = "/nix/store/0123456789abcdfghijklmnpqrsvwxyz-system"
	return []anotherHost{
		// Alpine: no bash, programs in /bin, a small /usr.
		{name: "alpine", programs: "/bin", links: map[string]string{"/usr/bin/env": "/bin/busybox", "/sbin/apk": "/bin/busybox"}, path: "/usr/bin:/bin"},
		// NixOS: everything in the store; /bin/sh and /usr/bin/env are links into it.
		{name: "nixos", programs: store + "/bin", links: map[string]string{
			"/bin/sh": store + "/bin/sh", "/usr/bin/env": store + "/bin/env", "/run/current-system": store + "-1", store + "-1/sw": store,
		}, path: "/run/current-system/sw/bin"},
		// A rescue system: no /usr at all.
		{name: "without usr", programs: "/bin", path: "/bin"},
	}
}

// build makes the host's root below dir.
func (h anotherHost) build(t *testing.T, dir, busybox string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{h.programs, "/etc", "/proc", "/sys", "/dev", "/run", "/root", "/test", "/tmp", "/people"} {
		must(os.MkdirAll(dir+d, 0o755))
	}
	must(os.Chmod(dir+"/tmp", 0o777|os.ModeSticky))
	must(copyFile(busybox, dir+h.programs+"/busybox"))
	list, err := exec.Command(busybox, "--list").Output()
	must(err)
	for _, name := range strings.Fields(string(list)) {
		if name != "busybox" {
			must(os.Symlink("busybox", dir+h.programs+"/"+name))
		}
	}
	for at, to := range h.links {
		must(os.MkdirAll(filepath.Dir(dir+at), 0o755))
		must(os.Symlink(to, dir+at))
	}
	must(os.WriteFile(dir+"/etc/passwd", []byte("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"), 0o644))
	must(copyFile("/proc/self/exe", dir+"/test/local.test"))
}

// needsLibraries reports a program that another one must load.
func needsLibraries(t *testing.T) bool {
	t.Helper()
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// TestAnotherHost runs TestInsideAnotherHost on machines with other folders, as
// root and as an ordinary user.
func TestAnotherHost(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the root")
	}
	if needsLibraries(t) {
		t.Skip("this test's program needs the libraries of this machine: build it with CGO_ENABLED=0")
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("no busybox on this machine")
	}
	for _, h := range anotherHosts() {
		for _, uid := range []int{0, nobody} {
			t.Run(fmt.Sprintf("%s/uid %d", h.name, uid), func(t *testing.T) {
				root := tempRoot(t)
				if err := os.Chmod(root, 0o755); err != nil {
					t.Fatal(err)
				}
				h.build(t, root, busybox)
				cmd := exec.Command("/proc/self/exe", root, h.path, strconv.Itoa(uid), h.name)
				cmd.Args[0] = "local.test"
				cmd.Env = []string{actEnv + "=another host"}
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
				out, err := cmd.CombinedOutput()
				if errors.Is(err, syscall.EPERM) {
					t.Skip("no mount namespaces here: ", err)
				}
				if err != nil || !bytes.Contains(out, []byte("--- PASS: TestInsideAnotherHost")) {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// actAnotherHost makes root this process's root and runs the test there.
func actAnotherHost(root, path, uid, name string) error {
	mount := func(from, at, kind string, flags uintptr) error {
		if err := unix.Mount(from, at, kind, flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", at, err)
		}
		return nil
	}
	if err := errors.Join(
		mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE),
		mount(root, root, "", unix.MS_BIND|unix.MS_REC),
		mount("/proc", root+"/proc", "", unix.MS_BIND|unix.MS_REC),
		mount("/sys", root+"/sys", "", unix.MS_BIND|unix.MS_REC),
		mount("/dev", root+"/dev", "", unix.MS_BIND|unix.MS_REC),
	); err != nil {
		return err
	}
	if err := unix.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := errors.Join(unix.Unmount(".", unix.MNT_DETACH), unix.Chdir("/")); err != nil {
		return err
	}
	id, err := strconv.Atoi(uid)
	if err != nil {
		return err
	}
	home := "/people/one"
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, id, id)); err != nil {
		return err
	}
	cmd := exec.Command("/test/local.test", "-test.run=^TestInsideAnotherHost$", "-test.v", "-test.timeout=5m")
	cmd.Env = []string{"PATH=" + path, "HOME=" + home, "TMPDIR=" + home, hostEnv + "=" + name}
	cmd.Dir = home
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}}
	return cmd.Run()
}

// TestInsideAnotherHost is what must work on any of them.
func TestInsideAnotherHost(t *testing.T) {
	if os.Getenv(hostEnv) == "" {
		t.Skip("TestAnotherHost runs this")
	}
	p := newProvider(t, Config{})
	sb := create(t, p, client.CreateSpec{})
	if sb.Isolation != client.IsolationNamespace {
		st, err := p.Status(t.Context())
		t.Fatalf("isolation %s: %+v, %v", sb.Isolation, st, err)
	}
	if out := run(t, p, sb.ID, "cd; pwd; id -un; echo x > f; cat f; ls /people 2>&1 | grep -c one || true"); out != "/home/user\nuser\nx\n0\n" {
		t.Errorf("a command: %q", out)
	}
	collect := func(c client.Command) string {
		t.Helper()
		proc, err := p.Commands().Start(t.Context(), sb.ID, c)
		if err != nil {
			t.Fatal(err)
		}
		defer proc.Close()
		out, err := client.Collect(proc)
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprintf("%s%s%s", out.Stdout, out.Stderr, out.Exit)
	}
	// As SDKs word a command, bash or not.
	got := collect(client.Command{Argv: []string{"/bin/bash", "-l", "-c", `echo "hi $((1+1))"; exit 3`}})
	if !strings.HasPrefix(got, "hi 2\n") || !strings.HasSuffix(got, "3") {
		t.Errorf("an SDK's command: %q", got)
	}
	if got := collect(client.Command{Argv: []string{"stty", "size"}, PTY: &client.Size{Cols: 91, Rows: 17}}); !strings.HasPrefix(got, "17 91\r\n") {
		t.Errorf("a terminal: %q", got)
	}
	proc, err := p.Commands().Start(t.Context(), sb.ID, client.InteractiveShell(client.Size{Cols: 80, Rows: 24}))
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	if err := proc.Write(t.Context(), []byte("echo one''two; exit\n")); err != nil {
		t.Fatal(err)
	}
	if out, err := client.Collect(proc); err != nil || !strings.Contains(string(out.Stdout), "onetwo") {
		t.Errorf("a shell: %q, %v", out.Stdout, err)
	}
	if _, err := p.Files().Put(t.Context(), sb.ID, "up", strings.NewReader("up"), 2); err != nil {
		t.Error(err)
	}
	if out := run(t, p, sb.ID, "cat up"); out != "up" {
		t.Errorf("an upload: %q", out)
	}
}
