//go:build unix

package toolserver

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"abxdash/client"
	"abxdash/client/agentserver"
)

// TestBrowser drives a real one where it is installed.
func TestBrowser(t *testing.T) {
	needs(t, "chromium")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(`<title>Tést</title><p>Hello</p><input id=i><button onclick="console.log('clicked', i.value, 7)">b</button>`))
	}))
	defer site.Close()
	r := newRig(t, everyGroup)
	step := func(action agentserver.BrowserAction, args map[string]any) string {
		t.Helper()
		got, err := r.Browser(ctx(t), action, args)
		if err != nil {
			t.Fatalf("%s: %v", action, err)
		}
		return string(got)
	}
	if got := step(agentserver.BrowserNavigate, map[string]any{"url": site.URL}); got != `{"title":"Tést","url":"`+site.URL+`/"}` {
		t.Error(got)
	}
	step(agentserver.BrowserType, map[string]any{"selector": "#i", "text": "typed it"})
	step(agentserver.BrowserClick, map[string]any{"selector": "button"})
	if got := step(agentserver.BrowserEvaluate, map[string]any{"expression": "({n: 6 * 7, v: i.value})"}); got != `{"result":{"n":42,"v":"typed it"}}` {
		t.Error(got)
	}
	eventually(t, "the console's line", func() bool {
		got, err := r.BrowserConsole(ctx(t))
		return err == nil && strings.Contains(string(got), `{"type":"log","text":"clicked typed it 7"}`)
	})
	if got, err := r.BrowserConsole(ctx(t)); err != nil || string(got) != `{"messages":[]}` {
		t.Errorf("drained: %s %v", got, err)
	}
	if got, err := r.BrowserContent(ctx(t), "text"); err != nil || !strings.Contains(got, "Hello") || strings.Contains(got, "<p>") {
		t.Errorf("%q %v", got, err)
	}
	if got, err := r.BrowserContent(ctx(t), "html"); err != nil || !strings.Contains(got, "<p>Hello</p>") {
		t.Errorf("%q %v", got, err)
	}
	if png, err := r.Screenshot(ctx(t)); err != nil || !bytes.HasPrefix(png, []byte("\x89PNG\r\n")) {
		t.Errorf("%d bytes %v", len(png), err)
	}
	if pdf, err := r.PDF(ctx(t)); err != nil || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Errorf("%d bytes %v", len(pdf), err)
	}
	for action, args := range map[agentserver.BrowserAction]map[string]any{
		agentserver.BrowserClick:    {"selector": "#none"},
		agentserver.BrowserEvaluate: {"expression": "throw new Error('no')"},
		agentserver.BrowserNavigate: {"url": "http://127.0.0.1:1/"},
	} {
		if _, err := r.Browser(ctx(t), action, args); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("%s: %v", action, err)
		}
	}
}

// TestNoBrowser is 503, as the reference server answers without one.
func TestNoBrowser(t *testing.T) {
	r := newRig(t, everyGroup, "PATH=/nowhere")
	if _, err := r.Screenshot(ctx(t)); !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "no browser") {
		t.Error(err)
	}
}
