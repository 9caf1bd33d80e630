package server

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stillIsolator gives instances that can be paused and measured.
type stillIsolator struct {
	fakeIsolator
	pauseErr error
	mu       sync.Mutex
	made     []*stillInstance
}

type stillInstance struct {
	*fakeInstance
	iso *stillIsolator

	mu    sync.Mutex
	still bool
	cpu   time.Duration
}

func (s *stillIsolator) Start(ctx context.Context, spec Spec) (Instance, error) {
	in, err := s.fakeIsolator.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	_, _ = io.WriteString(spec.Log, `{"time":"2026-01-01T00:00:00Z","level":"DEBUG","msg":"process started","pid":7}`+"\npanic: no\n")
	out := &stillInstance{fakeInstance: in.(*fakeInstance), iso: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, out)
	return out, nil
}

func (i *stillInstance) Pause(context.Context) error {
	if i.iso.pauseErr != nil {
		return i.iso.pauseErr
	}
	i.set(true)
	return nil
}

func (i *stillInstance) Resume(context.Context) error { i.set(false); return nil }

func (i *stillInstance) set(still bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.still = still
}

func (i *stillInstance) isStill() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.still
}

func (i *stillInstance) Usage(context.Context) (Usage, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cpu += time.Second
	return Usage{CPU: i.cpu, Memory: 5 << 20, MemoryLimit: 64 << 20}, nil
}

func (i *stillInstance) DiskUse(context.Context) (int64, error) { return 4096, nil }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// stillRig is a rig whose sandboxes can be paused, with a folder for templates.
func stillRig(t *testing.T) (*rig, *stillIsolator) {
	t.Helper()
	iso := &stillIsolator{}
	r := newRigWith(t, iso, filepath.Join(t.TempDir(), "templates"))
	return r, iso
}

func (r *rig) want(status int, method, path, body string, header ...string) reply {
	r.t.Helper()
	rep := r.do(method, path, body, header...)
	if rep.status != status {
		r.t.Fatalf("%s %s: %d %s, want %d", method, path, rep.status, rep.body, status)
	}
	return rep
}

func TestPauseAndConnect(t *testing.T) {
	r, iso := stillRig(t)
	id := r.create(`{"templateID":"base","timeout":60}`).SandboxID
	r.clock.Advance(10 * time.Second)
	path := "/sandboxes/" + id
	r.want(204, "POST", path+"/pause", `{"memory":true}`)
	if !iso.made[0].isStill() {
		t.Fatal("it is not paused")
	}
	if d := decode[detailJSON](t, r.want(200, "GET", path, "").body); d.State != "paused" || !d.EndAt.Equal(r.clock.Now()) {
		t.Errorf("paused: %+v", d)
	}
	// The lifetime stands still, too.
	r.clock.Advance(24 * time.Hour)
	for query, n := range map[string]int{"": 1, "?state=paused": 1, "?state=running": 0} {
		if got := r.ids("/v2/sandboxes" + query); len(got) != n {
			t.Errorf("list %q: %v", query, got)
		}
	}
	if got := r.ids("/sandboxes"); len(got) != 0 {
		t.Errorf("the older list shows paused ones: %v", got)
	}
	r.want(409, "POST", path+"/pause", "")
	r.want(409, "POST", path+"/timeout", `{"timeout":60}`)
	r.want(409, "POST", path+"/refreshes", `{"duration":60}`)
	r.want(409, "POST", path+"/snapshots", `{}`)
	rep := r.want(502, "GET", "/health", "", headerID, id, headerPort, "49983")
	if !strings.Contains(rep.body, "was not found") {
		t.Errorf("data plane of a paused one: %s", rep.body)
	}
	sb := decode[sandboxJSON](t, r.want(201, "POST", path+"/connect", `{"timeout":90}`).body)
	if sb.State != "running" || !sb.EndAt.Equal(r.clock.Now().Add(90*time.Second)) || iso.made[0].isStill() {
		t.Errorf("after connect: %+v", sb)
	}
	r.want(200, "POST", path+"/connect", `{"timeout":10}`)
	r.want(409, "POST", path+"/resume", `{}`)
	r.want(204, "POST", path+"/pause", "")
	r.want(201, "POST", path+"/resume", "")
	r.want(204, "POST", path+"/pause", "")
	r.want(204, "DELETE", path, "")
	r.want(404, "DELETE", path, "")
}

