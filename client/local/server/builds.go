package server

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Statuses of a build (e2b-protocol §4).
const (
	buildWaiting  = "waiting"
	buildBuilding = "building"
	buildReady    = "ready"
	buildFailed   = "error"
)

const (
	// buildLogPage is the most entries of one answer.
	buildLogPage = 100
	// maxBuildLogs is how many entries a build keeps, the first ones.
	maxBuildLogs = 20000
	// maxBuilds is how many builds are remembered, and maxBuilding how many work at
	// a time.
	maxBuilds   = 200
	maxBuilding = 4
	// buildHold is how long the server stays for the next call of a build that was
	// registered.
	buildHold = 5 * time.Minute
)

// buildLogJSON is BuildLogEntry.
type buildLogJSON struct {
	Timestamp time.Time `json:"timestamp"`
	Message   string    `json:"message"`
	Level     string    `json:"level"`
	Step      string    `json:"step,omitempty"`
}

type buildReasonJSON struct {
	Message    string         `json:"message"`
	Step       string         `json:"step,omitempty"`
	LogEntries []buildLogJSON `json:"logEntries"`
}

// buildInfoJSON is BuildInfo.
type buildInfoJSON struct {
	TemplateID string           `json:"templateID"`
	BuildID    string           `json:"buildID"`
	Status     string           `json:"status"`
	Logs       []string         `json:"logs"`
	LogEntries []buildLogJSON   `json:"logEntries"`
	Reason     *buildReasonJSON `json:"reason,omitempty"`
}

// buildHandleJSON is BuildHandle.
type buildHandleJSON struct {
	TemplateID string   `json:"templateID"`
	BuildID    string   `json:"buildID"`
	Public     bool     `json:"public"`
	Names      []string `json:"names"`
	Tags       []string `json:"tags"`
	Aliases    []string `json:"aliases"`
}

// buildJob is a build that was registered. What it becomes is a buildRec.
type buildJob struct {
	id, template string
	ref          templateRef
	limits       limits
	created      time.Time
	// unwanted is closed by cancel, over when nothing of a started build runs any more.
	unwanted, over chan struct{}

	mu      sync.Mutex
	status  string
	entries []buildLogJSON
	reason  *buildReasonJSON
}

// builds holds the jobs of this run of the server, oldest first.
type builds struct {
	links links

	mu   sync.Mutex
	jobs []*buildJob
}

// find is the job of that id, and of that template unless it is "".
func (bs *builds) find(template, id string) *buildJob {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for _, j := range bs.jobs {
		if (id == "" || j.id == id) && (template == "" || j.template == template || j.ref.name == template) {
			return j
		}
	}
	return nil
}

// working counts builds at work.
func (bs *builds) working() (n int) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for _, j := range bs.jobs {
		if j.state() == buildBuilding {
			n++
		}
	}
	return n
}

// add notes a job. Older ones that wait for the same tag are superseded. It fails
// when everything that is remembered is still at work.
func (bs *builds) add(j *buildJob) *apiError {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for _, old := range bs.jobs {
		if old.template == j.template && old.ref.tag == j.ref.tag && old.begin(buildWaiting, buildFailed) {
			old.fail(j.created, "", "superseded by a newer build")
		}
	}
	for len(bs.jobs) >= maxBuilds {
		i := slices.IndexFunc(bs.jobs, func(o *buildJob) bool { return o.state() != buildBuilding })
		if i < 0 {
			return refuse(http.StatusTooManyRequests, "the local server holds %d builds, which is its most", maxBuilds)
		}
		bs.jobs = slices.Delete(bs.jobs, i, i+1)
	}
	bs.jobs = append(bs.jobs, j)
	return nil
}

func (j *buildJob) state() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.status
}

// begin moves the job on if it is still where the caller thinks.
func (j *buildJob) begin(from, to string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.status != from {
		return false
	}
	j.status = to
	return true
}

func (j *buildJob) log(at time.Time, level, step, message string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries) < maxBuildLogs {
		j.entries = append(j.entries, buildLogJSON{Timestamp: at, Message: message, Level: level, Step: step})
	}
}

