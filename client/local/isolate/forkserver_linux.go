package isolate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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
// On the socket, in network byte order: first the number of v1 cgroups to join in
// (uint64), one byte out when it is in them, four numbers in (uint64, see hello) and
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
	// hello is what it is told first; until then it waits.
	hello func() hello
	pid   int
	conn  *net.UnixConn // nil when none runs
	// greeted is set once it was told. heard counts what it said: that it runs, and
	// that it is ready.
	greeted bool
	heard   int
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

// start starts the fork server if none runs.
func (f *forkServer) start() (err error) {
	if f.conn == nil {
		f.greeted, f.heard = false, 0
		f.pid, f.conn, err = f.boot()
	}
	return err
}

// ensure starts the fork server if none runs, and tells it for whom it works.
func (f *forkServer) ensure() error {
	if err := f.start(); err != nil || f.greeted {
		return err
	}
	if _, err := f.conn.Write(f.hello().encode()); err != nil {
		f.drop()
		return fmt.Errorf("talk to the fork server: %w", err)
	}
	f.greeted = true
	return nil
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
	if err := f.hear(heardReady); err != nil {
		return 0, err
	}
	if err := f.conn.SetWriteDeadline(time.Now().Add(forkLimit)); err != nil {
		return 0, err
	}
	if err := f.send(payload, stdio); err != nil {
		return 0, err
	}
	return f.answer()
}

// What the fork server says before it answers anything, in this order.
const (
	heardAwake = 1
	heardReady = 2
)

// hear waits until it has said so much.
func (f *forkServer) hear(n int) error {
	for f.heard < n {
		if err := f.read(make([]byte, 1)); err != nil {
			return err
		}
		f.heard++
	}
	return nil
}

// awake waits until it runs.
func (f *forkServer) awake() error { return f.hear(heardAwake) }

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
// 0 of this one as uid 1000. It waits for its hello. sysctl is this
// namespace's user.max_user_namespaces: it is 0 at all other times, so that the
// sandbox's programs cannot make one and be root in it.
func bootForkServer(sysctl *os.File, inherit inherited) (int, *net.UnixConn, error) {
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
	pid, err := execForkServer(theirs, inherit)
	if _, werr := sysctl.WriteAt([]byte("0\n"), 0); werr != nil {
		err = errors.Join(err, fmt.Errorf("forbid user namespaces: %w", werr))
	}
	if err != nil {
		return 0, nil, errors.Join(fmt.Errorf("start the fork server: %w", err), conn.Close())
	}
	if _, err := conn.Write(binary.BigEndian.AppendUint64(nil, uint64(len(inherit.Tasks)))); err != nil {
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
	// noSetID is 1 when commands must not make set-user-id files.
	noSetID uint64
}

const (
	helloSize = 4 * 8
	// fdTasks is the first of the inherited v1 cgroups.
	fdTasks = fdConfig + 1
)

// minDataMB is the least private memory of a process, in MiB: run-time systems
// set aside that much and do not use it.
const minDataMB = 256

func helloOf(cfg initConfig) hello {
	h := hello{files: cfg.Limits.OpenFiles, processes: cfg.Limits.Processes}
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
	for _, n := range []uint64{h.files, h.processes, h.data, h.noSetID} {
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
	return hello{files: n(0), processes: n(1), data: n(2), noSetID: n(3)}, nil
}
