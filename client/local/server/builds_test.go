package server

import (
	"net/http"
	"testing"
)

// So many builds work at a time, and the one that is too many is not begun.
func TestBuildsAtWorkAreBounded(t *testing.T) {
	s := &Server{}
	var jobs []*buildJob
	for range maxBuilding + 1 {
		jobs = append(jobs, &buildJob{id: newBuildID(), status: buildWaiting})
	}
	s.builds.jobs = jobs
	for _, j := range jobs[:maxBuilding] {
		if e := s.beginBuild(j); e != nil {
			t.Fatal(e)
		}
	}
	last := jobs[maxBuilding]
	if e := s.beginBuild(last); e == nil || e.Code != http.StatusTooManyRequests || last.state() != buildWaiting {
		t.Errorf("one more: %v, %s", e, last.state())
	}
	jobs[0].fail(last.created, "", "enough")
	jobs[0].begin(buildBuilding, buildFailed)
	if e := s.beginBuild(last); e != nil {
		t.Errorf("after one has ended: %v", e)
	}
}
