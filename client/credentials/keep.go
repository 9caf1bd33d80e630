package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"abxdash/client"
)

// With is the set with further values that count as flags, by variable name:
// what was typed in, for this run.
func (s *Set) With(values map[string]string) *Set {
	out := *s
	out.opts.Flags = maps.Clone(s.opts.Flags)
	if out.opts.Flags == nil {
		out.opts.Flags = map[string]string{}
	}
	maps.Copy(out.opts.Flags, values)
	out.noted = maps.Clone(s.noted)
	return &out
}

// CheckKey says why a text cannot be a key, nil if it can. The error holds no
// part of it.
func CheckKey(key string) error {
	if key == "" {
		return errors.New("a key is needed")
	}
	if len(key) > 4096 {
		return errors.New("no key is that long")
	}
	for i, r := range key {
		if r <= ' ' || r > '~' || r == '\'' || r == '"' || r == '\\' || r == '$' {
			return fmt.Errorf("character %d is none that keys have", i+1)
		}
	}
	return nil
}

// Keep writes one key into an environment file, which is made if need be, for
// its owner only (0600). Earlier assignments of that name go; every other line
// stays as it is, and nothing is written if that could not be held.
func Keep(path, name, key string) error {
	fail := func(why string) error {
		return &client.Error{Op: "keep the key " + name, Code: client.CodeConfig, Message: why}
	}
	if path == "" {
		return fail("there is no home folder to keep it in")
	}
	if nameRE.FindString(name) != name || forbidden(name) {
		return fail("that is no variable a key is kept in")
	}
	if err := CheckKey(key); err != nil {
		return fail(err.Error())
	}
	return rewrite(path, name, fail, func(old []byte) []byte { return assign(old, name, key) }, key)
}

// rewrite changes the assignments of one name in an environment file, after
// which its value is want, "" for none. A file that is a link elsewhere stays
// one. Nothing is written if another line would mean something else.
func rewrite(path, name string, fail func(why string) error, change func(old []byte) []byte, want string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fail(path + ": " + reason(err))
	}
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		return fail(path + " is not an environment file (not regular, or over 1 MiB)")
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(path + ": " + reason(err))
	}
	data := change(old)
	before, _ := scan(path, old)
	after, _ := scan(path, data)
	if after[name].text != want || !sameBut(before, after, name) {
		return fail("other lines of " + path + " depend on it; change the file by hand")
	}
	if err := writeWhole(path, data); err != nil {
		return fail(path + ": " + reason(err))
	}
	return nil
}

// assign is a file with one assignment of name, at its end.
func assign(data []byte, name, key string) []byte {
	return append(without(data, name), name+"='"+key+"'\n"...)
}

// without is a file without the assignments of name.
func without(data []byte, name string) []byte {
	s := &scanner{lines: splitLines(data)}
	raw := strings.SplitAfter(string(data), "\n")
	var b strings.Builder
	for s.next < len(s.lines) {
		start := s.next
		if a, ok := s.assignment(); ok && a.name == name {
			continue
		}
		for _, line := range raw[start:s.next] {
			b.WriteString(line)
		}
	}
	out := b.String()
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return []byte(out)
}

// sameBut reports whether two files say the same about everything but name.
func sameBut(a, b map[string]entry, name string) bool {
	texts := func(m map[string]entry) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			if k != name {
				out[k] = v.text
			}
		}
		return out
	}
	return maps.Equal(texts(a), texts(b))
}

// writeWhole replaces a file by one that only its owner can read.
func writeWhole(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".env-*") // made with 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
