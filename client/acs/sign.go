package acs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Credentials are an access key pair, with an STS token or without. They print
// as the key's id alone.
type Credentials struct {
	AccessKeyID, AccessKeySecret string
	// SecurityToken is set for temporary credentials.
	SecurityToken string
}

// String shows no secret.
func (c Credentials) String() string { return "access key " + abbreviate(c.AccessKeyID) }

// GoString is String, for %#v.
func (c Credentials) GoString() string { return c.String() }

// LogValue is String, for slog.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// abbreviate shows the ends of an id.
func abbreviate(id string) string {
	if len(id) < 12 {
		return "…"
	}
	return id[:4] + "…" + id[len(id)-4:]
}

const algorithm = "ACS3-HMAC-SHA256"

// signing is what a signature covers besides the request itself.
type signing struct {
	action, version string
	nonce           string
	at              time.Time
}

// sign puts the signature and the headers that it covers on req, whose body is
// body (alicloud-express §9.2).
func sign(req *http.Request, body []byte, c Credentials, s signing) {
	h := req.Header
	hash := hexSum(body)
	h.Set("x-acs-action", s.action)
	h.Set("x-acs-version", s.version)
	h.Set("x-acs-date", s.at.UTC().Format("2006-01-02T15:04:05Z"))
	h.Set("x-acs-signature-nonce", s.nonce)
	h.Set("x-acs-content-sha256", hash)
	h.Set("Accept", "application/json")
	if len(body) > 0 {
		h.Set("Content-Type", "application/json; charset=utf-8")
	}
	if c.SecurityToken != "" {
		h.Set("x-acs-accesskey-id", c.AccessKeyID)
		h.Set("x-acs-security-token", c.SecurityToken)
	}
	lines := map[string]string{"host": req.URL.Host}
	for name, values := range h {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "x-acs-") || name == "content-type" {
			lines[name] = strings.TrimSpace(strings.Join(values, ","))
		}
	}
	names := make([]string, 0, len(lines))
	for name := range lines {
		names = append(names, name)
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, name := range names {
		headers.WriteString(name + ":" + lines[name] + "\n")
	}
	signed := strings.Join(names, ";")
	path := req.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	canonical := strings.Join([]string{req.Method, path, canonicalQuery(req.URL.Query()), headers.String(), signed, hash}, "\n")
	mac := hmac.New(sha256.New, []byte(c.AccessKeySecret))
	mac.Write([]byte(algorithm + "\n" + hexSum([]byte(canonical))))
	h.Set("Authorization", algorithm+" Credential="+c.AccessKeyID+",SignedHeaders="+signed+",Signature="+hex.EncodeToString(mac.Sum(nil)))
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// canonicalQuery sorts by key; an empty value keeps its equals sign.
func canonicalQuery(q url.Values) string {
	keys := make([]string, 0, len(q))
	for k := range q {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var parts []string
	for _, k := range keys {
		for _, v := range q[k] {
			parts = append(parts, encode(k)+"="+encode(v))
		}
	}
	return strings.Join(parts, "&")
}

// encode percent-encodes everything but letters, digits, "-", "_", "." and "~".
func encode(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
