package interpreter

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"abxdash/client/local/envd"
)

// Port is where SDKs look for the interpreter (e2b-protocol §1).
const Port = 49999

const (
	maxBody     = 16 << 20
	maxContexts = 64
	// keepalive is how long a run may be silent before the stream says so.
	keepalive = 5 * time.Second
)

// Config says how kernels run.
type Config struct {
	Spawner envd.Spawner
	// Env is the sandbox's global environment.
	Env map[string]string
}

// Interpreter serves the API. Close ends its kernels.
type Interpreter struct {
	cfg Config
	mux *http.ServeMux
	// life ends with Close.
	life context.Context
	end  context.CancelFunc
	runs sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	contexts map[string]*session
	// defaults holds the context that a language's code runs in when none is named.
	defaults map[string]*session
}

// session is one context: a kernel, once it is needed, and its turn.
type session struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	CWD      string `json:"cwd"`

	// turn is held by the run under way; the others wait.
	turn chan struct{}
	// gone is for the holder of turn.
	gone bool

	mu sync.Mutex
	// kernel is nil before the first run and after its end.
	kernel *kernel
}

// New makes an interpreter; no kernel runs yet.
func New(cfg Config) *Interpreter {
	in := &Interpreter{cfg: cfg, mux: http.NewServeMux(), contexts: map[string]*session{}, defaults: map[string]*session{}}
	in.life, in.end = context.WithCancel(context.Background())
	in.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { answer(w, "OK") })
	in.mux.HandleFunc("POST /execute", in.execute)
	in.mux.HandleFunc("POST /contexts", in.create)
	in.mux.HandleFunc("GET /contexts", in.list)
	in.mux.HandleFunc("DELETE /contexts/{id}", in.remove)
	in.mux.HandleFunc("POST /contexts/{id}/restart", in.restart)
	return in
}

// ServeHTTP serves one request.
func (in *Interpreter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in.mu.Lock()
	if in.closed {
		in.mu.Unlock()
		http.Error(w, "the interpreter is closed", http.StatusServiceUnavailable)
		return
	}
	in.runs.Add(1)
	in.mu.Unlock()
	defer in.runs.Done()
	in.mux.ServeHTTP(w, r)
}

// Close interrupts what runs and ends every kernel.
func (in *Interpreter) Close() {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.end()
	in.runs.Wait()
	for _, s := range in.contexts {
		s.drop()
	}
}

func answer[T any](w http.ResponseWriter, v T) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // a failed write means that the caller is gone
}

// body decodes a JSON object and answers 422 itself.
func body[T any](w http.ResponseWriter, r *http.Request, v *T) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(v); err != nil {
		http.Error(w, "the request body is not valid: "+err.Error(), http.StatusUnprocessableEntity)
		return false
	}
	return true
}

type contextBody struct {
	Language string `json:"language"`
	CWD      string `json:"cwd"`
}

func (in *Interpreter) create(w http.ResponseWriter, r *http.Request) {
	var b contextBody
	if r.ContentLength != 0 && !body(w, r, &b) {
		return
	}
	s, err := in.newSession(language(b.Language), b.CWD)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, s)
}

// newSession makes a context; its kernel starts with the first run.
func (in *Interpreter) newSession(lang, cwd string) (*session, error) {
	if _, err := argv(runner(lang)); err != nil {
		return nil, err
	}
	user, err := in.cfg.Spawner.Lookup("")
	if err != nil {
		return nil, err
	}
	switch {
	case cwd == "" || cwd == "/home/user":
		cwd = user.Home
	case !path.IsAbs(cwd):
		cwd = path.Join(user.Home, cwd)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.contexts) >= maxContexts {
		return nil, fmt.Errorf("there are %d contexts, which is the most", maxContexts)
	}
	s := &session{ID: strings.ToLower(rand.Text()), Language: lang, CWD: cwd, turn: make(chan struct{}, 1)}
	in.contexts[s.ID] = s
	return s, nil
}

func (in *Interpreter) list(w http.ResponseWriter, _ *http.Request) {
	in.mu.Lock()
	out := make([]*session, 0, len(in.contexts))
	for _, s := range in.contexts {
		out = append(out, s)
	}
	in.mu.Unlock()
	slices.SortFunc(out, func(a, b *session) int { return strings.Compare(a.ID, b.ID) })
	answer(w, out)
}

