package isolate

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelSigaction is at least as large as the kernel's struct on every
// architecture; all that is read or written is the handler, its first field.
type kernelSigaction struct {
	handler uintptr
	rest    [7]uint64
}

const sigIgnore = 1

// defaultReserved undoes the ignoring of the signals that the Go runtime keeps
// from os/signal (32 to 34). Who started us may have ignored them, and what is
// ignored would be inherited by every command.
func defaultReserved() {
	for sig := uintptr(32); sig <= 34; sig++ {
		var now, def kernelSigaction
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&now)), 8, 0, 0)
		if errno == 0 && now.handler == sigIgnore {
			// A failure leaves things as they were, which is no worse.
			_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&def)), 0, 8, 0, 0)
		}
	}
}
