package server

import (
	"errors"
	"net/http"
	"os"
	"testing"
	"time"
)

func TestLifetimeEndsSandbox(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	short := r.create(`{"templateID":"base","timeout":20}`)
	long := r.create(`{"templateID":"base","timeout":3600}`)
	eventually(t, "a timer for the short one", func() bool { return r.clock.armed() == 20*time.Second })
	r.clock.Advance(19 * time.Second)
	eventually(t, "the timer again", func() bool { return r.clock.armed() == time.Second })
	if n := len(r.ids("/v2/sandboxes")); n != 2 {
		t.Fatalf("%d sandboxes before the end", n)
	}
	r.clock.Advance(time.Second)
	eventually(t, "the short one ends", func() bool {
		ids := r.ids("/v2/sandboxes")
		return len(ids) == 1 && ids[0] == long.SandboxID
	})
	eventually(t, "its folder goes", func() bool {
		_, err := os.Stat(r.dir + "/sandboxes/" + short.SandboxID)
		return os.IsNotExist(err)
	})
}

func TestTimerIsCheckedAgainstTheWallClock(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	r.create(`{"templateID":"base","timeout":3600}`)
	eventually(t, "a short timer", func() bool { return r.clock.armed() == wallCheck })
}

func TestSandboxThatEndsByItselfGoes(t *testing.T) {
	iso := &fakeIsolator{}
	r := newRig(t, iso)
	sb := r.create(`{"templateID":"base","timeout":3600}`)
	iso.get(sb.SandboxID).exit()
	eventually(t, "it is not listed", func() bool { return len(r.ids("/v2/sandboxes")) == 0 })
	eventually(t, "its folder goes", func() bool {
		_, err := os.Stat(r.dir + "/sandboxes/" + sb.SandboxID)
		return os.IsNotExist(err)
	})
}

func TestFailedKillIsShownAndTriedAgain(t *testing.T) {
	iso := &fakeIsolator{}
	r := newRig(t, iso)
	sb := r.create(`{"templateID":"base","timeout":3600}`)
	in := iso.get(sb.SandboxID)
	in.killErr = []error{errBoom, errBoom}
	if rep := r.do("DELETE", "/sandboxes/"+sb.SandboxID, ""); rep.status != http.StatusInternalServerError {
		t.Fatalf("kill: %+v", rep)
	}
	if ids := r.ids("/v2/sandboxes"); len(ids) != 1 {
		t.Fatalf("listed %v after a failed kill", ids)
	}
	for range 2 {
		eventually(t, "the next try is timed", func() bool { return r.clock.armed() == killRetry })
		r.clock.Advance(killRetry)
	}
	eventually(t, "it goes at last", func() bool { return len(r.ids("/v2/sandboxes")) == 0 })
}

func TestIdleEnd(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	eventually(t, "the idle timer", func() bool { return r.clock.armed() == DefaultIdleAfter })
	sb := r.create(`{"templateID":"base","timeout":7200}`)
	eventually(t, "the sandbox's timer", func() bool { return r.clock.armed() == wallCheck })
	r.clock.Advance(time.Hour)
	if rep := r.do("DELETE", "/sandboxes/"+sb.SandboxID, ""); rep.status != 204 {
		t.Fatalf("an idle end with a live sandbox? %+v", rep)
	}
	eventually(t, "the idle timer starts anew", func() bool { return r.clock.armed() == DefaultIdleAfter })
	r.clock.Advance(DefaultIdleAfter - time.Second)
	// Looking does not keep it alive, a hold does.
	r.ids("/v2/sandboxes")
	eventually(t, "a second is left", func() bool { return r.clock.armed() == time.Second })
	if rep := r.do("GET", PathStatus, "", HeaderHold, "1"); rep.status != 200 {
		t.Fatalf("%+v", rep)
	}
	eventually(t, "held", func() bool { return r.clock.armed() == DefaultIdleAfter })
	r.clock.Advance(DefaultIdleAfter)
	r.ended()
}

func TestIdleEndWaitsForOpenRequests(t *testing.T) {
	iso := &fakeIsolator{hold: make(chan struct{})}
	r := newRig(t, iso)
	made := make(chan reply, 1)
	go func() { made <- r.do("POST", "/sandboxes", `{"templateID":"base","timeout":60}`) }()
	eventually(t, "the create is under way", func() bool {
		r.srv.mu.Lock()
		defer r.srv.mu.Unlock()
		return len(r.srv.boxes) == 1
	})
	r.clock.Advance(10 * DefaultIdleAfter)
	close(iso.hold)
	if rep := <-made; rep.status != 201 {
		t.Fatalf("%+v", rep)
	}
	if n := len(r.ids("/v2/sandboxes")); n != 1 {
		t.Fatalf("%d sandboxes", n)
	}
}

func TestStop(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	r.create(`{"templateID":"base","timeout":60}`)
	r.create(`{"templateID":"base","timeout":60}`)
	st := decode[StatusJSON](t, r.do("GET", PathStatus, "").body)
	if st.PID != os.Getpid() || st.Sandboxes != 2 || st.Isolation != "namespace" || st.Version != "1.2.3" || st.Protocol != Protocol || st.Ending {
		t.Errorf("status %+v", st)
	}
	if rep := r.do("POST", PathStop, `{"force":false}`); rep.status != http.StatusConflict {
		t.Fatalf("stop with sandboxes: %+v", rep)
	}
	if rep := r.do("POST", PathStop, `{"force":true}`); rep.status != http.StatusAccepted {
		t.Fatalf("forced stop: %+v", rep)
	}
	r.ended()
}

func TestStopCancelsCreatesUnderWay(t *testing.T) {
	iso := &fakeIsolator{hold: make(chan struct{})}
	r := newRig(t, iso)
	made := make(chan reply, 1)
	go func() { made <- r.do("POST", "/sandboxes", `{"templateID":"base","timeout":60}`) }()
	eventually(t, "the create is under way", func() bool {
		r.srv.mu.Lock()
		defer r.srv.mu.Unlock()
		return len(r.srv.boxes) == 1
	})
	r.srv.Stop()
	if rep := <-made; rep.status != http.StatusInternalServerError {
		t.Errorf("%+v", rep)
	}
	r.ended()
}

func TestEndingServerRefusesCreate(t *testing.T) {
	s := New(Options{Isolator: &fakeIsolator{}, Dir: t.TempDir()})
	s.Stop()
	if _, err := s.create(t.Context(), newSandbox{TemplateID: "base"}, time.Minute); !errors.Is(err, errEnding) {
		t.Errorf("got %v", err)
	}
}
