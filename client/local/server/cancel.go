package server

import (
	"errors"
	"net/http"
)

// CancelBuildJSON is the body of POST [PathCancelBuild]. The answer is 204 once
// nothing of the build runs any more, also for one that had ended before.
type CancelBuildJSON struct {
	TemplateID string `json:"template_id"`
	BuildID    string `json:"build_id"`
}

// errCancelled is why a build ends that nobody wants any more.
var errCancelled = errors.New("cancelled")

// cancel ends the job. It may be called more than once.
func (j *buildJob) cancel() {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case <-j.unwanted:
	default:
		close(j.unwanted)
	}
}

func (s *Server) handleCancelBuild(w http.ResponseWriter, r *http.Request) {
	body, e := readBody[CancelBuildJSON](w, r, false)
	if e != nil {
		writeError(w, e)
		return
	}
	j := s.builds.find(body.TemplateID, body.BuildID)
	if j == nil || body.TemplateID == "" || body.BuildID == "" {
		writeError(w, refuse(http.StatusNotFound, "build %q not found", shorten(body.BuildID)))
		return
	}
	if j.begin(buildWaiting, buildFailed) {
		j.fail(s.clock.Now(), "", errCancelled.Error())
	}
	if j.state() == buildBuilding { // else nothing of it runs, see build
		j.cancel()
		select {
		case <-j.over:
		case <-r.Context().Done():
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}
