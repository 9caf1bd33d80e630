package opensandbox

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"abxdash/client"
)

// Metadata follows the rules of Kubernetes labels (§2.3). What does not fit is
// carried in hexadecimal behind a prefix of ours and read back here, so that
// any name can be given; only what is too long for that is refused.
const (
	hexPrefix = "abx.x."
	maxLabel  = 63
	// metaNonce marks the nonce of a sandbox's execd token; it is no secret.
	metaNonce = "abxdash.execd"
	// reserved is the server's own prefix.
	reserved = "opensandbox.io/"
)

// toLabels encodes metadata for the wire.
func toLabels(op string, m map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if strings.HasPrefix(k, reserved) {
			return nil, client.Usagef(op, "metadata keys that begin with %s belong to the server", reserved)
		}
		key, ok := encode(k, false)
		if !ok {
			return nil, client.Usagef(op, "the metadata key %q is too long for a label", client.OneLine(k, 40))
		}
		value, ok := encode(m[k], true)
		if !ok {
			return nil, client.Usagef(op, "the metadata value of %q is too long: labels hold %d of letters, digits and - _ . or %d bytes of anything",
				client.OneLine(k, 40), maxLabel, (maxLabel-len(hexPrefix))/2)
		}
		out[key] = value
	}
	return out, nil
}

// fromLabels decodes what toLabels encoded; the map is the caller's own.
func fromLabels(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[decode(k)] = decode(v)
	}
	return out
}

func encode(s string, value bool) (string, bool) {
	if label(s, value) && !strings.HasPrefix(s, hexPrefix) {
		return s, true
	}
	h := hexPrefix + hex.EncodeToString([]byte(s))
	return h, len(h) <= maxLabel
}

func decode(s string) string {
	h, ok := strings.CutPrefix(s, hexPrefix)
	if !ok {
		return s
	}
	b, err := hex.DecodeString(h)
	if err != nil || !utf8.Valid(b) {
		return s
	}
	return string(b)
}

// label reports whether s can stand as it is. A key may have a DNS prefix, a
// value may be empty.
func label(s string, value bool) bool {
	if value && s == "" {
		return true
	}
	if prefix, name, ok := strings.Cut(s, "/"); ok && !value {
		if prefix == "" || len(prefix) > 253 || strings.ContainsFunc(prefix, func(r rune) bool { return !alnum(r) && r != '-' && r != '.' }) {
			return false
		}
		s = name
	}
	if s == "" || len(s) > maxLabel || !alnum(rune(s[0])) || !alnum(rune(s[len(s)-1])) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !alnum(r) && r != '-' && r != '_' && r != '.' })
}

func alnum(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
