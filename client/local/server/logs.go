package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Levels of log entries, in rising order (e2b-protocol §3.1).
const (
	levelDebug = "debug"
	levelInfo  = "info"
	levelWarn  = "warn"
	levelError = "error"
)

// levels are in rising order.
func levels() []string { return []string{levelDebug, levelInfo, levelWarn, levelError} }

const (
	// maxLogs is how many entries a sandbox keeps, the newest; also the most
	// that one answer holds.
	maxLogs = 1000
	// maxLogLine bounds one line of the agent, in bytes.
	maxLogLine = 16 << 10
)

// logJSON is SandboxLogEntry (e2b-protocol §3.1).
type logJSON struct {
	Timestamp time.Time         `json:"timestamp"`
	Message   string            `json:"message"`
	Level     string            `json:"level"`
	Fields    map[string]string `json:"fields"`
}

// boxLog is what is told about one sandbox: what the server did with it, and
// what its agent says (processes that start and end).
type boxLog struct {
	mu      sync.Mutex
	entries []logJSON // oldest first
}

func (l *boxLog) add(at time.Time, level, message string, fields map[string]string) {
	if fields == nil {
		fields = map[string]string{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) >= maxLogs {
		l.entries = slices.Delete(l.entries, 0, maxLogs/10)
	}
	// Times never go back, so that a reader can go on from the last one.
	if n := len(l.entries); n > 0 && at.Before(l.entries[n-1].Timestamp) {
		at = l.entries[n-1].Timestamp
	}
	l.entries = append(l.entries, logJSON{Timestamp: at, Message: message, Level: level, Fields: fields})
}

// all returns the entries, oldest first.
func (l *boxLog) all() []logJSON {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// follow reads the agent's log, one line of text or of slog's JSON an entry,
// until its end.
func (l *boxLog) follow(r io.Reader, now func() time.Time) {
	br := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := br.ReadSlice('\n')
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			level, message, fields := parseLogLine(text)
			l.add(now(), level, message, fields)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// parseLogLine reads one line. What is no record is text of a panic or of the
// run time, which is an error.
func parseLogLine(text string) (level, message string, fields map[string]string) {
	var rec map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &rec) != nil {
		return levelError, text, nil
	}
	fields = map[string]string{}
	level = levelInfo
	for k, raw := range rec {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		switch k {
		case "time":
		case "level":
			level = strings.ToLower(s)
		case "msg":
			message = s
		default:
			fields[k] = s
		}
	}
	if !slices.Contains(levels(), level) {
		level = levelInfo
	}
	// To the agent these are details, to whoever looks at one sandbox they are the story.
	if level == levelDebug && (message == "process started" || message == "process ended") {
		level = levelInfo
	}
	return level, message, fields
}

// logQuery is a decoded query of the two log calls (e2b-protocol §3.9).
type logQuery struct {
	from, to time.Time // zero is open
	newest   bool      // newest first
	limit    int
	level    int // index into levels
	search   string
}

func parseLogQuery(v url.Values, second bool) (logQuery, *apiError) {
	q := logQuery{limit: maxLogs}
	if v.Has("limit") {
		n, err := strconv.Atoi(v.Get("limit"))
		if err != nil || n < 0 || n > maxLogs {
			return q, refuse(http.StatusBadRequest, "limit must be between 0 and %d", maxLogs)
		}
		q.limit = n
	}
	name := "start"
	if second {
		name = "cursor"
		switch v.Get("direction") {
		case "", "backward":
			q.newest = true
		case "forward":
		default:
			return q, refuse(http.StatusBadRequest, "direction must be forward or backward")
		}
		if q.search = v.Get("search"); len(q.search) > 256 {
			return q, refuse(http.StatusBadRequest, "search must be at most 256 characters")
		}
		if l := v.Get("level"); l != "" {
			if q.level = slices.Index(levels(), l); q.level < 0 {
				return q, refuse(http.StatusBadRequest, "level must be one of %s", strings.Join(levels(), ", "))
			}
		}
	}
	if text := v.Get(name); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ms < 0 {
			return q, refuse(http.StatusBadRequest, "%s must be milliseconds since 1970", name)
		}
		if q.newest {
			q.to = time.UnixMilli(ms + 1)
		} else {
			q.from = time.UnixMilli(ms)
		}
	}
	return q, nil
}

// selectLogs picks and orders entries.
func (q logQuery) selectLogs(all []logJSON) []logJSON {
	if q.newest {
		slices.Reverse(all)
	}
	out := []logJSON{}
	for _, e := range all {
		switch {
		case len(out) >= q.limit:
			return out
		case e.Timestamp.Before(q.from), !q.to.IsZero() && !e.Timestamp.Before(q.to),
			slices.Index(levels(), e.Level) < q.level, !strings.Contains(e.Message, q.search):
			continue
		}
		out = append(out, e)
	}
	return out
}

// logsOf answers for any id: an unknown sandbox has no entries.
func (s *Server) logsOf(w http.ResponseWriter, r *http.Request, second bool) ([]logJSON, bool) {
	id, e := parseID(r.PathValue("id"))
	var q logQuery
	if e == nil {
		q, e = parseLogQuery(r.URL.Query(), second)
	}
	if e != nil {
		writeError(w, e)
		return nil, false
	}
	var all []logJSON
	if b, ok := s.find(id); ok {
		all = b.logs.all()
	}
	return q.selectLogs(all), true
}

func (s *Server) handleLogsV2(w http.ResponseWriter, r *http.Request) {
	list, ok := s.logsOf(w, r, true)
	if !ok {
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Logs []logJSON `json:"logs"`
	}{list})
}

type logLineJSON struct {
	Timestamp time.Time `json:"timestamp"`
	Line      string    `json:"line"`
}

func (s *Server) handleLogsV1(w http.ResponseWriter, r *http.Request) {
	list, ok := s.logsOf(w, r, false)
	if !ok {
		return
	}
	lines := make([]logLineJSON, 0, len(list))
	for _, e := range list {
		lines = append(lines, logLineJSON{e.Timestamp, e.line()})
	}
	writeJSON(w, http.StatusOK, struct {
		Logs       []logLineJSON `json:"logs"`
		LogEntries []logJSON     `json:"logEntries"`
	}{lines, list})
}

// line is the entry as the older form has it: a JSON object as text.
func (e logJSON) line() string {
	rec := map[string]string{}
	for k, v := range e.Fields {
		rec[k] = v
	}
	rec["level"], rec["message"], rec["logger"] = e.Level, e.Message, "abxdash"
	text, err := json.Marshal(rec)
	if err != nil {
		return fmt.Sprintf(`{"level":%q,"message":"unreadable","logger":"abxdash"}`, e.Level)
	}
	return string(text)
}