func TestFailedPauseLeavesItRunning(t *testing.T) {
	r, iso := stillRig(t)
	iso.pauseErr = errBoom
	id := r.create(`{"templateID":"base"}`).SandboxID
	r.want(500, "POST", "/sandboxes/"+id+"/pause", "")
	if got := r.ids("/v2/sandboxes?state=running"); len(got) != 1 {
		t.Errorf("running: %v", got)
	}
}

func TestAutoPauseAndAutoResume(t *testing.T) {
	r, _ := stillRig(t)
	id := r.create(`{"templateID":"base","timeout":20,"autoPause":true,"autoResume":{"enabled":true}}`).SandboxID
	d := decode[detailJSON](t, r.want(200, "GET", "/sandboxes/"+id, "").body)
	if d.Lifecycle != (lifecycleJSON{AutoResume: true, OnTimeout: "pause"}) {
		t.Errorf("lifecycle: %+v", d.Lifecycle)
	}
	r.clock.Advance(21 * time.Second)
	eventually(t, "it is paused", func() bool { return len(r.ids("/v2/sandboxes?state=paused")) == 1 })
	// Traffic wakes it, for as long as it was made for, five minutes at least.
	r.want(200, "GET", "/x", "", headerID, id, headerPort, "49983")
	d = decode[detailJSON](t, r.want(200, "GET", "/sandboxes/"+id, "").body)
	if d.State != "running" || !d.EndAt.Equal(r.clock.Now().Add(wakeLifetime)) {
		t.Errorf("woken: %+v", d)
	}
}

func TestAutoPauseThatFailsIsTriedAgain(t *testing.T) {
	r, iso := stillRig(t)
	iso.pauseErr = errBoom
	r.create(`{"templateID":"base","timeout":20,"autoPause":true}`)
	r.clock.Advance(21 * time.Second)
	eventually(t, "the next try is timed", func() bool { return r.clock.armed() == killRetry })
	if got := r.ids("/v2/sandboxes?state=running"); len(got) != 1 {
		t.Errorf("running: %v", got)
	}
}

func TestLogs(t *testing.T) {
	r, _ := stillRig(t)
	id := r.create(`{"templateID":"base","timeout":60}`).SandboxID
	type answer struct{ Logs []logJSON }
	get := func(query string) []string {
		t.Helper()
		out := []string{}
		for _, e := range decode[answer](t, r.want(200, "GET", "/v2/sandboxes/"+id+"/logs?"+query, "").body).Logs {
			out = append(out, e.Level+" "+e.Message)
		}
		return out
	}
	eventually(t, "the agent's lines are there", func() bool { return len(get("")) == 3 })
	r.clock.Advance(time.Second)
	r.want(204, "POST", "/sandboxes/"+id+"/pause", "")
	now := r.clock.Now().UnixMilli()
	for query, want := range map[string][]string{
		"direction=forward&search=process": {"info process started"},
		"level=error":                      {"error panic: no"},
		"limit=1":                          {"info paused"},
		"limit=0":                          {},
		"direction=forward&cursor=" + decimal(now): {"info paused"},
		"search=Paused": {},
	} {
		if d := cmp.Diff(want, get(query)); d != "" {
			t.Errorf("%s: %s", query, d)
		}
	}
	if got := get("cursor=" + decimal(now-1)); len(got) != 3 {
		t.Errorf("before the pause: %v", got)
	}
	v1 := decode[struct {
		Logs       []logLineJSON
		LogEntries []logJSON
	}](t, r.want(200, "GET", "/sandboxes/"+id+"/logs?start="+decimal(now), "").body)
	if len(v1.Logs) != 1 || len(v1.LogEntries) != 1 {
		t.Fatalf("v1: %+v", v1)
	}
	line := decode[map[string]string](t, v1.Logs[0].Line)
	if line["message"] != "paused" || line["level"] != "info" || line["logger"] == "" {
		t.Errorf("line: %v", line)
	}
	if rep := r.want(200, "GET", "/v2/sandboxes/inone/logs", ""); strings.TrimSpace(rep.body) != `{"logs":[]}` {
		t.Errorf("unknown sandbox: %s", rep.body)
	}
}

