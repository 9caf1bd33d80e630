package interpreter

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// variable is a name that a shell can export.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// bashLines words one run for the shell: the code is evaluated in the shell
// itself, so that variables and the working directory stay, and a mark follows
// on both streams.
func bashLines(req request, mark string) string {
	var b strings.Builder
	names := slices.Sorted(maps.Keys(req.Env))
	for _, n := range names {
		fmt.Fprintf(&b, "if [ \"${%[1]s+x}\" ]; then __was_%[1]s=$%[1]s; fi; export %[1]s=%[2]s\n", n, quote(req.Env[n]))
	}
	code := base64.StdEncoding.EncodeToString([]byte(req.Code))
	fmt.Fprintf(&b, "eval \"$(base64 -d <<< %s)\" < /dev/null\n", code)
	fmt.Fprintf(&b, "{ __code=$?; printf '%%s %%d\\n' %[1]s $__code; printf '%%s 0\\n' %[1]s >&2; }\n", quote(mark))
	for _, n := range names {
		fmt.Fprintf(&b, "if [ \"${__was_%[1]s+x}\" ]; then export %[1]s=$__was_%[1]s; unset __was_%[1]s; else unset %[1]s; fi\n", n)
	}
	return b.String()
}

// quote makes a word of the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// runBash is run for the shell, whose output is plain text.
func (k *kernel) runBash(req request, out <-chan piece, emit emitter) {
	emit.value(event{Type: "number_of_executions", ExecutionCount: k.count})
	mark := "end-" + rand.Text()
	if _, err := k.child.Stdin().Write([]byte(bashLines(req, mark))); err != nil {
		k.died(emit)
		return
	}
	streams := map[bool]*marked{false: {kind: "stdout", mark: mark}, true: {kind: "stderr", mark: mark}}
	done := k.child.Done()
	for !streams[false].ended || !streams[true].ended {
		select {
		case p := <-out:
			s := streams[p.stderr]
			if len(p.data) == 0 {
				s.finish(emit)
				s.ended = true
				continue
			}
			s.add(p.data, emit)
		case <-done:
			done = nil // its streams end by themselves, unless a child holds them
			if !streams[false].seen {
				k.afterExit(streams, out, emit)
				return
			}
		}
	}
	if !streams[false].seen {
		k.exited(emit)
		return
	}
	if code := streams[false].code; code != 0 {
		emit.failed("ExitCode", strconv.Itoa(code), "")
	}
}

// afterExit reads what is left of a shell that the code ended.
func (k *kernel) afterExit(streams map[bool]*marked, out <-chan piece, emit emitter) {
	grace := time.NewTimer(interruptGrace)
	defer grace.Stop()
	for ends := 0; ends < 2; {
		select {
		case p := <-out:
			if len(p.data) == 0 {
				streams[p.stderr].finish(emit)
				ends++
				continue
			}
			streams[p.stderr].add(p.data, emit)
		case <-grace.C:
			ends = 2
		}
	}
	k.exited(emit)
}

// exited words the end of a shell by its own `exit` or by a signal.
func (k *kernel) exited(emit emitter) {
	<-k.child.Done()
	if e := k.child.Exit(); !e.Exited || e.Code != 0 {
		emit.failed("ExitCode", strconv.Itoa(e.Code), e.Status)
	}
}

// marked is a stream of text that a mark ends.
type marked struct {
	kind, mark  string
	held        []byte
	ended, seen bool
	code        int
}

// add hands text on up to the mark. What may be the beginning of the mark, or of
// a character, waits.
func (m *marked) add(data []byte, emit emitter) {
	if m.ended {
		return
	}
	m.held = append(m.held, data...)
	if i := bytes.Index(m.held, []byte(m.mark+" ")); i >= 0 {
		rest := m.held[i+len(m.mark)+1:]
		line, _, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			return
		}
		m.code, _ = strconv.Atoi(string(line))
		m.held = m.held[:i]
		m.finish(emit)
		m.ended, m.seen = true, true
		return
	}
	keep := min(len(m.held), len(m.mark)+8)
	for keep > 0 && !strings.HasPrefix(m.mark+" ", string(m.held[len(m.held)-keep:])) && !splitRune(m.held[len(m.held)-keep:]) {
		keep--
	}
	if n := len(m.held) - keep; n > 0 {
		emit.text(m.kind, strings.ToValidUTF8(string(m.held[:n]), "\uFFFD"))
		m.held = append([]byte{}, m.held[n:]...)
	}
}

// splitRune reports whether b is the beginning of a character of more bytes.
func splitRune(b []byte) bool {
	if len(b) == 0 || len(b) > 3 {
		return false
	}
	want := 0
	switch {
	case b[0]>>5 == 0b110:
		want = 2
	case b[0]>>4 == 0b1110:
		want = 3
	case b[0]>>3 == 0b11110:
		want = 4
	}
	return want > len(b)
}

func (m *marked) finish(emit emitter) {
	if len(m.held) > 0 {
		emit.text(m.kind, strings.ToValidUTF8(string(m.held), "\uFFFD"))
		m.held = nil
	}
}
