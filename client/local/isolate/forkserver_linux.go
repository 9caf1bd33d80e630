package isolate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The fork server is a process of this binary that lives in the user namespace
// of the commands and starts them. PID 1 cannot: entering a user namespace is
// refused to a process of several threads, and a namespace for each command
// would keep them from looking at each other's /proc entries.
//
// Its commands become children of PID 1 (CLONE_PARENT), which so collects every
// status. When it is killed (the user may: it is the user's process like any
// other) PID 1 starts another one, in a new namespace.
//
// On the socket, in network byte order: first five numbers in (uint64, see hello), then
// one byte out when it is ready. A request is a length (uint32), sent along with the three
// descriptors, and that many bytes: flags, directory, number of arguments,
// arguments and environment, joined by NUL. The answer is pid, stage and errno
// (uint32 each).

// userUID and userGID are the ids that a command sees as its own.
const (
	userUID  = 1000
	userGID  = 1000
	nobodyID = 65534
)

const (
	forkFlagTTY = "t"
	maxRequest  = 16 << 20
	answerSize  = 12
	// forkLimit bounds one request; a stopped or starved fork server is replaced.
	forkLimit = 30 * time.Second
	forkNudge = 100 * time.Millisecond
)

// forkServer is PID 1's side. The spawner's lock guards it.
type forkServer struct {
	// boot starts the process.
	boot func() (pid int, conn *net.UnixConn, err error)
	pid  int
	conn *net.UnixConn // nil when none runs
	// ready is set once it said that it is.
	ready bool
}

// running is its pid, 0 when none runs.
func (f *forkServer) running() int {
	if f.conn == nil {
		return 0
	}
	return f.pid
}

// gone notes that a process ended that was no command.
func (f *forkServer) gone(pid int) {
	if pid == f.pid {
		f.drop()
	}
}

func (f *forkServer) drop() {
	if f.conn != nil {
		_ = f.conn.Close()
		f.conn = nil
	}
}

// replace ends a fork server that failed; the next command gets another one.
func (f *forkServer) replace() {
	if f.conn != nil {
		f.drop()
		_ = syscall.Kill(f.pid, syscall.SIGKILL)
	}
}

// ensure starts the fork server if none runs.
func (f *forkServer) ensure() (err error) {
	if f.conn == nil {
		f.ready = false
		f.pid, f.conn, err = f.boot()
	}
	return err
}

// fork asks for one process. A server that died before it took the request is
// replaced; one that died later may have started the command, so that is an error.
func (f *forkServer) fork(c command, stdio [3]*os.File) (int, error) {
	payload, err := encodeCommand(c)
	if err != nil {
		return 0, err
	}
	fresh := f.conn == nil
	pid, err := f.ask(payload, stdio)
	// The peer was gone, or went with the request unread.
	if !fresh && peerGone(err) && !errors.Is(err, io.EOF) {
		f.drop()
		pid, err = f.ask(payload, stdio)
	}
	var fe *forkError
	if err != nil && !errors.As(err, &fe) {
		f.replace()
		err = fmt.Errorf("the sandbox's starter of commands failed: %w", err)
	}
	return pid, err
}

// ask sends one request and waits for the answer.
func (f *forkServer) ask(payload []byte, stdio [3]*os.File) (int, error) {
	if err := f.ensure(); err != nil {
		return 0, err
	}
	if !f.ready {
		if err := f.read(make([]byte, 1)); err != nil {
			return 0, err
		}
		f.ready = true
	}
	if err := f.conn.SetWriteDeadline(time.Now().Add(forkLimit)); err != nil {
		return 0, err
	}
	if err := f.send(payload, stdio); err != nil {
		return 0, err
	}
	return f.answer()
}

