package fake_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/contract"
	"abxdash/client/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	contract.Run(t, func(t *testing.T) contract.Setup {
		p := fake.New(fake.Options{})
		t.Cleanup(p.Close)
		return contract.Setup{Provider: p}
	})
}

func TestScripts(t *testing.T) {
	p := fake.New(fake.Options{})
	ids := p.Add(client.Sandbox{}, client.Sandbox{})
	boom := fake.ServerError("boom")
	p.Script(fake.OpGet, ids[0], fake.Step{Err: boom}, fake.Step{Err: fake.RateLimited(2 * time.Second)})
	p.Script(fake.OpGet, "", fake.Step{Err: fake.Unauthorized(), Repeat: true})
	var got []error
	for _, id := range []client.ID{ids[0], ids[0], ids[0], ids[1]} {
		_, err := p.Get(t.Context(), id)
		got = append(got, err)
	}
	if !errors.Is(got[0], boom) || client.RetryAfterOf(got[1]) != 2*time.Second || !errors.Is(got[2], client.ErrUnauthorized) || !errors.Is(got[3], client.ErrUnauthorized) {
		t.Errorf("scripted errors: %v", got)
	}
	p.ClearScript(fake.OpGet, "")
	if _, err := p.Get(t.Context(), ids[1]); err != nil {
		t.Error(err)
	}
	if n := len(p.CallsOf(fake.OpGet)); n != 5 {
		t.Errorf("%d calls recorded, want 5", n)
	}
	p.ResetCalls()
	if len(p.Calls()) != 0 {
		t.Error("calls remain")
	}
}

func TestHangAndLatency(t *testing.T) {
	var slept []time.Duration
	p := fake.New(fake.Options{Latency: time.Second, Sleep: func(_ context.Context, d time.Duration) error {
		slept = append(slept, d)
		return nil
	}})
	p.Script(fake.OpList, "", fake.Step{Delay: time.Minute}, fake.Step{Hang: true})
	if _, err := p.List(t.Context(), client.Query{}); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]time.Duration{61 * time.Second}, slept); d != "" {
		t.Error(d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.List(ctx, client.Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a hanging call gave %v", err)
	}
}

func TestStickAndFlapAndSkip(t *testing.T) {
	p := fake.New(fake.Options{})
	ids := p.Add(client.Sandbox{}, client.Sandbox{})
	p.Stick(ids[0], "deleting")
	if err := p.Kill(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	if s, err := p.Get(t.Context(), ids[0]); err != nil || s.State != "deleting" {
		t.Errorf("after the kill: %q, %v", s.State, err)
	}
	p.Flap(ids[1])
	var counts []int
	for range 4 {
		page, err := p.List(t.Context(), client.Query{})
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, len(page.Sandboxes))
	}
	if d := cmp.Diff([]int{1, 2, 1, 2}, counts); d != "" {
		t.Error(d)
	}
	before, _ := p.Get(t.Context(), ids[1])
	p.Script(fake.OpTimeout, ids[1], fake.Step{Skip: true})
	if err := p.SetLifetime(t.Context(), ids[1], time.Hour); err != nil {
		t.Fatal(err)
	}
	if after, _ := p.Get(t.Context(), ids[1]); !after.ExpiresAt.Equal(before.ExpiresAt) {
		t.Error("a skipped call changed the lifetime")
	}
}

func TestClockEndsSandboxes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	p := fake.New(fake.Options{Now: func() time.Time { return now }, Skew: -time.Hour})
	sb, err := p.Create(t.Context(), client.CreateSpec{Lifetime: time.Minute})
	if err != nil || !sb.StartedAt.Equal(now.Add(-time.Hour)) {
		t.Fatalf("started at %s, %v", sb.StartedAt, err)
	}
	page, _ := p.List(t.Context(), client.Query{})
	if len(page.Sandboxes) != 1 || !page.ServerTime.Equal(now.Add(-time.Hour)) {
		t.Errorf("list: %+v", page)
	}
	now = now.Add(61 * time.Second)
	if _, err := p.Get(t.Context(), sb.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("after its end: %v", err)
	}
}

func TestAddMany(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	p := fake.New(fake.Options{Now: func() time.Time { return now }})
	ids := p.AddMany(5000)
	seen := map[client.ID]bool{}
	for _, id := range ids {
		if len(id) != 21 || id[0] != 'i' || seen[id] {
			t.Fatalf("id %q is odd or used twice", id)
		}
		seen[id] = true
	}
	all := p.All()
	if len(all) != 5000 {
		t.Errorf("%d rows", len(all))
	}
	for i := range all[1:] {
		if all[i].StartedAt.Before(all[i+1].StartedAt) {
			t.Fatal("not sorted by age")
		}
	}
}

func TestSizes(t *testing.T) {
	p := fake.New(fake.Options{})
	defer p.Close()
	id := p.Add(client.Sandbox{})[0]
	h, err := p.Start(t.Context(), id, client.InteractiveShell(client.Size{Cols: 10, Rows: 5}))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Resize(t.Context(), client.Size{Cols: 20, Rows: 6}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]client.Size{{Cols: 10, Rows: 5}, {Cols: 20, Rows: 6}}, p.Sizes(id, h.PID())); d != "" {
		t.Error(d)
	}
}

func TestProgramsOfTheTest(t *testing.T) {
	p := fake.New(fake.Options{Programs: map[string]fake.Program{"answer": func(_ context.Context, io fake.IO) int {
		_, _ = io.Stdout.Write([]byte("42 " + io.Env("WHO") + "\n"))
		return 9
	}}})
	defer p.Close()
	id := p.Add(client.Sandbox{})[0]
	h, err := p.Start(t.Context(), id, client.Command{Argv: []string{"answer"}, Env: map[string]string{"WHO": "me"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.Collect(h)
	if err != nil || string(out.Stdout) != "42 me\n" || out.Exit.Code != 9 {
		t.Errorf("%q, %+v, %v", out.Stdout, out.Exit, err)
	}
}
