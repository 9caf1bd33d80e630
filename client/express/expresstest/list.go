//go:build unix

package expresstest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// list is GET /v2/sandboxes with its filters and pages (alicloud-express §5.3).
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	want, err := metadataFilter(r.URL.RawQuery)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	states := strings.FieldsFunc(q.Get("state"), func(c rune) bool { return c == ',' })
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []row
	for _, b := range s.order {
		fields := s.row(b)
		state := fmt.Sprint(fields["state"])
		if (len(states) == 0 || slices.Contains(states, state)) && fits(b.metadata, want) && (q.Get("template") == "" || q.Get("template") == b.template) {
			rows = append(rows, row{b.started.UnixNano(), fields})
		}
	}
	if s.sw.Extra && len(want) == 0 && len(states) == 0 {
		rows = append(rows, row{0, map[string]any{"sandboxID": "i00000000000snapshot", "templateID": "t", "state": "snapshotting", "endAt": nil, "cpuCount": "2"}})
	}
	page(w, s.sw, q, rows)
}

// row is one row of a list; rows are listed by descending place.
type row struct {
	place  int64
	fields map[string]any
}

// page cuts rows into pages. The token tells where a page ended, so that rows
// that come and go meanwhile shift nothing; to clients it is opaque.
func page(w http.ResponseWriter, sw Switches, q url.Values, rows []row) {
	limit := 100
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			refuse(w, http.StatusBadRequest, "limit must be 1 to 100")
			return
		}
		limit = n
	}
	if sw.PageSize > 0 {
		limit = min(limit, sw.PageSize)
	}
	if token := q.Get("nextToken"); token != "" {
		text, err := base64.URLEncoding.DecodeString(token)
		after, nerr := strconv.ParseInt(strings.TrimPrefix(string(text), "after "), 10, 64)
		if err != nil || nerr != nil {
			refuse(w, http.StatusBadRequest, "nextToken is malformed")
			return
		}
		rows = slices.DeleteFunc(rows, func(x row) bool { return x.place >= after })
	}
	out := []map[string]any{}
	for _, x := range rows[:min(limit, len(rows))] {
		out = append(out, x.fields)
	}
	if len(rows) > limit {
		w.Header().Set("X-Next-Token", base64.URLEncoding.EncodeToString([]byte("after "+strconv.FormatInt(rows[limit-1].place, 10))))
	}
	answer(w, http.StatusOK, out)
}

// metadataFilter undoes the three layers of encoding (e2b-protocol §3.4).
func metadataFilter(query string) (map[string]string, error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	whole, err := url.QueryUnescape(q.Get("metadata"))
	if err != nil || whole == "" {
		return nil, err
	}
	out := map[string]string{}
	for pair := range strings.SplitSeq(whole, "&") {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || strings.Contains(v, "=") {
			return nil, fmt.Errorf("metadata is malformed")
		}
		k, kerr := url.QueryUnescape(k)
		v, verr := url.QueryUnescape(v)
		if kerr != nil || verr != nil {
			return nil, fmt.Errorf("metadata is malformed")
		}
		out[k] = v
	}
	return out, nil
}

func fits(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}
