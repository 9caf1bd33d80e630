//go:build linux

// Package e2e drives the real program in a real terminal, whose screen is read
// back with our own emulator, over real local sandboxes.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"abxdash/ui/term"
)

// patience is how long a condition may take; generous, because machines are busy.
const patience = 60 * time.Second

// nobody is the ordinary user that root's tests become.
const nobody = 65534

// binary is the program under test, built once without the race detector.
var binary string

func TestMain(m *testing.M) {
	if where := os.Getenv(crashEnv); where != "" {
		os.Exit(crash(where))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "abxdash-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = filepath.Join(dir, "abxdash")
	build := exec.Command("go", "build", "-o", binary, "abxdash")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// user is who runs the program, with a home of its own, mode 0700.
type user struct {
	t    testing.TB
	uid  int
	home string
	// exe is the program, and extra is added to its environment.
	exe   string
	extra []string
}

// users runs f as the user of the test and, as root, as an ordinary one too.
func users(t *testing.T, f func(t *testing.T, u *user)) {
	ids := []int{os.Getuid()}
	if ids[0] == 0 {
		ids = append(ids, nobody)
	}
	for _, id := range ids {
		t.Run(fmt.Sprintf("uid %d", id), func(t *testing.T) { f(t, newUser(t, id)) })
	}
}

func newUser(t testing.TB, uid int) *user {
	t.Helper()
	home, err := os.MkdirTemp("", "abxdash-home-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, uid, uid); err != nil && uid != os.Getuid() {
		t.Fatal(err)
	}
	u := &user{t: t, uid: uid, home: home, exe: binary}
	t.Cleanup(u.leave)
	return u
}

// leave ends the user's local server, checks that nothing is left of it, and removes the home.
func (u *user) leave() {
	status := u.status()
	if out, err := u.command("local", "stop", "--yes").CombinedOutput(); err != nil {
		u.t.Errorf("local stop: %v\n%s", err, out)
	}
	if status.PID > 0 {
		wait(u.t, "the local server to end", func() bool { return syscall.Kill(status.PID, 0) == syscall.ESRCH })
	}
	left, _ := filepath.Glob(filepath.Join(u.home, ".local/state/abxdash/local/instances/*"))
	if len(left) > 0 {
		u.t.Errorf("folders are left: %v", left)
	}
	if err := os.RemoveAll(u.home); err != nil {
		u.t.Error(err)
	}
}

func (u *user) env() []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + u.home, "TERM=xterm-256color", "LANG=C.UTF-8", "COLORTERM=truecolor",
		"ABXDASH_NO_TOUR=1",
	}, u.extra...)
}

// command is the program as this user, not started yet.
func (u *user) command(args ...string) *exec.Cmd {
	cmd := exec.Command(u.exe, args...)
	u.become(cmd)
	return cmd
}

func (u *user) become(cmd *exec.Cmd) {
	cmd.Env, cmd.Dir = append(u.env(), u.extra...), u.home
	if u.uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.uid)}}
	}
}

