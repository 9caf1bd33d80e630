package credentials

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/joho/godotenv"
)

// Problem is something odd in an environment file or variable. Its text names
// the place and never holds a value.
type Problem struct {
	// File is the file as it was named, or "" for the process environment.
	File string
	// Line and Column count from 1; Column counts characters. 0 is unknown.
	Line, Column int
	// Name is the variable concerned, "" if there is none.
	Name string
	Text string
	// Warning is set when the value was used all the same.
	Warning bool
}

// String words it as "file:line:column: text".
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Text
	case p.Line == 0:
		return p.File + ": " + p.Text
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
	default:
		return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
	}
}

// assignment is one line of a file, decoded but not expanded.
type assignment struct {
	name         string
	line, column int // of the value
	parts        []part
}

// part is literal text, or a reference to another variable with its spelling.
type part struct {
	text string
	ref  string
}

var (
	nameRE   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	assignRE = regexp.MustCompile(`^\s*(export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=`)
	refRE    = regexp.MustCompile(`^\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)
)

// entry is a variable of a file after expansion.
type entry struct {
	text string
	line int
}

// scan reads an environment file: `NAME=value` lines with an optional `export`,
// blanks around `=`, single and double quotes, comments after a blank. A byte
// order mark and CR at line ends are dropped. `$NAME` and `${NAME}` stand for
// variables of the same file; others stay as they are, with a warning.
func scan(file string, data []byte) (map[string]entry, []Problem) {
	s := &scanner{file: file, lines: splitLines(data)}
	var list []assignment
	for s.next < len(s.lines) {
		if a, ok := s.assignment(); ok {
			list = append(list, a)
		}
	}
	out := s.resolve(list)
	return out, s.problems
}

func splitLines(data []byte) []string {
	text := strings.TrimPrefix(string(data), "\uFEFF")
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

type scanner struct {
	file     string
	lines    []string
	next     int
	problems []Problem
}

func (s *scanner) report(warning bool, line int, rest, whole, name, format string, args ...any) {
	column := utf8.RuneCountInString(whole[:len(whole)-len(rest)]) + 1
	s.problems = append(s.problems, Problem{
		File: s.file, Line: line, Column: column, Name: name, Text: fmt.Sprintf(format, args...), Warning: warning,
	})
}

// assignment reads the next line (or several, if a quoted value goes on).
func (s *scanner) assignment() (assignment, bool) {
	whole := s.lines[s.next]
	s.next++
	number := s.next
	rest := strings.TrimLeft(whole, " \t")
	if rest == "" || rest[0] == '#' {
		return assignment{}, false
	}
	if after, ok := strings.CutPrefix(rest, "export"); ok && strings.TrimLeft(after, " \t") != after {
		rest = strings.TrimLeft(after, " \t")
	}
	name := nameRE.FindString(rest)
	if name == "" {
		s.report(false, number, rest, whole, "", "a name must begin with a letter or _")
		return assignment{}, false
	}
	rest = rest[len(name):]
	value := strings.TrimLeft(rest, " \t")
	switch {
	case value == "":
		s.report(false, number, rest, whole, "", "there is no = on this line")
		return assignment{}, false
	case value[0] != '=':
		s.report(false, number, rest, whole, "", "only letters, digits and _ may stand before =")
		return assignment{}, false
	}
	value = strings.TrimLeft(value[1:], " \t")
	a := assignment{name: name, line: number}
	a.column = utf8.RuneCountInString(whole[:len(whole)-len(value)]) + 1
	var ok bool
	if value != "" && (value[0] == '\'' || value[0] == '"') {
		a.parts, ok = s.quoted(value, whole, name)
	} else {
		a.parts, ok = unquoted(value), true
	}
	return a, ok
}

// unquoted is a value up to a comment, which begins with # after a blank or at once.
func unquoted(value string) []part {
	if strings.HasPrefix(value, "#") {
		value = ""
	}
	for i := 1; i < len(value); i++ {
		if value[i] == '#' && (value[i-1] == ' ' || value[i-1] == '\t') {
			value = value[:i]
			break
		}
	}
	return expandable(strings.TrimRight(value, " \t"), false)
}

// quoted reads a value in quotes, which may go on over several lines.
func (s *scanner) quoted(value, whole, name string) ([]part, bool) {
	quote, number := value[0], s.next
	body := value[1:]
	for {
		if end := closing(body, quote); end >= 0 {
			after := strings.TrimLeft(body[end+1:], " \t")
			if after != "" && after[0] != '#' {
				if number == s.next {
					s.report(false, number, body[end+1:], whole, name, "there is text after the closing quote")
				} else {
					s.report(false, number, value, whole, name, "the quote is not closed on this line")
					s.next = number
				}
				return nil, false
			}
			if quote == '\'' {
				return []part{{text: body[:end]}}, true
			}
			return expandable(body[:end], true), true
		}
		if s.next >= len(s.lines) || assignRE.MatchString(s.lines[s.next]) {
			s.report(false, number, value, whole, name, "the quote is not closed")
			s.next = number
			return nil, false
		}
		body += "\n" + s.lines[s.next]
		s.next++
	}
}

// closing is the place of the closing quote in body, or -1.
func closing(body string, quote byte) int {
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] == '\\' && quote == '"':
			i++
		case body[i] == quote:
			return i
		}
	}
	return -1
}

// expandable splits text into literals and references. `\$` is a dollar sign;
// inside double quotes `\n`, `\r`, `\"` and `\\` are escapes too.
func expandable(text string, doubleQuoted bool) []part {
	var parts []part
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			parts = append(parts, part{text: lit.String()})
			lit.Reset()
		}
	}
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if c, ok := escape(text[i+1], doubleQuoted); ok {
				lit.WriteByte(c)
				i++
				continue
			}
		}
		if m := refRE.FindStringSubmatch(text[i:]); m != nil {
			flush()
			parts = append(parts, part{text: m[0], ref: m[1] + m[2]})
			i += len(m[0]) - 1
			continue
		}
		lit.WriteByte(text[i])
	}
	flush()
	return parts
}

