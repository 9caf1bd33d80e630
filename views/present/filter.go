package present

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/ui/lang"
)

// Filter selects rows. The zero value selects all. It is written as terms
// separated by blanks that must all hold:
//
//	web          part of the name, id, template, provider or state, in any case
//	!web         not web; works before every other form too
//	~re  /re/    a regular expression over the same text
//	-f wbagt     fuzzy: the letters in that order
//	app=web      metadata; app= means the key is there, a trailing * any rest
//	state:paused provider:local template:base owner:anna id:i4d name:web
//	stray        only those with a stray reason
//	ttl<5m age>1h idle>30m
type Filter struct {
	text  string
	terms []term
}

type term struct {
	not   bool
	match func(r *FilterRow) bool
}

// FilterRow is a row prepared for matching; see [NewFilterRow].
type FilterRow struct {
	Row
	// hay is the searched text in lower case, raw the same as it is.
	hay, raw string
}

// NewFilterRow prepares a row.
func NewFilterRow(r Row) FilterRow {
	s := r.Sandbox
	raw := strings.Join([]string{s.Name, string(s.ID), s.Template, s.TemplateID, s.Provider, string(s.State)}, "\n")
	return FilterRow{Row: r, hay: strings.ToLower(raw), raw: raw}
}

// String is the filter as it was written.
func (f Filter) String() string { return f.text }

// Empty reports whether f selects everything.
func (f Filter) Empty() bool { return len(f.terms) == 0 }

// Match reports whether every term holds for r.
func (f Filter) Match(r *FilterRow) bool {
	for i := range f.terms {
		if f.terms[i].match(r) == f.terms[i].not {
			return false
		}
	}
	return true
}

// ParseFilter reads the form described at [Filter]. Text half typed, such as
// "ttl<" or an open bracket, is an error that says what is missing.
func ParseFilter(text string) (Filter, error) {
	f := Filter{text: strings.TrimSpace(text)}
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		w := words[i]
		not := false
		for strings.HasPrefix(w, "!") {
			not, w = !not, w[1:]
		}
		if w == "-f" {
			if i+1 == len(words) {
				return Filter{}, lang.Errorf("-f needs the letters to look for")
			}
			i++
			f.terms = append(f.terms, term{not: not, match: fuzzy(words[i])})
			continue
		}
		if w == "" {
			return Filter{}, lang.Errorf("! needs something to exclude")
		}
		m, err := parseTerm(w)
		if err != nil {
			return Filter{}, err
		}
		f.terms = append(f.terms, term{not: not, match: m})
	}
	return f, nil
}

func parseTerm(w string) (func(*FilterRow) bool, error) {
	switch {
	case w == "stray":
		return func(r *FilterRow) bool { return len(r.Stray) > 0 }, nil
	case strings.HasPrefix(w, "~"):
		return pattern(w[1:])
	case len(w) > 2 && w[0] == '/' && w[len(w)-1] == '/':
		return pattern(w[1 : len(w)-1])
	}
	for _, name := range []string{"ttl", "age", "idle"} {
		rest, ok := strings.CutPrefix(w, name)
		if ok && rest != "" && (rest[0] == '<' || rest[0] == '>') {
			return compare(name, rest[0] == '<', rest[1:])
		}
	}
	if name, value, ok := strings.Cut(w, ":"); ok {
		if get := field(name); get != nil {
			value = strings.ToLower(value)
			return func(r *FilterRow) bool { return strings.Contains(strings.ToLower(get(r)), value) }, nil
		}
	}
	if key, value, ok := strings.Cut(w, "="); ok && key != "" {
		return metadata(key, value), nil
	}
	w = strings.ToLower(w)
	return func(r *FilterRow) bool { return strings.Contains(r.hay, w) }, nil
}

func field(name string) func(*FilterRow) string {
	switch name {
	case "state":
		return func(r *FilterRow) string { return StateWord(r.Sandbox) }
	case "provider":
		return func(r *FilterRow) string { return r.Sandbox.Provider }
	case "template":
		return func(r *FilterRow) string { return r.Sandbox.Template + "\n" + r.Sandbox.TemplateID }
	case "owner":
		return func(r *FilterRow) string {
			return r.Sandbox.Metadata[client.MetaOwner] + "\n" + r.Owner.Column(r.Sandbox)
		}
	case "isolation":
		return func(r *FilterRow) string { return string(r.Sandbox.Isolation) }
	case "id":
		return func(r *FilterRow) string { return string(r.Sandbox.ID) }
	case "name":
		return func(r *FilterRow) string { return r.Sandbox.Name }
	default:
		return nil
	}
}

func pattern(expr string) (func(*FilterRow) bool, error) {
	re, err := regexp.Compile("(?im)" + expr)
	if err != nil {
		return nil, lang.Errorf("not a regular expression yet: %s", CleanMax(expr, 40))
	}
	return func(r *FilterRow) bool { return re.MatchString(r.raw) }, nil
}

func compare(name string, less bool, value string) (func(*FilterRow) bool, error) {
	d, err := ParseDuration(value)
	if err != nil {
		return nil, lang.Errorf("%s needs a duration such as 5m", name)
	}
	of := ageOf
	switch name {
	case "ttl":
		of = ttlOf
	case "idle":
		of = func(r *FilterRow) (time.Duration, bool) { return r.IdleFor, r.IdleFor > 0 }
	}
	return func(r *FilterRow) bool {
		v, ok := of(r)
		return ok && (less && v < d || !less && v > d)
	}, nil
}

// ParseDuration takes Go durations and whole days, such as "2d".
func ParseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}

func ageOf(r *FilterRow) (time.Duration, bool) {
	return r.Now.Sub(r.Sandbox.StartedAt), r.Sandbox.StartedAt.Year() > 1
}

func ttlOf(r *FilterRow) (time.Duration, bool) {
	left, kind := Left(r.Sandbox, r.Now)
	return left, kind == client.EndAt
}

func metadata(key, value string) func(*FilterRow) bool {
	prefix, open := strings.CutSuffix(value, "*")
	return func(r *FilterRow) bool {
		v, ok := r.Sandbox.Metadata[key]
		switch {
		case !ok:
			return false
		case value == "":
			return true
		case open:
			return strings.HasPrefix(v, prefix)
		default:
			return v == value
		}
	}
}

// fuzzy matches the letters of want in their order, with anything between them.
func fuzzy(want string) func(*FilterRow) bool {
	letters := []rune(strings.ToLower(want))
	return func(r *FilterRow) bool {
		i := 0
		for _, c := range r.hay {
			if c == '\n' {
				// Letters do not run over from one field into the next.
				i = 0
				continue
			}
			if c == letters[i] {
				if i++; i == len(letters) {
					return true
				}
			}
		}
		return false
	}
}
