package attach

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// scanText plays pieces of input and words what came out: sent bytes quoted,
// P for a pressed leader, K and the key for a second key.
func scanText(enhanced bool, pieces ...string) string {
	s := scanner{leader: DefaultLeader(), holdEsc: enhanced, bound: func(k rune) bool { return k == 'd' || k == 'n' || k == 'D' }}
	var out []string
	sent := ""
	add := func(actions []action) {
		for _, a := range actions {
			if a.kind == actSend {
				sent += string(a.data)
				continue
			}
			if sent != "" {
				out = append(out, fmt.Sprintf("%q", sent))
				sent = ""
			}
			switch {
			case a.kind == actPending:
				out = append(out, "P")
			case a.key == 0:
				out = append(out, "K-")
			default:
				out = append(out, "K"+string(a.key))
			}
		}
	}
	for _, p := range pieces {
		add(s.feed([]byte(p)))
	}
	add(s.flush())
	if sent != "" {
		out = append(out, fmt.Sprintf("%q", sent))
	}
	return strings.Join(out, " ")
}

var scanCases = []struct{ name, in, want string }{
	{"plain text", "ls -l\r", `"ls -l\r"`},
	{"control keys pass", "\x03\x04\x1a\x1c\x10\x11", `"\x03\x04\x1a\x1c\x10\x11"`},
	{"leader d", "\x1dd", "P Kd"},
	{"leader twice sends one", "\x1d\x1dx", `P "\x1dx"`},
	{"unbound second key sends both", "\x1dq", `P K- "\x1dq"`},
	{"unbound arrow sends both", "\x1d\x1b[A", `P K- "\x1d\x1b[A"`},
	{"text around", "ab\x1dncd", `"ab" P Kn "cd"`},
	{"kitty leader", "\x1b[93;5ud", "P Kd"},
	{"kitty leader with num lock", "\x1b[93;133ud", "P Kd"},
	{"kitty leader with event", "\x1b[93;5:1ud", "P Kd"},
	{"kitty leader with alternates", "\x1b[93:125;5ud", "P Kd"},
	{"kitty leader on another layout", "\x1b[1098::93;5ud", "P Kd"},
	{"kitty release of the leader", "\x1b[93;5u\x1b[93;5:3ud", "P Kd"},
	{"kitty second key", "\x1b[93;5u\x1b[100u", "P Kd"},
	{"kitty second key with shift", "\x1b[93;5u\x1b[100;2u", "P KD"},
	{"kitty second key with text", "\x1b[93;5u\x1b[100;1;100u", "P Kd"},
	{"kitty release of ctrl between", "\x1b[93;5u\x1b[57442;5:3u\x1b[100u", `P "\x1b[57442;5:3u" Kd`},
	{"kitty press of shift between", "\x1b[93;5u\x1b[57441;2u\x1b[100;2u", "P KD"},
	{"kitty leader twice", "\x1b[93;5u\x1b[93;5u", `P "\x1b[93;5u"`},
	{"kitty other key", "\x1b[97;5u", `"\x1b[97;5u"`},
	{"kitty leader with alt is another key", "\x1b[93;7u", `"\x1b[93;7u"`},
	{"modify other keys leader", "\x1b[27;5;93~d", "P Kd"},
	{"modify other keys other", "\x1b[27;5;13~", `"\x1b[27;5;13~"`},
	{"leader inside a paste", "\x1b[200~a\x1ddb\x1b[201~\x1dd", `"\x1b[200~a\x1ddb\x1b[201~" P Kd`},
	{"leader sequence inside a paste", "\x1b[200~\x1b[93;5ud\x1b[201~", `"\x1b[200~\x1b[93;5ud\x1b[201~"`},
	{"alt key", "\x1bd", `"\x1bd"`},
	{"alt leader is another key", "\x1b\x1d", `"\x1b\x1d"`},
	{"function key", "\x1bOP\x1b[15~", `"\x1bOP\x1b[15~"`},
	{"mouse", "\x1b[<0;5;5M", `"\x1b[<0;5;5M"`},
	{"answers pass", "\x1b[?62;22c\x1bP>|x\x1b\\\x1b]11;rgb:0/0/0\x07", `"\x1b[?62;22c\x1bP>|x\x1b\\\x1b]11;rgb:0/0/0\a"`},
	{"answer between leader and key", "\x1d\x1b[?62cd", `P "\x1b[?62c" Kd`},
	{"utf-8", "é漢\x1dd", `"é漢" P Kd`},
	{"utf-8 second key", "\x1dé", `P K- "\x1dé"`},
	{"lone leader", "\x1d", "P"},
	{"escape", "\x1b", `"\x1b"`},
	{"broken sequence", "\x1b[9\x1dd", `"\x1b[9" P Kd`},
}

