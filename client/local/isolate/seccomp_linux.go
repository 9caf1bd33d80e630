package isolate

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls that commands do not get. All but the last group need rights
// that a command has not, or in a user namespace of its own would have; that
// one cannot be made (user.max_user_namespaces is 0), so this is the second lock
// on the same door, and it keeps those calls' code out of reach. ptrace stays: it reaches the
// commands only, and debuggers need it.

// rule answers a system call with an errno, if all its conditions hold.
type rule struct {
	nr    uintptr
	errno unix.Errno
	when  []condition
}

// condition looks at the low half of one argument.
type condition struct {
	arg uint32
	// any holds when one of these bits is set; 0 means that oneOf decides.
	any uint32
	// noneOf holds when the value is none of these.
	noneOf []uint32
}

// newNamespaces are the flags of clone and unshare that make namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// commandRules are those of every architecture. noSetID refuses to set the
// set-user-id bit, for sandboxes that write into folders of the host which
// others can enter.
func commandRules(noSetID bool) []rule {
	var rules []rule
	deny := func(errno unix.Errno, nrs ...uintptr) {
		for _, nr := range nrs {
			rules = append(rules, rule{nr: nr, errno: errno})
		}
	}
	deny(unix.EPERM,
		// mounts and namespaces
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS,
		// large parts of the kernel
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		// files without a path to them
		unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT,
		// the machine itself
		unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
		unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
	)
	// Programs fall back to older calls where these do not exist. clone3 keeps its
	// flags in memory, where they cannot be looked at; io_uring does by
	// itself what other calls are refused.
	deny(unix.ENOSYS, unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER)
	rules = append(rules,
		rule{nr: unix.SYS_CLONE, errno: unix.EPERM, when: []condition{{arg: 0, any: newNamespaces &^ unix.CLONE_NEWTIME}}}, // that bit is part of the exit signal
		rule{nr: unix.SYS_UNSHARE, errno: unix.EPERM, when: []condition{{arg: 0, any: newNamespaces}}},
		// Others reach past the network namespace (vsock) or drivers nobody needs here.
		rule{nr: unix.SYS_SOCKET, errno: unix.EAFNOSUPPORT, when: []condition{{arg: 0, noneOf: []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}}}},
	)
	rules = append(rules, archRules()...)
	if noSetID {
		const setuid = unix.S_ISUID
		deny(unix.ENOSYS, unix.SYS_OPENAT2)
		rules = append(rules,
			rule{nr: unix.SYS_FCHMOD, errno: unix.EPERM, when: []condition{{arg: 1, any: setuid}}},
			rule{nr: unix.SYS_FCHMODAT, errno: unix.EPERM, when: []condition{{arg: 2, any: setuid}}},
			rule{nr: unix.SYS_FCHMODAT2, errno: unix.EPERM, when: []condition{{arg: 2, any: setuid}}},
			rule{nr: unix.SYS_MKNODAT, errno: unix.EPERM, when: []condition{{arg: 2, any: setuid}}},
			rule{nr: unix.SYS_OPENAT, errno: unix.EPERM, when: []condition{{arg: 2, any: unix.O_CREAT}, {arg: 3, any: setuid}}},
		)
		rules = append(rules, archSetIDRules()...)
	}
	return rules
}

// Offsets in struct seccomp_data.
const (
	dataNr   = 0
	dataArch = 4
	dataArgs = 16
)

const (
	load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	anyBit = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	atOr   = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	ret    = unix.BPF_RET | unix.BPF_K
)

func answer(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// assemble makes the program. Calls of another architecture's table, which the
// same process could use, do not exist.
func assemble(arch uint32, rules []rule) []unix.SockFilter {
	stmt := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	prog := []unix.SockFilter{
		stmt(load, dataArch),
		{Code: equal, K: arch, Jt: 1},
		stmt(ret, answer(unix.ENOSYS)),
		stmt(load, dataNr),
	}
	if foreignNumbers != 0 {
		prog = append(prog, unix.SockFilter{Code: atOr, K: foreignNumbers, Jf: 1}, stmt(ret, answer(unix.ENOSYS)))
	}
	for _, r := range rules {
		body := ruleBody(r)
		prog = append(prog, unix.SockFilter{Code: equal, K: uint32(r.nr), Jf: uint8(len(body))})
		prog = append(prog, body...)
	}
	return append(prog, stmt(ret, unix.SECCOMP_RET_ALLOW))
}

// ruleBody is what runs once the number is right: an answer in every case, since
// the accumulator holds an argument afterwards.
func ruleBody(r rule) []unix.SockFilter {
	var body []unix.SockFilter
	refuse := unix.SockFilter{Code: ret, K: answer(r.errno)}
	allow := unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW}
	for _, c := range r.when {
		body = append(body, unix.SockFilter{Code: load, K: dataArgs + 8*c.arg + lowHalf})
		if c.any != 0 {
			body = append(body, unix.SockFilter{Code: anyBit, K: c.any, Jt: 1}, allow)
			continue
		}
		for _, v := range c.noneOf {
			body = append(body, unix.SockFilter{Code: equal, K: v, Jf: 1}, allow)
		}
	}
	return append(body, refuse)
}

// filterAvailable asks the kernel whether there are filters that answer with an errno.
func filterAvailable() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return filterArch != 0 && errno == 0
}

// installFilter puts the filter on this thread and on all that it starts.
func installFilter(noSetID bool) error {
	if !filterAvailable() {
		return nil
	}
	prog := assemble(filterArch, slices.Clone(commandRules(noSetID)))
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	// Without that flag older kernels slow every command down.
	for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, 0} {
		_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
		switch {
		case errno == 0:
			return nil
		case flags != 0 && errors.Is(errno, unix.EINVAL):
		default:
			return fmt.Errorf("filter system calls: %w", errno)
		}
	}
	return nil
}