func escape(c byte, doubleQuoted bool) (byte, bool) {
	switch {
	case c == '$':
		return '$', true
	case !doubleQuoted:
		return 0, false
	case c == 'n':
		return '\n', true
	case c == 'r':
		return '\r', true
	case c == '"', c == '\\':
		return c, true
	}
	return 0, false
}

// resolve expands references, settles duplicates (the last one that is not
// blank wins) and decodes each value as a dotenv file would.
func (s *scanner) resolve(list []assignment) map[string]entry {
	raw := map[string]assignment{}
	for _, a := range list {
		if old, ok := raw[a.name]; ok {
			winner := a
			if len(a.parts) == 0 {
				winner = old
			}
			s.problems = append(s.problems, Problem{
				File: s.file, Line: a.line, Name: a.name, Warning: true,
				Text: fmt.Sprintf("%s is set on lines %d and %d; line %d counts", a.name, old.line, a.line, winner.line),
			})
			a = winner
		}
		raw[a.name] = a
	}
	out := map[string]entry{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if forbidden(name) {
			continue
		}
		a := raw[name]
		if text, ok := s.decode(a, s.expand(a, raw, nil)); ok {
			out[name] = entry{text: text, line: a.line}
		}
	}
	slices.SortStableFunc(s.problems, func(a, b Problem) int { return a.Line - b.Line })
	return out
}

// expand puts the values of other variables in. Names that are not defined in
// the file, that refer to themselves, or that must not be read, stay as written.
func (s *scanner) expand(a assignment, raw map[string]assignment, busy []string) string {
	var b strings.Builder
	for _, p := range a.parts {
		other, ok := raw[p.ref]
		switch {
		case p.ref == "":
			b.WriteString(p.text)
		case ok && !forbidden(p.ref) && p.ref != a.name && !slices.Contains(busy, p.ref):
			b.WriteString(s.expand(other, raw, append(busy, a.name)))
		default:
			b.WriteString(p.text)
			if len(busy) == 0 {
				s.problems = append(s.problems, Problem{
					File: s.file, Line: a.line, Column: a.column, Name: a.name, Warning: true,
					Text: a.name + " holds a $ with a name that this file does not define; it is kept as it is (write \\$ or use single quotes)",
				})
			}
		}
	}
	return b.String()
}

// decode hands one normalised assignment to godotenv. Its errors quote the
// input, so they are replaced by our own.
func (s *scanner) decode(a assignment, text string) (string, bool) {
	if text == "" {
		return "", true
	}
	line := "V='" + text + "'"
	if strings.Contains(text, "'") || strings.HasSuffix(text, `\`) {
		line = `V="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", `\n`, "\r", `\r`).Replace(text) + `"`
	}
	got, err := godotenv.Unmarshal(line)
	if err != nil || len(got) != 1 || got["V"] != text {
		s.problems = append(s.problems, Problem{
			File: s.file, Line: a.line, Column: a.column, Name: a.name,
			Text: "the value of " + a.name + " mixes quotes and backslashes in a way that cannot be read safely",
		})
		return "", false
	}
	return text, true
}

// forbidden reports whether a name belongs to a family that is never read or kept.
func forbidden(name string) bool {
	up := strings.ToUpper(name)
	return strings.HasPrefix(up, "E2B_") || strings.HasPrefix(up, "SANDBOX_")
}
