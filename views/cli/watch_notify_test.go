package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/views/present"
)

func TestWatcherSaysEachThingOnce(t *testing.T) {
	now := time.Date(2031, 1, 1, 12, 0, 0, 0, time.UTC)
	me := present.Owner{User: "ada", Host: "desk"}
	owned := map[string]string{client.MetaOwner: "ada", client.MetaHost: "desk"}
	box := func(id string, left time.Duration) client.Sandbox {
		return client.Sandbox{Provider: "e2b", ID: client.ID(id), State: client.StateRunning, StartedAt: now.Add(-time.Hour), ExpiresAt: now.Add(left), Metadata: owned}
	}
	lost := box("lost", time.Hour)
	lost.Metadata = nil
	paused := box("a", time.Hour)
	paused.State = client.StatePaused
	list := func(boxes ...client.Sandbox) present.Listing {
		return present.Listing{Provider: "e2b", Page: client.Page{Sandboxes: boxes}}
	}
	flaky := list(box("a", time.Hour))
	flaky.Page.MayBeIncomplete = true
	failed := present.Listing{Provider: "e2b", Err: errors.New("no route")}
	w := newWatcher(present.StrayRules{}, me, nil)
	for i, step := range []struct {
		in   present.Listing
		want []string
	}{
		{list(box("a", time.Hour), lost), []string{"stray lost no owner tag"}},
		{list(box("a", time.Hour), lost), nil},
		{list(paused, lost, box("b", 4*time.Minute)), []string{"state a running → paused", "new b running, owner me", "expiry b ends in 4m00s"}},
		{flaky, []string{"state a paused → running"}}, // what an incomplete list lacks is not gone
		{failed, nil},
		{failed, []string{"failure  no route (E9006)"}},
		{failed, nil},
		{list(box("a", time.Hour)), []string{"recovered"}},
	} {
		var got []string
		for _, e := range w.look([]present.Listing{step.in}, now) {
			if e.Kind == "gone" {
				continue // in no particular order
			}
			got = append(got, strings.TrimSpace(e.Kind+" "+e.ID+" "+e.Text))
		}
		if i == 5 && len(got) == 1 {
			got[0] = got[0][:strings.Index(got[0], "(")] + "(E9006)"
		}
		if d := cmp.Diff(step.want, got); d != "" {
			t.Errorf("step %d: %s", i, d)
		}
	}
	if len(w.seen) != 1 {
		t.Errorf("%d are remembered", len(w.seen))
	}
}

func TestWatchLinesAreClean(t *testing.T) {
	e := watchEvent{Kind: "stray", Provider: "e2b", ID: "i\x1b[31m", Name: "a\nb", Text: "x\a"}
	if l := e.line(); strings.ContainsAny(l, "\x1b\n\a") {
		t.Errorf("line %q", l)
	}
	if !e.urgent() || (watchEvent{Kind: "gone"}).urgent() {
		t.Error("urgent")
	}
}
