package files

import (
	"strings"
	"testing"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui/textbox"
	"abxdash/views/present/viewtest"
)

// pairOf has two sandboxes, web and api, with files that differ.
func pairOf(t *testing.T) (*fake.Provider, []client.Sandbox) {
	t.Helper()
	p := fake.New(fake.Options{Name: "fake"})
	t.Cleanup(p.Close)
	boxes := []client.Sandbox{{ID: "iweb", Name: "web", State: client.StateRunning, Provider: "fake"}, {ID: "iapi", Name: "api", State: client.StateRunning, Provider: "fake"}}
	p.Add(boxes...)
	put := func(id client.ID, name, text string) {
		if _, err := p.Files().Put(t.Context(), id, name, strings.NewReader(text), int64(len(text))); err != nil {
			t.Fatal(err)
		}
	}
	put("iweb", "/home/user/src/app.py", "import os\nprint(1)\n")
	put("iapi", "/home/user/src/app.py", "import os\nprint(2)\n")
	put("iweb", "/home/user/src/same.txt", "same")
	put("iapi", "/home/user/src/same.txt", "same")
	put("iweb", "/home/user/src/deep/only\x1bhere", "x")
	put("iapi", "/home/user/src/longer.txt", "one")
	put("iweb", "/home/user/src/longer.txt", "one two")
	put("iapi", "/home/user/src/new.txt", "new")
	return p, boxes
}

// tab is the Files tab of a sandbox, cursor on a name.
func tab(t *testing.T, p client.Provider, prefs *Prefs, sb client.Sandbox, dir, name string) *viewtest.Driver {
	t.Helper()
	s := New(Options{Provider: p, Transfers: NewTransfers(), Prefs: prefs}, sb)
	d := viewtest.New(t, s)
	d.Run(s.load(dir, name))
	if s.list.CursorID() != name {
		t.Fatalf("the cursor is on %q", s.list.CursorID())
	}
	return d
}

func TestAFileIsComparedWithThatOfAnotherSandbox(t *testing.T) {
	p, boxes := pairOf(t)
	prefs := &Prefs{}
	web := tab(t, p, prefs, boxes[0], "/home/user/src", "app.py")
	web.Press("=")
	if got := web.LastToast(); !strings.Contains(got, "web:app.py is one side") {
		t.Errorf("toast %q", got)
	}
	api := tab(t, p, prefs, boxes[1], "/home/user/src", "app.py")
	if frame := api.Frame(120, 30); !strings.Contains(frame, "= web:app.py") {
		t.Errorf("the first side is not shown:\n%s", frame)
	}
	api.Press("=")
	box, ok := api.Overlay().(*textbox.Box)
	if !ok {
		t.Fatalf("no result: %v", api.Toasts)
	}
	frame := api.Frame(120, 30)
	for _, part := range []string{"web:app.py and api:app.py", "-print(1)", "+print(2)"} {
		if !strings.Contains(frame, part) {
			t.Errorf("%s: no %q in\n%s", box.Title(), part, frame)
		}
	}
	if prefs.side != nil {
		t.Error("the first side is still waiting")
	}
}

func TestFoldersAreCompared(t *testing.T) {
	p, boxes := pairOf(t)
	prefs := &Prefs{}
	tab(t, p, prefs, boxes[0], "/home/user", "src").Press("=")
	api := tab(t, p, prefs, boxes[1], "/home/user", "src")
	api.Press("=")
	frame := api.Frame(120, 30)
	for _, part := range []string{
		"2 differ, 2 only in web:src (-), 1 only in api:src (+), 1 the same",
		"~ app.py  19B, not the same", "~ longer.txt  7B, there 3B", "- deep/", "only", "+ new.txt  3B",
	} {
		if !strings.Contains(frame, part) {
			t.Errorf("no %q in\n%s", part, frame)
		}
	}
	if strings.Contains(frame, "\x1b") {
		t.Error("a name's escape reached the screen")
	}
}

func TestOneSideIsForgottenAndKindsMustAgree(t *testing.T) {
	p, boxes := pairOf(t)
	prefs := &Prefs{}
	web := tab(t, p, prefs, boxes[0], "/home/user/src", "app.py")
	web.Press("=", "=")
	if prefs.side != nil || !strings.Contains(web.LastToast(), "forgot web:app.py") {
		t.Errorf("side %v, toast %q", prefs.side, web.LastToast())
	}
	web.Press("=")
	api := tab(t, p, prefs, boxes[1], "/home/user", "src")
	api.Press("=")
	if got := api.LastToast(); !strings.Contains(got, "one is a folder, the other a file") || prefs.side == nil {
		t.Errorf("toast %q", got)
	}
	same := tab(t, p, prefs, boxes[1], "/home/user/src", "same.txt")
	same.Press("=")
	if len(same.Overlays) != 1 {
		t.Fatalf("different files: %v", same.Toasts)
	}
	tab(t, p, prefs, boxes[0], "/home/user/src", "same.txt").Press("=")
	again := tab(t, p, prefs, boxes[1], "/home/user/src", "same.txt")
	again.Press("=")
	if got := again.LastToast(); got != "web:same.txt and api:same.txt are the same" {
		t.Errorf("toast %q", got)
	}
}

func TestAnUnreadableFolderIsAnError(t *testing.T) {
	p, boxes := pairOf(t)
	prefs := &Prefs{}
	tab(t, p, prefs, boxes[0], "/home/user", "src").Press("=")
	api := tab(t, p, prefs, boxes[1], "/home/user", "src")
	if err := p.Files().Remove(t.Context(), boxes[0].ID, "/home/user/src"); err != nil {
		t.Fatal(err)
	}
	api.Press("=")
	if len(api.Overlays) != 0 || !strings.Contains(api.LastToast(), "web:src: ") {
		t.Errorf("toast %q", api.LastToast())
	}
}
