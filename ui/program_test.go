package ui_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/keymap"
	"abxdash/ui"
)

// program runs a Root in the real loop over a pipe and returns what types into
// it and what waits for its end.
func program(t *testing.T, s *fake, o ui.Options) (typed io.Writer, wait func() string) {
	t.Helper()
	in, out := io.Pipe()
	o.Routes = map[ui.Route]func(ui.Params) ui.Screen{"list": func(ui.Params) ui.Screen { return s }}
	o.Start = "list"
	root := ui.New(o)
	var screen bytes.Buffer
	p := ui.NewProgram(root, tea.WithInput(in), tea.WithOutput(&screen), tea.WithWindowSize(80, 24),
		tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithoutSignalHandler())
	done := make(chan error, 1)
	go func() {
		_, err := p.Run()
		done <- err
	}()
	return out, func() string {
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("the program ended with %v", err)
			}
		case <-time.After(30 * time.Second):
			p.Kill()
			<-done
			t.Error("the program does not end")
		}
		root.Close()
		// Whoever still types into it is let go, and the reader too.
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		return screen.String()
	}
}

// write types chunks, each at once, without waiting for the program to take them.
func write(w io.Writer, chunks ...string) {
	go func() {
		for _, c := range chunks {
			if _, err := io.WriteString(w, c); err != nil {
				return // the program has ended
			}
		}
	}()
}

// TUI-05 through the decoder: the answer comes late, whole and in pieces, while
// text is typed. Nothing of it is typed.
func TestLateAnswerIsNotTyped(t *testing.T) {
	answer, err := os.ReadFile("testdata/late-osc11.bin")
	if err != nil {
		t.Fatal(err)
	}
	s := &fake{title: "Sandboxes", captures: true, contexts: []keymap.Context{keymap.Input}}
	typed, wait := program(t, s, ui.Options{Light: true})
	write(typed, "a", string(answer), "b", string(answer[:7]), string(answer[7:]), "c", "\x03\x03")
	wait()
	if got := strings.Join(s.keys, ""); got != "abc" {
		t.Errorf("typed %q, want abc", got)
	}
	if s.themes == 0 || !s.env.Theme.Dark {
		t.Errorf("the answer did not change the theme (%d changes)", s.themes)
	}
}

// TUI-08: a flood of wheel reports and keys is worked off, and q ends it.
func TestFlood(t *testing.T) {
	s := &fake{title: "Sandboxes", contexts: []keymap.Context{keymap.List, keymap.Sandbox, keymap.Move}}
	typed, wait := program(t, s, ui.Options{FixedTheme: true})
	start := time.Now()
	write(typed, strings.Repeat("\x1b[<65;40;12M", 2000), strings.Repeat("j", 1000), "q")
	wait()
	if len(s.mice) != 2000 || s.did(keymap.MoveDown) != 1000 {
		t.Errorf("%d wheel reports and %d keys arrived", len(s.mice), s.did(keymap.MoveDown))
	}
	// Far fewer frames than messages: at most about one each interval.
	if limit := int(time.Since(start)/(16*time.Millisecond)) + 10; s.draws > limit {
		t.Errorf("%d frames in %v", s.draws, time.Since(start))
	}
}

// The leader and other control keys arrive under the names that the keymap uses.
func TestKeyNames(t *testing.T) {
	s := &fake{title: "Shell", captures: true, contexts: []keymap.Context{keymap.Input}}
	typed, wait := program(t, s, ui.Options{FixedTheme: true})
	// Legacy bytes, then the spellings of the Kitty protocol and modifyOtherKeys.
	write(typed, "\x1d", "\x1c", "\x0b", " ", "\x7f", "\x1b[Z", "\x1b[93;5u", "\x1b[27;5;93~", "\x1b1", "\x03\x03")
	wait()
	want := `ctrl+] ctrl+\ ctrl+k space backspace shift+tab ctrl+] ctrl+] alt+1`
	if got := strings.Join(s.keys, " "); got != want {
		t.Errorf("keys %q, want %q", got, want)
	}
}

// After the end the terminal is as it was: no alternate screen, mouse, paste
// or focus reports, a visible cursor.
func TestTerminalIsLeftClean(t *testing.T) {
	for name, s := range map[string]*fake{"quit": {title: "L"}, "a screen that panics": {title: "L", panicIn: "Update"}} {
		typed, wait := program(t, s, ui.Options{FixedTheme: true})
		write(typed, "x", "q")
		out := wait()
		for _, mode := range []string{"1049", "1002", "1006", "2004", "1004"} {
			on, off := strings.LastIndex(out, "\x1b[?"+mode+"h"), strings.LastIndex(out, "\x1b[?"+mode+"l")
			if on < 0 || off < on {
				t.Errorf("%s: mode %s: on at %d, off at %d", name, mode, on, off)
			}
		}
		if on, off := strings.LastIndex(out, "\x1b[?25h"), strings.LastIndex(out, "\x1b[?25l"); on < off {
			t.Errorf("%s: the cursor stays hidden", name)
		}
	}
}
