//go:build unix

package expresstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// interpreter plays the code interpreter on port 49999 (e2b-protocol §11). It
// knows a few programs and echoes the rest.
type interpreter struct {
	mu       sync.Mutex
	contexts map[string][2]string // language, cwd
	counts   map[string]int
	next     int
}

func newInterpreter() *interpreter {
	return &interpreter{contexts: map[string][2]string{}, counts: map[string]int{}}
}

func (i *interpreter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/health":
		_, _ = io.WriteString(w, `"OK"`)
	case r.Method == http.MethodPost && r.URL.Path == "/execute":
		i.execute(w, r)
	case r.URL.Path == "/contexts" && r.Method == http.MethodPost:
		i.create(w, r)
	case r.URL.Path == "/contexts" && r.Method == http.MethodGet:
		i.mu.Lock()
		defer i.mu.Unlock()
		out := []map[string]string{}
		for id, c := range i.contexts {
			out = append(out, map[string]string{"id": id, "language": c[0], "cwd": c[1]})
		}
		answer(w, http.StatusOK, out)
	case len(parts) >= 2 && parts[0] == "contexts":
		i.mu.Lock()
		defer i.mu.Unlock()
		if _, ok := i.contexts[parts[1]]; !ok {
			http.Error(w, "Context not found", http.StatusNotFound)
			return
		}
		if r.Method == http.MethodDelete {
			delete(i.contexts, parts[1])
		} else {
			i.counts[parts[1]] = 0
		}
		_, _ = io.WriteString(w, "null")
	default:
		http.NotFound(w, r)
	}
}

func (i *interpreter) create(w http.ResponseWriter, r *http.Request) {
	in := struct{ Language, CWD string }{"python", "/home/user"}
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		http.Error(w, "bad JSON", http.StatusBadRequest)
		return
	}
	if in.Language == "r" || in.Language == "java" {
		http.Error(w, "language "+in.Language+" is not supported", http.StatusInternalServerError)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next++
	id := "ctx-" + strconv.Itoa(i.next)
	i.contexts[id] = [2]string{in.Language, in.CWD}
	answer(w, http.StatusOK, map[string]string{"id": id, "language": in.Language, "cwd": in.CWD})
}

func (i *interpreter) execute(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Code      string            `json:"code"`
		ContextID string            `json:"context_id"`
		Language  string            `json:"language"`
		EnvVars   map[string]string `json:"env_vars"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		http.Error(w, "bad JSON", http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	_, known := i.contexts[in.ContextID]
	i.counts[in.ContextID]++
	count := i.counts[in.ContextID]
	i.mu.Unlock()
	switch {
	case in.ContextID != "" && in.Language != "":
		http.Error(w, "Only one of context_id or language can be provided", http.StatusBadRequest)
		return
	case in.ContextID != "" && !known:
		http.Error(w, "Context "+in.ContextID+" not found", http.StatusNotFound)
		return
	}
	line := func(format string, args ...any) {
		_, _ = fmt.Fprintf(w, format+"\n", args...)
		_ = http.NewResponseController(w).Flush()
	}
	line(`{"type": "number_of_executions", "execution_count": %d}`, count)
	switch in.Code {
	case `print("x"); 1+1`: // e2b-protocol §11, the example stream
		line(`{"type": "stdout", "text": "x\n", "timestamp": "2026-01-01T00:00:00.000000Z"}`)
		line(`{"type": "result", "text": "2", "extra": {}, "is_main_result": true}`)
	case `1/0`:
		line(`{"type": "error", "name": "ZeroDivisionError", "value": "division by zero", "traceback": "…"}`)
	case "odd":
		line(`{"type": "keepalive"}`)
		line(`{"type": "hologram", "data": [1]}`)
		line(`{"type": "stderr", "text": "warn", "timestamp": "2026-01-01T00:00:00.000000Z"}`)
		line(`{"type": "result", "png": "iVBORw==", "json": {"a": 1}, "extra": {"application/x": "y"}, "is_main_result": false}`)
	case "env":
		line(`{"type": "stdout", "text": %q}`, in.EnvVars["A"])
	case "hang":
		<-r.Context().Done()
		return
	case "cut":
		panic(http.ErrAbortHandler)
	case "unended":
		return
	default:
		line(`{"type": "stdout", "text": %q}`, in.Code)
	}
	line(`{"type": "end_of_execution"}`)
}
