package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/views/present"
)

// run types a command line and waits for its end.
func (w *world) run(line, end string) {
	w.T.Helper()
	if !w.Shows("enter accept") { // a new tab waits for a line already
		w.Keys("!")
	}
	w.Type(line)
	w.Keys("enter")
	w.UntilShows(end)
	w.Keys("esc")
}

func TestOutputRerunsAndStepsThroughCommands(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput})
	w.run("echo first", "exit 0")
	w.Keys("!")
	w.Type("false")
	w.Keys("enter")
	w.UntilShows("exit 1")
	w.Keys("esc {")
	w.UntilShows("#1 echo first ─ exit 0")
	w.Keys("R")
	w.UntilShows("#3 echo first ─ exit 0")
	if n := len(w.fake.CallsOf(fake.OpStart)); n != 3 {
		t.Errorf("%d commands were started, want 3", n)
	}
}

func TestOutputTypesToARunningCommand(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput})
	w.run("cat", "exit 0") // without standard input it ends by itself
	w.Keys("i")
	w.UntilShows("nothing is running here")
	w.Keys("I !")
	w.UntilShows("$<")
	w.Type("cat")
	w.Keys("enter")
	w.UntilShows("#2 cat ─ running")
	w.Keys("esc i")
	w.fake.Script(fake.OpWrite, "", fake.Step{Delay: 50 * time.Millisecond}) // the first line is slow, the second waits for it
	w.Type("line one")
	w.Keys("enter")
	w.Type("line two")
	w.Keys("enter")
	w.Until("both lines to come back in order", func() bool {
		a, b := strings.Index(w.Text(), "line one"), strings.Index(w.Text(), "line two")
		return a >= 0 && b > a
	})
	w.Keys("ctrl+d")
	w.UntilShows("#2 cat ─ exit 0")
}

// What is saved is byte by byte what the command wrote, line ends, escapes and
// broken UTF-8 included.
func TestOutputSavesTheExactBytes(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput})
	raw := "a\r\nprogress 1%\rprogress 2%\r\x1b[31mred\x1b[0m \xff\xfe tail without end"
	put(t, w, "raw.bin", raw)
	w.run("cat raw.bin", "exit 0")
	w.Keys("ctrl+s")
	w.UntilShows("saved")
	files, err := filepath.Glob(filepath.Join(w.dir, "abxdash-*.log"))
	if err != nil || len(files) != 1 {
		t.Fatalf("saved as %v, %v", files, err)
	}
	if got, _ := os.ReadFile(files[0]); string(got) != raw {
		t.Errorf("saved %q, want %q", got, raw)
	}
	w.Keys("ctrl+s")
	w.Until("a second file", func() bool {
		files, _ := filepath.Glob(filepath.Join(w.dir, "abxdash-*.log"))
		return len(files) == 2
	})
}

// More than fits in the ring, and in memory, is still saved whole.
func TestOutputSavesMoreThanItShows(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput})
	w.run("seq 200000", "exit 0")
	w.UntilShows("dropped")
	w.Keys("ctrl+s")
	w.UntilShows("saved")
	files, _ := filepath.Glob(filepath.Join(w.dir, "abxdash-*.log"))
	if len(files) != 1 {
		t.Fatalf("saved as %v", files)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) != 200_000 || lines[0] != "1" || lines[199_999] != "200000" {
		t.Errorf("%d lines from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

func TestOutputErrorsOnly(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput})
	w.run("echo fine; echo broken >&2", "exit 0")
	w.UntilShows("broken")
	w.Keys("e")
	w.UntilShows("errors only")
	if strings.Count(w.Text(), "fine") != 2 { // the list and the title name the command
		t.Errorf("standard output is still shown:\n%s", w.Text())
	}
	w.Keys("e")
	w.Until("both again", func() bool { return strings.Count(w.Text(), "fine") == 3 })
}

func TestOutputShowsALongLineWhole(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput, w: 80, h: 24})
	long := strings.Repeat("abcdefghi ", 30) + "THE END"
	put(t, w, "long.txt", "short\n"+long+"\n")
	w.run("cat long.txt", "exit 0")
	w.Until("the line, cut", func() bool { return w.Shows("abcdefghi") && !w.Shows("THE END") })
	w.Keys("enter")
	w.UntilShows("THE END")
	w.closes("esc", "THE END")
}

func TestOutputMergesSeveralSandboxes(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput})
	w.run("echo from-one", "exit 0")
	w.Keys("A")
	w.UntilShows("all sandboxes")
	w.UntilShows("web            #1   from-one")
	w.Keys("!")
	w.Type("echo later")
	w.Keys("enter")
	w.UntilShows("#2 echo later ─ exit 0")
	w.Keys("esc A")
	w.UntilShows("web            #2   later")
	w.Keys("A")
	w.UntilShows("#2 echo later ─ exit 0")
}

func TestOutputReadOnlyRunsNothing(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput, readOnly: "read-only mode"})
	w.Keys("! R i I")
	w.UntilShows("read-only mode")
	if n := len(w.fake.CallsOf(fake.OpStart)); n != 0 {
		t.Errorf("%d commands were started", n)
	}
}

func TestOutputOfACommandThatCannotStart(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput})
	w.fake.Script(fake.OpStart, "", fake.Step{Err: &client.Error{Op: "start", Code: client.CodeRun, Message: "no more processes\x1b[2J"}})
	w.Type("anything")
	w.Keys("enter")
	w.UntilShows("not started: start: no more processes")
}

// A command that was asked to stop before it had started is stopped then.
func TestOutputStopsACommandThatIsStillStarting(t *testing.T) {
	w := open(t, setup{tab: present.TabOutput})
	w.fake.Script(fake.OpStart, "", fake.Step{Delay: 50 * time.Millisecond})
	w.Type("sleep 1000")
	w.Keys("enter ctrl+c")
	w.UntilShows("ended (SIGTERM)")
}
