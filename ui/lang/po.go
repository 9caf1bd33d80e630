package lang

import (
	"fmt"
	"strconv"
	"strings"
)

// entry is one text of a catalogue and its translation.
type entry struct {
	id, text string
	line     int
}

// parse reads the part of the PO format that the catalogues use: comments,
// msgid and msgstr, each with one or more quoted strings. The head, which is
// the entry without an id, is left out. A text without a translation and one
// that comes twice are errors.
func parse(po string) ([]entry, error) {
	var out []entry
	var to *string
	seen := make(map[string]int)
	finish := func() error {
		if len(out) == 0 {
			return nil
		}
		e := out[len(out)-1]
		switch before := seen[e.id]; {
		case e.id == "":
			out = out[:len(out)-1]
		case e.text == "":
			return fmt.Errorf("line %d: %q has no translation", e.line, e.id)
		case before > 0:
			return fmt.Errorf("line %d: %q stands in line %d too", e.line, e.id, before)
		default:
			seen[e.id] = e.line
		}
		return nil
	}
	n := 0
	for line := range strings.Lines(po) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, quoted, _ := strings.Cut(line, " ")
		switch {
		case word == "msgid":
			if err := finish(); err != nil {
				return nil, err
			}
			out = append(out, entry{line: n})
			to = &out[len(out)-1].id
		case word == "msgstr" && len(out) > 0:
			to = &out[len(out)-1].text
		case line[0] == '"' && to != nil:
			quoted = line
		default:
			return nil, fmt.Errorf("line %d is not msgid, msgstr or a string", n)
		}
		s, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("line %d: a string in double quotes is missing", n)
		}
		*to += s
	}
	if err := finish(); err != nil {
		return nil, err
	}
	return out, nil
}
