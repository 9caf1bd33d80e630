package fake

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"abxdash/client"
)

// programs are the commands that every sandbox has beside the shell's own.
func programs() map[string]Program {
	return map[string]Program{
		"cat":   catMain,
		"count": countMain,
		"date": func(_ context.Context, io IO) int {
			return say(io, io.proc.box.prov.opts.Now().UTC().Format(time.UnixDate))
		},
		"echo":      func(_ context.Context, io IO) int { return say(io, strings.Join(io.Args[1:], " ")) },
		"env":       envMain,
		"false":     func(context.Context, IO) int { return 1 },
		"head":      headMain,
		"hostname":  func(_ context.Context, io IO) int { return say(io, string(io.proc.box.sb.ID)) },
		"id":        func(_ context.Context, io IO) int { return say(io, "uid=1000(user) gid=1000(user) groups=1000(user)") },
		"kill":      killMain,
		"ls":        lsMain,
		"mkdir":     mkdirMain,
		"printenv":  envMain,
		"ps":        psMain,
		"pwd":       func(_ context.Context, io IO) int { return say(io, io.Dir) },
		"rm":        rmMain,
		"seq":       seqMain,
		"sha256sum": sumMain,
		"sleep":     sleepMain,
		"stty":      sttyMain,
		"touch":     touchMain,
		"tr":        trMain,
		"true":      func(context.Context, IO) int { return 0 },
		"uname":     func(_ context.Context, io IO) int { return say(io, "Linux") },
		"wc":        wcMain,
		"whoami":    func(_ context.Context, io IO) int { return say(io, "user") },
		"yes":       yesMain,
	}
}

func say(io IO, line string) int {
	if _, err := fmt.Fprintln(io.Stdout, line); err != nil {
		return 1
	}
	return 0
}

func fail(io IO, code int, format string, args ...any) int {
	fmt.Fprintf(io.Stderr, io.Args[0]+": "+format+"\n", args...)
	return code
}

// operands are the arguments that are not flags.
func operands(io IO) []string {
	var out []string
	for _, a := range io.Args[1:] {
		if !strings.HasPrefix(a, "-") || a == "-" {
			out = append(out, a)
		}
	}
	return out
}

// inputs calls f with each named file, or with standard input if there is none.
func inputs(prog IO, names []string, f func(r io.Reader) error) int {
	if len(names) == 0 {
		names = []string{"-"}
	}
	code := 0
	for _, name := range names {
		r := prog.Stdin
		if name != "-" {
			file, err := prog.proc.openFile(place(prog.Dir, name), os.O_RDONLY)
			if err != nil {
				code = fail(prog, 1, "%s: no such file", name)
				continue
			}
			r = file
		}
		if err := f(r); err != nil {
			return 1
		}
	}
	return code
}

func catMain(_ context.Context, prog IO) int {
	return inputs(prog, operands(prog), func(r io.Reader) error {
		_, err := io.Copy(prog.Stdout, r)
		return err
	})
}

// countMain is `count N [SECONDS]`: a line every so often, for streaming tests and the demo.
func countMain(ctx context.Context, prog IO) int {
	n, each := 3, 1.0
	if len(prog.Args) > 1 {
		n, _ = strconv.Atoi(prog.Args[1])
	}
	if len(prog.Args) > 2 {
		each, _ = strconv.ParseFloat(prog.Args[2], 64)
	}
	for i := 1; i <= n; i++ {
		if say(prog, strconv.Itoa(i)) != 0 || prog.proc.box.prov.opts.Sleep(ctx, time.Duration(each*float64(time.Second))) != nil {
			return 1
		}
	}
	return 0
}

func envMain(_ context.Context, prog IO) int {
	if len(prog.Args) > 1 {
		v := prog.Env(prog.Args[1])
		if v == "" {
			return 1
		}
		return say(prog, v)
	}
	for k, v := range prog.proc.env {
		say(prog, k+"="+v)
	}
	return 0
}

