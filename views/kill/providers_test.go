package kill

import (
	"context"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

// One bulk over three providers, of which one hangs and one refuses: each
// answer belongs to its row, and nothing is sent twice.
func TestABulkOverProvidersFailsInPart(t *testing.T) {
	clock := viewtest.NewClock()
	var d *viewtest.Driver
	sleep := func(ctx context.Context, w time.Duration) error { return d.Sleep(ctx, w) }
	ps := map[string]*fake.Provider{}
	var list present.Providers
	var targets []present.KillTarget
	for _, name := range []string{"fine", "refusing", "silent"} {
		p := fake.New(fake.Options{Name: name, Now: clock.Now, Sleep: sleep})
		t.Cleanup(p.Close)
		// The ids are the same on all: only provider and id name a sandbox.
		p.Add(box("x", name+"-x"))
		ps[name], list = p, append(list, p)
		for _, sb := range p.All() {
			sb.Provider = name
			targets = append(targets, present.KillTarget{Sandbox: sb})
		}
	}
	ps["refusing"].Script(fake.OpKill, "x", fake.Step{Err: &client.Error{Op: "kill", Code: client.CodeAuth, Kind: client.ErrUnauthorized, Message: "the key is refused"}, Repeat: true})
	ps["silent"].Script(fake.OpKill, "x", fake.Step{Delay: time.Hour, Repeat: true})
	q := New(Options{Providers: list, Owner: present.Owner{User: "anna", Host: "box"}})
	d = viewtest.NewAt(t, clock, nil, q)
	d.Send(present.KillRequestMsg{Targets: targets})
	d.Press("y")
	d.Tick(90)
	results := map[string]present.KillResultMsg{}
	for _, m := range d.Messages {
		if r, ok := m.(present.KillResultMsg); ok {
			results[r.Key.Provider] = r
		}
	}
	if r := results["fine"]; r.Outcome != present.KillAccepted {
		t.Errorf("the one that answers: %+v", r)
	}
	if r := results["refusing"]; r.Outcome != present.KillFailed || client.CodeOf(r.Err) != client.CodeAuth {
		t.Errorf("the one that refuses: %+v", r)
	}
	if _, ok := results["silent"]; ok {
		t.Errorf("the one that hangs has an answer: %+v", results["silent"])
	}
	for name, p := range ps {
		if n := len(p.CallsOf(fake.OpKill)); n != 1 {
			t.Errorf("%s was asked %d times", name, n)
		}
	}
	if len(ps["fine"].All()) != 0 || len(ps["refusing"].All()) != 1 || len(ps["silent"].All()) != 1 {
		t.Error("another one than the asked for is gone")
	}
	if got := q.Status(); got != "killing: 2 of 3 done" {
		t.Errorf("the one under way is not said: %q", got)
	}
}