// fail ends the job; why goes to its caller.
func (j *buildJob) fail(at time.Time, step, why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, buildLogJSON{Timestamp: at, Message: "Build failed: " + why, Level: levelError, Step: step})
	j.reason = &buildReasonJSON{Message: why, Step: step, LogEntries: []buildLogJSON{}}
	for _, e := range j.entries {
		if e.Step == step && (e.Level == levelWarn || e.Level == levelError) {
			j.reason.LogEntries = append(j.reason.LogEntries, e)
		}
	}
	if n := len(j.reason.LogEntries); n > buildLogPage {
		j.reason.LogEntries = j.reason.LogEntries[n-buildLogPage:]
	}
	j.status = buildFailed
}

func (j *buildJob) succeed(at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, buildLogJSON{Timestamp: at, Message: "Build finished", Level: levelInfo, Step: stepFinalize})
	j.status = buildReady
}

// info is the state of the job with a page of its log.
func (j *buildJob) info(offset, limit, level int) buildInfoJSON {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := buildInfoJSON{TemplateID: j.template, BuildID: j.id, Status: j.status, Logs: []string{}, LogEntries: []buildLogJSON{}, Reason: j.reason}
	for _, e := range j.entries[min(offset, len(j.entries)):] {
		if len(out.LogEntries) >= limit {
			break
		}
		if slices.Index(levels(), e.Level) >= level {
			out.LogEntries = append(out.LogEntries, e)
		}
	}
	return out
}

// registerBody is BuildRequestV3.
type registerBody struct {
	Name     string   `json:"name"`
	Alias    string   `json:"alias"`
	Tags     []string `json:"tags"`
	CPUCount *int64   `json:"cpuCount"`
	MemoryMB *int64   `json:"memoryMB"`
}

// handleRegister announces a build (POST /v3/templates).
func (s *Server) handleRegister(w http.ResponseWriter, r *http.Request) {
	body, e := readBody[registerBody](w, r, false)
	var j *buildJob
	if e == nil {
		j, e = s.newJob(&body)
	}
	if e == nil {
		e = s.builds.add(j)
	}
	if e != nil {
		writeError(w, e)
		return
	}
	s.holdForBuild()
	names := []string{}
	if j.ref.name != "" {
		names = []string{j.ref.name}
	}
	writeJSON(w, http.StatusAccepted, buildHandleJSON{
		TemplateID: j.template, BuildID: j.id, Names: names, Aliases: names, Tags: append([]string{j.ref.tag}, j.ref.more...),
	})
}

// newJob checks a registration.
func (s *Server) newJob(body *registerBody) (*buildJob, *apiError) {
	name := cmp.Or(body.Name, body.Alias)
	if name == "" {
		return nil, refuse(http.StatusBadRequest, "name is required")
	}
	ref, e := parseRef(name)
	if e != nil {
		return nil, e
	}
	if isBase(ref.name) {
		return nil, refuse(http.StatusConflict, "the name %q is taken", ref.name)
	}
	if len(body.Tags) > 0 {
		if e := checkTags(body.Tags); e != nil {
			return nil, e
		}
		ref.more = body.Tags
		if !ref.tagged {
			ref.tag, ref.more = ref.more[0], ref.more[1:]
		}
	}
	j := &buildJob{
		id: newBuildID(), ref: ref, created: s.clock.Now(), status: buildWaiting,
		unwanted: make(chan struct{}), over: make(chan struct{}),
	}
	if body.CPUCount != nil {
		if n := *body.CPUCount; n < 1 || n > 32 || n > 1 && n%2 != 0 {
			return nil, refuse(http.StatusBadRequest, "cpuCount must be 1 or an even number up to 32")
		}
		j.limits.cpus = float64(*body.CPUCount)
	}
	if body.MemoryMB != nil {
		if n := *body.MemoryMB; n < 128 || n%2 != 0 || n > mostMemoryMB {
			return nil, refuse(http.StatusBadRequest, "memoryMB must be an even number of at least 128")
		}
		j.limits.memoryMB = *body.MemoryMB
	}
	j.template = newTemplateID()
	if t, ok := s.store.find(ref.name); ok {
		j.template, j.ref.name = t.ID, cmp.Or(t.Alias, t.ID)
	} else if other := s.builds.find(ref.name, ""); other != nil {
		j.template = other.template
	}
	j.ref.id = j.template
	return j, nil
}

