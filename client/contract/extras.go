package contract

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"abxdash/client"
)

// extras tests the optional interfaces that a provider has. That it lacks one is
// no fault: screens look for them.
func (s *suite) extras(t *testing.T) {
	sb := s.create(t, nil)
	home := strings.TrimSpace(string(s.sh(t, sb.ID, `echo "$HOME"`).Stdout))
	dir := home + "/contract-" + token(t)
	t.Run("ranges", func(t *testing.T) { s.ranges(t, sb.ID, dir+"-r") })
	t.Run("watch", func(t *testing.T) { s.watch(t, sb.ID, dir+"-w") })
	t.Run("file links", func(t *testing.T) { s.links(t, sb.ID, dir+"-l") })
}

func (s *suite) ranges(t *testing.T, id client.ID, dir string) {
	o, ok := s.Provider.Files().(client.RangeOpener)
	if !ok {
		t.Skip("no RangeOpener")
	}
	s.put(t, id, dir+"/f", "0123456789")
	for offset, want := range map[int64]string{0: "0123456789", 4: "456789", 9: "9", 10: "", 99: ""} {
		r, err := o.OpenAt(ctx(t), id, dir+"/f", offset)
		if err != nil {
			t.Errorf("from %d: %v", offset, err)
			continue
		}
		got, err := io.ReadAll(r)
		if cerr := r.Close(); string(got) != want || err != nil || cerr != nil {
			t.Errorf("from %d: %q, %v, %v", offset, got, err, cerr)
		}
	}
	_, err := o.OpenAt(ctx(t), id, dir+"/f", -1)
	wantErr(t, "a negative offset", err, nil)
	_, err = o.OpenAt(ctx(t), id, dir+"/none", 3)
	wantErr(t, "open of nothing", err, client.ErrNotFound)
}

func (s *suite) watch(t *testing.T, id client.ID, dir string) {
	w, ok := client.Find[client.Watcher](s.Provider)
	if !ok || !s.Provider.Capabilities().Has(client.CapWatch) {
		t.Skip("no Watcher")
	}
	if err := s.Provider.Files().Mkdir(ctx(t), id, dir); err != nil {
		t.Fatal(err)
	}
	seen, err := w.Watch(ctx(t), id, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(limit, func() { _ = seen.Close() })
	defer stop.Stop()
	s.put(t, id, dir+"/x", "1")
	for {
		ev, err := seen.Next()
		if err != nil {
			t.Fatalf("waiting for the new file: %v", err)
		}
		if ev.Name == "x" && ev.Change == client.FileCreated {
			break
		}
	}
	if err := seen.Close(); err != nil {
		t.Error(err)
	}
	for err == nil { // what was on its way may still come
		_, err = seen.Next()
	}
	wantErr(t, "a closed watch", err, nil)
	_, err = w.Watch(ctx(t), id, dir+"/none", false)
	wantErr(t, "watch of nothing", err, client.ErrNotFound)
}

func (s *suite) links(t *testing.T, id client.ID, dir string) {
	l, ok := client.Find[client.FileLinks](s.Provider)
	web, reachable := client.Find[client.WebClient](s.Provider)
	if !ok || !reachable || !s.Provider.Capabilities().Has(client.CapTransfer) {
		t.Skip("no FileLinks")
	}
	do := func(a client.Address, body io.Reader) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx(t), a.Method, a.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = a.Header
		resp, err := web.HTTPClient().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	up, err := l.UploadAddress(ctx(t), id, dir+"/f x")
	if err != nil {
		t.Fatal(err)
	}
	if status, text := do(up, strings.NewReader("linked")); status != http.StatusOK {
		t.Errorf("upload: %d %s", status, text)
	}
	down, err := l.DownloadAddress(ctx(t), id, dir+"/f x")
	if err != nil {
		t.Fatal(err)
	}
	if status, text := do(down, nil); status != http.StatusOK || text != "linked" {
		t.Errorf("download: %d %q", status, text)
	}
}
