package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// archiveOf is a gzip tar with these entries; a name that ends in a slash is a folder.
func archiveOf(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, n := range names {
		h := &tar.Header{Name: n, Mode: 0o644, Size: int64(len(n)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(n, "/") {
			h = &tar.Header{Name: n, Mode: 0o755, Typeflag: tar.TypeDir}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestArchiveSources(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.tar.gz")
	if err := os.WriteFile(file, archiveOf(t, "f.txt", "g.txt", "sub/", "sub/a.py", "sub/deep/b.py", "implied/x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{
		"f.txt": "[f.txt] false", "./f.txt": "[f.txt] false", "sub": "[sub] true", "sub/": "[sub] true", "implied": "[implied] true", ".": "[.] true",
		"*.txt": "[f.txt g.txt] false", "f.*": "[f.txt] false", "su?": "[sub] true", "**/*.py": "[sub/a.py sub/deep/b.py] false", "[fg].txt": "[f.txt g.txt] false",
	} {
		got, dir, err := archiveSources(file, src)
		if s := fmt.Sprint(got, " ", dir); err != nil || s != want {
			t.Errorf("%q: %s %v, want %s", src, s, err, want)
		}
	}
	for _, src := range []string{"none", "*.go", "[", "f.txt/x"} {
		if got, _, err := archiveSources(file, src); err == nil {
			t.Errorf("%q: %v", src, got)
		}
	}
	for _, bad := range []string{"../out", "/etc/passwd", "a/../../b"} {
		if err := os.WriteFile(file, archiveOf(t, bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := archiveSources(file, "."); err == nil || !strings.Contains(err.Error(), "leads out") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := os.WriteFile(file, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := archiveSources(file, "."); err == nil {
		t.Error("read what is no archive")
	}
}

// placesLike decides as the namespace level does, as far as these tests go.
func placesLike(p string) (string, error) {
	switch {
	case strings.HasPrefix(p, homeInside), strings.HasPrefix(p, "/tmp"):
		return "", nil
	case strings.HasPrefix(p, "/usr"), p == "/":
		return "", errors.New("not for sandboxes")
	}
	return "/" + strings.Split(p, "/")[1], nil
}

func TestPlan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.tar.gz")
	if err := os.WriteFile(file, archiveOf(t, "f.txt", "sub/x"), 0o600); err != nil {
		t.Fatal(err)
	}
	hash := strings.Repeat("ab", 32)
	plan := func(base setup, steps ...buildStep) (recipe, error) {
		p := planner{placeOf: placesLike, archive: func(string) string { return file }}
		return p.plan(base, buildStart{Steps: steps, StartCmd: "serve"})
	}
	cp := func(args ...string) buildStep { return buildStep{Type: "copy", Args: args, FilesHash: hash} }
	got, err := plan(
		setup{Env: map[string]string{"OLD": "o"}, ReadyCmd: "before", Places: []string{"/data"}},
		buildStep{Type: "ENV", Args: []string{"A", "1", "B", "$A-${OLD}-$HOME-$NONE"}},
		cp("f.txt", "rel/"),
		buildStep{Type: "WORKDIR", Args: []string{"/app"}},
		buildStep{Type: "workdir", Args: []string{"src"}},
		cp("f.txt", "g.txt", "", "600"),
		cp("sub", "/srv2"),
		buildStep{Type: "USER", Args: []string{"user"}},
		buildStep{Type: "RUN", Args: []string{"make", "root"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := setup{
		Env: map[string]string{"OLD": "o", "A": "1", "B": "1-o-/home/user-"}, Workdir: "/app/src",
		Places: []string{"/data", "/app", "/srv2"}, StartCmd: "serve",
	}
	if d := cmp.Diff(want, got.setup); d != "" {
		t.Error(d)
	}
	var dests []string
	for _, a := range got.actions {
		dests = append(dests, fmt.Sprint(a.dest, " ", a.folder, " ", a.mode))
	}
	if d := cmp.Diff([]string{" false ", "/home/user/rel true ", "/app false ", "/app/src false ", "/app/src/g.txt false 600", "/srv2 false ", " false ", " false "}, dests); d != "" {
		t.Error(d)
	}
	if last := got.actions[len(got.actions)-1]; last.dir != "/app/src" || last.env["A"] != "1" || last.warn != noRoot {
		t.Errorf("%+v", last)
	}

	for name, c := range map[string]struct {
		step buildStep
		says string
	}{
		"unknown":      {buildStep{Type: "SHELL"}, "SHELL"},
		"empty run":    {buildStep{Type: "RUN", Args: []string{" "}}, "without a command"},
		"odd env":      {buildStep{Type: "ENV", Args: []string{"A"}}, "pairs"},
		"bad env":      {buildStep{Type: "ENV", Args: []string{"A=B", "x"}}, "A=B"},
		"other user":   {buildStep{Type: "USER", Args: []string{"postgres"}}, "postgres"},
		"no workdir":   {buildStep{Type: "WORKDIR"}, "without a folder"},
		"no hash":      {buildStep{Type: "COPY", Args: []string{"f.txt", "x"}}, "hash"},
		"system":       {cp("f.txt", "/usr/local/bin/x"), "not for sandboxes"},
		"file on top":  {cp("f.txt", "/f.txt"), "slash"},
		"no such file": {cp("h.txt", "x"), "no such file"},
		"mode":         {cp("f.txt", "x", "", "u+x"), "octal"},
	} {
		_, err := plan(setup{}, buildStep{Type: "ENV", Args: []string{"X", "1"}}, c.step)
		var at *stepError
		if !errors.As(err, &at) || at.step != "2" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Where a folder is known to be, a file goes into it.
	if _, err := plan(setup{Places: []string{"/data"}}, cp("f.txt", "/data")); err != nil {
		t.Error(err)
	}
}

func TestListeningNeedsNoSS(t *testing.T) {
	if got := listening(`[ -n "$(ss -Htuln sport = :8000)" ]`); strings.Contains(got, "ss -") || !strings.Contains(got, ":1F40 ") {
		t.Error(got)
	}
	for _, other := range []string{"true", `[ -n "$(ss -Htuln sport = :99999)" ]`, "curl -s localhost:1"} {
		if got := listening(other); got != other {
			t.Errorf("%q became %q", other, got)
		}
	}
}

// An archive comes by a link that works without a key, once the name of a template
// has been registered, and is found again by its hash.
func TestUploads(t *testing.T) {
	r := newRigWith(t, &fakeIsolator{}, t.TempDir())
	srv := newFront(t, r)
	r.create(`{"templateID":"base","timeout":7200}`) // keeps the server
	rep := ask(t, srv, "POST", "/v3/templates", `{"name":"up:v1","tags":["a"],"cpuCount":2,"memoryMB":1024}`, "", "X-Api-Key", frontKey)
	h := decode[buildHandleJSON](t, rep.body)
	if rep.status != 202 || !regexp.MustCompile(`^[a-z0-9]{20}$`).MatchString(h.TemplateID) || !cmp.Equal(h.Tags, []string{"v1", "a"}) || !cmp.Equal(h.Names, []string{"up"}) {
		t.Fatalf("%+v", rep)
	}
	hash := strings.Repeat("0f", 32)
	find := func() (present bool, url string) {
		rep := ask(t, srv, "GET", "/templates/"+h.TemplateID+"/files/"+hash, "", "", "X-Api-Key", frontKey)
		if rep.status != 201 {
			t.Fatalf("%+v", rep)
		}
		v := decode[struct {
			Present bool
			URL     string
		}](t, rep.body)
		return v.Present, v.URL
	}
	present, url := find()
	path, ok := strings.CutPrefix(url, srv.URL)
	if present || !ok {
		t.Fatalf("%v %s", present, url)
	}
	if rep := ask(t, srv, "PUT", path+"x", "data", ""); rep.status != 403 {
		t.Errorf("a guess: %+v", rep)
	}
	if rep := ask(t, srv, "PUT", path, "data", ""); rep.status != 204 {
		t.Errorf("%+v", rep)
	}
	if present, _ := find(); !present {
		t.Error("it is not found again")
	}
	// A caller over TLS gets a link over TLS.
	front := NewFront(FrontOptions{Key: frontKey, Dial: func(ctx context.Context) (net.Conn, error) { return DialUnix(ctx, r.sock) }})
	secure := httptest.NewTLSServer(front)
	defer front.Close()
	defer secure.Close()
	rep = ask(t, secure, "GET", "/templates/up/files/"+hash, "", "", "X-Api-Key", frontKey)
	if rep.status != 201 || !strings.Contains(rep.body, `"url":"`+secure.URL+uploadPath) {
		t.Errorf("%+v", rep)
	}
	r.clock.Advance(uploadFor + time.Second)
	if rep := ask(t, srv, "PUT", path, "late", ""); rep.status != 403 {
		t.Errorf("late: %+v", rep)
	}
	file := r.srv.store.archive(h.TemplateID, hash)
	if got, err := os.ReadFile(file); err != nil || string(got) != "data" {
		t.Errorf("%q %v", got, err)
	}
	// Another server finds no fault with it, and removes it when it is old.
	if again := openStore(r.srv.opt.Store); len(again.broken) > 0 {
		t.Error(again.broken)
	}
	if err := r.srv.store.tidyUploads(time.Now().Add(uploadKept + time.Hour)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// What cannot be built fails with the step that it is about, once, and in words.
func TestBuildFails(t *testing.T) {
	iso := &fakeIsolator{startErr: errBoom}
	r := newRigWith(t, iso, t.TempDir())
	for name, c := range map[string]struct{ recipe, step, says string }{
		"image":    {`{"fromImage":"debian:12"}`, "base", "debian:12"},
		"template": {`{"fromTemplate":"none"}`, "base", "none"},
		"step":     {`{"steps":[{"type":"ENV","args":["A","1"]},{"type":"USER","args":["x"]}]}`, "2", `"x"`},
		"sandbox":  {`{}`, "base", "boom"},
	} {
		h := decode[buildHandleJSON](t, r.want(202, "POST", "/v3/templates", `{"name":"bad"}`).body)
		path := "/templates/" + h.TemplateID + "/builds/" + h.BuildID
		if info := decode[buildInfoJSON](t, r.want(200, "GET", path+"/status", "").body); info.Status != buildWaiting || info.Logs == nil || info.LogEntries == nil {
			t.Errorf("%+v", info)
		}
		rep := r.want(http.StatusAccepted, "POST", "/v2"+path, c.recipe)
		if rep.body != "" || rep.header.Get("Content-Length") != "0" {
			t.Errorf("%+v", rep)
		}
		r.want(400, "POST", "/v2"+path, c.recipe)
		var info buildInfoJSON
		eventually(t, "the build ends", func() bool {
			info = decode[buildInfoJSON](t, r.want(200, "GET", path+"/status?logsOffset=0", "").body)
			return info.Status == buildFailed
		})
		if info.Reason == nil || info.Reason.Step != c.step || !strings.Contains(info.Reason.Message, c.says) || len(info.Reason.LogEntries) == 0 {
			t.Errorf("%s: %+v", name, info)
		}
		n := len(info.LogEntries)
		info = decode[buildInfoJSON](t, r.want(200, "GET", fmt.Sprintf("%s/status?logsOffset=%d", path, n), "").body)
		if len(info.LogEntries) != 0 {
			t.Errorf("%s: more after the end: %+v", name, info.LogEntries)
		}
		logs := r.want(200, "GET", path+"/logs?direction=backward&limit=1&level=error", "")
		if !strings.Contains(logs.body, "Build failed") {
			t.Errorf("%s: %+v", name, logs)
		}
	}
	r.want(404, "GET", "/templates/aliases/bad", "")
	// One that was never started makes way for the next of its name.
	first := decode[buildHandleJSON](t, r.want(202, "POST", "/v3/templates", `{"name":"twice"}`).body)
	second := decode[buildHandleJSON](t, r.want(202, "POST", "/v3/templates", `{"name":"twice"}`).body)
	info := decode[buildInfoJSON](t, r.want(200, "GET", "/templates/"+first.TemplateID+"/builds/"+first.BuildID+"/status", "").body)
	if first.TemplateID != second.TemplateID || info.Status != buildFailed || !strings.Contains(info.Reason.Message, "superseded") {
		t.Errorf("%+v %+v %+v", first, second, info)
	}
}

// What nobody has started is cancelled at once, and a second time too; what is
// unknown is not found.
func TestCancelBuild(t *testing.T) {
	r := newRigWith(t, &fakeIsolator{startErr: errBoom}, t.TempDir())
	h := decode[buildHandleJSON](t, r.want(202, "POST", "/v3/templates", `{"name":"bad"}`).body)
	path := "/templates/" + h.TemplateID + "/builds/" + h.BuildID
	body := fmt.Sprintf(`{"template_id":%q,"build_id":%q}`, h.TemplateID, h.BuildID)
	for range 2 {
		r.want(http.StatusNoContent, "POST", PathCancelBuild, body)
		info := decode[buildInfoJSON](t, r.want(200, "GET", path+"/status", "").body)
		if info.Status != buildFailed || info.Reason.Message != "cancelled" {
			t.Errorf("%+v", info)
		}
	}
	r.want(400, "POST", "/v2"+path, `{}`)
	for _, body := range []string{`{}`, fmt.Sprintf(`{"template_id":%q}`, h.TemplateID), `{"template_id":"x","build_id":"y"}`} {
		r.want(404, "POST", PathCancelBuild, body)
	}
}

// Without a server the folder tells what was built.
func TestSavedTemplates(t *testing.T) {
	st := openStore(t.TempDir())
	fill := func(string) error { return nil }
	first, err := st.add(templateRef{name: "built", tag: "v1", more: []string{"prod"}}, buildRec{ID: newBuildID(), setup: setup{StartCmd: "serve"}}, fill)
	if err != nil {
		t.Fatal(err)
	}
	second, err := st.add(templateRef{name: "built", tag: "v1", more: []string{"prod"}}, buildRec{ID: newBuildID()}, fill)
	if err != nil || second.ID != first.ID || len(second.Builds) != 1 {
		t.Errorf("%+v %v: the build that lost its tags should be gone", second, err)
	}
	if _, err := os.Stat(filepath.Join(st.dir, first.ID, first.Builds[0].ID)); !os.IsNotExist(err) {
		t.Error(err)
	}
	var names [][]string
	for _, s := range SavedTemplates(st.dir) {
		names = append(names, s.Names)
	}
	if d := cmp.Diff([][]string{{baseTemplate, codeTemplate}, {"built"}}, names); d != "" {
		t.Error(d)
	}
	for ref, want := range map[string]string{
		"base": baseTemplate, "code-interpreter-v1": baseTemplate, "built": first.ID, "built:v1": first.ID,
		"local/built:prod": first.ID, first.ID: first.ID, "built2": "", "other/built": "", "../built": "",
	} {
		got, ok := SavedTemplate(st.dir, ref)
		if got.ID != want || ok != (want != "") {
			t.Errorf("%s is %+v, %v", ref, got, ok)
		}
		if want == first.ID && (len(got.Builds) != 1 || got.Builds[0].ID != second.Builds[0].ID || got.Created.IsZero() != first.Created.IsZero()) {
			t.Errorf("%s: %+v", ref, got)
		}
	}
}

// A build is saved though the one it replaces cannot be removed; the next server
// removes that one.
func TestBuildIsSavedWithoutRoom(t *testing.T) {
	st := openStore(t.TempDir())
	fill := func(string) error { return nil }
	first, err := st.add(templateRef{name: "built", tag: "v1"}, buildRec{ID: newBuildID()}, fill)
	if err != nil {
		t.Fatal(err)
	}
	stuck := errors.New("stuck")
	var left []error
	st.remove, st.left = func(string) error { return stuck }, func(err error) { left = append(left, err) }
	second, err := st.add(templateRef{name: "built", tag: "v1"}, buildRec{ID: newBuildID()}, fill)
	if err != nil || len(left) != 1 || !errors.Is(left[0], stuck) {
		t.Fatalf("%v, told %v", err, left)
	}
	old, now := st.home(first.ID, first.Builds[0].ID), st.home(first.ID, second.Builds[0].ID)
	for _, home := range []string{old, now} {
		if _, err := os.Stat(home); err != nil {
			t.Error(err)
		}
	}
	again := openStore(st.dir)
	if d := cmp.Diff(st.list(), again.list(), cmp.AllowUnexported(buildRec{})); d != "" || len(again.broken) > 0 {
		t.Errorf("%v\n%s", again.broken, d)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the old build is still there: %v", err)
	}
	if _, err := os.Stat(now); err != nil {
		t.Error(err)
	}
}
