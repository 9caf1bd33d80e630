package e2b

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"time"

	"abxdash/client"
)

// FileOp is what a signed URL allows.
type FileOp string

// The two operations (e2b-protocol §7.6).
const (
	FileRead  FileOp = "read"
	FileWrite FileOp = "write"
)

// Signature signs access to one path of a sandbox (e2b-protocol §7.6). path and
// user are the query values as sent; user may be "". A zero expires never
// expires. The result is not yet percent-encoded.
func Signature(path string, op FileOp, user, token string, expires time.Time) string {
	s := path + ":" + string(op) + ":" + user + ":" + token
	if !expires.IsZero() {
		s += ":" + strconv.FormatInt(expires.Unix(), 10)
	}
	sum := sha256.Sum256([]byte(s))
	return "v1_" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// FileURL is a URL that reads (GET) or writes (POST) one file without a token,
// until expires, if that is not zero. It is a secret while it is valid.
func (c *Client) FileURL(ctx context.Context, id client.ID, path string, op FileOp, user string, expires time.Time) (string, error) {
	f := failing{op: "sign file URL", id: id, code: client.CodeFiles, notFound: client.CodeFileNotFound, agent: true}
	if err := checkPath(f.op, path); err != nil {
		return "", err
	}
	out := ""
	err := c.with(ctx, f, true, func(a *agent) error {
		user := a.acting(user)
		q := url.Values{"path": {path}}
		if user != "" {
			q.Set("username", user)
		}
		if a.access.token != "" {
			q.Set("signature", Signature(path, op, user, a.access.token, expires))
			if !expires.IsZero() {
				q.Set("signature_expiration", strconv.FormatInt(expires.Unix(), 10))
			}
		}
		out = a.base + "/files?" + q.Encode()
		return nil
	})
	return out, err
}
