//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/views/present"
	"abxdash/views/shell"
)

// crashEnv makes the test binary a dashboard with a bug in the place it names,
// which shows once a file of that name is in the home.
const crashEnv = "ABXDASH_E2E_CRASH"

// crash runs the dashboard's shell with a bug and returns the exit code.
func crash(where string) int {
	p := fake.New(fake.Options{})
	defer p.Close()
	id := p.Add(client.Sandbox{ID: "ionesandbox0000000001", Name: "crashbox", Template: "base", State: client.StateRunning, Provider: p.Name()})[0]
	sb, err := p.Get(context.Background(), id)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	flag := filepath.Join(os.Getenv("HOME"), where)
	due := func() bool { _, err := os.Stat(flag); return err == nil }
	m := shell.NewManager(present.Providers{p})
	root := ui.New(ui.Options{
		Start: "shell", Background: []ui.Background{m},
		Routes: map[ui.Route]func(ui.Params) ui.Screen{"shell": func(ui.Params) ui.Screen {
			s := shell.New(shell.Options{Manager: m, Whole: true, Raw: where == "raw"}, sb)
			if where == "command" {
				return &buggy{Screen: s, due: due}
			}
			return s
		}},
		// Both the loop of the program and the title of raw attach ask for the time.
		Now: func() time.Time {
			if (where == "raw" || where == "loop") && due() {
				panic("a bug for the test")
			}
			return time.Now()
		},
	})
	defer root.Close()
	_, err = ui.NewProgram(root).Run()
	if errors.Is(err, tea.ErrProgramPanic) {
		return 70
	}
	return 0
}

// buggy is a screen of which a command panics.
type buggy struct {
	*shell.Screen
	due func() bool
}

func (b *buggy) Update(msg tea.Msg) tea.Cmd {
	cmd := b.Screen.Update(msg)
	if _, ok := msg.(ui.TickMsg); ok && b.due() {
		return func() tea.Msg { panic("a bug for the test") }
	}
	return cmd
}

func (b *buggy) Keys() []keymap.Context                            { return b.Screen.Keys() }
func (b *buggy) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor { return b.Screen.Draw(scr, area) }

// A bug that ends the program leaves the terminal clean, wherever it is: in the
// loop, in a command on another goroutine, or while a shell has the terminal.
// (PTY-09)
func TestE2EPanicLeavesTheTerminalClean(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"loop", "command", "raw"} {
		t.Run(where, func(t *testing.T) {
			u := newUser(t, os.Getuid())
			u.exe, u.extra = self, []string{crashEnv + "=" + where}
			p := u.open(100, 30)
			p.untilShows("user@sandbox")
			if where == "raw" {
				p.untilTitle("crashbox — TTL")
			}
			p.typ(leaveOn)
			p.untilShows("modes-2")
			if err := os.WriteFile(filepath.Join(u.home, where), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			_ = p.end()
			p.clean()
			if code := p.cmd.ProcessState.ExitCode(); code != 70 {
				t.Errorf("ended with %d; the screen shows:\n%s", code, p.screen())
			}
			if m := p.term.Modes(); m.Kitty != 0 || m.ModifyOtherKeys != 0 {
				t.Errorf("keyboard modes are left on: %+v", m)
			}
			u.exe, u.extra = binary, nil
		})
	}
}
