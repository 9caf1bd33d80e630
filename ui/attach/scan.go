package attach

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// actionKind is what a piece of input means.
type actionKind uint8

const (
	// actSend passes bytes on.
	actSend actionKind = iota
	// actPending means that the leader was pressed.
	actPending
	// actKey is the key after the leader; data are leader and key as they came in.
	actKey
)

type action struct {
	kind actionKind
	data []byte
	key  rune
}

// maxSequence bounds the sequences that are looked at; longer ones pass on.
const maxSequence = 64

// scanner finds the leader in the bytes of a real terminal. It knows the
// leader as a plain byte, in the Kitty keyboard protocol (CSI 93;5u) and in
// xterm's modifyOtherKeys (CSI 27;5;93~). Pasted text is not searched.
type scanner struct {
	leader Leader
	// bound tells whether a second key does something.
	bound func(key rune) bool
	// held is the start of a sequence whose rest has not come yet.
	held []byte
	// pending is the leader as it came in, nil if none was pressed.
	pending []byte
	pasting bool
	// holdEsc waits for what follows a lone escape byte; needed only while keys
	// come as sequences, and it would delay the escape key.
	holdEsc bool
	// dropRelease swallows the release of a leader whose press was swallowed.
	dropRelease bool
	// replies counts answers of the terminal to queries.
	replies uint64
	// stale is how many answers are still to come that the program of before
	// asked for; they are dropped.
	stale uint64
	out   []action
}

// feed takes input. Incomplete sequences are held until more comes or flush is called.
func (s *scanner) feed(p []byte) []action {
	s.out = nil
	p = append(s.held, p...)
	s.held = nil
	for len(p) > 0 {
		n := s.next(p)
		if n == 0 {
			s.held = append([]byte(nil), p...)
			break
		}
		p = p[n:]
	}
	return s.out
}

// waiting reports whether an incomplete sequence is held.
func (s *scanner) waiting() bool { return len(s.held) > 0 }

// flush passes on what is held: it was not the start of anything.
func (s *scanner) flush() []action {
	s.out = nil
	held := s.held
	s.held = nil
	if len(held) > 0 {
		s.token(held, 0x1b)
	}
	return s.out
}

// next handles one key or sequence at the start of p and returns its length, 0 if it is incomplete.
func (s *scanner) next(p []byte) int {
	if p[0] != 0x1b {
		return s.plain(p)
	}
	if len(p) == 1 && !s.holdEsc && !s.pasting {
		s.token(p, 0x1b)
		return 1
	}
	n, done := sequenceLength(p)
	if !done {
		if len(p) < maxSequence {
			return 0
		}
		n = len(p)
	}
	seq := p[:n]
	switch {
	case bytes.Equal(seq, []byte("\x1b[200~")):
		s.pasting = true
	case bytes.Equal(seq, []byte("\x1b[201~")):
		s.pasting = false
	case !s.pasting:
		if s.sequence(seq) {
			return n
		}
	}
	s.token(seq, 0x1b)
	return n
}

// plain handles bytes outside of escape sequences.
func (s *scanner) plain(p []byte) int {
	if s.pending == nil || s.pasting {
		n := 0
		for n < len(p) && p[n] != 0x1b && (s.pasting || p[n] != s.leader.Byte) {
			n++
		}
		if n > 0 {
			s.send(p[:n])
			return n
		}
		s.press(p[:1])
		return 1
	}
	if p[0] == s.leader.Byte {
		s.press(p[:1])
		return 1
	}
	if !utf8.FullRune(p) {
		return 0
	}
	r, n := utf8.DecodeRune(p)
	s.token(p[:n], r)
	return n
}

// sequenceLength is the length of the escape sequence at the start of p.
func sequenceLength(p []byte) (n int, done bool) {
	if len(p) < 2 {
		return 1, false
	}
	switch p[1] {
	case '[':
		for i := 2; i < len(p); i++ {
			if p[i] >= 0x40 && p[i] <= 0x7e {
				return i + 1, true
			}
			if p[i] < 0x20 {
				return i, true
			}
		}
		return len(p), false
	case 'O':
		return min(3, len(p)), len(p) >= 3
	case 'P', ']', '_':
		for i := 2; i < len(p); i++ {
			if p[i] == 0x07 {
				return i + 1, true
			}
			if p[i] == '\\' && p[i-1] == 0x1b {
				return i + 1, true
			}
		}
		return len(p), false
	}
	// Alt and a character, or escape before another sequence.
	if p[1] == 0x1b {
		return 1, true
	}
	return 2, true
}

