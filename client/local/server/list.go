package server

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const pageMax = 100

// listed is b as lists show it.
func (s *Server) listed(b *box) listedJSON {
	s.mu.Lock()
	end, state := b.endAt, b.state
	s.mu.Unlock()
	cpus, memory := b.req.limits.shown(s.host)
	meta := b.metadata
	if meta == nil {
		meta = map[string]string{}
	}
	return listedJSON{
		TemplateID: b.template, SandboxID: b.id, ClientID: clientID,
		StartedAt: b.started, EndAt: end,
		CPUCount: cpus, MemoryMB: memory, DiskSizeMB: s.host.diskMB,
		State: state.word(), Alias: b.alias, EnvdVersion: s.opt.EnvdVersion, Metadata: meta,
		VolumeMounts: []struct{}{}, Isolation: string(s.opt.Isolation),
	}
}

// visible reports whether the state is one that lists show.
func (st boxState) visible() bool { return st != boxStarting && st != boxKilling }

// seen reports whether callers are to know of the sandbox. It needs Server.mu.
func (b *box) seen() bool { return b.state.visible() && !b.req.hidden }

// word is the state on the wire.
func (st boxState) word() string {
	if st == boxPaused || st == boxPausing {
		return statePaused
	}
	return stateRunning
}

// States on the wire (e2b-protocol §1).
const (
	stateRunning = "running"
	statePaused  = "paused"
)

// visible returns every sandbox to be seen, newest first, ties by id.
func (s *Server) visible() []*box {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*box, 0, len(s.boxes))
	for _, b := range s.boxes {
		if b.seen() {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, newestFirst)
	return out
}

func newestFirst(a, b *box) int {
	return cmp.Or(b.started.Compare(a.started), strings.Compare(a.id, b.id))
}

func (s *Server) handleListV1(w http.ResponseWriter, r *http.Request) {
	want, e := metadataFilter(r.URL.Query())
	if e != nil {
		writeError(w, e)
		return
	}
	out := []listedJSON{}
	for _, b := range s.visible() {
		if l := s.listed(b); l.State == stateRunning && matches(b.metadata, want) {
			out = append(out, l)
		}
	}
	writeJSON(w, http.StatusOK, out)
}

// listQuery is a decoded query of GET /v2/sandboxes (e2b-protocol §3.4).
type listQuery struct {
	running  bool // running ones asked for
	paused   bool // paused ones asked for
	metadata map[string]string
	asc      bool
	after    time.Time
	template string // "" is any
	none     bool   // the template is unknown
	limit    int
	token    pageToken
}

// pageToken points behind the last sandbox of a page; the zero value is the start.
type pageToken struct {
	started time.Time
	id      string
}

func (s *Server) handleListV2(w http.ResponseWriter, r *http.Request) {
	q, e := parseListQuery(r.URL.Query())
	if e != nil {
		writeError(w, e)
		return
	}
	if q.template != "" {
		t, ok := s.template(q.template)
		q.template, q.none = t.ID, !ok
	}
	var all []listedJSON
	running := 0
	for _, b := range s.visible() {
		l := s.listed(b)
		if !q.wants(&l) {
			continue
		}
		if l.State == stateRunning {
			running++
		}
		all = append(all, l)
	}
	if q.asc {
		slices.Reverse(all)
	}
	if q.running {
		w.Header().Set("X-Total-Running", strconv.Itoa(running))
	}
	out := []listedJSON{}
	for i := range all {
		if !q.behind(&all[i]) {
			continue
		}
		if len(out) == q.limit {
			last := out[len(out)-1]
			w.Header().Set("X-Next-Token", q.encode(last.StartedAt, last.SandboxID))
			break
		}
		out = append(out, all[i])
	}
	writeJSON(w, http.StatusOK, out)
}

// wants reports whether a sandbox is one of those asked for.
func (q listQuery) wants(l *listedJSON) bool {
	asked := q.running
	if l.State == statePaused {
		asked = q.paused
	}
	return asked && !q.none && matches(l.Metadata, q.metadata) && !l.StartedAt.Before(q.after) &&
		(q.template == "" || l.TemplateID == q.template)
}

