package templates

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"abxdash/client"
)

// Severity says what a problem means for a build.
type Severity string

// Severities. Only SeverityError stops a check, a build or a deploy.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Problem is one finding about a template folder. All texts are one clean
// line; a finding about a secret holds nothing of it.
type Problem struct {
	Severity Severity    `json:"severity"`
	Code     client.Code `json:"code"`
	// Rule is a stable name such as "reserved-name".
	Rule string `json:"rule"`
	// File is relative to the template folder, with slashes.
	File string `json:"file"`
	// Line and Column count from 1, columns in characters; 0 is unknown.
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Excerpt is the line of the file, "" where it is unknown or may hold a secret.
	Excerpt string `json:"excerpt,omitempty"`
	// caret is how many characters stand before the marked place in Excerpt.
	caret int
}

// Place is "file:line:column" as far as it is known.
func (p Problem) Place() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// String words the problem on one line.
func (p Problem) String() string {
	return fmt.Sprintf("%s: %s: %s (%s)", p.Place(), p.Severity, p.Message, p.Code)
}

// Caret is the excerpt with a mark under the place, two lines, or nil.
func (p Problem) Caret() []string {
	if p.Excerpt == "" || p.Column == 0 {
		return nil
	}
	return []string{p.Excerpt, strings.Repeat(" ", p.caret) + "^"}
}

// Problems are findings in the order of files and lines.
type Problems []Problem

// Failed reports whether one of them is an error.
func (ps Problems) Failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Severity == SeverityError })
}

// Count returns how many have severity s.
func (ps Problems) Count(s Severity) int {
	n := 0
	for _, p := range ps {
		if p.Severity == s {
			n++
		}
	}
	return n
}

// Err is nil if none is an error, else an error that words the first one and counts the rest.
func (ps Problems) Err(op string) error {
	n := ps.Count(SeverityError)
	for _, p := range ps {
		if p.Severity != SeverityError {
			continue
		}
		e := &client.Error{Op: op, Code: p.Code, Message: p.Place() + ": " + p.Message, Hint: p.Hint}
		if n > 1 {
			e.Message += fmt.Sprintf(" (and %d more)", n-1)
		}
		return e
	}
	return nil
}

// sorted orders by file as given, then line and column, and drops exact repetitions.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(rank(a.File), rank(b.File)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(ps)
}

// rank puts the files of a template in the order in which people read them.
func rank(file string) int {
	switch file {
	case FileTemplate:
		return 0
	case FileDockerfile:
		return 1
	case FileCommands:
		return 2
	}
	return 3
}

// source is the text of a file, for excerpts.
type source struct {
	file  string
	lines []string
}

func newSource(file string, data []byte) source {
	text := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
	return source{file: file, lines: strings.Split(text, "\n")}
}

const (
	maxMessage = 300
	maxExcerpt = 160
)

// at makes a problem at a place; line 0 is the file as a whole.
func (s source) at(sev Severity, rule string, line, column int, format string, args ...any) Problem {
	p := Problem{
		Severity: sev, Code: client.CodeTemplateParse, Rule: rule, File: s.file, Line: line, Column: column,
		Message: client.OneLine(fmt.Sprintf(format, args...), maxMessage),
	}
	if line < 1 || line > len(s.lines) {
		return p
	}
	text := s.lines[line-1]
	if strings.TrimSpace(text) == "" {
		return p
	}
	p.Excerpt = client.OneLine(text, maxExcerpt)
	p.caret = before(text, column)
	if p.caret >= maxExcerpt {
		p.Excerpt, p.caret = "", 0
	}
	return p
}

// before is how many characters the clean form of text has before column.
func before(text string, column int) int {
	head := text
	n := 0
	for i := range text {
		if n == column-1 {
			head = text[:i]
			break
		}
		n++
	}
	return utf8.RuneCountInString(client.OneLine(head, maxExcerpt))
}

// hint adds what to do.
func (p Problem) hint(format string, args ...any) Problem {
	p.Hint = client.OneLine(fmt.Sprintf(format, args...), maxMessage)
	return p
}

// secret takes everything away that could show the file's content.
func (p Problem) secret() Problem {
	p.Excerpt, p.caret = "", 0
	return p
}
