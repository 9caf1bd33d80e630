package envd

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
)

// The two operations that a signature can allow.
const (
	opRead  = "read"
	opWrite = "write"
)

// signature is what a signed file URL carries (e2b-protocol §7.6). path and
// user are the query values as sent; expiration is unix seconds in decimal, ""
// for none.
func signature(path, operation, user, token, expiration string) string {
	text := path + ":" + operation + ":" + user + ":" + token
	if expiration != "" {
		text += ":" + expiration
	}
	sum := sha256.Sum256([]byte(text))
	return "v1_" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// checkSignature lets a /files request pass that has no access token. With the
// token header the request was judged already.
func (s *Server) checkSignature(r *http.Request, q url.Values, operation string) error {
	expiration := q.Get("signature_expiration")
	var until int64
	if expiration != "" {
		var err error
		if until, err = strconv.ParseInt(expiration, 10, 64); err != nil {
			return &httpError{status: http.StatusBadRequest, message: "signature_expiration is not a number of seconds"}
		}
		expiration = strconv.FormatInt(until, 10)
	}
	token := s.accessToken()
	if _, sent := r.Header["X-Access-Token"]; token == "" || sent {
		return nil
	}
	given := q.Get("signature")
	switch {
	case given == "":
		return &httpError{status: http.StatusUnauthorized, message: "missing signature query parameter"}
	case !sameToken(given, signature(q.Get("path"), operation, q.Get("username"), token, expiration)):
		return &httpError{status: http.StatusUnauthorized, message: "invalid signature"}
	case expiration != "" && s.cfg.Now().Unix() > until:
		return &httpError{status: http.StatusUnauthorized, message: "signature is already expired"}
	}
	return nil
}
