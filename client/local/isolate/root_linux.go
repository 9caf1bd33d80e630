package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// privateMounts ends what the mounts here learn of the host's.
func privateMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	return nil
}

func mountProc(at string) error {
	err := unix.Mount("proc", at, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	switch {
	case errors.Is(err, unix.EPERM):
		// The kernel does not let a user namespace uncover what is covered.
		return fmt.Errorf("mount /proc (a container hides parts of it): %w", err)
	case err != nil:
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// builder makes the new root below dir. After the first error it does nothing.
type builder struct {
	dir string
	err error
	// seen is what of the host was looked at.
	seen []sighting
}

// sighting is what a path of the host led to: a file, a link, or nothing.
type sighting struct {
	path string
	file fileID
	// changed is when the entries of a folder last changed, 0 if they do not matter.
	changed int64
}

// newRoot builds, in a tmpfs on dir, what every sandbox has in its root.
func newRoot(dir string, l Limits) *builder {
	b := &builder{dir: dir}
	b.tmpfs("/", "mode=0755,size=16m")
	b.system()
	b.etc()
	b.proc()
	b.dev(l)
	size := "mode=1777,size=" + strconv.FormatInt(l.TmpBytes, 10)
	b.mkdir("/tmp", "/var/tmp", "/var/log", "/var/lib", "/var/cache", "/run", "/sys", "/mnt", "/opt", "/srv", HomePath)
	b.tmpfs("/tmp", size)
	b.tmpfs("/var/tmp", size)
	b.tmpfs("/run", "mode=0755,size=64m")
	b.link("/run", "/var/run")
	b.link("/run/lock", "/var/lock")
	b.profile()
	return b
}

// finish adds what is this sandbox's own.
func (b *builder) finish(cfg initConfig, home int, trees []int) error {
	b.names(cfg)
	b.do("mount the home", func() error {
		return unix.MoveMount(home, "", unix.AT_FDCWD, b.at(HomePath), unix.MOVE_MOUNT_F_EMPTY_PATH)
	})
	b.places(cfg.Places)
	b.mounts(cfg.Mounts, trees)
	b.do("make the root read-only", func() error {
		return unix.MountSetattr(unix.AT_FDCWD, b.dir, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	})
	return b.err
}

// look notes what is at a path of the host, and with entries what is in it.
func (b *builder) look(p string, entries bool) {
	b.seen = append(b.seen, lookAt(p, entries))
}

// lookAt sees no file where there is nothing.
func lookAt(p string, entries bool) sighting {
	s := sighting{path: p}
	var st unix.Stat_t
	if unix.Lstat(p, &st) == nil {
		s.file = fileID{Dev: st.Dev, Ino: st.Ino}
		if entries {
			s.changed = st.Mtim.Nano()
		}
	}
	return s
}

// fresh fails if the host has put something else in the place of what was taken.
func (b *builder) fresh() error {
	for _, s := range b.seen {
		if lookAt(s.path, s.changed != 0) != s {
			return fmt.Errorf("%s has changed since the root was built", s.path)
		}
	}
	return nil
}

// pivot makes dir the root and detaches the old one, which for a moment is
// mounted on top of it.
func pivot(dir string) error {
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return unix.Chdir("/")
}

// coverable is an existing directory to build the root on. What is below it on
// the host disappears first, so it is none of those that are taken in.
func coverable() string {
	for _, dir := range []string{"/tmp", "/mnt", "/media", "/home"} {
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
			return dir
		}
	}
	return "/var"
}

func (b *builder) at(p string) string { return path.Join(b.dir, p) }

// do runs one step unless one failed before.
func (b *builder) do(what string, f func() error) {
	if b.err != nil {
		return
	}
	if err := f(); err != nil {
		b.err = fmt.Errorf("%s: %w", what, err)
	}
}

func (b *builder) mkdir(dirs ...string) {
	for _, d := range dirs {
		b.do("make "+d, func() error { return os.MkdirAll(b.at(d), 0o755) })
	}
}

func (b *builder) tmpfs(at, options string) {
	b.do("mount "+at, func() error {
		return unix.Mount("tmpfs", b.at(at), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
	})
}

func (b *builder) link(target, at string) {
	b.do("link "+at, func() error { return os.Symlink(target, b.at(at)) })
}

func (b *builder) write(at, content string) {
	b.do("write "+at, func() error { return writeFile(b.at(at), content) })
}

// writeFile keeps the fork server from being forked meanwhile: it would hold
// the file open for writing for a moment, and the root could not be made
// read-only.
func writeFile(file, content string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(file, []byte(content), 0o644)
}

// bind makes a host path visible at the same place, with everything mounted
// below it, with these flags. A path that the host lacks is left out.
func (b *builder) bind(p string, flags uint64) {
	b.look(p, false)
	b.do("bind "+p, func() error {
		fi, err := os.Stat(p)
		if err != nil {
			return nil
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, p, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if errors.Is(err, unix.EACCES) {
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		if err := setFlags(fd, flags); err != nil {
			return err
		}
		if err := b.target(p, fi); err != nil {
			return err
		}
		return unix.MoveMount(fd, "", unix.AT_FDCWD, b.at(p), unix.MOVE_MOUNT_F_EMPTY_PATH)
	})
}

// target makes what p is to be mounted on.
func (b *builder) target(p string, fi fs.FileInfo) error {
	if fi.IsDir() {
		return os.MkdirAll(b.at(p), 0o755)
	}
	if err := os.MkdirAll(path.Dir(b.at(p)), 0o755); err != nil {
		return err
	}
	return writeFile(b.at(p), "")
}

// setFlags sets flags on a detached tree and everything mounted in it. What the
// host mounts there later does not come in: it would not have them.
func setFlags(tree int, flags uint64) error {
	return unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: flags, Propagation: unix.MS_PRIVATE})
}

const readOnly = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// system shows the host's programs: /usr, and beside it what the host has as
// links into it or as directories of its own.
func (b *builder) system() {
	b.bind("/usr", readOnly)
	for _, p := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		b.linkOrBind(p)
	}
	// The stores of systems whose /usr is all but empty, readable by everybody there too.
	b.bind("/nix/store", readOnly)
	b.bind("/gnu/store", readOnly)
}

// linkOrBind repeats a symbolic link of the host and binds anything else.
func (b *builder) linkOrBind(p string) {
	target, err := os.Readlink(p)
	if err != nil {
		b.bind(p, readOnly)
		return
	}
	b.look(p, false)
	b.do("link "+p, func() error {
		if err := os.MkdirAll(path.Dir(b.at(p)), 0o755); err != nil {
			return err
		}
		return os.Symlink(target, b.at(p))
	})
}

// etcFromHost is what programs need of the host's /etc: linker, certificates,
// time zone, terminals, editors, language run-times. Nothing that may hold a
// secret or says who uses the machine.
func etcFromHost() []string {
	return []string{
		"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives",
		"ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf",
		"pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust/extracted", "crypto-policies",
		"localtime", "timezone", "locale.alias", "locale.conf", "os-release", "lsb-release", "debian_version",
		"terminfo", "inputrc", "mime.types", "magic", "services", "protocols", "networks", "rpc", "host.conf", "gai.conf",
		"vim", "vimrc", "virc", "nanorc", "lesskey", "htoprc", "screenrc", "DIR_COLORS", "manpath.config", "groff",
		"fonts", "perl", "bash_completion.d", "static",
	}
}

// etcPatterns are those with a version in their name.
func etcPatterns() []string { return []string{"python3*", "java-*", "ImageMagick-*"} }

func (b *builder) etc() {
	b.mkdir("/etc")
	b.look("/etc", true)
	for _, name := range etcFromHost() {
		b.linkOrBind("/etc/" + name)
	}
	for _, pattern := range etcPatterns() {
		found, err := filepath.Glob("/etc/" + pattern)
		if err != nil {
			found = nil // the patterns are constants
		}
		for _, p := range found {
			b.linkOrBind(p)
		}
	}
	b.write("/etc/passwd", fmt.Sprintf("%s:x:%d:%d::%s:%s\nnobody:x:%d:%d::/nonexistent:/usr/sbin/nologin\n",
		UserName, userUID, userGID, HomePath, loginShell(), nobodyID, nobodyID))
	b.write("/etc/group", fmt.Sprintf("%s:x:%d:\nnogroup:x:%d:\n", UserName, userGID, nobodyID))
	b.write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n")
	b.write("/etc/shells", "/bin/sh\n/bin/bash\n")
	b.write("/etc/profile", etcProfile)
	b.write("/etc/bash.bashrc", etcBashrc)
	b.link("bash.bashrc", "/etc/bashrc")
	b.link("/proc/self/mounts", "/etc/mtab")
}

// names writes what the sandbox is called and, with the host's network, how it
// finds other names.
func (b *builder) names(cfg initConfig) {
	name := hostname(cfg)
	b.write("/etc/hostname", name+"\n")
	b.write("/etc/hosts", "127.0.0.1 localhost "+name+"\n::1 localhost ip6-localhost ip6-loopback\n")
	if cfg.Network == NetworkHost {
		conf, err := os.ReadFile("/etc/resolv.conf")
		if err == nil {
			b.write("/etc/resolv.conf", string(conf))
		}
	}
}

// etcProfile is read by login shells, etcBashrc by interactive bash.
const (
	etcProfile = `umask 022
case "${PS1:+interactive}${BASH_VERSION:+-bash}" in
interactive-bash) . /etc/bash.bashrc ;;
interactive) PS1='$ ' ;;
esac
`
	etcBashrc = `[ -n "${PS1-}" ] || return
shopt -s checkwinsize
PS1='\u@\h:\w\$ '
alias ls='ls --color=auto'
alias grep='grep --color=auto'
`
)

// procReadOnly are the parts of /proc through which the kernel is configured.
// The mapped ids cannot write most of it anyway.
func procReadOnly() []string { return []string{"sys", "sysrq-trigger", "irq", "bus", "fs"} }

func (b *builder) proc() {
	b.mkdir("/proc")
	b.do("mount /proc", func() error { return mountProc(b.at("/proc")) })
	for _, name := range procReadOnly() {
		p := b.at("/proc/" + name)
		b.do("protect /proc/"+name, func() error {
			fd, err := unix.OpenTree(unix.AT_FDCWD, p, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
			if errors.Is(err, unix.ENOENT) {
				return nil
			}
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
			if err := setFlags(fd, readOnly|unix.MOUNT_ATTR_NOEXEC); err != nil {
				return err
			}
			return unix.MoveMount(fd, "", unix.AT_FDCWD, p, unix.MOVE_MOUNT_F_EMPTY_PATH)
		})
	}
}

// dev makes a small /dev. Device nodes cannot be made in a user namespace, so
// the host's are bound one by one.
func (b *builder) dev(l Limits) {
	b.mkdir("/dev", "/dev/pts", "/dev/shm")
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		b.bind("/dev/"+name, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	}
	b.do("mount /dev/pts", func() error {
		return unix.Mount("devpts", b.at("/dev/pts"), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	})
	b.tmpfs("/dev/shm", "mode=1777,size="+strconv.FormatInt(l.TmpBytes, 10))
	b.link("pts/ptmx", "/dev/ptmx")
	b.link("/proc/self/fd", "/dev/fd")
	b.link("/proc/self/fd/0", "/dev/stdin")
	b.link("/proc/self/fd/1", "/dev/stdout")
	b.link("/proc/self/fd/2", "/dev/stderr")
}

// hostname is the name inside, in the letters that host names have.
func hostname(cfg initConfig) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return -1
	}, cfg.Hostname)
	name = strings.Trim(name[:min(len(name), 63)], "-.")
	if name == "" {
		return "sandbox"
	}
	return name
}
