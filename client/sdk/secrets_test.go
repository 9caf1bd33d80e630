//go:build unix

package sdk_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/express"
	"abxdash/client/express/expresstest"
	"abxdash/client/sdk"
)

// form is one spelling of a secret: what a server sends back, and the part of it
// that must not turn up anywhere.
type form struct{ sent, sought string }

func forms(secret string) []form {
	var out []form
	for _, text := range []string{secret, url.QueryEscape(secret), hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret))} {
		out = append(out, form{text, text[4 : len(text)-4]})
	}
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret + "xxx"))
		out = append(out, form{text, text[4 : len(text)-8]}) // what does not depend on the neighbours
	}
	return out
}

// every words an error with all that it wraps.
func every(err error) string {
	text := fmt.Sprintf("%v|%+v|%#v|%s", err, err, err, client.HintOf(err))
	var e *client.Error
	if errors.As(err, &e) {
		text += fmt.Sprintf("|%+v", *e)
	}
	switch u := err.(type) { //nolint:errorlint // walks the tree itself
	case interface{ Unwrap() []error }:
		for _, x := range u.Unwrap() {
			text += every(x)
		}
	case interface{ Unwrap() error }:
		if x := u.Unwrap(); x != nil {
			text += every(x)
		}
	}
	return text
}

// Keys and tokens never appear in logs, errors, printed values or panics, in any
// spelling, not even when the server sends them back (AUT-08).
func TestSecretsStayHidden(t *testing.T) {
	var seen bytes.Buffer
	log := slog.New(slog.NewTextHandler(&seen, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p, s := provider(t, expresstest.Switches{Generation: 2, Snapshots: true, Metrics: true}, func(c *express.Config) {
		c.Logger = log
		log.Debug("configured", "config", *c, "provider", c.String())
		fmt.Fprintf(&seen, "%v %+v %#v\n", *c, *c, *c)
	})
	no := false
	sb, err := sdk.Create(ctx(t), p, client.CreateSpec{Network: &client.Network{Public: &no}})
	if err != nil {
		t.Fatal(err)
	}
	headers, err := sb.AccessHeaders(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{expresstest.Key, s.Token(string(sb.ID())), headers.Get("E2b-Traffic-Access-Token")}
	for _, x := range secrets {
		if len(x) < 16 {
			t.Fatalf("no secret %q", x)
		}
	}
	local := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(local, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := func() {
		keep := func(_ any, err error) {
			if err != nil {
				seen.WriteString(every(err) + "\n")
			}
		}
		only := func(err error) { keep(nil, err) }
		keep(sdk.Create(ctx(t), p, client.CreateSpec{}))
		keep(sdk.Connect(ctx(t), p, sb.ID(), time.Minute))
		keep(sb.Refresh(ctx(t)))
		keep(sb.Run(ctx(t), "true", sdk.RunOptions{}))
		keep(sb.Run(ctx(t), "true", sdk.RunOptions{Dir: "/no/such"}))
		keep(sb.Processes(ctx(t)))
		keep(sb.RunNamed(ctx(t), "hello", nil))
		keep(sb.RunNamed(ctx(t), "none", nil))
		keep(sb.RunCode(ctx(t), "1", sdk.CodeOptions{}))
		keep(sb.CreateContext(ctx(t), "r", ""))
		keep(sb.Files().Read(ctx(t), "none"))
		keep(sb.Files().Write(ctx(t), "a", nil))
		keep(sb.Files().Upload(ctx(t), local, "up", sdk.TransferOptions{Overwrite: true}))
		keep(sb.Files().Download(ctx(t), "up", local+"-back", sdk.TransferOptions{Overwrite: true}))
		keep(sb.Files().List(ctx(t), "none"))
		keep(sb.Metrics(ctx(t), time.Time{}, time.Time{}))
		keep(sb.Snapshot(ctx(t), "n"))
		only(sb.UpdateNetwork(ctx(t), client.NetworkUpdate{}))
		only(sb.SetTimeout(ctx(t), time.Hour))
		only(sb.Pause(ctx(t)))
		only(sb.Resume(ctx(t), time.Minute))
		up, err := sb.Files().UploadURL(ctx(t), "x")
		keep(up, err)
		fmt.Fprintf(&seen, "%v %+v %#v %v\n", up, up, up, &up)
		fmt.Fprintf(&seen, "%v %+v %#v %v %+v %s\n", p, p, p, sb, sb.Info(), sb.Info().Raw)
	}
	calls()
	for i, secret := range secrets {
		for _, f := range forms(secret) {
			for _, status := range []int{401, 403, 500} {
				s.ClearFaults()
				// The control plane knows the key, a sandbox knows its tokens.
				s.Fail(expresstest.Fault{Data: i > 0, Status: status, Body: fmt.Sprintf(`{"code":%d,"message":"key %s is wrong","error":"key %s is wrong"}`, status, f.sent, f.sent)})
				calls()
			}
		}
	}
	s.ClearFaults()
	func() {
		defer func() { fmt.Fprintf(&seen, "%v\n%s", recover(), debug.Stack()) }()
		_ = sdk.With(ctx(t), p, client.CreateSpec{}, func(_ context.Context, sb *sdk.Sandbox) error {
			panic(fmt.Sprintf("%+v %+v", p, sb))
		})
	}()
	text := strings.ToLower(seen.String())
	if len(text) < 10_000 || !strings.Contains(text, "is wrong") {
		t.Fatalf("only %d bytes were gathered", len(text))
	}
	for i, secret := range secrets {
		for _, f := range forms(secret) {
			if at := strings.Index(text, strings.ToLower(f.sought)); at >= 0 {
				t.Errorf("secret %d turns up in %q", i, text[max(0, at-150):min(len(text), at+20)])
			}
		}
	}
}
