//go:build unix

package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/express/expresstest"
	"abxdash/client/sdk"
)

func TestFileCalls(t *testing.T) {
	sb, _ := sandbox(t, expresstest.Switches{})
	f := sb.Files()
	if e, err := f.Write(ctx(t), "d/a.txt", []byte("héllo")); err != nil || e.Name != "a.txt" {
		t.Fatalf("%+v %v", e, err)
	}
	if got, err := f.Read(ctx(t), "d/a.txt"); err != nil || got != "héllo" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := f.WriteFrom(ctx(t), "d/b", bytes.NewReader([]byte{0xff, 0, 1}), -1); err != nil {
		t.Fatal(err)
	}
	if got, err := f.ReadBytes(ctx(t), "d/b"); err != nil || !bytes.Equal(got, []byte{0xff, 0, 1}) {
		t.Errorf("%q %v", got, err)
	}
	_, err := f.Read(ctx(t), "d/b")
	wantCode(t, "text of bytes", err, client.CodeFiles, nil)
	list, err := f.List(ctx(t), "d")
	if err != nil || len(list) != 2 {
		t.Errorf("%+v %v", list, err)
	}
	for path, want := range map[string]bool{"d/a.txt": true, "d": true, "none": false} {
		if got, err := f.Exists(ctx(t), path); err != nil || got != want {
			t.Errorf("%s exists: %v %v", path, got, err)
		}
	}
	for _, want := range []bool{true, false} {
		if got, err := f.MakeDir(ctx(t), "new/er"); err != nil || got != want {
			t.Errorf("make dir: %v %v", got, err)
		}
	}
	if err := f.Rename(ctx(t), "d/a.txt", "new/c"); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := f.Remove(ctx(t), "new"); err != nil {
			t.Error(err)
		}
	}
	if err := sb.Kill(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if ok, err := f.Exists(ctx(t), "d"); err == nil || ok {
		t.Errorf("a file of a dead sandbox exists: %v %v", ok, err)
	}
}

func TestWatch(t *testing.T) {
	sb, _ := sandbox(t, expresstest.Switches{})
	f := sb.Files()
	if _, err := f.MakeDir(ctx(t), "w"); err != nil {
		t.Fatal(err)
	}
	w, err := f.Watch(ctx(t), "w", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(ctx(t), "w/x", []byte("1")); err != nil {
		t.Fatal(err)
	}
	ev, err := w.Next()
	if err != nil || ev.Name != "x" || ev.Change != client.FileCreated {
		t.Errorf("%+v %v", ev, err)
	}
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := w.Next(); err != nil {
				ended <- err
				return
			}
		}
	}()
	_ = w.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v", err)
		}
	case <-time.After(patience):
		t.Fatal("close did not end the watch")
	}
	_, err = f.Watch(ctx(t), "none", false)
	wantCode(t, "watch of nothing", err, client.CodeFileNotFound, client.ErrNotFound)
	c, cancel := context.WithCancel(ctx(t))
	w, err = f.Watch(c, "w", false)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := w.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// files.transfer: the envd URL with the header it needs, never a signature.
func TestFileURLs(t *testing.T) {
	sb, s := sandbox(t, expresstest.Switches{})
	if _, err := sb.Files().Write(ctx(t), "a b&c", []byte("x")); err != nil {
		t.Fatal(err)
	}
	down, err := sb.Files().DownloadURL(ctx(t), "a b&c")
	if err != nil {
		t.Fatal(err)
	}
	up, err := sb.Files().UploadURL(ctx(t), "new")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []client.Address{down, up} {
		if !strings.HasPrefix(a.URL, "http://49983-"+string(sb.ID())) || strings.Contains(a.URL, "signature") || a.Header.Get("X-Access-Token") != s.Token(string(sb.ID())) {
			t.Errorf("%s", a.URL)
		}
	}
	hc := sb.Provider().(client.WebClient).HTTPClient()
	do := func(a client.Address, body io.Reader) (int, string) {
		t.Helper()
		req, err := newRequest(ctx(t), a, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := hc.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if status, text := do(down, nil); status != 200 || text != "x" {
		t.Errorf("%d %q", status, text)
	}
	if status, text := do(up, strings.NewReader("sent")); status != 200 {
		t.Errorf("%d %q", status, text)
	}
	if got, err := sb.Files().Read(ctx(t), "new"); err != nil || got != "sent" {
		t.Errorf("%q %v", got, err)
	}
	down.Header.Del("X-Access-Token")
	if status, _ := do(down, nil); status != 401 {
		t.Errorf("the URL alone gives %d", status)
	}
	for _, call := range []func(context.Context, string) (client.Address, error){sb.UploadURL, sb.DownloadURL} {
		_, err := call(ctx(t), "x")
		wantCode(t, "of the sandbox itself", err, client.CodeUnsupported, client.ErrUnsupported)
	}
	none, err := sdk.Open(ctx(t), &patched{Provider: sb.Provider(), lacks: []client.Capability{client.CapTransfer}}, sb.ID())
	if err != nil {
		t.Fatal(err)
	}
	_, err = none.Files().UploadURL(ctx(t), "x")
	wantCode(t, "without files.transfer", err, client.CodeUnsupported, client.ErrUnsupported)
	_, err = none.Files().DownloadURL(ctx(t), "x")
	wantCode(t, "without files.transfer", err, client.CodeUnsupported, client.ErrUnsupported)
	if text := fmt.Sprintf("%v %#v", up, up); strings.Contains(text, s.Token(string(sb.ID()))) {
		t.Error("an address prints its token")
	}
}
