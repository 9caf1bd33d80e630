//go:build linux

package isolate

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// callsToTry is what a command asks of the kernel in the test, with arguments
// that would do no harm.
func callsToTry() map[string][]uintptr {
	path := uintptr(unsafe.Pointer(&[]byte("/tmp\x00")[0]))
	return map[string][]uintptr{
		"mount": {unix.SYS_MOUNT}, "umount": {unix.SYS_UMOUNT2, path}, "pivot_root": {unix.SYS_PIVOT_ROOT, path, path},
		"open_tree": {unix.SYS_OPEN_TREE, ^uintptr(99), path, unix.OPEN_TREE_CLONE}, "fsopen": {unix.SYS_FSOPEN, path},
		"mount_setattr": {unix.SYS_MOUNT_SETATTR}, "setns": {unix.SYS_SETNS, 0, 0}, "move_mount": {unix.SYS_MOVE_MOUNT},
		"unshare user": {unix.SYS_UNSHARE, unix.CLONE_NEWUSER}, "unshare net": {unix.SYS_UNSHARE, unix.CLONE_NEWNET},
		"unshare files": {unix.SYS_UNSHARE, unix.CLONE_FILES},
		"clone user":    {unix.SYS_CLONE, unix.CLONE_NEWUSER | uintptr(syscall.SIGCHLD)},
		"clone3":        {unix.SYS_CLONE3}, "io_uring": {unix.SYS_IO_URING_SETUP, 1},
		"bpf": {unix.SYS_BPF}, "keyctl": {unix.SYS_KEYCTL}, "add_key": {unix.SYS_ADD_KEY}, "perf_event_open": {unix.SYS_PERF_EVENT_OPEN},
		"userfaultfd": {unix.SYS_USERFAULTFD}, "open_by_handle_at": {unix.SYS_OPEN_BY_HANDLE_AT}, "syslog": {unix.SYS_SYSLOG, 10},
		"finit_module": {unix.SYS_FINIT_MODULE}, "kexec_load": {unix.SYS_KEXEC_LOAD}, "reboot": {unix.SYS_REBOOT},
		"vsock": {unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM}, "alg": {unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET},
		"unix": {unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM}, "inet": {unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM},
		"netlink": {unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW}, "getpid": {unix.SYS_GETPID},
		"x32 getpid": {unix.SYS_GETPID + 0x4000_0000},
		"setuid bit": {unix.SYS_FCHMODAT, ^uintptr(99), uintptr(unsafe.Pointer(&[]byte("file\x00")[0])), 0o4755},
		"chmod":      {unix.SYS_FCHMODAT, ^uintptr(99), uintptr(unsafe.Pointer(&[]byte("file\x00")[0])), 0o755},
	}
}

// actCalls tries them and prints what each said.
func actCalls() error {
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		return err
	}
	said := map[string]string{}
	for name, c := range callsToTry() {
		args := append(c, make([]uintptr, 7-len(c))...)
		_, _, errno := unix.RawSyscall6(args[0], args[1], args[2], args[3], args[4], args[5], args[6])
		said[name] = errno.Error()
		if errno == 0 {
			said[name] = "ok"
		}
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}

// actInside runs a part of this test binary as a command of the sandbox.
func actInside(t testing.TB, b *box, act string) runReply {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.home, "probe"), self, 0o755); err != nil { //nolint:gosec // the sandbox's id must execute it
		t.Fatal(err)
	}
	out := b.do(t, runRequest{Argv: []string{"./probe"}, Env: []string{actEnv + "=" + act}})
	if out.Err != "" || out.Exit.Code != 0 {
		t.Fatalf("%s: %s %+v\n%s", act, out.Err, out.Exit, out.Stderr)
	}
	return out
}

func TestSystemCalls(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	if !filterAvailable() {
		t.Skip("no seccomp filters here")
	}
	b := startBox(t, l, Config{})
	if b.Means().SystemCalls != ByFilter {
		t.Errorf("%+v", b.Means())
	}
	var got map[string]string
	if err := json.Unmarshal(actInside(t, b, "calls").Stdout, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for name := range callsToTry() {
		want[name] = unix.EPERM.Error()
	}
	for _, name := range []string{"unix", "inet", "netlink", "getpid", "unshare files", "chmod", "setuid bit"} {
		want[name] = "ok"
	}
	for _, name := range []string{"clone3", "io_uring", "x32 getpid"} {
		want[name] = unix.ENOSYS.Error()
	}
	want["vsock"], want["alg"] = unix.EAFNOSUPPORT.Error(), unix.EAFNOSUPPORT.Error()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The parts around the commands are not filtered, or they could not do their work.
	if got := b.sh(t, "grep Seccomp: /proc/self/status /proc/1/status | tr -d '[:space:]'"); got != "/proc/self/status:Seccomp:2/proc/1/status:Seccomp:0" {
		t.Errorf("%q", got)
	}
}

// Debuggers work on the sandbox's own programs.
func TestDebuggers(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	b := startBox(t, l, Config{})
	for tool, script := range map[string]string{
		"strace": "strace -f -o log sh -c 'true; /bin/true' && grep -q execve log && echo works",
		"gdb":    "gdb -q -batch -nx -ex run -ex 'info registers rip' -ex 'print 40+2' /bin/true 2>&1 | grep -q 42 && echo works",
	} {
		if _, err := exec.LookPath(tool); err != nil {
			continue
		}
		out := b.do(t, runRequest{Argv: []string{"sh", "-c", script}})
		if !strings.Contains(string(out.Stdout), "works") {
			t.Errorf("%s: %+v %s%s", tool, out.Exit, out.Stdout, out.Stderr)
		}
	}
	// An attach to a program that runs, which is not the tracer's child.
	if _, err := exec.LookPath("strace"); err == nil {
		first := b.do(t, runRequest{Argv: []string{"sleep", "300"}, Leave: true})
		out := b.do(t, runRequest{Argv: []string{"sh", "-c", fmt.Sprintf("timeout -s INT 1 strace -p %d 2>&1; true", first.PID)}})
		if !strings.Contains(string(out.Stdout), "attached") {
			t.Errorf("attach: %s%s", out.Stdout, out.Stderr)
		}
		if out := b.do(t, runRequest{Argv: []string{"strace", "-p", "1"}}); out.Exit.Code == 0 {
			t.Error("PID 1 was traced")
		}
	}
}
