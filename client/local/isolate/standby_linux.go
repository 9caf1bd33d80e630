package isolate

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// standBy does what does not depend on which sandbox this is, says so, and waits
// to be told (spare_unix.go). What the host mounts and unmounts meanwhile is taken
// over where the host shares its mounts, as it would be by a sandbox made later.
func (in *initProc) standBy(status io.Writer) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("set non-dumpable: %w", err)
	}
	var err error
	if in.starter, err = in.newStarter(); err != nil {
		return err
	}
	if err := in.starter.start(); err != nil {
		return err
	}
	prefault()
	if err := in.starter.awake(); err != nil {
		return fmt.Errorf("start the fork server: %w", err)
	}
	// On /proc: nothing that is taken in later lies below it, and the fork server
	// needs none any more.
	in.root = newRoot("/proc", in.cfg.Limits)
	if in.root.err != nil {
		return in.root.err
	}
	if err := sendStatus(status, initStatus{}); err != nil {
		return err
	}
	in.cfg, err = receiveIdentity(in.conf)
	if err != nil {
		return fmt.Errorf("wait for the configuration: %w", err)
	}
	return takeLog(in.cfg.FDs.Log)
}

// prefault maps the pages of this program that are in memory anyway, so that the
// first use of each does not cost a trap when somebody waits. A kernel before 5.14
// does not know it, and nothing depends on it.
func prefault() {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var mode, offset, device string
		var inode uint64
		_, err := fmt.Sscanf(line, "%x-%x %s %s %s %d", &from, &to, &mode, &offset, &device, &inode)
		if err == nil && inode != 0 && strings.HasPrefix(mode, "r-") {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_POPULATE_READ)
		}
	}
}

// takeLog makes a descriptor the one that messages go to; 0 is none.
func takeLog(fd int) error {
	if fd == 0 {
		return nil
	}
	for _, std := range []int{1, 2} {
		if err := unix.Dup3(fd, std, 0); err != nil {
			return fmt.Errorf("use the agent's log: %w", err)
		}
	}
	return unix.Close(fd)
}

// receiveIdentity reads what [sendIdentity] wrote and leaves f at what follows it.
func receiveIdentity(f *os.File) (cfg initConfig, err error) {
	head, oob := make([]byte, identityHead), make([]byte, unix.CmsgSpace(identityFDs*4))
	n, oobn, err := 0, 0, error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		n, oobn, _, _, err = unix.Recvmsg(int(f.Fd()), head, oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return cfg, err
	}
	if n == 0 {
		return cfg, io.EOF
	}
	if _, err := io.ReadFull(f, head[n:]); err != nil {
		return cfg, err
	}
	size := binary.BigEndian.Uint32(head)
	if size > maxRequest {
		return cfg, errors.New("configuration too long")
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(f, text); err != nil {
		return cfg, err
	}
	if err := json.Unmarshal(text, &cfg); err != nil {
		return cfg, err
	}
	var fds []int
	if oobn > 0 {
		if fds, err = receivedFDs(oob[:oobn]); err != nil {
			return cfg, err
		}
	}
	return cfg, cfg.FDs.renumber(fds)
}

// renumber turns positions in a message, from 1, into the descriptors that came.
func (in *inherited) renumber(fds []int) error {
	for _, fd := range in.travelling() {
		switch {
		case *fd < 0 || *fd > len(fds):
			return fmt.Errorf("descriptor %d of %d is missing", *fd, len(fds))
		case *fd > 0:
			*fd = fds[*fd-1]
		}
	}
	return nil
}

// takeHome turns the home into a mount of its own before anything covers it. It
// is the working directory, which is left; a spare, whose working directory it
// cannot have been, is given it by root, and finds it itself as an ordinary user.
func (in *initProc) takeHome() (int, error) {
	switch {
	case in.cfg.FDs.Home > 0:
		return in.cfg.FDs.Home, nil
	case in.cfg.HomeDir == fileID{}:
		fd, err := homeTree(".")
		if err != nil {
			return -1, err
		}
		return fd, unix.Chdir("/")
	}
	fd, err := homeTree(in.cfg.Home)
	if err != nil {
		return -1, err
	}
	if id, err := idOf(fd); err != nil || id != in.cfg.HomeDir {
		_ = unix.Close(fd)
		return -1, errors.Join(errors.New("take the home: another folder is there"), err)
	}
	return fd, nil
}

// homeTree is a folder and all that is mounted below it as a tree of its own.
func homeTree(dir string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("take the home: %w", err)
	}
	if err := setFlags(fd, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("take the home: %w", err)
	}
	return fd, nil
}

func idOf(fd int) (fileID, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return fileID{Dev: st.Dev, Ino: st.Ino}, err
}

// homeFor is what a spare needs to mount the home: root gives it the tree, for an
// ordinary user the folder's identity does.
func homeFor(home string) (tree *os.File, id fileID, err error) {
	if os.Geteuid() == 0 {
		fd, err := homeTree(home)
		if err != nil {
			return nil, id, err
		}
		return os.NewFile(uintptr(fd), home), id, nil
	}
	fd, err := unix.Open(home, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, id, fmt.Errorf("look at the home: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	id, err = idOf(fd)
	return nil, id, err
}

// relimit sets other limits than the group was made with. It cannot bound the
// time of a group that was made without such a bound in version 1.
func (g *group) relimit(l Limits) error {
	if g == nil {
		return nil
	}
	g.limit = l
	if g.v2 != "" {
		if err := g.limitV2(g.user()); err != nil {
			return err
		}
	}
	for controller, dir := range g.v1 {
		if err := g.limitV1(controller, dir); err != nil {
			return err
		}
	}
	return nil
}
