package present

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

func TestProcessAlive(t *testing.T) {
	if !ProcessAlive(os.Getpid()) {
		t.Error("this process is said to be gone")
	}
	if runtime.GOOS == "windows" {
		t.Skip("a pid may be in use again at once there")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if ProcessAlive(cmd.Process.Pid) {
		t.Error("a process that ended and was waited for is said to live")
	}
}