func TestLogIsBounded(t *testing.T) {
	var l boxLog
	now := time.Unix(0, 0)
	for range 3 * maxLogs {
		now = now.Add(time.Second)
		l.add(now, levelInfo, "x", nil)
	}
	l.add(now.Add(-time.Hour), levelInfo, "late", nil)
	all := l.all()
	if len(all) > maxLogs || all[len(all)-1].Message != "late" || all[len(all)-1].Timestamp.Before(now) {
		t.Errorf("%d entries, the last %+v", len(all), all[len(all)-1])
	}
	// A line beyond the limit becomes several entries; nothing is read without bound.
	var long boxLog
	long.follow(strings.NewReader(strings.Repeat("y", 3*maxLogLine)+"\nend\n"), time.Now)
	if got := long.all(); len(got) != 4 || got[3].Message != "end" {
		t.Errorf("%d entries", len(got))
	}
}

func TestMetricsHistory(t *testing.T) {
	r, _ := stillRig(t)
	id := r.create(`{"templateID":"base","timeout":3600}`).SandboxID
	start := r.clock.Now()
	for range 3 {
		r.clock.Advance(10 * time.Second)
		r.want(200, "GET", "/sandboxes/"+id+"/metrics", "")
	}
	all := decode[[]metricJSON](t, r.want(200, "GET", "/sandboxes/"+id+"/metrics", "").body)
	if len(all) != 3 {
		t.Fatalf("%d points: %+v", len(all), all)
	}
	cpus := float64(all[0].CPUCount)
	want := metricJSON{
		Timestamp: start.Add(20 * time.Second), TimestampUnix: start.Unix() + 20, CPUCount: all[0].CPUCount,
		CPUUsedPct: 10 / cpus, MemUsed: 5 << 20, MemTotal: 64 << 20, DiskUsed: 4096, DiskTotal: all[0].DiskTotal,
	}
	if d := cmp.Diff(want, all[1]); d != "" {
		t.Error(d)
	}
	part := decode[[]metricJSON](t, r.want(200, "GET", "/sandboxes/"+id+"/metrics?start="+decimal(start.Unix()+15)+"&end="+decimal(start.Unix()+25), "").body)
	if len(part) != 1 || part[0] != want {
		t.Errorf("part: %+v", part)
	}
}

func TestHistoryThinsOutAndIsBounded(t *testing.T) {
	var h history
	at := time.Unix(1_000_000, 0)
	for range 30 * 720 {
		at = at.Add(sampleEvery)
		h.add(metricJSON{Timestamp: at})
	}
	all := h.between(time.Time{}, time.Time{})
	if len(all) > fineSteps+coarseSteps || len(h.fine) > fineSteps || len(h.coarse) > coarseSteps {
		t.Errorf("%d points", len(all))
	}
	for i := 1; i < len(all); i++ {
		if step := all[i].Timestamp.Sub(all[i-1].Timestamp); step <= 0 || step > coarseStep {
			t.Fatalf("a step of %s at %d", step, i)
		}
	}
	if span := all[len(all)-1].Timestamp.Sub(all[0].Timestamp); span < 20*time.Hour {
		t.Errorf("it reaches back %s only", span)
	}
}

