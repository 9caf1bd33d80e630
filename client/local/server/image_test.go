package server

import (
	"testing"

	"abxdash/client"
)

// An image is taken where there are containers, and a template of one is good for
// those alone.
func TestImagesNeedContainers(t *testing.T) {
	store := t.TempDir()
	with := func(l client.Isolation) *Server {
		return New(Options{Isolation: l, Image: "own:1", Dir: t.TempDir(), Store: store})
	}
	for _, c := range []struct {
		level client.Isolation
		image string
		want  string
		ok    bool
	}{
		{client.IsolationContainer, "debian:12", "debian:12", true},
		{client.IsolationContainer, "e2bdev/base", "", true},
		{client.IsolationContainer, "", "", true},
		{client.IsolationNamespace, "debian:12", "", false},
		{client.IsolationProcess, "debian:12", "", false},
	} {
		src, e := with(c.level).baseOf(&buildStart{FromImage: c.image})
		if (e == nil) != c.ok || src.Image != c.want {
			t.Errorf("%s from %q: %q, %v", c.level, c.image, src.Image, e)
		}
	}
	if _, e := with(client.IsolationContainer).baseOf(&buildStart{FromImage: "debian:12", FromImageRegistry: &struct{}{}}); e == nil {
		t.Error("a registry login was taken")
	}
	ref := templateRef{name: "made", tag: defaultTag}
	made := with(client.IsolationContainer)
	if _, err := made.store.add(ref, buildRec{ID: newBuildID(), setup: setup{Image: "debian:12", Places: []string{"/app"}}}, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for level, ok := range map[client.Isolation]bool{client.IsolationContainer: true, client.IsolationNamespace: false, client.IsolationProcess: false} {
		src, e := with(level).sourceOf("made")
		if (e == nil) != ok || ok && src.Image != "debian:12" {
			t.Errorf("at %s: %+v, %v", level, src, e)
		}
	}
}