func (in *Interpreter) byID(w http.ResponseWriter, id string) *session {
	in.mu.Lock()
	s := in.contexts[id]
	in.mu.Unlock()
	if s == nil {
		http.Error(w, fmt.Sprintf("context %q not found", shorten(id)), http.StatusNotFound)
	}
	return s
}

// wait gets the turn.
func (s *session) wait(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) release() { <-s.turn }

// kill ends the kernel's process, so that a run under way ends, too.
func (s *session) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kernel != nil {
		_ = s.kernel.child.Signal(sigKill)
	}
}

// drop gives the kernel up; the next run starts another. The caller holds the
// turn, or nobody else is left.
func (s *session) drop() {
	s.mu.Lock()
	k := s.kernel
	s.kernel = nil
	s.mu.Unlock()
	if k != nil {
		k.close()
	}
}

func (in *Interpreter) remove(w http.ResponseWriter, r *http.Request) {
	s := in.byID(w, r.PathValue("id"))
	if s == nil {
		return
	}
	in.mu.Lock()
	delete(in.contexts, s.ID)
	if in.defaults[s.Language] == s {
		delete(in.defaults, s.Language)
	}
	in.mu.Unlock()
	in.stop(w, r, s, true)
}

func (in *Interpreter) restart(w http.ResponseWriter, r *http.Request) {
	if s := in.byID(w, r.PathValue("id")); s != nil {
		in.stop(w, r, s, false)
	}
}

// stop ends a context's kernel, also in the middle of a run.
func (in *Interpreter) stop(w http.ResponseWriter, r *http.Request, s *session, gone bool) {
	s.kill()
	if err := s.wait(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer s.release()
	s.gone = gone
	s.drop()
	answer(w, json.RawMessage("null"))
}

type executeBody struct {
	Code      *string           `json:"code"`
	ContextID string            `json:"context_id"`
	Language  string            `json:"language"`
	EnvVars   map[string]string `json:"env_vars"`
}

// execute runs code and streams what comes of it (e2b-protocol §11).
func (in *Interpreter) execute(w http.ResponseWriter, r *http.Request) {
	var b executeBody
	if !body(w, r, &b) {
		return
	}
	s, lang, ok := in.sessionFor(w, &b)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(in.life, cancel)()
	if s.wait(ctx) != nil {
		return // the caller has gone
	}
	defer s.release()
	if s.gone {
		http.Error(w, "the context was removed", http.StatusNotFound)
		return
	}
	k, err := in.kernelOf(s)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	st := newStream(w)
	defer st.close()
	k.run(ctx, request{Code: *b.Code, Language: lang, Env: b.EnvVars}, st.emit)
	if !k.alive() {
		s.drop()
	}
	emitter(st.emit).value(event{Type: "end_of_execution"})
}

// sessionFor finds or makes the context of a run and answers errors itself.
func (in *Interpreter) sessionFor(w http.ResponseWriter, b *executeBody) (*session, string, bool) {
	bad := ""
	switch {
	case b.Code == nil:
		bad = "code is required"
	case b.ContextID != "" && b.Language != "":
		bad = "only one of context_id and language can be given"
	}
	for k, v := range b.EnvVars {
		if !variable.MatchString(k) || strings.ContainsRune(v, 0) {
			bad = fmt.Sprintf("%q is not a usable variable", shorten(k))
		}
	}
	if bad != "" {
		http.Error(w, bad, http.StatusBadRequest)
		return nil, "", false
	}
	if b.ContextID != "" {
		s := in.byID(w, b.ContextID)
		if s == nil {
			return nil, "", false
		}
		return s, s.Language, true
	}
	lang := language(b.Language)
	in.mu.Lock()
	s := in.defaults[runner(lang)]
	in.mu.Unlock()
	if s == nil {
		var err error
		if s, err = in.newSession(runner(lang), ""); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return nil, "", false
		}
		in.mu.Lock()
		if had := in.defaults[runner(lang)]; had != nil {
			delete(in.contexts, s.ID) // another request was faster
			s = had
		}
		in.defaults[runner(lang)] = s
		in.mu.Unlock()
	}
	return s, lang, true
}

// kernelOf starts the kernel if there is none. The caller holds the turn.
func (in *Interpreter) kernelOf(s *session) (*kernel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kernel != nil && s.kernel.alive() {
		return s.kernel, nil
	}
	k, err := in.start(runner(s.Language), s.CWD)
	if err != nil {
		return nil, err
	}
	s.kernel = k
	return k, nil
}
