//go:build unix

package sdk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/express/expresstest"
	"abxdash/client/sdk"
)

// With kills whatever happens to the function.
func TestWithAlwaysKills(t *testing.T) {
	p, s := provider(t, expresstest.Switches{})
	failed := errors.New("failed")
	for name, fn := range map[string]func(context.CancelFunc) error{
		"success": func(context.CancelFunc) error { return nil },
		"error":   func(context.CancelFunc) error { return failed },
		"cancel":  func(cancel context.CancelFunc) error { cancel(); return nil },
		"panic":   func(context.CancelFunc) error { panic("oh") },
	} {
		t.Run(name, func(t *testing.T) {
			c, cancel := context.WithCancel(ctx(t))
			defer cancel()
			var got error
			func() {
				defer func() { _ = recover() }()
				got = sdk.With(c, p, client.CreateSpec{}, func(_ context.Context, sb *sdk.Sandbox) error {
					if s.Live() != 1 {
						t.Errorf("%d sandboxes inside", s.Live())
					}
					return fn(cancel)
				})
			}()
			if s.Live() != 0 {
				t.Error("it lives on")
			}
			if name == "error" && !errors.Is(got, failed) || name != "error" && got != nil {
				t.Errorf("error %v", got)
			}
		})
	}
}

func TestLifecycle(t *testing.T) {
	p, s := provider(t, expresstest.Switches{})
	sb, err := sdk.Create(ctx(t), p, client.CreateSpec{Lifetime: 10 * time.Minute, Metadata: map[string]string{"name": "me"}})
	if err != nil {
		t.Fatal(err)
	}
	if sb.Info().Name != "me" || !sb.Info().Running() {
		t.Errorf("%+v", sb.Info())
	}
	end := func() time.Time {
		t.Helper()
		info, err := sb.Refresh(ctx(t))
		if err != nil {
			t.Fatal(err)
		}
		return info.ExpiresAt
	}
	first := end()
	if other, err := sdk.Open(ctx(t), p, sb.ID()); err != nil || other.ID() != sb.ID() || !end().Equal(first) {
		t.Errorf("opening it: %v, ends at %s instead of %s", err, end(), first)
	}
	if _, err := sdk.Connect(ctx(t), p, sb.ID(), time.Minute); err != nil || !end().Equal(first) {
		t.Errorf("connecting shortened it: %v", err)
	}
	if _, err := sdk.Connect(ctx(t), p, sb.ID(), time.Hour); err != nil || end().Before(first.Add(30*time.Minute)) {
		t.Errorf("connecting did not extend it: %v", err)
	}
	if err := sb.SetTimeout(ctx(t), 5*time.Minute); err != nil || !end().Before(first) {
		t.Errorf("it was not shortened: %v", err)
	}
	wantCode(t, "timeout 0", sb.SetTimeout(ctx(t), 0), client.CodeUsage, nil)
	if err := sb.Close(); err != nil || s.Live() != 1 {
		t.Errorf("close: %v, %d live", err, s.Live())
	}
	for range 2 {
		if err := sb.Kill(ctx(t)); err != nil {
			t.Error(err)
		}
	}
	if err := sdk.KillByID(ctx(t), p, "i00000000000000000zz"); err != nil {
		t.Errorf("kill of nothing: %v", err)
	}
	if _, err := sdk.Connect(ctx(t), p, sb.ID(), 0); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("connect to nothing: %v", err)
	}
}