// behind reports whether l comes after the page token in the order asked for.
func (q listQuery) behind(l *listedJSON) bool {
	if q.token.id == "" {
		return true
	}
	n := newestFirst(&box{started: q.token.started, id: q.token.id}, &box{started: l.StartedAt, id: l.SandboxID})
	if q.asc {
		return n > 0
	}
	return n < 0
}

func (q listQuery) encode(started time.Time, id string) string {
	text := started.Format(time.RFC3339Nano) + "__" + id
	if q.asc {
		text += "__asc"
	}
	return base64.URLEncoding.EncodeToString([]byte(text))
}

func (q *listQuery) decode(token string) *apiError {
	bad := refuse(http.StatusBadRequest, "nextToken is not valid")
	raw, err := base64.URLEncoding.DecodeString(token)
	if err != nil {
		return bad
	}
	parts := strings.Split(string(raw), "__")
	if asc := len(parts) == 3 && parts[2] == "asc"; asc != q.asc || len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && !asc {
		return bad
	}
	started, err := time.Parse(time.RFC3339Nano, parts[0])
	if err != nil || !validID(parts[1]) {
		return bad
	}
	q.token = pageToken{started: started, id: parts[1]}
	return nil
}

func parseListQuery(v url.Values) (listQuery, *apiError) {
	q := listQuery{running: true, paused: true, limit: pageMax}
	var e *apiError
	if q.metadata, e = metadataFilter(v); e != nil {
		return q, e
	}
	if v.Has("state") {
		q.running, q.paused = false, false
		for _, st := range strings.Split(v.Get("state"), ",") {
			switch st {
			case stateRunning:
				q.running = true
			case statePaused:
				q.paused = true
			default:
				return q, refuse(http.StatusBadRequest, "state %q is unknown", st)
			}
		}
	}
	switch v.Get("order") {
	case "", "desc":
	case "asc":
		q.asc = true
	default:
		return q, refuse(http.StatusBadRequest, "order must be asc or desc")
	}
	if t := v.Get("startedAfter"); t != "" {
		at, err := time.Parse(time.RFC3339Nano, t)
		if err != nil {
			return q, refuse(http.StatusBadRequest, "startedAfter is not a time")
		}
		q.after = at
	}
	if t := v.Get("template"); t != "" {
		if strings.Contains(t, ":") {
			return q, refuse(http.StatusBadRequest, "template must not have a tag")
		}
		ref, e := parseRef(t)
		if e != nil && e.Code != http.StatusNotFound {
			return q, e
		}
		q.template, q.none = ref.name, e != nil
	}
	if v.Has("limit") {
		n, err := strconv.Atoi(v.Get("limit"))
		if err != nil || n < 1 || n > pageMax {
			return q, refuse(http.StatusBadRequest, "limit must be between 1 and %d", pageMax)
		}
		q.limit = n
	}
	if t := v.Get("nextToken"); t != "" {
		return q, q.decode(t)
	}
	return q, nil
}

// metadataFilter undoes the three layers of encoding of the metadata query
// (e2b-protocol §3.4); the first, the query's own, is already undone in v.
func metadataFilter(v url.Values) (map[string]string, *apiError) {
	raw := v.Get("metadata")
	if raw == "" {
		return nil, nil
	}
	bad := refuse(http.StatusBadRequest, "metadata filter is not valid")
	pairs, err := url.QueryUnescape(raw)
	if err != nil {
		return nil, bad
	}
	out := map[string]string{}
	for _, pair := range strings.Split(pairs, "&") {
		k, val, ok := strings.Cut(pair, "=")
		if !ok || strings.Contains(val, "=") {
			return nil, bad
		}
		key, err1 := url.QueryUnescape(k)
		value, err2 := url.QueryUnescape(val)
		if err1 != nil || err2 != nil || key == "" {
			return nil, bad
		}
		out[key] = value
	}
	return out, nil
}

func matches(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}
