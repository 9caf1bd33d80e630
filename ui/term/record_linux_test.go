package term

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// The corpus in testdata/corpus is made by
//
//	ABXDASH_RECORD=all go test ./ui/term -run TestRecord
//
// as root on Linux, with the programs installed: it runs each program in its
// own namespaces with a neutral host name and home, types a script, and keeps
// what came out (NAME.bin) and what tmux shows for it (NAME.tmux).
const (
	recordCols = 80
	recordRows = 24
	// recordLimit bounds one recording, in bytes.
	recordLimit = 100 << 10
)

// recordSetup makes the home that all programs run in.
const recordSetup = `
hostname box
mount -t tmpfs tmpfs /home && mkdir -p /home/user/src/deep/er /home/user/docs && cd /home/user
seq -f 'line %g of a file with some words in it' 1 300 >long.txt
printf 'package main\n\nimport "fmt"\n\n// main says hello.\nfunc main() {\n\tfor i := 0; i < 3; i++ {\n\t\tfmt.Println("hello", i)\n\t}\n}\n' >src/main.go
printf '# Title\n\nSome *text* and a list:\n\n- one\n- two\n' >docs/readme.md
printf '漢字とかな混じり文。幅は二倍です。\n한국어 텍스트\nÜberraschung: naïve café e\xcc\x81\n全角ＡＢＣ and half abc\nmixed 漢 a 字 b 表 c\n┌──┬──┐\n│漢│ab│\n└──┴──┘\n' >cjk.txt
printf 'smile 😀 heart 💚 rocket 🚀\nthumb 👍 wave 👋 end\n%s\n' "$(printf '🚀%.0s' $(seq 1 45))" >emoji.txt
for i in 1 2 3; do printf '#!/bin/sh\necho %s\n' $i >src/run$i.sh; chmod +x src/run$i.sh; done
touch -d '2024-01-02 03:04' *.txt src/* docs/*
ln -s long.txt link
export HOME=/home/user USER=user LOGNAME=user SHELL=/bin/bash TERM=xterm-256color LANG=C.UTF-8 LC_ALL=C.UTF-8 TZ=UTC
export PATH=/usr/local/bin:/usr/bin:/bin PS1='user@box:\w\$ ' HISTFILE= LESSHISTFILE=- PYTHON_HISTORY=/dev/null VIMINIT='syntax on | set nocompatible number hlsearch'
export LS_COLORS='di=01;34:ln=01;36:ex=01;32'
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.com GIT_AUTHOR_DATE='2024-01-02T03:04:05Z' GIT_COMMITTER_DATE='2024-01-02T03:04:05Z'
`

