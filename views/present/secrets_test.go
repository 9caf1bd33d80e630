package present

import (
	"context"
	"slices"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/fake"
)

func TestSecretsIn(t *testing.T) {
	env := "PATH=/bin\x00API_TOKEN=tok-1234\x00db_password=two\nlines\x00URL=https://u:hidden@h/\x00DEBUG=true\x00EMPTY_KEY=\x00=x\x00nonsense"
	got := secretsIn([]byte(env))
	for _, want := range []string{"tok-1234", "two\nlines", "two", "lines", "hidden"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
	for _, not := range []string{"/bin", "true", ""} {
		if slices.Contains(got, not) {
			t.Errorf("%q is among %q", not, got)
		}
	}
}

func TestOwnShells(t *testing.T) {
	me := Owner{User: "ann", Host: "desk"}
	got := OwnShells(me, []client.ProcessInfo{
		{PID: 9, Tag: ShellTag(me, "b")},
		{PID: 3, Tag: ShellTag(me, "a\x1b")},
		{PID: 4, Tag: "other"},
		{PID: 5, Tag: ShellTag(Owner{User: "ann", Host: "lap"}, "c")},
		{PID: 6},
	})
	want := []FoundShell{{3, `a\u001b`}, {9, "b"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The raw shell's title: what is left, warnings once each, and an extension.
func TestExpiry(t *testing.T) {
	p := fake.New(fake.Options{})
	t.Cleanup(p.Close)
	now := time.Now()
	id := p.Add(client.Sandbox{ID: "iexpiry0000000000001", Name: "web", State: client.StateRunning, ExpiresAt: now.Add(4*time.Minute + 30*time.Second)})[0]
	sb, err := p.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	e := FollowExpiry(context.Background(), p, sb, time.Now, "")
	defer e.Stop()
	if !e.Alert() || e.Alert() {
		t.Error("the first warning comes once")
	}
	if s := e.Status(); s[:10] != "ENDS SOON:" {
		t.Errorf("status %q", s)
	}
	e.Extend()
	deadline := time.Now().Add(20 * time.Second)
	for e.Sandbox().ExpiresAt.Before(now.Add(30 * time.Minute)) {
		if time.Now().After(deadline) {
			t.Fatalf("not extended: %s", e.Status())
		}
		time.Sleep(time.Millisecond)
	}
	if e.Alert() {
		t.Error("a warning after the extension")
	}
	r := FollowExpiry(context.Background(), p, e.Sandbox(), time.Now, "read-only")
	defer r.Stop()
	r.Extend()
	if got := len(p.CallsOf("timeout")); got != 1 {
		t.Errorf("%d changes", got)
	}
	for _, c := range []struct{ left, given, want time.Duration }{
		{6 * time.Minute, 0, 0},
		{5 * time.Minute, 0, 5 * time.Minute},
		{4 * time.Minute, 5 * time.Minute, 0},
		{time.Minute, 5 * time.Minute, time.Minute},
		{30 * time.Second, 0, time.Minute},
		{time.Second, time.Minute, 0},
	} {
		if got := Due(c.left, c.given); got != c.want {
			t.Errorf("%v left, %v given: %v, want %v", c.left, c.given, got, c.want)
		}
	}
}
