package contract

import (
	"errors"
	"slices"
	"testing"
	"time"

	"abxdash/client"
)

// absent is an id that no provider has.
const absent client.ID = "i00000000000000000zz"

func (s *suite) lifecycle(t *testing.T) {
	t.Run("create and get", s.createGet)
	t.Run("list by metadata and state", s.listFilters)
	t.Run("paging", s.paging)
	t.Run("lifetime", s.lifetime)
	t.Run("end of life", s.endOfLife)
	t.Run("connect", s.connect)
	t.Run("kill", s.kill)
	t.Run("pause and resume", s.pause)
}

func (s *suite) createGet(t *testing.T) {
	sb := s.create(t, func(c *client.CreateSpec) {
		c.Metadata[client.MetaName] = "contract ä"
		c.Metadata[s.oddKey()] = "a=b&c d%20"
	})
	got, err := s.Provider.Sandboxes().Get(ctx(t), sb.ID)
	if err != nil {
		t.Fatal(err)
	}
	for what, x := range map[string]client.Sandbox{"create": sb, "get": got} {
		if x.ID == "" || x.ID != sb.ID {
			t.Errorf("%s: id %q", what, x.ID)
		}
		if x.Provider != s.Provider.Name() {
			t.Errorf("%s: provider %q, want %q", what, x.Provider, s.Provider.Name())
		}
	}
	if !got.Running() || got.Template == "" || got.StartedAt.IsZero() || got.Isolation == "" {
		t.Errorf("get: %+v lacks state, template, start or isolation", got)
	}
	if got.Name != "contract ä" || got.Metadata[s.oddKey()] != "a=b&c d%20" || got.Metadata[markKey] != s.mark {
		t.Errorf("get: name %q, metadata %q", got.Name, got.Metadata)
	}
	if d := got.ExpiresAt.Sub(got.StartedAt); got.End != client.EndAt || d < s.Lifetime-limit || d > s.Lifetime+limit {
		t.Errorf("get: lives for %s (kind %d), want %s", d, got.End, s.Lifetime)
	}
	again, err := s.Provider.Sandboxes().Get(ctx(t), sb.ID)
	if err != nil || !again.ExpiresAt.Equal(got.ExpiresAt) {
		t.Errorf("looking changed the end from %s to %s (%v)", got.ExpiresAt, again.ExpiresAt, err)
	}
	_, err = s.Provider.Sandboxes().Get(ctx(t), absent)
	wantErr(t, "get of nothing", err, client.ErrNotFound)
}

// ids walks all pages of q, which must end.
func (s *suite) ids(t *testing.T, q client.Query) []client.ID {
	t.Helper()
	var out []client.ID
	for range 1000 {
		page, err := s.Provider.Sandboxes().List(ctx(t), q)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		for _, sb := range page.Sandboxes {
			out = append(out, sb.ID)
		}
		if page.NextToken == "" {
			slices.Sort(out)
			return out
		}
		q.PageToken = page.NextToken
	}
	t.Fatal("paging does not end")
	return nil
}

func (s *suite) listFilters(t *testing.T) {
	a := s.create(t, func(c *client.CreateSpec) { c.Metadata["pet"] = "cat & dog" })
	b := s.create(t, func(c *client.CreateSpec) { c.Metadata["pet"] = "fish" })
	with := func(pet string) client.Query {
		return client.Query{Metadata: map[string]string{markKey: s.mark, "pet": pet}}
	}
	if got := s.ids(t, with("cat & dog")); !slices.Equal(got, []client.ID{a.ID}) {
		t.Errorf("by metadata: %v, want %v", got, a.ID)
	}
	if got := s.ids(t, with("none")); len(got) != 0 {
		t.Errorf("by metadata that nobody has: %v", got)
	}
	q := with("fish")
	q.States = []client.State{client.StateRunning}
	if got := s.ids(t, q); !slices.Equal(got, []client.ID{b.ID}) {
		t.Errorf("running ones: %v, want %v", got, b.ID)
	}
	q.States = []client.State{client.StatePaused}
	if got := s.ids(t, q); len(got) != 0 {
		t.Errorf("paused ones: %v, want none", got)
	}
}