// recordings are the programs and what is typed; each line is sent when the program has gone quiet.
var recordings = []struct {
	name, run string
	keys      []string
}{
	{"bash", "exec bash --norc", []string{
		"ls --color\r", "cd sr\t\r", "ls -l --color ..\r", "echo one two three", "\x1b[D\x1b[D\x1b[D\x1b[D\x1b[DXY\x01# \x05 end\r",
		"echo a line that is longer than the terminal is wide, so that readline has to wrap it and to redraw it properly", "\x01\x1b[C\x1b[C\x1b[CZ\x05\x17\x17\r",
		"\x12echo\x07", "\x15cat run\t\t", "1.sh\r", "for i in $(seq 30); do echo \"$i\"; done\r", "printf '\\e[1;31mred\\e[m \\e[48;5;22mgreen\\e[0K\\e[m\\n'\r",
	}},
	{"vim", "exec vim -N src/main.go", []string{
		"jjjj", "/i\r", "nn", "ofmt.Println(\"漢字 é 😀\")\x1b", "yy3p", ":split docs/readme.md\r", "ihello\x1b", "\x17w", ":vsplit\r", "\x04", "\x15", "ggVG>", ":set list\r", "dd", "Gzt", "u",
	}},
	{"vim-scroll", "exec vim -N long.txt", []string{
		"\x06\x06", "\x05\x05\x05\x19", "Gkkk", "ggO\x1b", "10dd", "u", ":%s/words/漢字/g\r", "\x06", "zt", "zb", "100%",
	}},
	{"nvim", "exec nvim -u NONE -i NONE --cmd 'set number' src/main.go", []string{
		"jjj", "ofmt.Println(\"漢字\")\x1b", ":split\r", ":vsplit\r", "\x17wdd", "u", "G", ":set list\r",
	}},
	{"less", "exec less long.txt", []string{" ", " ", "b", "jjj", "k", "/99\r", "n", "G", "g", "-S", "\r", "hh", "50p"}},
	{"less-colour", "git -c core.pager=cat diff --no-index --color src docs | less -R", []string{"jj", " ", "g", "/func\r"}},
	{"htop", "sleep 1000 & sleep 1001 & exec htop --no-mouse -d 1000", []string{"\x1b[B\x1b[B", "\x1bOR", "\x1b", "\x1bOQ", "\x1b[B\x1b[C\x1b[B", "\x1b\x1b", "\x1bOS", "sle", "\r"}},
	{"top", "sleep 1000 & exec top -d 1000", []string{"z", "x", "c", "m", "t", "1", "h", "\x1b"}},
	{"mc", "exec mc -u -X", []string{"\x1b[B\x1b[B", "\t", "\x1b[B\x1b[B\r", "\x1bOR", "\x1b\x1b", "\x1b9", "\x1b[B\x1b[C", "\x1b\x1b", "\x0f", "\x0f"}},
	{"git-log", `git init -q -b main repo && cd repo && for i in 1 2 3; do echo $i >f$i; git add .; git commit -qm "change $i 漢字"; git checkout -q -b side$i; echo s >s$i; git add .; git commit -qm "side $i"; git checkout -q main; done; git merge -q --no-ff -m 'merge side1' side1; git merge -q --no-ff -m 'merge two' side2; exec bash --norc`, []string{
		"git log --graph --oneline --all --decorate --color | cat\r", "git log --graph --stat --color\r", " ", "G", "q", "clear; git status\r",
	}},
	{"python", "exec /usr/bin/python3 -q", []string{
		"for i in range(5): print('%d' % i, end='\\r\\n')\r", "\r", "'漢字' * 30\r", "1/0\r", "import sys; sys.stdout.write('\\x1b[7mrev\\x1b[m\\x1b[3;3Hat')\r", "\x1b[A\x1b[D\x1b[D\x1b[D\x7f\r", "help()\r", "quit\r",
	}},
	{"text", "exec bash --norc", []string{"cat cjk.txt\r", "cat emoji.txt\r", "cat cjk.txt emoji.txt | head -c 150\r", "echo 漢字\x1b[D\x1b[D字\x7f\x7fx\r", "paste cjk.txt emoji.txt\r"}},
	{"fzf", "seq 500 | fzf --no-mouse --height=100% --info=default", []string{"1", "2", "\x1b[A\x1b[A", "\x7f", "漢", "\x7f", "\x1b[B"}},
	{"fzf-inline", "echo before; seq 500 | fzf --no-mouse --height=8", []string{"4", "2", "\r"}},
	{"tmux", "exec tmux -L rec -f /dev/null new-session 'exec bash --norc'", []string{"ls --color\r", "\x02\"", "seq 40\r", "\x02%", "cat cjk.txt\r", "\x02o", "\x02[", "\x1b[5~", "q"}},
	{"dialog", "exec bash --norc", []string{"printf '\\e[?1049h\\e[2J\\e[H\\e(0lqqqk\\e(B\\n'\r", "printf '\\e[5;10r\\e[10;1H\\n\\n\\e[r\\e[?1049l'\r", "stty -a | head -1\r"}},
}

func TestRecord(t *testing.T) {
	want := os.Getenv("ABXDASH_RECORD")
	if want == "" {
		t.Skip("set ABXDASH_RECORD to a name or all to make the corpus anew")
	}
	for _, r := range recordings {
		if (want == "all" || want == r.name) && r.keys != nil {
			t.Run(r.name, func(t *testing.T) {
				data, steps := record(t, r.run, r.keys)
				base := filepath.Join("testdata", "corpus", r.name)
				if err := os.WriteFile(base+".bin", data, 0o600); err != nil {
					t.Fatal(err)
				}
				writeExpected(t, base, data, steps)
			})
		}
	}
}

