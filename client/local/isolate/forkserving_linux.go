package isolate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawnerMain is the fork server's process. It ends with its socket.
func spawnerMain() int {
	runtime.LockOSThread() // commands inherit what becomeUser sets on this thread
	closeOnExec()
	conn, err := unixConn(fdConfig)
	if err != nil {
		return fail("fork server", err)
	}
	if err := serveForks(conn); !peerGone(err) {
		return fail("fork server", err)
	}
	return 0
}

// serveForks answers requests until PID 1 is gone.
func serveForks(conn *net.UnixConn) error {
	// Moving a thread to another group can take a grace period of the kernel's, so
	// that is done before anybody waits for it.
	var tasks [8]byte
	if _, err := io.ReadFull(conn, tasks[:]); err != nil {
		return err
	}
	if err := joinTasks(binary.BigEndian.Uint64(tasks[:])); err != nil {
		return err
	}
	if err := settleUser(); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{heardAwake}); err != nil {
		return err
	}
	h, err := readHello(conn)
	if err != nil {
		return err
	}
	if err := becomeUser(h); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{heardReady}); err != nil {
		return err
	}
	for {
		if err := serveFork(conn); err != nil {
			return err
		}
	}
}

// peerGone reports whether the other end of a socket is closed.
func peerGone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// settleUser gives this process what commands of every sandbox are to inherit.
func settleUser() error {
	takeSignals()
	// Keys of the host's session must not be possessed here.
	if _, _, errno := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0); errno != 0 && errno != unix.ENOSYS {
		return fmt.Errorf("leave the session's keyring: %w", errno)
	}
	// Best effort: a host may not allow a lower score than the inherited one.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("0"), 0)
	prefault()
	return nil
}

// becomeUser gives this process what this sandbox's commands are to inherit.
func becomeUser(h hello) error {
	if err := limitFiles(h.files); err != nil {
		return err
	}
	if countsPerNamespace() {
		lim := syscall.Rlimit{Cur: h.processes, Max: h.processes}
		if err := syscall.Setrlimit(unix.RLIMIT_NPROC, &lim); err != nil {
			return fmt.Errorf("limit processes: %w", err)
		}
	}
	if h.data > 0 {
		lim := syscall.Rlimit{Cur: h.data, Max: h.data}
		if err := syscall.Setrlimit(unix.RLIMIT_DATA, &lim); err != nil {
			return fmt.Errorf("limit memory: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("set non-dumpable: %w", err)
	}
	return installFilter(h.noSetID != 0)
}

// joinTasks puts this thread into the inherited v1 cgroups. Each file was opened
// by whoever may do so, and 0 is the thread that writes.
func joinTasks(n uint64) error {
	for i := range int(n) {
		f := os.NewFile(uintptr(fdTasks+i), "tasks")
		_, err := f.WriteString("0")
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("join a cgroup: %w", err)
		}
	}
	return nil
}

// countsPerNamespace reports whether RLIMIT_NPROC counts in this user namespace
// alone. Kernels before 5.14 count everything that the user runs on the machine.
func countsPerNamespace() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 5 || major == 5 && minor >= 14
}

// serveFork answers one request.
func serveFork(conn *net.UnixConn) error {
	head := make([]byte, 4)
	oob := make([]byte, unix.CmsgSpace(3*4))
	n, oobn, _, _, err := conn.ReadMsgUnix(head, oob)
	if err != nil {
		return err
	}
	if n == 0 {
		return io.EOF
	}
	if _, err := io.ReadFull(conn, head[n:]); err != nil {
		return err
	}
	fds, err := receivedFDs(oob[:oobn])
	for _, fd := range fds {
		defer func() { _ = unix.Close(fd) }()
	}
	if err == nil && len(fds) != 3 {
		err = fmt.Errorf("%d descriptors instead of 3", len(fds))
	}
	if err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head)
	if size > maxRequest {
		return errors.New("request too long")
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(conn, payload); err != nil {
		return err
	}
	c, err := decodeCommand(payload)
	if err != nil {
		return err
	}
	pid, err := forkCommand(c, [3]uintptr{uintptr(fds[0]), uintptr(fds[1]), uintptr(fds[2])}, unix.CLONE_PARENT, 0)
	var stage forkStage
	var errno syscall.Errno
	var fe *forkError
	if errors.As(err, &fe) {
		stage, errno = fe.stage, fe.errno
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(pid))
	out = binary.BigEndian.AppendUint32(out, uint32(stage))
	out = binary.BigEndian.AppendUint32(out, uint32(errno))
	_, err = conn.Write(out)
	return err
}

// receivedFDs takes the descriptors out of a control message.
func receivedFDs(oob []byte) ([]int, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	var fds []int
	for _, m := range msgs {
		got, err := unix.ParseUnixRights(&m)
		if err != nil {
			return fds, fmt.Errorf("control message: %w", err)
		}
		fds = append(fds, got...)
	}
	return fds, nil
}