func headMain(_ context.Context, prog IO) int {
	bytesN, linesN := int64(-1), 10
	var names []string
	for i := 1; i < len(prog.Args); i++ {
		a := prog.Args[i]
		switch {
		case (a == "-c" || a == "-n") && i+1 < len(prog.Args):
			i++
			n, err := strconv.ParseInt(prog.Args[i], 10, 64)
			if err != nil {
				return fail(prog, 1, "invalid number")
			}
			if a == "-c" {
				bytesN = n
			} else {
				linesN = int(n)
			}
		default:
			names = append(names, a)
		}
	}
	return inputs(prog, names, func(r io.Reader) error {
		if bytesN >= 0 {
			_, err := io.CopyN(prog.Stdout, r, bytesN)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		s := bufio.NewReader(r)
		for range linesN {
			line, err := s.ReadBytes('\n')
			if _, werr := prog.Stdout.Write(line); err != nil || werr != nil {
				return werr
			}
		}
		return nil
	})
}

func killMain(_ context.Context, prog IO) int {
	sig := 15
	for _, a := range prog.Args[1:] {
		switch strings.TrimPrefix(strings.TrimPrefix(a, "-"), "SIG") {
		case "KILL", "9":
			sig = 9
		case "TERM", "15":
			sig = 15
		case "INT", "2":
			sig = 2
		default:
			pid, err := strconv.Atoi(a)
			if err != nil {
				return fail(prog, 2, "%s: not a pid", a)
			}
			if !signalPID(prog.proc, pid, sig) {
				return fail(prog, 1, "(%d): no such process", pid)
			}
		}
	}
	return 0
}

// signalPID signals a process of the box; $$ in the shell is our own pid and means the process itself.
func signalPID(pr *process, pid, sig int) bool {
	if pid == os.Getpid() {
		pid = pr.pid
	}
	pr.box.mu.Lock()
	target := pr.box.procs[pid]
	pr.box.mu.Unlock()
	if target == nil {
		return false
	}
	target.signal(sig)
	return true
}

func lsMain(_ context.Context, prog IO) int {
	names := operands(prog)
	if len(names) == 0 {
		names = []string{"."}
	}
	flags := strings.Join(prog.Args[1:], "")
	long, all := strings.Contains(flags, "-l") || strings.Contains(flags, "-al"), strings.Contains(flags, "a")
	t := prog.proc.box.files()
	t.mu.Lock()
	var out bytes.Buffer
	code := 0
	for _, name := range names {
		q := place(prog.Dir, name)
		n := t.nodes[q]
		var list []client.Entry
		switch {
		case n == nil:
			code = fail(prog, 2, "cannot access '%s': No such file or directory", name)
			continue
		case n.dir:
			list = t.children(q)
		default:
			list = []client.Entry{t.entry(q, n)}
		}
		for _, e := range list {
			if strings.HasPrefix(e.Name, ".") && !all {
				continue
			}
			if long {
				fmt.Fprintf(&out, "%s %s %8d %s ", e.Permissions, e.Owner, e.Size, e.ModifiedAt.UTC().Format("Jan _2 15:04"))
			}
			fmt.Fprintln(&out, e.Name)
		}
	}
	t.mu.Unlock()
	if _, err := out.WriteTo(prog.Stdout); err != nil {
		return 1
	}
	return code
}

func mkdirMain(_ context.Context, prog IO) int {
	t := prog.proc.box.files()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range operands(prog) {
		q := place(prog.Dir, name)
		if n := t.nodes[q]; n != nil && !n.dir || t.checkParents(q) != nil {
			return fail(prog, 1, "cannot create directory '%s'", name)
		}
		t.mkdirAll(q)
	}
	return 0
}

func rmMain(_ context.Context, prog IO) int {
	t := prog.proc.box.files()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range operands(prog) {
		if q := place(prog.Dir, name); q != "/" {
			t.remove(q)
		}
	}
	return 0
}

func touchMain(_ context.Context, prog IO) int {
	t := prog.proc.box.files()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range operands(prog) {
		q := place(prog.Dir, name)
		if t.check(q) != nil {
			return fail(prog, 1, "cannot touch '%s'", name)
		}
		var data []byte
		if n := t.nodes[q]; n != nil {
			data = n.data
		}
		t.put(q, data)
	}
	return 0
}

func psMain(_ context.Context, prog IO) int {
	fmt.Fprintln(prog.Stdout, "PID COMMAND")
	b := prog.proc.box
	b.mu.Lock()
	defer b.mu.Unlock()
	for pid, pr := range b.procs {
		fmt.Fprintf(prog.Stdout, "%3d %s\n", pid, strings.Join(pr.cmd.Argv, " "))
	}
	return 0
}

func seqMain(_ context.Context, prog IO) int {
	if n := len(prog.Args); n != 2 && n != 3 {
		return fail(prog, 1, "one or two numbers are needed")
	}
	first := 1
	last, err := strconv.Atoi(prog.Args[len(prog.Args)-1])
	if err == nil && len(prog.Args) == 3 {
		first, err = strconv.Atoi(prog.Args[1])
	}
	if err != nil {
		return fail(prog, 1, "not a number")
	}
	w := bufio.NewWriterSize(prog.Stdout, frameBytes)
	for i := first; i <= last; i++ {
		if _, err := fmt.Fprintln(w, i); err != nil {
			return 1
		}
	}
	if w.Flush() != nil {
		return 1
	}
	return 0
}

func sumMain(_ context.Context, prog IO) int {
	names := operands(prog)
	label := "-"
	if len(names) > 0 {
		label = names[0]
	}
	return inputs(prog, names, func(r io.Reader) error {
		h := sha256.New()
		if _, err := io.Copy(h, r); err != nil {
			return err
		}
		_, err := fmt.Fprintf(prog.Stdout, "%x  %s\n", h.Sum(nil), label)
		return err
	})
}

func sleepMain(ctx context.Context, prog IO) int {
	if len(prog.Args) < 2 {
		return fail(prog, 1, "missing operand")
	}
	s, err := strconv.ParseFloat(strings.TrimSuffix(prog.Args[1], "s"), 64)
	if err != nil {
		return fail(prog, 1, "invalid time interval '%s'", prog.Args[1])
	}
	if prog.proc.box.prov.opts.Sleep(ctx, time.Duration(s*float64(time.Second))) != nil {
		return 1
	}
	return 0
}

func sttyMain(_ context.Context, prog IO) int {
	if prog.proc.tty == nil {
		return fail(prog, 1, "'standard input': Inappropriate ioctl for device")
	}
	if len(prog.Args) == 2 && prog.Args[1] == "size" {
		s := prog.proc.currentSize()
		return say(prog, fmt.Sprintf("%d %d", s.Rows, s.Cols))
	}
	return 0
}

// trMain is `tr A B` for single characters, and \0 and \n.
func trMain(_ context.Context, prog IO) int {
	if len(prog.Args) != 3 {
		return fail(prog, 1, "two operands are needed")
	}
	from, to := unescape(prog.Args[1]), unescape(prog.Args[2])
	if len(from) != len(to) {
		return fail(prog, 1, "the operands must be of the same length")
	}
	var table [256]byte
	for i := range table {
		table[i] = byte(i)
	}
	for i := range len(from) {
		table[from[i]] = to[i]
	}
	buf := make([]byte, frameBytes)
	for {
		n, err := prog.Stdin.Read(buf)
		for i := range n {
			buf[i] = table[buf[i]]
		}
		if _, werr := prog.Stdout.Write(buf[:n]); werr != nil {
			return 1
		}
		if err != nil {
			return 0
		}
	}
}

func unescape(s string) string {
	return strings.NewReplacer(`\0`, "\x00", `\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(s)
}

func wcMain(_ context.Context, prog IO) int {
	var lines, words, size int
	code := inputs(prog, operands(prog), func(r io.Reader) error {
		data, err := io.ReadAll(r)
		lines += bytes.Count(data, []byte("\n"))
		words += len(bytes.Fields(data))
		size += len(data)
		return err
	})
	if code != 0 {
		return code
	}
	switch {
	case len(prog.Args) > 1 && prog.Args[1] == "-c":
		return say(prog, strconv.Itoa(size))
	case len(prog.Args) > 1 && prog.Args[1] == "-l":
		return say(prog, strconv.Itoa(lines))
	default:
		return say(prog, fmt.Sprintf("%d %d %d", lines, words, size))
	}
}

func yesMain(ctx context.Context, prog IO) int {
	word := "y"
	if len(prog.Args) > 1 {
		word = strings.Join(prog.Args[1:], " ")
	}
	block := bytes.Repeat([]byte(word+"\n"), frameBytes/(len(word)+1))
	for ctx.Err() == nil {
		if _, err := prog.Stdout.Write(block); err != nil {
			return 1
		}
	}
	return 1
}
