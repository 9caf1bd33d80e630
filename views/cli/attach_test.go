//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/term"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/keymap"
	emulator "abxdash/ui/term"
)

// console is a real terminal whose screen is read back.
type console struct {
	t      *testing.T
	ptmx   *os.File
	tty    *os.File
	screen *emulator.Terminal
	before *term.State
}

func newConsole(t *testing.T, cols, rows uint16) *console {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ptmx, &pty.Winsize{Cols: cols, Rows: rows}); err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, ptmx: ptmx, tty: tty, before: before, screen: emulator.New(int(cols), int(rows), emulator.Options{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := ptmx.Read(buf)
			_, _ = c.screen.Write(buf[:n]) // it never fails
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = tty.Close()
		<-done // the last end of the terminal is closed, so the read ends
		_ = ptmx.Close()
	})
	return c
}

func (c *console) typ(text string) {
	c.t.Helper()
	if _, err := c.ptmx.WriteString(text); err != nil {
		c.t.Error(err)
	}
}

func (c *console) shows(text string) {
	c.t.Helper()
	waitFor(c.t, func() bool { return strings.Contains(strings.Join(c.screen.Lines(), "\n"), text) })
	if c.t.Failed() {
		c.t.Fatalf("%q is not on the screen:\n%s", text, strings.Join(c.screen.Lines(), "\n"))
	}
}

// clean checks that the terminal is as it was before.
func (c *console) clean() {
	c.t.Helper()
	after, err := term.GetState(int(c.tty.Fd()))
	if err != nil {
		c.t.Fatal(err)
	}
	if !reflect.DeepEqual(c.before, after) {
		c.t.Errorf("the terminal was not restored: %+v, was %+v", after, c.before)
	}
	// The emulator has read everything once the mark is there.
	if _, err := c.tty.WriteString("--end--"); err != nil {
		c.t.Fatal(err)
	}
	c.shows("--end--")
	if d := cmp.Diff(emulator.New(80, 24, emulator.Options{}).Modes(), c.screen.Modes()); d != "" {
		c.t.Errorf("modes were left on: %s", d)
	}
}

// attach runs `abxdash attach` on the console and returns a wait for its end.
func (c *console) attach(b *bench, args ...string) (wait func() (code int, stderr string)) {
	type end struct {
		code int
		errs string
	}
	b.terminal, b.in, b.out = true, c.tty, c.tty
	ch := make(chan end, 1)
	go func() {
		code, _, errs := b.run(append([]string{"attach"}, args...)...)
		ch <- end{code, errs}
	}()
	return func() (int, string) {
		e := <-ch
		return e.code, e.errs
	}
}

func TestAttach(t *testing.T) {
	b := newBench(t)
	id := b.add(rows()[0])[0]
	c := newConsole(t, 90, 20)

	wait := c.attach(b, "web")
	c.shows("user@sandbox:~$")
	c.typ("X=kept; echo al''ive; stty size\r")
	c.shows("alive\n20 90")
	c.typ("\x1dd")
	code, errs := wait()
	again := regexp.MustCompile(`abxdash attach (\S+) --pid (\d+)`).FindStringSubmatch(errs)
	if code != 0 || again == nil {
		t.Fatalf("detached with %d: %q", code, errs)
	}
	c.clean()
	list, err := b.p.Processes(t.Context(), id)
	if err != nil || len(list) != 1 {
		t.Fatalf("after detaching there run %+v, %v", list, err)
	}

	wait = c.attach(b, again[1], "--pid", again[2])
	waitFor(t, func() bool { return strings.HasPrefix(c.screen.Title(), "web — TTL 17m") })
	c.typ("echo $X''!\r")
	c.shows("kept!")
	c.typ("exit 7\r")
	if code, errs := wait(); code != 7 || errs != "" {
		t.Errorf("the shell's exit gave %d: %q", code, errs)
	}
	c.clean()
}

// The keys after the leader are those of the configuration, and what is typed
// behind two of them goes to the shell that the second one shows.
func TestAttachKeysOfTheConfiguration(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	b.recordings = filepath.Join(t.TempDir(), "recordings")
	keys, err := keymap.Default().WithLeader("ctrl+a")
	if err != nil {
		t.Fatal(err)
	}
	if b.keymap, err = keys.Override(map[string][]string{"shell.detach": {"ctrl+a x"}, "shell.new": {"ctrl+a k"}}); err != nil {
		t.Fatal(err)
	}
	c := newConsole(t, 90, 20)
	wait := c.attach(b, "web")
	c.shows("user@sandbox:~$")
	title := func(text string) {
		t.Helper()
		waitFor(t, func() bool { return strings.Contains(c.screen.Title(), text) })
	}
	title("ctrl+a x detaches")
	c.typ("\x01")
	title("x detach · n next")
	title("k new")
	c.typ("r\x01kecho in-two-$((1+1))\r")
	title("[2]")
	c.shows("in-two-2")
	title("● rec")
	c.typ("\x01c\x01d") // they are not bound, and so are typed
	c.typ("\x01r\x01x")
	if code, errs := wait(); code != 0 || !strings.Contains(errs, "detached") {
		t.Errorf("detached with %d: %q", code, errs)
	}
	c.clean()
}

func TestAttachCommandAndFailures(t *testing.T) {
	b := newBench(t)
	b.add(rows()[0])
	c := newConsole(t, 80, 24)
	if code, errs := c.attach(b, "web", "--", "sh", "-c", "stty size; exit 3")(); code != 3 {
		t.Errorf("command: %d %q", code, errs)
	}
	c.shows("24 80")
	for _, args := range [][]string{{"nothing"}, {"web", "--pid", "4711"}} {
		if code, errs := c.attach(b, args...)(); code != 125 || !strings.HasPrefix(errs, "abxdash: ") {
			t.Errorf("%q: %d %q", args, code, errs)
		}
	}
	b.providers[0] = noTerminals{b.p}
	if code, errs := c.attach(b, "web")(); code != 125 || !strings.Contains(errs, "E8004") {
		t.Errorf("without the capability: %d %q", code, errs)
	}
	c.clean()
}

type noTerminals struct{ *fake.Provider }

func (noTerminals) Capabilities() client.Capabilities { return client.Capabilities{} }
