//go:build linux

package opensandboxtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestGolden replays recorded exchanges against this server, so that what tests
// the client is itself tested.
func TestGolden(t *testing.T) {
	s := New(t, Options{Key: "golden-key"})
	f, err := os.Open("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	id, n := "", 0
	var status int
	var body, asked string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "> "):
			asked = strings.ReplaceAll(line[2:], "ID", id)
			if id == "" {
				asked = line[2:]
			}
			status, body = ask(t, s, asked)
		case strings.HasPrefix(line, "< "):
			n++
			want := line[2:]
			if id != "" {
				want = strings.ReplaceAll(want, `"ID"`, `"`+id+`"`)
				want = regexp.MustCompile(`\bID\b`).ReplaceAllString(want, id)
			}
			code, text, _ := strings.Cut(want, " ")
			if code != fmt.Sprint(status) || !alike(t, text, body) {
				t.Errorf("%s\n got %d %s\nwant %s", asked, status, body, want)
			}
			var made struct{ ID string }
			if id == "" && status == http.StatusAccepted && json.Unmarshal([]byte(body), &made) == nil {
				id = made.ID
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d exchanges were replayed", n)
	}
}

func ask(t *testing.T, s *Server, line string) (int, string) {
	t.Helper()
	method, rest, _ := strings.Cut(line, " ")
	path, body, _ := strings.Cut(rest, " ")
	key, token := "golden-key", "sek"
	switch body {
	case "nokey":
		key, body = "", ""
	case "notoken":
		token, body = "", ""
	case "wrongkey":
		key, body = "wrong", ""
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("OPEN-SANDBOX-API-KEY", key)
	}
	if token != "" {
		req.Header.Set("X-EXECD-ACCESS-TOKEN", token)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	return resp.StatusCode, strings.TrimSpace(string(data))
}

// alike compares JSON; "…" in want stands for anything.
func alike(t *testing.T, want, got string) bool {
	t.Helper()
	if want == "" || got == "" {
		return want == got
	}
	var w, g any
	if json.Unmarshal([]byte(want), &w) != nil || json.Unmarshal([]byte(got), &g) != nil {
		return want == got
	}
	return same(w, g)
}

func same(w, g any) bool {
	switch w := w.(type) {
	case string:
		if w == "…" {
			return g != nil
		}
		text, ok := g.(string)
		if !ok {
			return false
		}
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(w), "…", ".*") + "$"
		return regexp.MustCompile(pattern).MatchString(text)
	case map[string]any:
		m, ok := g.(map[string]any)
		if !ok || len(m) != len(w) {
			return false
		}
		for k, v := range w {
			if x, ok := m[k]; !ok || !same(v, x) {
				return false
			}
		}
		return true
	case []any:
		l, ok := g.([]any)
		if !ok || len(l) != len(w) {
			return false
		}
		for i := range w {
			if !same(w[i], l[i]) {
				return false
			}
		}
		return true
	}
	return w == g
}
