//go:build unix

package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"abxdash/views/cli"
)

// attach joins the shell that was left, --new starts another, --shell goes by name.
func TestAttachJoinsItsShells(t *testing.T) {
	b := newBench(t)
	id := b.add(rows()[0])[0]
	step := func(args []string, typed, shows string) {
		t.Helper()
		c := newConsole(t, 90, 20)
		wait := c.attach(b, append([]string{string(id)}, args...)...)
		if typed != "" {
			c.shows("$")
			c.typ(typed)
		}
		c.shows(shows)
		c.typ("\x1dd")
		if code, errs := wait(); code != 0 || !strings.Contains(errs, "detached") {
			t.Errorf("%v: %d %s", args, code, errs)
		}
		c.clean()
	}
	step(nil, "x=first; echo a-$x\r", "a-first")
	step([]string{"--new"}, "echo b-$x-; x=second\r", "b--")
	c := newConsole(t, 90, 20)
	wait := c.attach(b, string(id), "--shell", "1")
	title := func(text string) {
		t.Helper()
		waitFor(t, func() bool { return strings.Contains(c.screen.Title(), text) })
	}
	title("[1]")
	c.typ("echo c-$x\r")
	c.shows("c-first")
	c.typ("\x1dn")
	title("[2]")
	c.typ("echo d-$x\r")
	c.shows("d-second")
	c.typ("exit\r")
	if code, errs := wait(); code != 0 || !strings.Contains(errs, "back in shell 1") {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, errs := b.run("attach", string(id), "--new", "--shell", "x"); code != 125 || !strings.Contains(errs, "one of") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestRecordCommands(t *testing.T) {
	b := newBench(t)
	b.recordings = filepath.Join(t.TempDir(), "recordings")
	if code, out, errs := b.run("record", "ls"); code != 0 || out != "" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if err := os.Mkdir(b.recordings, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(b.recordings, "a.cast")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := b.run("record", "ls"); code != 0 || !strings.Contains(out, "a.cast") {
		t.Errorf("%d %q", code, out)
	}
	if code, out, _ := b.run("record", "ls", "--json"); code != 0 || !strings.Contains(out, `"path"`) {
		t.Errorf("%d %q", code, out)
	}
	if code, _, errs := b.run("record", "play", file); code != 2 || !strings.Contains(errs, "terminal") {
		t.Errorf("without a terminal: %d %q", code, errs)
	}
	b.terminal = true
	var rate float64
	b.play = func(_ context.Context, _ cli.Flags, path string, r float64) error {
		rate = r
		if path != file {
			t.Errorf("plays %q", path)
		}
		return nil
	}
	if code, _, errs := b.run("record", "play", file, "--speed", "4"); code != 0 || rate != 4 {
		t.Errorf("%d %q, speed %v", code, errs, rate)
	}
	if code, _, _ := b.run("record", "play", file, "--speed", "1000"); code != 2 {
		t.Errorf("a mad speed: %d", code)
	}
}
