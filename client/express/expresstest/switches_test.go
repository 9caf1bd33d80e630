//go:build unix

package expresstest_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"abxdash/client/express/expresstest"
)

// The switches do what they say.
func TestSwitches(t *testing.T) {
	w := newWire(t, expresstest.Switches{V2Status: 405, Metrics: true, KillMissing: 204, Extra: true})
	id, token := w.create()
	if status, _, _ := w.api("GET", "/v2/sandboxes", ""); status != 405 {
		t.Errorf("v2: %d", status)
	}
	if status, _, body := w.api("GET", "/sandboxes/"+id+"/metrics", ""); status != 200 || !strings.Contains(body, `"cpuUsedPct":12.5`) {
		t.Errorf("metrics: %d %s", status, body)
	}
	if status, _, _ := w.api("DELETE", "/sandboxes/inone", ""); status != 204 {
		t.Errorf("kill of nothing: %d", status)
	}
	if status, _, _ := w.api("POST", "/sandboxes/"+id+"/pause", `{}`); status != 404 {
		t.Errorf("pause on generation 1: %d", status)
	}
	w.s.Set(func(sw *expresstest.Switches) { sw.RefusedWith, sw.CutStream, sw.V2Status = 501, 20, 0 })
	if status, _, _ := w.api("POST", "/sandboxes/"+id+"/pause", `{}`); status != 501 {
		t.Errorf("pause: %d", status)
	}
	if _, _, body := w.api("GET", "/v2/sandboxes", ""); !strings.Contains(body, "snapshotting") || !strings.Contains(body, "surprise") {
		t.Errorf("list: %s", body)
	}
	resp, err := w.open("POST", envd(id)+"/process.Process/Start", frame(0, `{"process":{"cmd":"true"},"stdin":false}`), "Content-Type", "application/connect+json", "X-Access-Token", token)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if _ = resp.Body.Close(); err == nil || len(data) > 20 {
		t.Errorf("a cut stream gave %q, %v", data, err)
	}
	w.s.Fail(expresstest.Fault{Path: "/sandboxes", Method: "POST", Status: 429, Header: map[string]string{"Retry-After": "2"}, Times: 1})
	if status, header, _ := w.api("POST", "/sandboxes", `{"templateID":"base"}`); status != 429 || header.Get("Retry-After") != "2" {
		t.Errorf("fault: %d", status)
	}
	if status, _, _ := w.api("POST", "/sandboxes", `{"templateID":"base"}`); status != 201 {
		t.Errorf("after the fault: %d", status)
	}
}

// Lifetimes of alicloud-express §5.2.
func TestLifetimes(t *testing.T) {
	w := newWire(t, expresstest.Switches{})
	for seconds, want := range map[string]time.Duration{"0": 300 * time.Second, "5": time.Minute, "61": 61 * time.Second} {
		_, _, body := w.api("POST", "/sandboxes", `{"templateID":"base","timeout":`+seconds+`}`)
		var got struct{ SandboxID string }
		_ = json.Unmarshal([]byte(body), &got)
		_, _, body = w.api("GET", "/sandboxes/"+got.SandboxID, "")
		var at struct{ StartedAt, EndAt time.Time }
		if err := json.Unmarshal([]byte(body), &at); err != nil {
			t.Fatal(err)
		}
		if d := at.EndAt.Sub(at.StartedAt); d < want-time.Second || d > want+time.Second {
			t.Errorf("%s s gives %s", seconds, d)
		}
	}
	if status, _, _ := w.api("POST", "/sandboxes", `{"templateID":"base","timeout":604801}`); status != 400 {
		t.Errorf("over the ceiling: %d", status)
	}
	w.s.Set(func(sw *expresstest.Switches) { sw.MinLifetime = -1 })
	_, _, body := w.api("POST", "/sandboxes", `{"templateID":"base","timeout":1}`)
	var got struct{ SandboxID string }
	_ = json.Unmarshal([]byte(body), &got)
	deadline := time.Now().Add(30 * time.Second)
	for {
		if status, _, _ := w.api("GET", "/sandboxes/"+got.SandboxID, ""); status == 404 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a sandbox of one second lives on")
		}
		<-time.After(50 * time.Millisecond)
	}
}

// When a sandbox ends its connections are reset, not closed cleanly (§6.2).
func TestKillResetsStreams(t *testing.T) {
	w := newWire(t, expresstest.Switches{})
	id, token := w.create()
	resp, err := w.open("POST", envd(id)+"/process.Process/Start", frame(0, `{"process":{"cmd":"sleep","args":["1000"]},"stdin":false}`), "Content-Type", "application/connect+json", "X-Access-Token", token)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if status, _, _ := w.api("DELETE", "/sandboxes/"+id, ""); status != 204 {
		t.Fatal(status)
	}
	if _, err := io.ReadAll(resp.Body); err == nil || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		t.Errorf("the stream ended with %v", err)
	}
}
