package sandboxes

import (
	"fmt"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui/uitest"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

// gallery is a list with something of everything: two providers, one of them
// failing, every kind of row, marks, and a kill under way.
func gallery(t testing.TB) *scene {
	clock := viewtest.NewClock()
	local := fake.New(fake.Options{Name: "local", Now: clock.Now, Isolation: client.IsolationNamespace})
	cloud := fake.New(fake.Options{Name: "e2b", Now: clock.Now})
	cloud.Add(
		boxWith("i4dct03zurabcdefghxyz", "", 41, func(s *client.Sandbox) { s.Metadata = map[string]string{"run": "812"} }),
		boxWith("i9x2ct03zurabcdefghab", "构建机器人一号", 130, func(s *client.Sandbox) {
			s.State, s.End, s.Template = client.StatePaused, client.EndUnset, "py-data:v4"
			s.Metadata[client.MetaOwner] = "bob"
		}),
		boxWith("i7fpt03zurabcdefghcde", "db-fixture", 200, func(s *client.Sandbox) {
			s.End, s.Template, s.CPU, s.MemoryMB = client.EndNever, "pg16", 4, 2048
			s.Metadata[client.MetaProtect] = "true"
		}),
	)
	local.Add(
		box("i1aaa03zurabcdefgh001", "web-agent-3", 12),
		boxWith("i1aaa03zurabcdefgh002", "scratch", 57, func(s *client.Sandbox) { s.Metadata["app"] = "web" }),
		box("i1aaa03zurabcdefgh003", "", 5),
	)
	s := build(t, clock, Options{CreateIn: "local"}, local, cloud)
	return s
}

func boxWith(id, name string, min int, edit func(*client.Sandbox)) client.Sandbox {
	s := box(id, name, min)
	edit(&s)
	return s
}

func TestGoldenList(t *testing.T) {
	for _, th := range uitest.Themes() {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			s := gallery(t)
			s.Env.Theme = th
			s.Start()
			s.Press("j", "space", "j")
			s.Send(present.KillPendingMsg{Keys: []present.Key{{Provider: "local", ID: "i1aaa03zurabcdefgh003"}}, At: s.Clock.Now().Add(4 * time.Second)})
			uitest.Golden(t, fmt.Sprintf("list-%dx%d-%s", size[0], size[1], th.Name), s.Dump(size[0], size[1]))
		}
	}
}

func TestGoldenNarrow(t *testing.T) {
	s := gallery(t)
	s.Start()
	for _, size := range [][2]int{{40, 8}, {60, 16}, {200, 60}} {
		uitest.Golden(t, fmt.Sprintf("list-%dx%d", size[0], size[1]), s.Dump(size[0], size[1]))
	}
}

func TestGoldenFailing(t *testing.T) {
	s := gallery(t)
	s.Start()
	for _, p := range s.list.opt.Providers[1:] {
		p.(*fake.Provider).Script(fake.OpList, "", fake.Step{Repeat: true, Err: &client.Error{
			Op: "list sandboxes", Provider: "e2b", Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized, Message: "the key was not accepted",
		}})
	}
	s.Tick(12)
	uitest.Golden(t, "list-failing", s.Dump(100, 24))
}

func TestGoldenEmptyAndFilter(t *testing.T) {
	clock := viewtest.NewClock()
	s := start(t, clock, Options{CreateIn: "local"}, fake.New(fake.Options{Name: "local", Now: clock.Now}))
	uitest.Golden(t, "list-empty", s.Dump(80, 24))
	s = gallery(t)
	s.Start()
	s.Press("/")
	s.Type("web !paused")
	uitest.Golden(t, "list-filter", s.Dump(100, 24))
}

func TestNobodyAnswers(t *testing.T) {
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Name: "e2b", Now: clock.Now})
	p.Script(fake.OpList, "", fake.Step{Repeat: true, Err: fake.ServerError("boom")})
	s := start(t, clock, Options{}, p)
	uitest.Golden(t, "list-nobody-answers", s.Dump(80, 24))
}

func TestLayout(t *testing.T) {
	for _, c := range []struct {
		h, notices, pane               int
		summary, note, frame, previews int
	}{
		{0, 0, 1, 0, 0, 0, 0},
		{5, 2, 1, 0, 0, 5, 0},
		{7, 2, 1, 1, 0, 6, 0},
		{12, 3, 1, 1, 2, 9, 0},
		{24, 0, 1, 1, 0, 17, 6},
		{24, 0, 0, 1, 0, 23, 0},
		{40, 1, 2, 1, 1, 18, 20},
	} {
		p := layout(uv.Rect(0, 0, 80, c.h), c.notices, c.pane)
		got := [4]int{p.summary.Dy(), p.notices.Dy(), p.frame.Dy(), p.preview.Dy()}
		if want := [4]int{c.summary, c.note, c.frame, c.previews}; got != want {
			t.Errorf("%d rows, %d notices, pane %d: %v, want %v", c.h, c.notices, c.pane, got, want)
		}
	}
}

// BenchmarkFrame10k is the budget of product.md §7: 2 ms and 2,000 allocations
// for a frame of 200×60 over 10,000 sandboxes, the clock ticking and the cursor moving.
func BenchmarkFrame10k(b *testing.B) {
	s := thousands(b, 10_000)
	buf := uv.NewScreenBuffer(200, 60)
	area := uv.Rect(0, 0, 200, 60)
	b.ReportAllocs()
	for b.Loop() {
		s.list.table.Move(1)
		s.Clock.Add(time.Second)
		s.store.now = s.Clock.Now()
		s.list.Draw(buf, area)
	}
}

// BenchmarkRefresh10k is what one answer with 10,000 sandboxes costs the loop.
func BenchmarkRefresh10k(b *testing.B) {
	s := thousands(b, 10_000)
	page, err := present.ListAll(b.Context(), s.p, client.Query{})
	if err != nil {
		b.Fatal(err)
	}
	src := s.store.sources[0]
	b.ReportAllocs()
	for b.Loop() {
		page.Sandboxes[0].CPU++ // so that the rows have to be sorted again
		src.inFlight = true
		s.store.listed(present.ListedMsg{Provider: src.name, Gen: src.gen, Page: page, At: s.Clock.Now()})
		s.list.sync()
	}
}

func thousands(t testing.TB, n int) *scene {
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Now: clock.Now, PageSize: n})
	boxes := make([]client.Sandbox, n)
	for i := range boxes {
		boxes[i] = box(fmt.Sprintf("i%020d", i), fmt.Sprintf("agent-%d", i%700), i%50)
	}
	p.Add(boxes...)
	s := build(t, clock, Options{}, p)
	s.Start()
	return s
}

// The budget as a test: allocations do not depend on the machine.
func TestFrameOf10kStaysWithinItsAllocations(t *testing.T) {
	s := thousands(t, 10_000)
	buf := uv.NewScreenBuffer(200, 60)
	n := testing.AllocsPerRun(20, func() {
		s.list.table.Move(1)
		s.Clock.Add(time.Second)
		s.store.now = s.Clock.Now()
		s.list.Draw(buf, uv.Rect(0, 0, 200, 60))
	})
	if n > 2000 {
		t.Errorf("%.0f allocations a frame, the budget is 2,000", n)
	}
}
