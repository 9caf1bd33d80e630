package isolate

import "golang.org/x/sys/unix"

const (
	filterArch = unix.AUDIT_ARCH_AARCH64
	// foreignNumbers: there is one table only.
	foreignNumbers = 0
	// lowHalf is the offset of an argument's low half.
	lowHalf = 0
)

func archRules() []rule {
	return []rule{{nr: unix.SYS_KEXEC_FILE_LOAD, errno: unix.EPERM}}
}

func archSetIDRules() []rule { return nil }
