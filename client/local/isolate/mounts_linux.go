package isolate

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Ownership in a mounted folder.
//
// An ordinary user's sandbox is that user to the kernel: what the user owns
// belongs to `user` inside, all else to nobody. Root's sandbox is another id.
// There the folder's owner is shown as `user` by an id-mapped mount, and what is
// written becomes the owner's on the host; all other owners and groups are nobody,
// and the kernel lets nobody write to theirs, whatever their modes say. Root's own
// folders are never mapped: a program inside could make files of root's. They are
// shown with everything owned by nobody, so they can be read where everybody may.
// The same goes for file systems and kernels (before 5.12) without id-mapped mounts.

const mountFlags = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

func attrFlags(m Mount) uint64 {
	if m.ReadOnly {
		return mountFlags | unix.MOUNT_ATTR_RDONLY
	}
	return mountFlags
}

// rootTrees takes the folders as root, whose sandboxes could not reach them. It
// must run on the launcher's thread. What is mounted below a folder is not shown.
func (l *Launcher) rootTrees(mounts []Mount) (trees []*os.File, err error) {
	defer func() {
		if err != nil {
			closeFiles(trees)
			trees = nil
		}
	}()
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, m := range mounts {
		fd, err := unix.OpenTree(unix.AT_FDCWD, m.Host, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			return trees, fmt.Errorf("mount %s: %w", m.Host, err)
		}
		trees = append(trees, os.NewFile(uintptr(fd), m.Host))
		if err := l.mapOwner(fd); err != nil {
			return trees, fmt.Errorf("mount %s: show its owner as the sandbox's user: %w", m.Host, err)
		}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: attrFlags(m)}); err != nil {
			return trees, fmt.Errorf("mount %s: %w", m.Host, err)
		}
	}
	return trees, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// mapOwner shows the owner of a detached tree as the sandbox's id. Where that
// cannot be had the owner stays nobody's business, which is safe.
func (l *Launcher) mapOwner(tree int) error {
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return err
	}
	if st.Uid == 0 {
		return nil
	}
	uids, err := rootMap("/proc/self/uid_map")
	if err != nil {
		return err
	}
	gids, err := rootMap("/proc/self/gid_map")
	if err != nil {
		return err
	}
	maps := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: int(st.Uid), HostID: uids[0].HostID, Size: 1}},
		Setsid:      true,
	}
	// A group of root's stays unmapped for the same reason as root itself.
	gid := int(st.Gid)
	if gid == 0 {
		gid = int(st.Uid)
	}
	maps.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gids[0].HostID, Size: 1}}
	ns, err := l.userNamespace(maps)
	if err != nil {
		return err
	}
	defer ns.Close()
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(ns.Fd())})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return nil // the file system or the kernel cannot
	}
	return err
}

// userNamespace makes one with these maps and keeps it by its file. A namespace
// needs a process to come about: an init that never gets its configuration.
func (l *Launcher) userNamespace(attr *syscall.SysProcAttr) (*os.File, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	wait, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer wait.Close()
	defer hold.Close()
	attr.Pdeathsig = syscall.SIGKILL
	p, err := l.self.start([]string{initName}, &os.ProcAttr{Files: []*os.File{null, null, null, wait}, Sys: attr, Env: []string{}})
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = p.Kill()
		_, _ = p.Wait()
	}()
	return os.Open("/proc/" + strconv.Itoa(p.Pid) + "/ns/user")
}

// takeMounts takes the folders before anything covers them: root's come as
// descriptors, an ordinary user's are reached with the user's own rights.
func (in *initProc) takeMounts() ([]int, error) {
	if len(in.cfg.FDs.Mounts) > 0 {
		return in.cfg.FDs.Mounts, nil
	}
	var trees []int
	for _, m := range in.cfg.Mounts {
		// All that is mounted below comes along: the kernel does not let it be uncovered.
		fd, err := unix.OpenTree(unix.AT_FDCWD, m.Host, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			err = setFlags(fd, attrFlags(m))
		}
		if err != nil {
			return nil, fmt.Errorf("mount %s: %w", m.Host, err)
		}
		trees = append(trees, fd)
	}
	return trees, nil
}

// mounts puts the folders in their places.
func (b *builder) mounts(list []Mount, trees []int) {
	for i, m := range list {
		b.do("mount "+m.Target, func() error {
			at, err := b.mountPoint(m.Target)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(at) }()
			defer func() { _ = unix.Close(trees[i]) }()
			return unix.MoveMount(trees[i], "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
		})
	}
}

// places shows folders of the home elsewhere. The home's own are made as needed:
// they belong to the commands, as everything in the home does.
func (b *builder) places(list []string) {
	for _, target := range list {
		b.do("show "+target, func() error {
			from, err := b.mountPoint(path.Join(HomePath, PlacesDir, target))
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(from) }()
			at, err := b.mountPoint(target)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(at) }()
			tree, err := unix.OpenTree(from, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(tree) }()
			return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
		})
	}
}

// mountPoint makes the folder to mount on and opens it. The home may hold
// symbolic links that an earlier sandbox made; none is followed, least of all
// now that the host's files are still in reach.
func (b *builder) mountPoint(target string) (int, error) {
	base, rel := b.dir, strings.TrimPrefix(target, "/")
	if below(target, HomePath) {
		base, rel = b.at(HomePath), strings.TrimPrefix(target, HomePath+"/")
	}
	dir, err := unix.Open(base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(dir) }()
	how := &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	done := ""
	for part := range strings.SplitSeq(rel, "/") {
		parent, err := unix.Openat2(dir, path.Join(".", done), how)
		if err != nil {
			return -1, err
		}
		err = unix.Mkdirat(parent, part, 0o755)
		_ = unix.Close(parent)
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return -1, err
		}
		done = path.Join(done, part)
	}
	return unix.Openat2(dir, done, how)
}
