//go:build linux

package envd_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"abxdash/client/local/envd"

	"github.com/google/go-cmp/cmp"
)

const token = "tok_abc123"

func TestAccessToken(t *testing.T) {
	a := newAgent(t, envd.Config{AccessToken: token, Now: func() time.Time { return time.Unix(2_000, 0) }})
	a.write("f", "content")
	unauthorized := "unauthorized access, please provide a valid access token or method signing if supported"
	for _, target := range []string{"/metrics", "/envs", "/process.Process/List", "/filesystem.Filesystem/Stat", "/files/compose", "/nowhere"} {
		for _, header := range [][]string{nil, {"X-Access-Token", "wrong"}, {"X-Access-Token", ""}} {
			resp, body := a.do(http.MethodPost, target, strings.NewReader("{}"), append(header, "Content-Type", "application/json")...)
			a.wantError(resp, body, 401, unauthorized)
		}
	}
	if resp, body := a.do(http.MethodPost, "/process.Process/List", strings.NewReader("{}"), "Content-Type", "application/json", "X-Access-Token", token); resp.StatusCode != http.StatusOK {
		t.Errorf("with the token: %d %s", resp.StatusCode, body)
	}
	if resp, _ := a.do(http.MethodGet, "/health", nil); resp.StatusCode != http.StatusNoContent {
		t.Errorf("health = %d", resp.StatusCode)
	}
	if resp, _ := a.do(http.MethodHead, "/files?path=f", nil); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("HEAD without a token = %d", resp.StatusCode)
	}

	sign := func(operation, expiration string) string {
		q := "/files?path=f&signature=" + url.QueryEscape(envd.Signature("f", operation, "", token, expiration))
		if expiration != "" {
			q += "&signature_expiration=" + expiration
		}
		return q
	}
	gets := map[string]struct {
		target, header string
		status         int
		message        string
	}{
		"token":            {"/files?path=f", token, 200, ""},
		"no signature":     {"/files?path=f", "", 401, "missing signature query parameter"},
		"signed":           {sign("read", ""), "", 200, ""},
		"signed in time":   {sign("read", "2000"), "", 200, ""},
		"too late":         {sign("read", "1999"), "", 401, "signature is already expired"},
		"wrong operation":  {sign("write", ""), "", 401, "invalid signature"},
		"longer life":      {strings.Replace(sign("read", "1999"), "=1999", "=9999", 1), "", 401, "invalid signature"},
		"other path":       {strings.Replace(sign("read", ""), "path=f", "path=g", 1), "", 401, "invalid signature"},
		"token wins":       {sign("read", ""), "wrong", 401, unauthorized},
		"bad expiration":   {sign("read", "") + "&signature_expiration=soon", "", 400, "signature_expiration is not a number of seconds"},
		"empty signature":  {"/files?path=f&signature=", "", 401, "missing signature query parameter"},
		"another username": {sign("read", "") + "&username=user", "", 401, "invalid signature"},
	}
	for name, tt := range gets {
		t.Run(name, func(t *testing.T) {
			var header []string
			if tt.header != "" {
				header = []string{"X-Access-Token", tt.header}
			}
			resp, body := a.do(http.MethodGet, tt.target, nil, header...)
			if tt.status == http.StatusOK {
				if resp.StatusCode != tt.status || string(body) != "content" {
					t.Errorf("%d %s", resp.StatusCode, body)
				}
				return
			}
			(&agent{t: t}).wantError(resp, body, tt.status, tt.message)
		})
	}
	if resp, body := a.do(http.MethodPost, sign("write", ""), strings.NewReader("new"), "Content-Type", octetStream); resp.StatusCode != http.StatusOK || a.read("f") != "new" {
		t.Errorf("signed upload: %d %s", resp.StatusCode, body)
	}
}

// e2b-protocol §7.6, test vectors
func TestSignatureVectors(t *testing.T) {
	for want, args := range map[string][3]string{
		"v1_ZVZy0uvi9h2Uqu6v/Z/M/r/hOtB/AtNphDtWN1FAG6Q": {"/home/user/out.txt", "user", ""},
		"v1_BFlY9PzICPXC/sh/8QMBIe4nYGbE2mfu1lV5pMBmrOk": {"/home/user/out.txt", "", ""},
		"v1_lxqQcxEyFjQuaFuDl5wWoAsP25YsZ8O3Eei9V3Lx7Ss": {"/home/user/out.txt", "user", "4102444800"},
	} {
		if got := envd.Signature(args[0], "read", args[1], token, args[2]); got != want {
			t.Errorf("%v: %s, want %s", args, got, want)
		}
	}
}

