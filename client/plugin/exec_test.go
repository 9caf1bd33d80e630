package plugin

import (
	"io"
	"os/exec"
	"strings"
	"testing"
)

// A call that comes between the failure of a program and its end is refused at
// once: it used to wait for an answer that nobody could give.
func TestCallAfterTheFailure(t *testing.T) {
	_, stdin := io.Pipe()
	r := &run{cmd: &exec.Cmd{}, stdin: stdin, done: make(chan struct{}), calls: map[int64]*execCall{}}
	before, err := r.call()
	if err != nil {
		t.Fatal(err)
	}
	r.fail("it babbles")
	if _, err := before.recv(); err == nil || !strings.Contains(err.Error(), "babbles") {
		t.Errorf("the call under way: %v", err)
	}
	p := &program{run: r}
	if _, err := p.open(t.Context(), "list", nil); err == nil || !strings.Contains(err.Error(), "babbles") {
		t.Errorf("the late call: %v", err)
	}
}
