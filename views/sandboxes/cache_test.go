package sandboxes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui/table"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

// run opens a list over one provider with a cache in dir, lets it answer, and closes it.
func run(t *testing.T, dir string, clock *viewtest.Clock, p *fake.Provider) {
	t.Helper()
	s := buildWith(t, clock, Options{}, StoreOptions{Cache: present.NewFolder(dir)}, p)
	s.Start()
	s.poll()
	s.Close()
}

func buildWith(t testing.TB, clock *viewtest.Clock, opt Options, so StoreOptions, ps ...client.Provider) *scene {
	t.Helper()
	so.Providers, so.Owner, so.Now = ps, owner, clock.Now
	opt.Providers, opt.Owner = ps, owner
	store := NewStore(so)
	list := New(store, opt)
	s := &scene{Driver: viewtest.Build(t, clock, list, store), store: store, list: list}
	if p, ok := ps[0].(*fake.Provider); ok {
		s.p = p
	}
	return s
}

func TestTheFirstFrameComesFromTheCache(t *testing.T) {
	dir, clock := t.TempDir(), viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, Name: "fake"})
	secret := box("a", "web", 3)
	secret.Metadata["token"] = "hush-hush"
	secret.Raw = []byte(`{"envdAccessToken":"hush-hush"}`)
	short := box("c", "short", 59) // ends in a minute
	p.Add(secret, box("b", "db", 2), short)
	run(t, dir, clock, p)

	data, err := os.ReadFile(filepath.Join(dir, cacheFile))
	if err != nil || strings.Contains(string(data), "hush") || !strings.Contains(string(data), `"web"`) {
		t.Fatalf("the cache: %v\n%s", err, data)
	}
	if info, err := os.Stat(filepath.Join(dir, cacheFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	clock.Add(2 * time.Minute)
	hung := fake.New(fake.Options{Now: clock.Now, Name: "fake"})
	hung.Add(secret)
	s := buildWith(t, clock, Options{}, StoreOptions{Cache: present.NewFolder(dir)}, hung)
	// Nothing was asked yet, and the list is there.
	if len(hung.Calls()) != 0 {
		t.Fatal("a call before the first frame")
	}
	s.list.env = s.Env
	s.Screen.Init(s.Env)
	frame := s.Frame(120, 20)
	if !strings.Contains(frame, "web") || !strings.Contains(frame, " db ") || strings.Contains(frame, "short") || !strings.Contains(frame, "as of 12:00") {
		t.Fatalf("first frame:\n%s", frame)
	}
	for _, e := range s.store.entries() {
		if s.list.rowKind(e) != table.RowStale {
			t.Errorf("%s is not greyed", e.id)
		}
	}
	s.Start()
	frame = s.Frame(120, 20)
	if strings.Contains(frame, "as of") || strings.Contains(frame, " db ") || !strings.Contains(frame, "web") || s.list.rowKind(s.store.entries()[0]) != table.RowNormal {
		t.Errorf("after the answer:\n%s", frame)
	}
}

func TestACacheOfAnotherTimeIsNotShown(t *testing.T) {
	dir, clock := t.TempDir(), viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, Name: "fake"})
	endless := box("a", "web", 3)
	endless.End = client.EndNever
	p.Add(endless)
	run(t, dir, clock, p)
	for _, c := range []struct {
		name string
		move time.Duration
		file string
	}{
		{name: "too old", move: 8 * 24 * time.Hour},
		{name: "broken", file: `{"Version":1,"Prov`},
		{name: "another version", file: `{"Version":99,"Providers":[{"Name":"fake","At":"2031-01-01T12:00:00Z","Rows":[{"ID":"x"}]}]}`},
		{name: "another provider", file: `{"Version":1,"Providers":[{"Name":"gone","At":"2031-01-01T12:00:00Z","Rows":[{"ID":"x"}]}]}`},
		{name: "a row without an id", file: `{"Version":1,"Providers":[{"Name":"fake","At":"2031-01-01T12:00:00Z","Rows":[{"Name":"x","End":2}]}]}`},
	} {
		clock := viewtest.NewClock()
		clock.Add(c.move)
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(dir, cacheFile), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := buildWith(t, clock, Options{}, StoreOptions{Cache: present.NewFolder(dir)}, fake.New(fake.Options{Now: clock.Now, Name: "fake"}))
		if n := len(s.store.entries()); n != 0 {
			t.Errorf("%s: %d rows", c.name, n)
		}
	}
}

// A kill of a remembered row goes to the row that was meant, by its id.
func TestAStrayOfTheCacheIsNotKilledInBulk(t *testing.T) {
	dir, clock := t.TempDir(), viewtest.NewClock()
	lost := box("lost", "", 3)
	lost.Metadata = nil
	p := fake.New(fake.Options{Now: clock.Now, Name: "fake"})
	p.Add(lost)
	run(t, dir, clock, p)
	p = fake.New(fake.Options{Now: clock.Now, Name: "fake"})
	s := buildWith(t, clock, Options{}, StoreOptions{Cache: present.NewFolder(dir)}, p)
	p.Script(fake.OpList, "", fake.Step{Repeat: true, Err: fake.ServerError("down")})
	s.Start()
	if got := s.killRequest("X"); len(got) != 0 {
		t.Errorf("X on remembered rows means %v", got)
	}
}

func TestRenewalsAreCountedAndRemembered(t *testing.T) {
	dir, clock := t.TempDir(), viewtest.NewClock()
	rules := present.StrayRules{Renewals: 3, RenewedOver: time.Minute}
	p := fake.New(fake.Options{Now: clock.Now, Name: "fake"})
	p.Add(box("a", "web", 3))
	renew := func(d time.Duration) {
		p.Change("a", func(sb *client.Sandbox) { sb.ExpiresAt = sb.ExpiresAt.Add(d) })
	}
	open := func() *scene {
		s := buildWith(t, clock, Options{}, StoreOptions{Cache: present.NewFolder(dir), Rules: rules}, p)
		s.Start()
		return s
	}
	s := open()
	s.Tick(30)
	renew(time.Hour)
	s.Tick(40)
	renew(time.Second) // trembling is no renewal
	s.poll()
	if got := s.row("web"); strings.Contains(s.Frame(140, 30), "moved on") {
		t.Fatalf("a stray after one renewal: %s", got)
	}
	s.Close()
	s = open()
	s.Press("t") // our own renewal does not count
	s.poll()
	renew(time.Hour)
	s.Tick(40)
	if strings.Contains(s.Frame(140, 30), "moved on") {
		t.Fatal("a stray after two renewals and one of ours")
	}
	renew(time.Hour)
	s.poll()
	if frame := s.Frame(140, 30); !strings.Contains(frame, "its end was moved on 3 times") {
		t.Errorf("no stray after three:\n%s", frame)
	}
}