func TestPauseAndWhatIsNotDeclared(t *testing.T) {
	sb, _ := sandbox(t, expresstest.Switches{Generation: 2, Snapshots: true, Metrics: true})
	if err := sb.Pause(ctx(t)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "second pause", sb.Pause(ctx(t)), client.CodeConflict, client.ErrConflict)
	if err := sb.Resume(ctx(t), time.Minute); err != nil {
		t.Fatal(err)
	}
	if got, err := sb.Run(ctx(t), "echo back", sdk.RunOptions{}); err != nil || got.Stdout != "back\n" {
		t.Errorf("%+v %v", got, err)
	}
	if m, err := sb.Metrics(ctx(t), time.Time{}, time.Time{}); err != nil || len(m) != 1 || m[0].CPUUsed != 12.5 {
		t.Errorf("%+v %v", m, err)
	}
	shot, err := sb.Snapshot(ctx(t), "a")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for x, err := range sdk.Snapshots(ctx(t), sb.Provider(), client.SnapshotQuery{}) {
		if n++; err != nil || x.ID != shot.ID {
			t.Errorf("%+v %v", x, err)
		}
	}
	if n != 1 {
		t.Errorf("%d snapshots", n)
	}
	if err := sdk.DeleteSnapshot(ctx(t), sb.Provider(), shot.ID); err != nil {
		t.Error(err)
	}
	if err := sb.UpdateNetwork(ctx(t), client.NetworkUpdate{DenyOut: []string{"0.0.0.0/0"}}); err != nil {
		t.Error(err)
	}

	plain, s := sandbox(t, expresstest.Switches{Generation: 1})
	before := len(s.Requests(""))
	_, snapErr := plain.Snapshot(ctx(t), "")
	_, metricErr := plain.Metrics(ctx(t), time.Time{}, time.Time{})
	_, logErr := plain.Logs(ctx(t), time.Time{}, 0)
	for what, err := range map[string]error{"pause": plain.Pause(ctx(t)), "resume": plain.Resume(ctx(t), time.Minute), "snapshot": snapErr, "metrics": metricErr, "logs": logErr} {
		wantCode(t, what, err, client.CodeUnsupported, client.ErrUnsupported)
	}
	for _, err := range sdk.Snapshots(ctx(t), plain.Provider(), client.SnapshotQuery{}) {
		wantCode(t, "snapshots", err, client.CodeUnsupported, client.ErrUnsupported)
	}
	if got := len(s.Requests("")); got != before {
		t.Errorf("%d calls were made for what is not declared", got-before)
	}
}

func TestIterator(t *testing.T) {
	p, s := provider(t, expresstest.Switches{PageSize: 2, Extra: true})
	for range 5 {
		if _, err := sdk.Create(ctx(t), p, client.CreateSpec{Metadata: map[string]string{"a": "b c"}}); err != nil {
			t.Fatal(err)
		}
	}
	q := client.Query{Metadata: map[string]string{"a": "b c"}}
	n := 0
	for sb, err := range sdk.Sandboxes(ctx(t), p, q) {
		if err != nil || sb.Metadata["a"] != "b c" {
			t.Fatalf("%+v %v", sb, err)
		}
		n++
	}
	if n != 5 {
		t.Errorf("%d of 5", n)
	}
	before := len(s.Requests("/v2/sandboxes"))
	for range sdk.Sandboxes(ctx(t), p, q) {
		break
	}
	if got := len(s.Requests("/v2/sandboxes")) - before; got != 1 {
		t.Errorf("leaving at once cost %d calls", got)
	}
	s.Fail(expresstest.Fault{Path: "/v2/sandboxes", Status: 502, Body: "<html><title>Bad gateway</title>", Header: map[string]string{"Content-Type": "text/html"}})
	var last error
	for _, err := range sdk.Sandboxes(ctx(t), p, q) {
		last = err
	}
	wantCode(t, "HTML", last, client.CodeBadAnswer, nil)
	if strings.Contains(last.Error(), "<") {
		t.Error(last)
	}
}

// Bad answers of the control plane become one clean line each (STR-05).
func TestBadAnswers(t *testing.T) {
	p, s := provider(t, expresstest.Switches{})
	for name, c := range map[string]struct {
		fault expresstest.Fault
		code  client.Code
	}{
		"401":            {expresstest.Fault{Status: 401, Body: `{"code":401,"message":"no"}`}, client.CodeAuthMissing},
		"403":            {expresstest.Fault{Status: 403, Body: `{"code":403,"message":"no"}`}, client.CodeAuth},
		"captive portal": {expresstest.Fault{Status: 200, Body: "<html>", Header: map[string]string{"Content-Type": "text/html"}}, client.CodeBadAnswer},
		"no JSON":        {expresstest.Fault{Status: 201, Body: "["}, client.CodeBadAnswer},
		"no id":          {expresstest.Fault{Status: 201, Body: `{"sandboxID":""}`}, client.CodeBadAnswer},
		"evil id":        {expresstest.Fault{Status: 201, Body: `{"sandboxID":"../x"}`}, client.CodeBadAnswer},
	} {
		s.ClearFaults()
		c.fault.Method = "POST"
		s.Fail(c.fault)
		_, err := sdk.Create(ctx(t), p, client.CreateSpec{})
		wantCode(t, name, err, c.code, nil)
		if err != nil && (len(err.Error()) > 200 || strings.ContainsAny(err.Error(), "<\n\x1b")) {
			t.Errorf("%s: %q", name, err)
		}
	}
}
