package opensandbox

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"abxdash/client"
)

// idMaker makes the tokens that protect execd (§4.1). A token is computed from
// the server's key and a nonce in the sandbox's metadata, so that it is stored
// nowhere and is known wherever the key is. Servers without a key get a secret
// of this machine instead.
type idMaker struct {
	key, file string
	mu        sync.Mutex
	own       []byte
}

// nonce is a new one.
func (m *idMaker) nonce() (string, error) {
	b := make([]byte, 12)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	return hex.EncodeToString(b), nil
}

// token is the execd token that belongs to a nonce; "" for no nonce.
func (m *idMaker) token(nonce string) (string, error) {
	if nonce == "" {
		return "", nil
	}
	secret := []byte(m.key)
	if len(secret) == 0 {
		var err error
		if secret, err = m.machine(); err != nil {
			return "", &client.Error{Op: "read the secret of this machine", Code: client.CodeConfig, Message: client.OneLine(err.Error(), 200)}
		}
	}
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("abxdash execd " + nonce))
	return hex.EncodeToString(h.Sum(nil))[:40], nil
}

// machine is the secret of this machine, made when it is first needed.
func (m *idMaker) machine() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.own != nil {
		return m.own, nil
	}
	fresh := make([]byte, 32)
	if _, err := rand.Read(fresh); err != nil {
		return nil, err
	}
	if m.file == "" {
		m.own = fresh
		return m.own, nil
	}
	if err := os.MkdirAll(filepath.Dir(m.file), 0o700); err != nil {
		return nil, err
	}
	err := writeNew(m.file, fresh)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	got, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	if len(got) != len(fresh) {
		return nil, errors.New(m.file + " is not what it should be")
	}
	m.own = got
	return m.own, nil
}

// writeNew makes a file that appears whole or not at all, and never replaces one.
func writeNew(file string, data []byte) error {
	if _, err := os.Stat(file); err == nil {
		return fs.ErrExist
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".secret-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone after the link, or of no use
	_, err = tmp.Write(data)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Link(tmp.Name(), file)
}
