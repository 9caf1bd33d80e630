package isolate

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStartWithAnyDescriptors starts the binary with a highest descriptor on
// each side of the one that the binary itself is: what the child moves out of
// the way on its start must not land on it.
func TestStartWithAnyDescriptors(t *testing.T) {
	self, err := openSelf()
	if err != nil {
		t.Fatal(err)
	}
	const at = 200
	moved, err := unix.FcntlInt(uintptr(self.fd), unix.F_DUPFD_CLOEXEC, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := self.close(); err != nil {
		t.Fatal(err)
	}
	self = &selfExe{fd: moved}
	defer self.close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for fd := moved - 8; fd <= moved+2; fd++ {
		if fd == moved {
			continue
		}
		if err := unix.Dup3(int(null.Fd()), fd, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		high := os.NewFile(uintptr(fd), os.DevNull)
		// Each but the first is below its place in the child and must be moved there.
		files := []*os.File{null, os.Stdin, os.Stdin, os.Stdin, high}
		proc, err := self.start([]string{"self", "-test.run=^$"}, &os.ProcAttr{Files: files, Env: []string{"PATH=/bin"}})
		if err != nil {
			t.Fatalf("highest descriptor %d, the binary's is %d: %v", fd, moved, err)
		}
		if st, err := proc.Wait(); err != nil || !st.Success() {
			t.Errorf("highest descriptor %d: %v, %v", fd, st, err)
		}
		_ = high.Close()
	}
}