func TestHostRoutes(t *testing.T) {
	a := newAgent(t, envd.Config{GlobalEnv: map[string]string{"ABX_SANDBOX_ID": "iabc", "E2B_SANDBOX": "true", "SANDBOX_X": "1"}})
	resp, body := a.do(http.MethodGet, "/health", nil)
	if resp.StatusCode != http.StatusNoContent || resp.Header.Get("Cache-Control") != "no-store" || len(body) != 0 {
		t.Errorf("health: %d %v", resp.StatusCode, resp.Header)
	}
	_, body = a.do(http.MethodGet, "/envs", nil)
	if diff := cmp.Diff(map[string]any{"ABX_SANDBOX_ID": "iabc"}, decodeJSON(t, body)); diff != "" {
		t.Errorf("envs (-want +got):\n%s", diff)
	}
	resp, body = a.do(http.MethodGet, "/nowhere", nil, "Origin", "https://example.com")
	if resp.StatusCode != http.StatusNotFound || string(body) != "404 page not found\n" || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("unknown path: %d %q", resp.StatusCode, body)
	}
	for method, target := range map[string]string{http.MethodHead: "/files?path=x", http.MethodPut: "/files", http.MethodOptions: "/files"} {
		if resp, _ := a.do(method, target, nil); resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, POST" {
			t.Errorf("%s: %d, Allow %q", method, resp.StatusCode, resp.Header.Get("Allow"))
		}
	}
}

func TestInit(t *testing.T) {
	a := newAgent(t, envd.Config{Version: "0.6.13", GlobalEnv: map[string]string{"ABX_X": "kept"}})
	resp, _ := a.do(http.MethodPost, "/init", strings.NewReader(`{"envVars":{"A":"1"},"timestamp":"2026-01-01T00:00:00Z","later":{}}`))
	if resp.StatusCode != http.StatusNoContent || resp.Header.Get("X-Envd-Version") != "0.6.13" {
		t.Errorf("init: %d %v", resp.StatusCode, resp.Header)
	}
	a.do(http.MethodPost, "/init", strings.NewReader(`{"envVars":{"B":"2"}}`))
	_, body := a.do(http.MethodGet, "/envs", nil)
	if diff := cmp.Diff(map[string]any{"ABX_X": "kept", "B": "2"}, decodeJSON(t, body)); diff != "" {
		t.Errorf("envs (-want +got):\n%s", diff)
	}
	if resp, body := a.do(http.MethodPost, "/init", strings.NewReader(`{"envVars":`)); resp.StatusCode != http.StatusBadRequest || len(body) != 0 {
		t.Errorf("bad JSON: %d %q", resp.StatusCode, body)
	}
	if resp, _ := a.do(http.MethodPost, "/init", strings.NewReader(`{"accessToken":"t1"}`)); resp.StatusCode != http.StatusNoContent {
		t.Errorf("first token: %d", resp.StatusCode)
	}
	if resp, _ := a.do(http.MethodPost, "/init", strings.NewReader(`{"accessToken":"t2"}`)); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("other token: %d", resp.StatusCode)
	}
	if resp, _ := a.do(http.MethodGet, "/envs", nil); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("envs without the token: %d", resp.StatusCode)
	}
}

func TestMetrics(t *testing.T) {
	now := time.Unix(1_000, 0)
	a := newAgent(t, envd.Config{Now: func() time.Time { now = now.Add(10 * time.Second); return now }})
	_, body := a.do(http.MethodGet, "/metrics", nil)
	first := decodeJSON(t, body)
	if _, known := first["cpu_used_pct"]; known || first["ts"] != 1010.0 || first["cpu_count"].(float64) < 1 || first["disk_total"].(float64) <= 0 {
		t.Errorf("first: %s", body)
	}
	r := shell(a, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo counted; exec sleep 60")
	r.readUntil("counted\n")
	_, body = a.do(http.MethodGet, "/metrics", nil)
	second := decodeJSON(t, body)
	if percent, known := second["cpu_used_pct"].(float64); !known || percent <= 0 {
		t.Errorf("second: %s", body)
	}
	if used := second["mem_used"].(float64); used <= 0 || used >= second["mem_total"].(float64) {
		t.Errorf("memory: %s", body)
	}
}

// A file that vanishes between two calls is an error, never a hang or a crash.
func TestUploadToRemovedHome(t *testing.T) {
	a := newAgent(t, envd.Config{})
	if err := os.Remove(a.home); err != nil {
		t.Fatal(err)
	}
	resp, body := a.do(http.MethodPost, filesURL("f"), strings.NewReader("x"), "Content-Type", octetStream)
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if _, err := os.Stat(a.path("f")); errors.Is(err, fs.ErrNotExist) {
		t.Error("the home was not made again")
	}
}