func (s *suite) paging(t *testing.T) {
	if s.OnePage {
		t.Skip("the provider does not page")
	}
	var want []client.ID
	for range 3 {
		want = append(want, s.create(t, func(c *client.CreateSpec) { c.Metadata["page"] = "yes" }).ID)
	}
	slices.Sort(want)
	q := client.Query{Metadata: map[string]string{markKey: s.mark, "page": "yes"}, Limit: 1}
	if got := s.ids(t, q); !slices.Equal(got, want) {
		t.Errorf("one by one: %v, want %v", got, want)
	}
	q.Limit = 100
	if got := s.ids(t, q); !slices.Equal(got, want) {
		t.Errorf("all at once: %v, want %v", got, want)
	}
}

// left is how long the sandbox still lives by the server's own times.
func (s *suite) left(t *testing.T, id client.ID) time.Duration {
	t.Helper()
	sb, err := s.Provider.Sandboxes().Get(ctx(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(sb.ExpiresAt)
}

func about(got, want time.Duration) bool { return got > want-limit && got <= want+limit }

func (s *suite) lifetime(t *testing.T) {
	sb := s.create(t, nil)
	for _, d := range []time.Duration{5 * time.Minute, 50 * time.Minute, 20 * time.Minute} {
		if err := s.Provider.Sandboxes().SetLifetime(ctx(t), sb.ID, d); err != nil {
			t.Fatalf("set to %s: %v", d, err)
		}
		if got := s.left(t, sb.ID); !about(got, d) {
			t.Errorf("%s left after setting %s", got, d)
		}
	}
	for _, d := range []time.Duration{0, -time.Second} {
		wantErr(t, "lifetime "+d.String(), s.Provider.Sandboxes().SetLifetime(ctx(t), sb.ID, d), nil)
	}
	if got := s.left(t, sb.ID); !about(got, 20*time.Minute) {
		t.Errorf("%s left after refused changes", got)
	}
	wantErr(t, "lifetime of nothing", s.Provider.Sandboxes().SetLifetime(ctx(t), absent, time.Minute), client.ErrNotFound)
}

func (s *suite) endOfLife(t *testing.T) {
	least := max(s.MinLifetime, time.Second)
	if least > limit/2 {
		t.Skipf("the provider's shortest lifetime is %s", least)
	}
	sb := s.create(t, func(c *client.CreateSpec) { c.Lifetime = least })
	eventually(t, "the end of a sandbox of the shortest lifetime", func() bool {
		_, err := s.Provider.Sandboxes().Get(ctx(t), sb.ID)
		return errors.Is(err, client.ErrNotFound)
	})
}

// find looks for a method set on the provider and on its life cycle.
func find[T any](p client.Provider) (T, bool) {
	if x, ok := p.(T); ok {
		return x, true
	}
	x, ok := p.Sandboxes().(T)
	return x, ok
}

func (s *suite) connect(t *testing.T) {
	con, ok := find[client.Connector](s.Provider)
	if !ok {
		t.Skip("no Connector")
	}
	sb := s.create(t, func(c *client.CreateSpec) { c.Lifetime = 20 * time.Minute })
	for _, step := range []struct{ ask, want time.Duration }{{5 * time.Minute, 20 * time.Minute}, {40 * time.Minute, 40 * time.Minute}} {
		got, err := con.Connect(ctx(t), sb.ID, step.ask)
		if err != nil || got.ID != sb.ID {
			t.Fatalf("connect: %v, %v", got.ID, err)
		}
		if left := s.left(t, sb.ID); !about(left, step.want) {
			t.Errorf("%s left after connecting with %s, want %s", left, step.ask, step.want)
		}
	}
	_, err := con.Connect(ctx(t), absent, time.Minute)
	wantErr(t, "connect to nothing", err, client.ErrNotFound)
}

func (s *suite) kill(t *testing.T) {
	sb := s.create(t, func(c *client.CreateSpec) { c.Metadata["kill"] = "me" })
	other := s.create(t, func(c *client.CreateSpec) { c.Metadata["kill"] = "me" })
	p := s.start(t, sb.ID, client.Command{Argv: []string{"sleep", "1000"}})
	if err := s.Provider.Sandboxes().Kill(ctx(t), sb.ID); err != nil {
		t.Fatal(err)
	}
	if out, err := client.Collect(p); err == nil && out.Exit.OK() {
		t.Error("the command in a killed sandbox seems to have succeeded")
	}
	_, err := s.Provider.Sandboxes().Get(ctx(t), sb.ID)
	wantErr(t, "get after kill", err, client.ErrNotFound)
	if got := s.ids(t, client.Query{Metadata: map[string]string{markKey: s.mark, "kill": "me"}}); !slices.Equal(got, []client.ID{other.ID}) {
		t.Errorf("listed after the kill: %v, want %v", got, other.ID)
	}
	wantErr(t, "second kill", s.Provider.Sandboxes().Kill(ctx(t), sb.ID), client.ErrNotFound)
	wantErr(t, "kill of nothing", s.Provider.Sandboxes().Kill(ctx(t), absent), client.ErrNotFound)
}

func (s *suite) pause(t *testing.T) {
	pauser, ok := find[client.Pauser](s.Provider)
	if !s.Provider.Capabilities().Has(client.CapPause) {
		if ok {
			wantErr(t, "pause without the capability", pauser.Pause(ctx(t), s.create(t, nil).ID), client.ErrUnsupported)
		}
		t.Skip("cannot pause")
	}
	if !ok {
		t.Fatal("declares pause and has no Pauser")
	}
	sb := s.create(t, nil)
	if err := pauser.Pause(ctx(t), sb.ID); err != nil {
		t.Fatal(err)
	}
	q := client.Query{Metadata: map[string]string{markKey: s.mark}, States: []client.State{client.StatePaused}}
	if got := s.ids(t, q); !slices.Equal(got, []client.ID{sb.ID}) {
		t.Errorf("paused ones: %v, want %v", got, sb.ID)
	}
	wantErr(t, "second pause", pauser.Pause(ctx(t), sb.ID), client.ErrConflict)
	if err := pauser.Resume(ctx(t), sb.ID, s.Lifetime); err != nil {
		t.Fatal(err)
	}
	if out := s.sh(t, sb.ID, "echo back"); string(out.Stdout) != "back\n" {
		t.Errorf("after resuming: %q", out.Stdout)
	}
}

// gone asks everything of a sandbox that was killed.
func (s *suite) gone(t *testing.T) {
	sb := s.create(t, nil)
	if err := s.Provider.Sandboxes().Kill(ctx(t), sb.ID); err != nil {
		t.Fatal(err)
	}
	_, err := s.Provider.Commands().Start(ctx(t), sb.ID, client.Command{Argv: []string{"true"}})
	wantErr(t, "start", err, client.ErrNotFound)
	_, err = s.Provider.Commands().Processes(ctx(t), sb.ID)
	wantErr(t, "processes", err, client.ErrNotFound)
	_, err = s.Provider.Files().ReadDir(ctx(t), sb.ID, "")
	wantErr(t, "read directory", err, client.ErrNotFound)
	_, err = s.Provider.Files().Open(ctx(t), sb.ID, "x")
	wantErr(t, "open", err, client.ErrNotFound)
}

func (s *suite) capabilities(t *testing.T) {
	caps := s.Provider.Capabilities()
	for _, c := range []client.Capability{
		client.CapPause, client.CapMetrics, client.CapLogs, client.CapSnapshot, client.CapNetworkUpdate,
		client.CapCommands, client.CapPTY, client.CapReconnect, client.CapFiles, client.CapWatch,
		client.CapTransfer, client.CapCode, client.CapPorts, client.CapTemplates,
	} {
		err := caps.Missing(s.Provider.Name(), c)
		if caps.Has(c) {
			if err != nil {
				t.Errorf("%s is there and %v", c, err)
			}
			continue
		}
		wantErr(t, string(c), err, client.ErrUnsupported)
		if client.CodeOf(err) != client.CodeUnsupported {
			t.Errorf("%s: code %s, want %s", c, client.CodeOf(err), client.CodeUnsupported)
		}
	}
	for _, c := range []client.Capability{client.CapCommands, client.CapFiles} {
		if !caps.Has(c) {
			t.Errorf("%s is missing; no screen works without it", c)
		}
	}
}