func TestScanner(t *testing.T) {
	for _, c := range scanCases {
		t.Run(c.name, func(t *testing.T) {
			if got := scanText(true, c.in); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			pieces := make([]string, len(c.in))
			for i := range len(c.in) {
				pieces[i] = c.in[i : i+1]
			}
			if got := scanText(true, pieces...); got != c.want {
				t.Errorf("byte by byte\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestScannerDoesNotHoldEscape(t *testing.T) {
	s := scanner{leader: DefaultLeader(), bound: func(rune) bool { return false }}
	got := s.feed([]byte{0x1b})
	want := []action{{kind: actSend, data: []byte{0x1b}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(action{})); diff != "" {
		t.Error(diff)
	}
}

// The end of a paste is found even when it is cut behind its escape byte.
func TestScannerSeesTheEndOfACutPaste(t *testing.T) {
	if got, want := scanText(false, "\x1b[200~a\x1d\x1b", "[201~", "\x1dd"), `"\x1b[200~a\x1d\x1b[201~" P Kd`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestScannerCountsReplies(t *testing.T) {
	s := scanner{leader: DefaultLeader(), bound: func(rune) bool { return false }}
	s.feed([]byte("\x1b[?62;22c\x1b[12;40R\x1b[1;5R\x1b[?1;2$y\x1bP1$r0m\x1b\\\x1b[A\x1b[97;5u"))
	if s.replies != 4 {
		t.Errorf("%d replies, want 4", s.replies)
	}
}

// Without the leader in the input, everything passes unchanged however it is cut.
func TestScannerIsTransparent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.Byte().Filter(func(b byte) bool { return b != 0x1d })).Draw(t, "in")
		if strings.Contains(string(in), "93") {
			t.Skip("may be the leader")
		}
		s := scanner{leader: DefaultLeader(), holdEsc: rapid.Bool().Draw(t, "hold"), bound: func(rune) bool { return true }}
		var out []byte
		collect := func(actions []action) {
			for _, a := range actions {
				out = append(out, a.data...)
			}
		}
		for rest := in; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			collect(s.feed(rest[:n]))
			rest = rest[n:]
		}
		collect(s.flush())
		if string(out) != string(in) {
			t.Fatalf("got %q, want %q", out, in)
		}
	})
}

func TestParseLeader(t *testing.T) {
	for in, want := range map[string]byte{"ctrl+]": 0x1d, "ctrl+b": 2, "ctrl+space": 0, "ctrl+\\": 0x1c, "ctrl+^": 0x1e} {
		l, err := ParseLeader(in)
		if err != nil || l.Byte != want || l.String() != in {
			t.Errorf("%s: got %+v %q %v, want byte %#x", in, l, l, err, want)
		}
	}
	for _, in := range []string{"", "]", "alt+x", "ctrl+", "ctrl+ab", "ctrl+é", "ctrl+1"} {
		if l, err := ParseLeader(in); err == nil {
			t.Errorf("%q: got %+v, want an error", in, l)
		}
	}
}

// The keys of the leader may do anything but lose what is typed around them.
func FuzzScanner(f *testing.F) {
	f.Add([]byte("a\x1ddb"), false, 1)
	f.Add([]byte("\x1b[93;5u\x1b[93;5:3ux\x1b[200~\x1d\x1b[201~"), true, 3)
	f.Add([]byte("\x1d\x1d\x1b[27;5;93~漢\x1b]11;rgb:0/0/0\x07"), true, 2)
	f.Fuzz(func(t *testing.T, in []byte, hold bool, n int) {
		s := scanner{leader: DefaultLeader(), holdEsc: hold, bound: func(rune) bool { return false }}
		sent, n := 0, min(max(n, 1), 64)
		count := func(actions []action) {
			for _, a := range actions {
				sent += len(a.data)
				if a.kind == actKey && a.key != 0 {
					t.Fatalf("a key that is not bound acted: %+v", a)
				}
			}
			if len(s.held) > maxSequence {
				t.Fatalf("%d bytes are held", len(s.held))
			}
		}
		for rest := in; len(rest) > 0; {
			m := min(n, len(rest))
			count(s.feed(rest[:m]))
			rest = rest[m:]
		}
		count(s.flush())
		if sent > len(in) {
			t.Fatalf("%d bytes became %d", len(in), sent)
		}
	})
}
