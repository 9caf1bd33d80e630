package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
)

// signedFile reports a request for a signed file URL (e2b-protocol §7.6) that
// does not say which sandbox it means: SDKs that are told one address for every
// sandbox make such URLs.
func signedFile(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodPost) &&
		r.URL.Path == "/files" && r.URL.Query().Get("signature") != ""
}

// bySignature finds the sandbox whose token verifies a signed file URL. The
// agent checks it again, its expiration too.
func (s *Server) bySignature(r *http.Request) (target, bool) {
	q := r.URL.Query()
	operation := "read"
	if r.Method == http.MethodPost {
		operation = "write"
	}
	given := []byte(q.Get("signature"))
	for _, b := range s.visible() {
		if b.token == "" {
			continue
		}
		text := q.Get("path") + ":" + operation + ":" + q.Get("username") + ":" + b.token
		if x := q.Get("signature_expiration"); x != "" {
			text += ":" + x
		}
		sum := sha256.Sum256([]byte(text))
		want := "v1_" + base64.RawStdEncoding.EncodeToString(sum[:])
		if subtle.ConstantTimeCompare(given, []byte(want)) == 1 {
			return target{id: b.id, port: envdPort}, true
		}
	}
	return target{}, false
}
