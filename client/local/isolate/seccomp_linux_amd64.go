package isolate

import "golang.org/x/sys/unix"

const (
	filterArch = unix.AUDIT_ARCH_X86_64
	// foreignNumbers is where the numbers of the x32 table begin.
	foreignNumbers = 0x4000_0000
	// lowHalf is the offset of an argument's low half.
	lowHalf = 0
)

func archRules() []rule {
	return []rule{
		{nr: unix.SYS_KEXEC_FILE_LOAD, errno: unix.EPERM},
		{nr: unix.SYS_IOPL, errno: unix.EPERM},
		{nr: unix.SYS_IOPERM, errno: unix.EPERM},
		{nr: unix.SYS_USELIB, errno: unix.EPERM},
	}
}

func archSetIDRules() []rule {
	return []rule{
		{nr: unix.SYS_CHMOD, errno: unix.EPERM, when: []condition{{arg: 1, any: unix.S_ISUID}}},
		{nr: unix.SYS_CREAT, errno: unix.EPERM, when: []condition{{arg: 1, any: unix.S_ISUID}}},
		{nr: unix.SYS_MKNOD, errno: unix.EPERM, when: []condition{{arg: 1, any: unix.S_ISUID}}},
		{nr: unix.SYS_OPEN, errno: unix.EPERM, when: []condition{{arg: 1, any: unix.O_CREAT}, {arg: 2, any: unix.S_ISUID}}},
	}
}