func (f *forkServer) send(payload []byte, stdio [3]*os.File) error {
	fds := make([]int, len(stdio))
	for i, file := range stdio {
		fds[i] = int(file.Fd())
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
	if _, _, err := f.conn.WriteMsgUnix(head, unix.UnixRights(fds...), nil); err != nil {
		return err
	}
	_, err := f.conn.Write(payload)
	return err
}

// read fills b. The user may have stopped the fork server like any process (`kill
// -STOP -1`), while the spawner waits here with its lock held: it is sent on.
func (f *forkServer) read(b []byte) error {
	end := time.Now().Add(forkLimit)
	for {
		if err := f.conn.SetReadDeadline(time.Now().Add(forkNudge)); err != nil {
			return err
		}
		n, err := io.ReadFull(f.conn, b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Now().After(end) {
			return err
		}
		if err := ignoreGone(syscall.Kill(f.pid, syscall.SIGCONT)); err != nil {
			return err
		}
	}
}

func (f *forkServer) answer() (int, error) {
	var b [answerSize]byte
	if err := f.read(b[:]); err != nil {
		return 0, err
	}
	pid := binary.BigEndian.Uint32(b[0:])
	if stage := forkStage(binary.BigEndian.Uint32(b[4:])); stage != 0 {
		return 0, &forkError{stage, syscall.Errno(binary.BigEndian.Uint32(b[8:]))}
	}
	return int(pid), nil
}

func encodeCommand(c command) ([]byte, error) {
	flags := ""
	if c.tty {
		flags = forkFlagTTY
	}
	parts := append([]string{flags, c.dir, strconv.Itoa(len(c.argv))}, c.argv...)
	parts = append(parts, c.env...)
	size := 0
	for _, p := range parts {
		if strings.ContainsRune(p, 0) {
			return nil, &forkError{stageExec, syscall.EINVAL}
		}
		size += len(p) + 1
	}
	if size > maxRequest {
		return nil, &forkError{stageExec, syscall.E2BIG}
	}
	return []byte(strings.Join(parts, "\x00")), nil
}

func decodeCommand(b []byte) (command, error) {
	parts := strings.Split(string(b), "\x00")
	if len(parts) < 4 {
		return command{}, errors.New("request too short")
	}
	n, err := strconv.Atoi(parts[2])
	if err != nil || n < 1 || n > len(parts)-3 {
		return command{}, errors.New("request with a bad count")
	}
	return command{tty: parts[0] == forkFlagTTY, dir: parts[1], argv: parts[3 : 3+n], env: parts[3+n:]}, nil
}

// bootForkServer starts a fork server in a user namespace of its own, with id
// 0 of this one as uid 1000. It is not ready yet on return. sysctl is this
// namespace's user.max_user_namespaces: it is 0 at all other times, so that the
// sandbox's programs cannot make one and be root in it.
func bootForkServer(sysctl *os.File, cfg initConfig) (int, *net.UnixConn, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("make a socket: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "fork server")
	defer theirs.Close()
	conn, err := unixConn(fds[0])
	if err != nil {
		return 0, nil, err
	}
	if _, err := sysctl.WriteAt([]byte("16\n"), 0); err != nil {
		return 0, nil, errors.Join(fmt.Errorf("allow a user namespace: %w", err), conn.Close())
	}
	pid, err := execForkServer(theirs, cfg.FDs)
	if _, werr := sysctl.WriteAt([]byte("0\n"), 0); werr != nil {
		err = errors.Join(err, fmt.Errorf("forbid user namespaces: %w", werr))
	}
	if err != nil {
		return 0, nil, errors.Join(fmt.Errorf("start the fork server: %w", err), conn.Close())
	}
	if _, err := conn.Write(helloOf(cfg).encode()); err != nil {
		return 0, nil, errors.Join(fmt.Errorf("talk to the fork server: %w", err), conn.Close())
	}
	return pid, conn, nil
}

// execForkServer starts the process, in the cgroup of the commands if there is
// one: what it starts is then in it, too.
func execForkServer(socket *os.File, fds inherited) (int, error) {
	attr := &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1"},
		Files: []uintptr{0, 1, 2, socket.Fd()},
		Sys: &syscall.SysProcAttr{
			Setsid:      true,
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: userUID, HostID: 0, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: userGID, HostID: 0, Size: 1}},
		},
	}
	for _, fd := range fds.Tasks {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	if fds.Group > 0 {
		setGroup(attr.Sys, fds.Group)
	}
	return syscall.ForkExec("/proc/self/exe", []string{spawnerName}, attr)
}

// hello is what the fork server is told first.
type hello struct {
	files, processes uint64
	// data bounds the private memory of each process, in bytes; 0 is no bound.
	data uint64
	// tasks is the number of inherited v1 cgroups, from descriptor fdTasks on.
	tasks uint64
	// noSetID is 1 when commands must not make set-user-id files.
	noSetID uint64
}

const (
	helloSize = 5 * 8
	fdTasks   = fdConfig + 1
)

// minDataMB is the least private memory of a process, in MiB: run-time systems
// set aside that much and do not use it.
const minDataMB = 256

func helloOf(cfg initConfig) hello {
	h := hello{files: cfg.Limits.OpenFiles, processes: cfg.Limits.Processes, tasks: uint64(len(cfg.FDs.Tasks))}
	if !cfg.MemoryGroup && cfg.Limits.MemoryMB > 0 {
		h.data = uint64(max(cfg.Limits.MemoryMB, minDataMB)) << 20
	}
	for _, m := range cfg.Mounts {
		if !m.ReadOnly {
			h.noSetID = 1
		}
	}
	return h
}

func (h hello) encode() []byte {
	var b []byte
	for _, n := range []uint64{h.files, h.processes, h.data, h.tasks, h.noSetID} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func readHello(r io.Reader) (hello, error) {
	var b [helloSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return hello{}, err
	}
	n := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	return hello{files: n(0), processes: n(1), data: n(2), tasks: n(3), noSetID: n(4)}, nil
}

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
	h, err := readHello(conn)
	if err != nil {
		return err
	}
	if err := becomeUser(h); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{1}); err != nil {
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

// becomeUser gives this process what its commands are to inherit.
func becomeUser(h hello) error {
	takeSignals()
	if err := joinTasks(h.tasks); err != nil {
		return err
	}
	// Keys of the host's session must not be possessed here.
	if _, _, errno := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0); errno != 0 && errno != unix.ENOSYS {
		return fmt.Errorf("leave the session's keyring: %w", errno)
	}
	// Best effort: a host may not allow a lower score than the inherited one.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("0"), 0)
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

// receivedFDs takes the three descriptors out of a control message.
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
	if len(fds) != 3 {
		return fds, fmt.Errorf("%d descriptors instead of 3", len(fds))
	}
	return fds, nil
}