// writeExpected keeps what tmux shows after each step.
func writeExpected(t *testing.T, base string, data []byte, steps []int) {
	t.Helper()
	var b strings.Builder
	for i, n := range steps {
		if i > 0 && n == steps[i-1] {
			continue
		}
		lines, cursor := tmuxShows(t, data[:n], recordCols, recordRows)
		fmt.Fprintf(&b, "== %d\n%s\ncursor %s\n", n, strings.Join(lines, "\n"), cursor)
	}
	if err := os.WriteFile(base+".tmux", []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// record runs a program on a terminal, types keys, and returns its output and
// how much of it there was after each step.
func record(t *testing.T, run string, keys []string) (data []byte, steps []int) {
	t.Helper()
	cmd := exec.Command("unshare", "-mupf", "--kill-child", "--mount-proc", "env", "-i", "sh", "-c", recordSetup+run)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: recordRows, Cols: recordCols})
	if err != nil {
		t.Skipf("cannot run programs in their own namespaces: %v", err)
	}
	defer tty.Close()
	var mu sync.Mutex
	var out bytes.Buffer
	last := time.Now()
	x := New(recordCols, recordRows, Options{Reply: func(p []byte) { _, _ = tty.Write(p) }})
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			mu.Lock()
			if out.Len()+n <= recordLimit {
				out.Write(buf[:n])
			}
			last = time.Now()
			mu.Unlock()
			_, _ = x.Write(buf[:n])
			if err != nil {
				if !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "input/output error") {
					t.Errorf("read: %v", err)
				}
				return
			}
		}
	}()
	quiet := func() {
		for {
			mu.Lock()
			idle := time.Since(last)
			mu.Unlock()
			if idle > 500*time.Millisecond {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	time.Sleep(time.Second)
	for _, k := range keys {
		quiet()
		mu.Lock()
		last = time.Now()
		steps = append(steps, out.Len())
		mu.Unlock()
		if _, err := io.WriteString(tty, k); err != nil {
			break
		}
	}
	quiet()
	mu.Lock()
	data = bytes.Clone(out.Bytes())
	steps = append(steps, len(data))
	mu.Unlock()
	_ = cmd.Process.Kill()
	_ = tty.Close()
	_ = cmd.Wait()
	<-done
	return data, steps
}

// tmuxShows feeds data to a tmux pane of cols×rows and returns its screen in
// the form of shown, and the cursor.
func tmuxShows(t *testing.T, data []byte, cols, rows int) ([]string, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "in")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	tmux := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-u", "-S", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v %s", args, err, out)
		}
		return string(out)
	}
	script := fmt.Sprintf("stty raw -echo; cat %s; touch %s; exec sleep 1000", file, file+".done")
	tmux("new-session", "-d", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), "cat >/dev/null", ";", "set", "-g", "status", "off",
		";", "set", "-g", "default-terminal", "xterm-256color", ";", "respawn-pane", "-k", script)
	defer tmux("kill-server")
	for range 500 {
		if _, err := os.Stat(file + ".done"); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	text, cursor := "", ""
	for range 100 {
		time.Sleep(20 * time.Millisecond)
		now := tmux("capture-pane", "-e", "-p", "-N")
		at := strings.TrimSpace(tmux("display-message", "-p", "#{cursor_x},#{cursor_y}"))
		if now == text && at == cursor {
			break
		}
		text, cursor = now, at
	}
	if size := strings.TrimSpace(tmux("display-message", "-p", "#{pane_width}x#{pane_height}")); size != fmt.Sprintf("%dx%d", cols, rows) {
		t.Fatalf("tmux pane is %s", size)
	}
	return captured(text, cols, rows), cursor
}

// captured turns the text of capture-pane -e into the form of shown. Styles go
// on from line to line there.
func captured(text string, cols, rows int) []string {
	x := New(cols*2, rows+1, Options{})
	// capture-pane writes line drawing with shift out and in.
	_, _ = x.Write([]byte("\x1b[?2027l\x1b)0" + strings.ReplaceAll(text, "\n", "\r\n")))
	return shown(x, rows)
}
