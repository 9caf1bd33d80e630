package kill

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/views/present"
)

func TestPauseInsteadKillsNothing(t *testing.T) {
	stopped := box("c", "old")
	stopped.State = client.StatePaused
	s := newScene(t, Options{}, box("a", "web"), box("b", "db"), stopped)
	s.ask("a", "b", "c")
	if frame := s.Frame(110, 20); !strings.Contains(frame, "p pause instead") {
		t.Fatalf("the sheet does not offer it:\n%s", frame)
	}
	s.Press("G") // the paused one stands first
	kept := s.Overlay().(*sheet).lines[2].Sandbox.ID
	s.Press("space", "p")
	s.Tick(10)
	if len(s.killed()) != 0 || s.Overlay() != nil {
		t.Fatalf("killed %v", s.killed())
	}
	if got := s.p.CallsOf(fake.OpPause); len(got) != 1 || got[0].ID == kept || s.LastToast() != "1 paused, nothing was killed" {
		t.Errorf("pauses %v, kept %s, toast %q", got, kept, s.LastToast())
	}
}

func TestPauseInsteadSaysWhatFailed(t *testing.T) {
	s := newScene(t, Options{}, box("a", "web"), box("b", "db"))
	s.p.Script(fake.OpPause, "b", fake.Step{Err: fake.ServerError("no room to save it")})
	s.ask("a", "b")
	s.Press("p")
	if got := s.LastToast(); !strings.Contains(got, "1 paused, nothing was killed; 1 failed: db: ") || !strings.Contains(got, "no room") {
		t.Errorf("toast %q", got)
	}
}

func TestWithoutPauseTheSheetSaysWhy(t *testing.T) {
	s := newScene(t, Options{}, box("a", "web"))
	s.p.Change("a", func(sb *client.Sandbox) { sb.State = client.StatePaused })
	s.ask("a")
	s.Press("p")
	if s.Overlay() == nil || !strings.Contains(s.LastToast(), "can pause") {
		t.Errorf("toast %q", s.LastToast())
	}
}

func TestTheUsersOwnProtectionNeedsTheCount(t *testing.T) {
	list, err := present.LoadProtected(present.Folder{})
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t, Options{Protected: list}, box("a", "web"), box("b", "db"))
	list.Set(present.Key{Provider: "fake", ID: "a"}, true)
	s.ask("a", "b")
	s.Press("y")
	s.Tick(6)
	if len(s.killed()) != 0 {
		t.Fatal("y alone kills a protected one")
	}
	if frame := s.Frame(110, 20); !strings.Contains(frame, "PROTECTED") {
		t.Errorf("frame:\n%s", frame)
	}
	s.Press("2", "y")
	s.Tick(6)
	if got := s.killed(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("killed %v", got)
	}
}

func TestOneKillIsBounded(t *testing.T) {
	var boxes []client.Sandbox
	var ids []string
	for i := range 6 {
		ids = append(ids, fmt.Sprintf("b%d", i))
		boxes = append(boxes, box(ids[i], ""))
	}
	s := newScene(t, Options{Limit: 5}, boxes...)
	s.ask(ids...)
	if s.Overlay() != nil || !strings.Contains(s.LastToast(), "6 sandboxes are more than the 5") {
		t.Errorf("toast %q", s.LastToast())
	}
	s.ask(ids[:5]...)
	if s.Overlay() == nil {
		t.Error("five are refused")
	}
}

func TestTheSheetSaysWhatIsSaved(t *testing.T) {
	a := box("a", "web")
	a.ExpiresAt = a.StartedAt.Add(3 * time.Hour) // two hours left
	free := box("b", "here")
	free.End, free.Isolation = client.EndNever, client.IsolationNamespace
	s := newScene(t, Options{Rates: present.Rates{Date: "2026-11-01", Providers: map[string]present.Rate{"fake": {CPUHour: 0.1}}}}, a, free)
	s.ask("a", "b")
	if frame := s.Frame(110, 20); !strings.Contains(frame, "$0.10/h, saves $0.20 (estimate, rates of 2026-11-01)") {
		t.Errorf("frame:\n%s", frame)
	}
	s.Press("space")
	if frame := s.Frame(110, 20); strings.Contains(frame, "saves") && strings.Contains(frame, "Kill 1 sandbox") && s.Overlay().(*sheet).lines[0].Sandbox.ID == "a" {
		t.Errorf("a kept one is counted:\n%s", frame)
	}
}

// What was killed is remembered with who, when and why, failures too, and no metadata.
func TestHistoryOfKills(t *testing.T) {
	dir := t.TempDir()
	secret := box("a", "web")
	secret.Metadata["token"] = "hush-hush"
	s := newScene(t, Options{State: present.NewFolder(dir)}, secret, box("b", "db"))
	s.p.Script(fake.OpKill, "b", fake.Step{Err: fake.ServerError("try later")})
	s.Send(present.ShellCountMsg{Key: present.Key{Provider: "fake", ID: "a"}, N: 2})
	s.ask("a", "b")
	s.Press("y")
	s.Tick(6)
	data, err := os.ReadFile(filepath.Join(dir, historyFile))
	if err != nil || strings.Contains(string(data), "hush") {
		t.Fatalf("%s, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(dir, historyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	s.Send(ui.ActionMsg{Action: keymap.AppKills})
	if _, ok := s.Overlay().(*dialog.MessageBox); !ok {
		t.Fatalf("overlay %T", s.Overlay())
	}
	frame := s.Frame(160, 20)
	for _, want := range []string{"anna@box", "fake/web", "2 open shells", "up 1h", "fake/db", "FAILED", "try later"} {
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(frame, "│", " ")), " "), want) {
			t.Errorf("no %q in:\n%s", want, frame)
		}
	}
	s.Press("esc")
	if s.Overlay() != nil {
		t.Error("esc does not close it")
	}
}