// sequence handles a sequence that may be the leader, the key after it, or an
// answer, and reports whether it used it up.
func (s *scanner) sequence(seq []byte) bool {
	if isReply(seq) {
		if s.stale > 0 {
			s.stale--
			return true
		}
		s.replies++
		// Answers do not come between the leader and its key.
		s.send(seq)
		return true
	}
	key, ok := parseKey(seq)
	if !ok {
		return false
	}
	if key.release {
		if key.isLeader(s.leader) && s.dropRelease {
			s.dropRelease = false
			return true
		}
		s.send(seq)
		return true
	}
	if key.isLeader(s.leader) {
		s.press(seq)
		return true
	}
	if s.pending != nil && isModifier(key.code) {
		return true
	}
	s.token(seq, key.char())
	return true
}

// press is a press of the leader; the second in a row is meant for the program.
func (s *scanner) press(raw []byte) {
	if s.pending != nil {
		s.send(raw)
		s.pending, s.dropRelease = nil, false
		return
	}
	s.pending = append([]byte(nil), raw...)
	s.dropRelease = true
	s.out = append(s.out, action{kind: actPending})
}

// token is any other key: it is passed on, or is the second key.
func (s *scanner) token(raw []byte, key rune) {
	if s.pending == nil || s.pasting {
		s.send(raw)
		return
	}
	both := append(s.pending, raw...)
	s.pending = nil
	if !s.bound(key) {
		s.dropRelease = false
		s.out = append(s.out, action{kind: actKey, key: 0})
		s.send(both)
		return
	}
	s.out = append(s.out, action{kind: actKey, key: key, data: both})
}

func (s *scanner) send(p []byte) {
	s.out = append(s.out, action{kind: actSend, data: append([]byte(nil), p...)})
}

// isReply tells answers to queries from keys.
func isReply(seq []byte) bool {
	if len(seq) < 3 {
		return false
	}
	if seq[1] == 'P' || seq[1] == ']' || seq[1] == '_' {
		return true
	}
	if seq[1] != '[' {
		return false
	}
	final := seq[len(seq)-1]
	switch seq[2] {
	case '?', '>':
		return final == 'c' || final == 'u' || final == 'n' || final == 'y' || final == 'R' || final == 'm' || final == 't'
	}
	if final == 'R' {
		// F3 with a modifier is CSI 1;m R.
		return !bytes.HasPrefix(seq, []byte("\x1b[1;"))
	}
	return final == 'n' || final == 't' || final == 'y' || final == 'x'
}

// scannedKey is a key in the Kitty protocol or in modifyOtherKeys.
type scannedKey struct {
	code, base int
	// mods are the bits without caps lock and num lock.
	mods    int
	release bool
	text    rune
}

func parseKey(seq []byte) (scannedKey, bool) {
	if len(seq) < 4 || seq[1] != '[' {
		return scannedKey{}, false
	}
	body, final := string(seq[2:len(seq)-1]), seq[len(seq)-1]
	if final != 'u' && final != '~' {
		return scannedKey{}, false
	}
	var nums [3][3]int
	for i, part := range strings.Split(body, ";") {
		if i >= len(nums) {
			return scannedKey{}, false
		}
		for j, sub := range strings.Split(part, ":") {
			n, err := strconv.Atoi(sub)
			if err != nil && sub != "" {
				return scannedKey{}, false
			}
			if j < len(nums[i]) {
				nums[i][j] = n
			}
		}
	}
	mods := max(nums[1][0]-1, 0) &^ 0xc0
	if final == '~' {
		return scannedKey{code: nums[2][0], mods: mods}, nums[0][0] == 27 && nums[2][0] != 0
	}
	return scannedKey{
		code: nums[0][0], base: nums[0][2], mods: mods,
		release: nums[1][1] == 3, text: rune(nums[2][0]),
	}, true
}

const modCtrl = 4

func (k scannedKey) isLeader(l Leader) bool {
	return k.mods == modCtrl && (k.code == int(l.Char) || k.base == int(l.Char))
}

// char is the character that the key types, as a second key.
func (k scannedKey) char() rune {
	switch {
	case k.text != 0:
		return k.text
	case k.mods == 1 && k.code >= 'a' && k.code <= 'z':
		return rune(k.code) - 'a' + 'A'
	case k.mods <= 1:
		return rune(k.code)
	}
	return utf8.RuneError
}

// isModifier reports a modifier or lock key of its own in the Kitty protocol.
func isModifier(code int) bool {
	return code >= 57441 && code <= 57454 || code >= 57358 && code <= 57360
}
