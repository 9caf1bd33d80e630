package client

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

// Secret finds a key or token in text, in the spellings that servers and
// proxies give back, and masks it (AUT-08). The zero value masks nothing.
type Secret struct {
	forms  []string
	masked string
}

// NewSecret prepares the forms of a key. Very short keys are not looked for:
// they would turn up in any text.
func NewSecret(key string) Secret {
	if len(key) < 6 {
		return Secret{}
	}
	s := Secret{masked: "…"}
	if len(key) >= 16 {
		s.masked = key[:4] + "…" + key[len(key)-4:]
	}
	forms := []string{
		key, url.QueryEscape(key), url.PathEscape(key), percentAll(key),
		hex.EncodeToString([]byte(key)), strings.ToUpper(hex.EncodeToString([]byte(key))),
	}
	// Inside a longer text the base64 of the key depends on where it starts
	// modulo three; the characters that also depend on its neighbours are cut off.
	for shift := range 3 {
		padded := append(make([]byte, shift), key...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString(padded)
			from := (shift*8 + 5) / 6
			to := len(padded) * 8 / 6
			forms = append(forms, text[from:to])
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	s.forms = slices.Compact(forms)
	return s
}

// percentAll percent-encodes every byte.
func percentAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte('%')
		b.WriteString(strings.ToUpper(hex.EncodeToString([]byte{s[i]})))
	}
	return b.String()
}

// Mask replaces every form of the key in text.
func (s Secret) Mask(text string) string {
	for _, f := range s.forms {
		text = replaceFold(text, f, s.masked)
	}
	return text
}

// replaceFold replaces old in text whatever the case of its ASCII letters:
// percent and hex forms come in both cases.
func replaceFold(text, old, with string) string {
	lower, needle := strings.ToLower(text), strings.ToLower(old)
	if needle == "" || len(lower) != len(text) || !strings.Contains(lower, needle) {
		return strings.ReplaceAll(text, old, with)
	}
	var b strings.Builder
	for {
		i := strings.Index(lower, needle)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		b.WriteString(with)
		text, lower = text[i+len(needle):], lower[i+len(needle):]
	}
}

// String shows no key.
func (s Secret) String() string { return s.masked }

// GoString is String, for %#v.
func (s Secret) GoString() string { return s.masked }

// Mask is [Secret.Mask] for a key that is needed once.
func Mask(text, key string) string { return NewSecret(key).Mask(text) }
