package credentials

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"abxdash/client"
)

// Store keeps keys that the user asked to be kept, in a file of abxdash's own
// that only the user can read. It is the weakest source of a key (see
// [Options]); a file of somebody else's, such as ~/.abx/.env, stays as it is.
type Store struct {
	// File is made with mode 0600, in a folder of mode 0700.
	File string
	// NameOf gives the variable of a provider's key; nil is [KeyNames].
	NameOf func(provider string) (string, error)
}

// SaveKey keeps the key of a provider, in place of one that was kept before, and
// says under which name and in which file.
func (s *Store) SaveKey(provider, value string) (name, file string, err error) {
	if name, err = s.name(provider); err != nil {
		return "", "", err
	}
	value = strings.TrimSpace(value)
	if err := CheckKey(value); err != nil {
		return "", "", client.Usagef("save the key", "%s", err)
	}
	return name, s.File, Keep(s.File, name, value)
}

// ForgetKey removes the key of a provider from the file and reports whether
// there was one.
func (s *Store) ForgetKey(provider string) (bool, error) {
	name, err := s.name(provider)
	if err != nil {
		return false, err
	}
	fail := func(why string) error {
		return &client.Error{Op: "forget the key", Code: client.CodeConfig, Message: why}
	}
	old, err := os.ReadFile(s.File)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fail(s.File + ": " + reason(err))
	}
	before, _ := scan(s.File, old)
	if _, kept := before[name]; !kept {
		return false, nil
	}
	err = rewrite(s.File, name, fail, func(old []byte) []byte { return without(old, name) }, "")
	return err == nil, err
}

func (s *Store) name(provider string) (string, error) {
	if s.NameOf != nil {
		return s.NameOf(provider)
	}
	return KeyNames(provider)[0], nil
}
