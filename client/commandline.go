package client

import "strings"

// CommandLine turns one string into an argument vector, by the rule of the
// Agent Sandbox skill: the whole line runs in one shell (`sh -c`) only if it
// holds an unquoted pipe, redirect or `&&`; otherwise it is split at blanks,
// with quotes and backslashes as in a POSIX shell but without any expansion. A
// variable, a backtick or a glob therefore needs an explicit `sh -c '…'`.
//
// An empty line, an open quote, a lone backslash at the end and a NUL byte are
// refused before anything runs (CodeUsage).
func CommandLine(line string) ([]string, error) {
	const op = "read command line"
	if strings.ContainsRune(line, 0) {
		return nil, Usagef(op, "a command cannot hold a NUL byte, nothing run")
	}
	var s splitter
	for i := range len(line) {
		s.step(line[i:])
	}
	switch {
	case s.quote != 0:
		return nil, Usagef(op, "unterminated quote, nothing run")
	case s.escape:
		return nil, Usagef(op, "nothing follows the last backslash, nothing run")
	}
	s.end()
	switch {
	case len(s.argv) == 0:
		return nil, Usagef(op, "empty command, nothing run")
	case s.shell:
		return []string{"sh", "-c", line}, nil
	}
	return s.argv, nil
}

// splitter reads a line byte by byte; all bytes that mean something are ASCII.
type splitter struct {
	argv   []string
	word   strings.Builder
	inWord bool
	quote  byte // ' or " while inside
	escape bool
	shell  bool
}

// step takes the first byte of rest.
func (s *splitter) step(rest string) {
	c := rest[0]
	switch {
	case s.escape:
		s.escape = false
		if s.quote == '"' && c != '"' && c != '\\' {
			s.word.WriteByte('\\')
		}
		s.add(c)
	case s.quote != 0:
		switch {
		case c == s.quote:
			s.quote = 0
		case c == '\\' && s.quote == '"':
			s.escape = true
		default:
			s.add(c)
		}
	case c == '\\':
		s.escape, s.inWord = true, true
	case c == '\'' || c == '"':
		s.quote, s.inWord = c, true
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		s.end()
	default:
		if c == '|' || c == '<' || c == '>' || strings.HasPrefix(rest, "&&") {
			s.shell = true
		}
		s.add(c)
	}
}

func (s *splitter) add(c byte) {
	s.word.WriteByte(c)
	s.inWord = true
}

func (s *splitter) end() {
	if s.inWord {
		s.argv = append(s.argv, s.word.String())
		s.word.Reset()
		s.inWord = false
	}
}