func TestSnapshotsAndTemplates(t *testing.T) {
	r, iso := stillRig(t)
	id := r.create(`{"templateID":"base","timeout":3600}`).SandboxID
	home := filepath.Join(r.dir, "sandboxes", id, "home")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	write("a.txt", "one")
	if err := os.Symlink("/etc/passwd", filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	first := decode[snapshotJSON](t, r.want(201, "POST", "/sandboxes/"+id+"/snapshots", `{"name":"Proj"}`).body)
	if d := cmp.Diff(snapshotJSON{SnapshotID: "proj:default", Names: []string{"proj:default"}}, first); d != "" {
		t.Fatal(d)
	}
	if iso.made[0].isStill() {
		t.Error("the source does not go on")
	}
	write("a.txt", "two")
	r.want(201, "POST", "/sandboxes/"+id+"/snapshots", `{"name":"local/proj:v2"}`)
	anon := decode[snapshotJSON](t, r.want(201, "POST", "/sandboxes/"+id+"/snapshots", `{}`).body)
	r.want(409, "POST", "/sandboxes/"+id+"/snapshots", `{"name":"base"}`)
	r.want(400, "POST", "/sandboxes/"+id+"/snapshots", `{"name":"a b"}`)

	for ref, want := range map[string]string{"proj": "one", "proj:default": "one", "proj:v2": "two", anon.SnapshotID: "two"} {
		sb := r.create(`{"templateID":"` + ref + `"}`)
		dir := filepath.Join(r.dir, "sandboxes", sb.SandboxID, "home")
		got, err := os.ReadFile(filepath.Join(dir, "a.txt"))
		link, lerr := os.Readlink(filepath.Join(dir, "link"))
		info, serr := os.Stat(filepath.Join(dir, "a.txt"))
		if err != nil || string(got) != want || lerr != nil || link != "/etc/passwd" || serr != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %q, %v, link %q, %v", ref, got, err, link, lerr)
		}
	}
	r.want(404, "POST", "/sandboxes", `{"templateID":"proj:v3"}`)
	if got := r.ids("/v2/sandboxes?template=proj"); len(got) != 3 {
		t.Errorf("sandboxes of proj: %v", got)
	}

	list := decode[[]snapshotJSON](t, r.want(200, "GET", "/snapshots?sandboxID="+id, "").body)
	if len(list) != 3 {
		t.Errorf("snapshots: %+v", list)
	}
	page := r.want(200, "GET", "/snapshots?limit=2", "")
	next := r.want(200, "GET", "/snapshots?limit=2&nextToken="+page.header.Get("X-Next-Token"), "")
	if a, b := decode[[]snapshotJSON](t, page.body), decode[[]snapshotJSON](t, next.body); len(a) != 2 || len(b) != 1 || next.header.Get("X-Next-Token") != "" {
		t.Errorf("pages: %+v, %+v", a, b)
	}
	if rep := r.want(200, "GET", "/snapshots?sandboxID=iother", ""); strings.TrimSpace(rep.body) != "[]" {
		t.Errorf("of another: %s", rep.body)
	}

	r.want(201, "POST", "/templates/tags", `{"target":"proj:v2","tags":["stable"]}`)
	r.want(404, "POST", "/templates/tags", `{"target":"proj:none","tags":["x"]}`)
	tags := decode[[]tagJSON](t, r.want(200, "GET", "/templates/proj/tags", "").body)
	if len(tags) != 3 || tags[1].Tag != "stable" || tags[1].BuildID != tags[2].BuildID {
		t.Errorf("tags: %+v", tags)
	}
	r.want(200, "GET", "/templates/aliases/proj", "")
	r.want(200, "GET", "/templates/local%2Fproj", "")
	r.want(400, "DELETE", "/templates/tags", `{"name":"proj","tags":["default"]}`)
	r.want(204, "DELETE", "/templates/tags", `{"name":"proj","tags":["v2"]}`)
	r.want(201, "POST", "/sandboxes", `{"templateID":"proj:stable"}`)
	r.want(204, "DELETE", "/templates/local%2Fproj%3Astable", "")
	r.want(404, "POST", "/sandboxes", `{"templateID":"proj:stable"}`)

	// What was saved outlives the server.
	again := openStore(r.srv.opt.Store)
	if len(again.broken) > 0 {
		t.Error(again.broken)
	}
	if d := cmp.Diff(r.srv.store.list(), again.list(), cmp.AllowUnexported(buildRec{})); d != "" {
		t.Error(d)
	}
	r.want(204, "DELETE", "/templates/proj", "")
	r.want(204, "DELETE", "/templates/"+strings.ReplaceAll(anon.SnapshotID, ":", "%3A"), "")
	left, err := os.ReadDir(r.srv.opt.Store)
	if err != nil || len(left) != 0 {
		t.Errorf("left in the store: %v, %v", left, err)
	}
}

func TestStoreLeavesAloneWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"aaaa/template.json": "{broken", "bbbb/template.json": `{"id":"other"}`, ".new-1/home/x": "cut short",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st := openStore(dir)
	if len(st.broken) != 2 || len(st.list()) != 0 {
		t.Errorf("%v, %v", st.broken, st.list())
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestMostSandboxes(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	r.srv.opt.MaxSandboxes = 2
	for range 2 {
		r.create(`{"templateID":"base"}`)
	}
	r.want(http.StatusTooManyRequests, "POST", "/sandboxes", `{"templateID":"base"}`)
}