// holdForBuild keeps an idle server for the next call of somebody who builds.
func (s *Server) holdForBuild() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if until := s.clock.Now().Add(buildHold); until.After(s.holdUntil) {
		s.holdUntil = until
	}
	s.nudge()
}

// jobOf finds the build of a path; what is unknown is a 400 on the calls that
// follow one (e2b-protocol §4).
func (s *Server) jobOf(r *http.Request, status int) (*buildJob, *apiError) {
	if j := s.builds.find(r.PathValue("id"), r.PathValue("build")); j != nil {
		return j, nil
	}
	return nil, refuse(status, "build %q not found", shorten(r.PathValue("build")))
}

func (s *Server) handleBuildStatus(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	j, e := s.jobOf(r, http.StatusBadRequest)
	offset, limit, level := 0, buildLogPage, 0
	if e == nil {
		offset, e = intParam(q, "logsOffset", 0, 0, maxBuildLogs)
	}
	if e == nil {
		limit, e = intParam(q, "limit", buildLogPage, 0, buildLogPage)
	}
	if e == nil {
		level, e = levelParam(q)
	}
	if e != nil {
		writeError(w, e)
		return
	}
	writeJSON(w, http.StatusOK, j.info(offset, limit, level))
}

// intParam reads a number of a query.
func intParam(q url.Values, name string, otherwise, least, most int) (int, *apiError) {
	text := q.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, refuse(http.StatusBadRequest, "%s must be between %d and %d", name, least, most)
	}
	return n, nil
}

func levelParam(q url.Values) (int, *apiError) {
	text := q.Get("level")
	if text == "" {
		return 0, nil
	}
	n := slices.Index(levels(), text)
	if n < 0 {
		return 0, refuse(http.StatusBadRequest, "level must be one of debug, info, warn, error")
	}
	return n, nil
}

// handleBuildLogs pages through a log by time.
func (s *Server) handleBuildLogs(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	j, e := s.jobOf(r, http.StatusBadRequest)
	limit, level, cursor := buildLogPage, 0, -1
	if e == nil {
		limit, e = intParam(q, "limit", buildLogPage, 0, buildLogPage)
	}
	if e == nil {
		level, e = levelParam(q)
	}
	if e == nil {
		cursor, e = intParam(q, "cursor", -1, 0, 1<<53)
	}
	back := q.Get("direction") == "backward"
	if e == nil && !back && q.Get("direction") != "" && q.Get("direction") != "forward" {
		e = refuse(http.StatusBadRequest, "direction must be forward or backward")
	}
	if e != nil {
		writeError(w, e)
		return
	}
	all := j.info(0, maxBuildLogs+2, level).LogEntries
	if back {
		slices.Reverse(all)
	}
	out := []buildLogJSON{}
	for _, l := range all {
		at := int(l.Timestamp.UnixMilli())
		if len(out) < limit && (cursor < 0 || back && at <= cursor || !back && at >= cursor) {
			out = append(out, l)
		}
	}
	writeJSON(w, http.StatusOK, struct {
		Logs []buildLogJSON `json:"logs"`
	}{out})
}

// handlePublish answers that a template is not public: nobody else is here.
func (s *Server) handlePublish(w http.ResponseWriter, r *http.Request) {
	body, e := readBody[struct {
		Public bool `json:"public"`
	}](w, r, true)
	if e == nil && body.Public {
		e = refuse(http.StatusBadRequest, "public: templates of the local server are this user's alone")
	}
	if e != nil {
		writeError(w, e)
		return
	}
	if t, _, ok := s.named(w, r.PathValue("id")); ok {
		writeJSON(w, http.StatusOK, struct {
			Names []string `json:"names"`
		}{aliases(&t)})
	}
}
