package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"unicode"

	"abxdash/client"
)

// Kind says where a value came from.
type Kind uint8

// Sources, strongest first.
const (
	FromNowhere Kind = iota
	FromFlag
	FromProcess
	FromProject // ./.env: may be somebody else's file
	FromHome    // ~/.abx/.env
	FromSaved   // abxdash's own file, see Store
)

// Source is the place of one value.
type Source struct {
	Kind Kind
	File string
	Line int
}

// String names the place for people.
func (s Source) String() string {
	switch s.Kind {
	case FromFlag:
		if s.File != "" {
			return s.File
		}
		return "a flag"
	case FromProcess:
		return "the process environment"
	case FromProject, FromHome, FromSaved:
		return fmt.Sprintf("%s line %d", s.File, s.Line)
	default:
		return "nowhere"
	}
}

// Value is a value that was found. Printing or logging it gives its name and
// source, never the value; use Reveal where it is sent.
type Value struct {
	Name   string
	Source Source
	text   string
}

// Reveal is the value itself.
func (v Value) Reveal() string { return v.text }

// Set reports whether there is a value.
func (v Value) Set() bool { return v.text != "" }

// String names the value without showing it.
func (v Value) String() string {
	if !v.Set() {
		return "(not set)"
	}
	return v.Name + " from " + v.Source.String()
}

// GoString is String, for %#v.
func (v Value) GoString() string { return v.String() }

// LogValue is String, for slog.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Options say where to look.
type Options struct {
	// Flags are values given on the command line, by variable name.
	Flags map[string]string
	// FlagsFrom words where Flags are from; "" is "a flag".
	FlagsFrom string
	// LookupEnv reads the process environment, normally os.LookupEnv. nil means it is empty.
	LookupEnv func(name string) (string, bool)
	// ProjectFile is normally ".env", HomeFile ~/.abx/.env; "" means none.
	ProjectFile, HomeFile string
	// SavedFile is that of a [Store]; "" means none. It is asked last.
	SavedFile string
}

// Set is what was found.
type Set struct {
	opts     Options
	project  map[string]entry
	home     map[string]entry
	saved    map[string]entry
	problems []Problem
	noted    map[string]bool
}

// maxFile bounds an environment file.
const maxFile = 1 << 20

// Load reads the files. Problems in them are kept (see [Set.Problems]); a file
// that is not there is none.
func Load(opts Options) *Set {
	s := &Set{opts: opts, noted: map[string]bool{}}
	s.project = s.file(opts.ProjectFile)
	s.home = s.file(opts.HomeFile)
	s.saved = s.file(opts.SavedFile)
	return s
}

func (s *Set) file(name string) map[string]entry {
	if name == "" {
		return nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return nil
	case err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile):
		s.problems = append(s.problems, Problem{File: name, Text: "this is not an environment file (not regular, or over 1 MiB)"})
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		s.problems = append(s.problems, Problem{File: name, Text: "cannot be read: " + reason(err)})
		return nil
	}
	vars, problems := scan(name, data)
	s.problems = append(s.problems, problems...)
	return vars
}

// reason is the cause of a file error without the path, which is named already.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return "it cannot be opened"
}

// Problems lists what was odd so far, files first. None of it holds a value.
func (s *Set) Problems() []Problem { return s.problems }

// Lookup finds the strongest value of a name that is not blank. A value that
// cannot be used (a control character inside) is an error, never skipped.
func (s *Set) Lookup(name string) (Value, error) {
	if forbidden(name) {
		return Value{Name: name}, nil
	}
	process := ""
	if s.opts.LookupEnv != nil {
		process, _ = s.opts.LookupEnv(name)
	}
	for _, c := range []struct {
		kind  Kind
		file  string
		entry entry
	}{
		{FromFlag, s.opts.FlagsFrom, entry{text: s.opts.Flags[name]}},
		{FromProcess, "", entry{text: process}},
		{FromProject, s.opts.ProjectFile, s.project[name]},
		{FromHome, s.opts.HomeFile, s.home[name]},
		{FromSaved, s.opts.SavedFile, s.saved[name]},
	} {
		text := strings.TrimSpace(c.entry.text)
		if text == "" {
			continue
		}
		v := Value{Name: name, Source: Source{Kind: c.kind, File: c.file, Line: c.entry.line}, text: text}
		if err := s.check(v, c.entry.text); err != nil {
			return Value{Name: name}, err
		}
		return v, nil
	}
	return Value{Name: name}, nil
}

// check refuses characters that no key or address has, and notes trimmed blanks once.
func (s *Set) check(v Value, raw string) error {
	place := 0
	for _, r := range v.text {
		place++
		if r == ' ' || r > 0x20 && r < 0x7f || unicode.IsPrint(r) && r != '\u00a0' && !client.Unsafe(r) {
			continue
		}
		return &client.Error{
			Op: "read " + v.Name, Code: client.CodeConfig,
			Message: fmt.Sprintf("character %d of the value from %s is U+%04X, which no such value has", place, v.Source, r),
			Hint:    "set it again without line breaks or special blanks",
		}
	}
	if raw != v.text && !s.noted[v.Name] {
		s.noted[v.Name] = true
		s.problems = append(s.problems, Problem{
			File: v.Source.File, Line: v.Source.Line, Name: v.Name, Warning: true,
			Text: fmt.Sprintf("blanks around the value of %s (from %s) were dropped", v.Name, v.Source),
		})
	}
	return nil
}
