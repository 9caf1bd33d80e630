package e2b

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"abxdash/client"
)

func TestSignatureVectors(t *testing.T) { // e2b-protocol §7.6
	cases := []struct {
		user    string
		expires time.Time
		want    string
	}{
		{"user", time.Time{}, "v1_ZVZy0uvi9h2Uqu6v/Z/M/r/hOtB/AtNphDtWN1FAG6Q"},
		{"", time.Time{}, "v1_BFlY9PzICPXC/sh/8QMBIe4nYGbE2mfu1lV5pMBmrOk"},
		{"user", time.Unix(4102444800, 0), "v1_lxqQcxEyFjQuaFuDl5wWoAsP25YsZ8O3Eei9V3Lx7Ss"},
	}
	for _, tc := range cases {
		if got := Signature("/home/user/out.txt", FileRead, tc.user, "tok_abc123", tc.expires); got != tc.want {
			t.Errorf("user %q: %s, want %s", tc.user, got, tc.want)
		}
	}
}

func TestFileURL(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{
		"GET /sandboxes/i1": answerJSON(200, `{"sandboxID":"i1","templateID":"b","state":"running","envdVersion":"0.6.13","envdAccessToken":"tok_abc123"}`),
		"GET /sandboxes/i2": answerJSON(200, `{"sandboxID":"i2","templateID":"b","state":"running","envdVersion":"0.6.13"}`),
	})
	c := newTestClient(t, f)
	raw, err := c.FileURL(context.Background(), "i1", "/home/user/out.txt", FileRead, "user", time.Unix(4102444800, 0))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("signature") != "v1_lxqQcxEyFjQuaFuDl5wWoAsP25YsZ8O3Eei9V3Lx7Ss" || q.Get("signature_expiration") != "4102444800" ||
		q.Get("username") != "user" || q.Get("path") != "/home/user/out.txt" || strings.Contains(raw, "tok_abc123") || strings.Contains(u.RawQuery, "/") {
		t.Errorf("got %s", raw)
	}
	raw, err = c.FileURL(context.Background(), "i2", "a b", FileWrite, "", time.Time{})
	if err != nil || raw != f.URL+"/files?path=a+b" {
		t.Errorf("open sandbox: %s, %v", raw, err)
	}
	if _, err := c.FileURL(context.Background(), "i1", "a\x00b", FileRead, "", time.Time{}); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("NUL in a path: %v", err)
	}
}
