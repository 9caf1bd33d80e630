// Package lang holds the texts of the dashboard in other languages. English
// stays in the code, where it is read: c.T("%s is gone", name). A catalogue
// turns it into another language when there is one, and a text that it does
// not have stays English. Commands, flags, error codes, column ids, JSON and
// the log are never translated.
//
// The catalogues are PO files, the format that translators' tools read. A test
// holds that every text in the code has a translation with the same verbs, and
// that no translation is left over.
package lang

import (
	_ "embed" // for the catalogues
	"errors"
	"fmt"
	"strings"
)

//go:embed zh.po
var chinese string

// Catalog is one language. It is read-only and may be shared; nil is English.
type Catalog struct {
	name  string
	texts map[string]string
}

// English and Chinese name the languages there are.
const (
	English = "en"
	Chinese = "zh"
)

// Names lists the languages.
func Names() []string { return []string{English, Chinese} }

// Load makes the catalogue of a language: one of Names, or a locale that
// begins with one ("zh_CN.UTF-8"). That of English is nil.
func Load(name string) (*Catalog, error) {
	switch language(name) {
	case English:
		return nil, nil
	case Chinese:
		entries, err := parse(chinese)
		if err != nil {
			return nil, fmt.Errorf("the catalogue of %s: %w", Chinese, err)
		}
		c := &Catalog{name: Chinese, texts: make(map[string]string, len(entries))}
		for _, e := range entries {
			c.texts[e.id] = e.text
		}
		return c, nil
	}
	return nil, fmt.Errorf("there is no language %q: it is one of %s", name, strings.Join(Names(), ", "))
}

// language is the part of a locale before its country and encoding.
func language(locale string) string {
	if i := strings.IndexAny(locale, "_-.@"); i >= 0 {
		locale = locale[:i]
	}
	return strings.ToLower(locale)
}

// Detect is the language that the environment asks for (LC_ALL, LC_MESSAGES,
// LANG, the first that is set), English if there is no catalogue of it. getenv
// is normally os.Getenv.
func Detect(getenv func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := getenv(name); v != "" {
			if l := language(v); l == Chinese {
				return l
			}
			return English
		}
	}
	return English
}

// Name is the language of c, one of Names.
func (c *Catalog) Name() string {
	if c == nil {
		return English
	}
	return c.name
}

// T is an English text, formatted, in the language of c. The text is a
// constant, so that tests and translators find it.
func (c *Catalog) T(english string, args ...any) string {
	if other, ok := c.find(english); ok {
		return format(other, args)
	}
	if len(args) == 0 {
		return english
	}
	return fmt.Sprintf(english, args...)
}

// N is T with an English text for one and one for any other number. The number
// is not among args by itself. The catalogue goes by many.
func (c *Catalog) N(n int, one, many string, args ...any) string {
	if other, ok := c.find(many); ok {
		return format(other, args)
	}
	if n == 1 {
		return format(one, args)
	}
	return format(many, args)
}

// Word is a text that the code does not know before it runs, such as a state
// from a provider, in the language of c; what the catalogue does not have is
// returned as it is. Mark those that are known.
func (c *Catalog) Word(english string) string {
	if other, ok := c.find(english); ok {
		return other
	}
	return english
}

// Mark tells tests and translators of a text that [Catalog.Word] will be asked
// for, and returns it.
func Mark(english string) string { return english }

func (c *Catalog) find(english string) (string, bool) {
	if c == nil {
		return "", false
	}
	s, ok := c.texts[english]
	return s, ok
}

func format(text string, args []any) string {
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// said is an error in words for people, which can be said in any language.
type said struct {
	english string
	format  string
	args    []any
}

// Errorf makes an error whose text is English wherever it is not shown with
// [Catalog.Err]. It is for what is wrong with what somebody typed.
func Errorf(english string, args ...any) error {
	return &said{english: fmt.Sprintf(english, args...), format: english, args: args}
}

// Error implements error.
func (s *said) Error() string { return s.english }

// Err words an error in the language of c as far as it was made by [Errorf].
func (c *Catalog) Err(err error) string {
	var s *said
	if !errors.As(err, &s) || s.english != err.Error() {
		return err.Error()
	}
	args := make([]any, len(s.args))
	for i, a := range s.args {
		if e, ok := a.(error); ok {
			a = c.Err(e)
		}
		args[i] = a
	}
	return c.T(s.format, args...)
}