// run runs a command to its end and returns what it said and its exit code.
func (u *user) run(args ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	var out, errs bytes.Buffer
	cmd := u.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		u.t.Fatalf("%v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must is run for commands that have to work.
func (u *user) must(args ...string) string {
	u.t.Helper()
	out, errs, code := u.run(args...)
	if code != 0 {
		u.t.Fatalf("%v ended with %d: %s%s", args, code, out, errs)
	}
	return out
}

type serverStatus struct {
	Running   bool   `json:"running"`
	PID       int    `json:"pid"`
	Isolation string `json:"isolation"`
	Sandboxes int    `json:"sandboxes"`
}

func (u *user) status() serverStatus {
	u.t.Helper()
	var s serverStatus
	if err := json.Unmarshal([]byte(u.must("local", "status", "--json")), &s); err != nil {
		u.t.Fatal(err)
	}
	return s
}

type listed struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	State     string `json:"state"`
	Isolation string `json:"isolation"`
}

func (u *user) list() []listed {
	u.t.Helper()
	var l []listed
	if err := json.Unmarshal([]byte(u.must("ls", "--json")), &l); err != nil {
		u.t.Fatal(err)
	}
	return l
}

// logs are the ends of what the program and the local server have logged.
func (u *user) logs() string {
	var out strings.Builder
	found, _ := filepath.Glob(filepath.Join(u.home, ".local/state/abxdash/*.log"))
	more, _ := filepath.Glob(filepath.Join(u.home, ".local/state/abxdash/local/*.log"))
	for _, f := range append(found, more...) {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		const last = 4 << 10
		fmt.Fprintf(&out, "%s:\n%s\n", filepath.Base(f), data[max(0, len(data)-last):])
	}
	return out.String()
}

// program is the dashboard in a terminal.
type program struct {
	t    testing.TB
	user *user
	cmd  *exec.Cmd
	pty  *os.File
	term *term.Terminal
	read chan struct{} // closed when everything was read
	// alts counts how often the alternate screen was entered, written all bytes.
	alts, written atomic.Int64

	ended chan error
	start *unix.Termios
}

// open starts the program in a terminal of cols×rows cells.
func (u *user) open(cols, rows uint16, args ...string) *program {
	u.t.Helper()
	p := &program{t: u.t, user: u, read: make(chan struct{}), ended: make(chan error, 1)}
	master, tty, err := pty.Open()
	if err != nil {
		u.t.Fatal(err)
	}
	defer tty.Close()
	p.pty = master
	if err := tty.Chown(u.uid, u.uid); err != nil && u.uid != os.Getuid() {
		u.t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: cols, Rows: rows}); err != nil {
		u.t.Fatal(err)
	}
	if p.start, err = unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS); err != nil {
		u.t.Fatal(err)
	}
	p.term = term.New(int(cols), int(rows), term.Options{Reply: func(b []byte) { _, _ = master.Write(b) }})
	p.cmd = u.command(args...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, tty, tty
	if p.cmd.SysProcAttr == nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.cmd.SysProcAttr.Setsid, p.cmd.SysProcAttr.Setctty = true, true
	if err := p.cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	go func() {
		defer close(p.read)
		buf := make([]byte, 64<<10)
		for {
			n, err := master.Read(buf)
			p.written.Add(int64(n))
			p.alts.Add(int64(bytes.Count(buf[:n], []byte("\x1b[?1049h"))))
			_, _ = p.term.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	u.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended already unless the test failed
		_ = master.Close()
		<-p.read
	})
	return p
}

func (p *program) screen() string { return strings.Join(p.term.Lines(), "\n") }

func (p *program) shows(text string) bool { return strings.Contains(p.screen(), text) }

// typ types text as it is.
func (p *program) typ(text string) {
	p.t.Helper()
	if _, err := p.pty.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for a condition on the screen.
func (p *program) until(what string, cond func() bool) {
	p.t.Helper()
	waitWith(p.t, what, cond, func() string {
		return fmt.Sprintf("the title is %q, the screen shows:\n%s\nthe logs say:\n%s", p.term.Title(), p.screen(), p.user.logs())
	})
}

func (p *program) untilShows(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q on the screen", text), func() bool { return p.shows(text) })
}

// untilTitle waits for a part of the title, which raw attach has for its status.
func (p *program) untilTitle(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q in the title", text), func() bool { return strings.Contains(p.term.Title(), text) })
}

func (p *program) untilGone(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q to go", text), func() bool { return !p.shows(text) })
}

// end waits for the end of the program and says what came of it.
func (p *program) end() error {
	p.t.Helper()
	select {
	case err := <-p.ended:
		return err
	case <-time.After(patience):
		p.t.Fatalf("the program does not end; the screen shows:\n%s", p.screen())
		return nil
	}
}

// leaves waits for the end of the program and checks that the terminal is as it was.
func (p *program) leaves() {
	p.t.Helper()
	if err := p.end(); err != nil {
		p.t.Errorf("the program ended with %v", err)
	}
	p.clean()
}

// clean checks modes and line settings of the terminal.
func (p *program) clean() {
	p.t.Helper()
	select {
	case <-p.read: // the terminal's last other end is closed, so this was all
	case <-time.After(patience):
		p.t.Fatal("something still holds the terminal")
	}
	p.until("the main screen", func() bool { return !p.term.Modes().AltScreen })
	m := p.term.Modes()
	if m.BracketedPaste || m.Focus || m.AppCursor || m.AppKeypad || m.Sync || !m.CursorVisible || m.Mouse != term.New(1, 1, term.Options{}).Modes().Mouse {
		p.t.Errorf("modes are left on: %+v", m)
	}
	now, err := unix.IoctlGetTermios(int(p.pty.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	if *now != *p.start {
		p.t.Errorf("line settings differ: %+v, they were %+v", now, p.start)
	}
}

func wait(t testing.TB, what string, cond func() bool) {
	t.Helper()
	waitWith(t, what, cond, func() string { return "" })
}

func waitWith(t testing.TB, what string, cond func() bool, state func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s; %s", what, state())
		}
	}
}

// resize changes the size of the terminal.
func (p *program) resize(cols, rows uint16) {
	p.t.Helper()
	p.term.Resize(int(cols), int(rows))
	if err := pty.Setsize(p.pty, &pty.Winsize{Cols: cols, Rows: rows}); err != nil {
		p.t.Fatal(err)
	}
}
