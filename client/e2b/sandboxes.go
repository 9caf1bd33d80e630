package e2b

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"abxdash/client"
)

// sandboxes is the life cycle over the control plane (e2b-protocol §3).
type sandboxes struct{ c *Client }

// defaultPage is the page size when a query names none (§2.5).
const defaultPage = 100

// List implements [client.Sandboxes] with GET /v2/sandboxes (§3.4). Raw is not kept.
func (s *sandboxes) List(ctx context.Context, q client.Query) (client.Page, error) {
	f := failing{op: "list sandboxes", code: client.CodeServer, notFound: client.CodeUnsupported}
	if q.Limit < 0 || q.Limit > 100 {
		return client.Page{}, client.Usagef(f.op, "a page holds 1 to 100 sandboxes, not %d", q.Limit)
	}
	if s.c.oldList.Load() {
		return s.listV1(ctx, f, q)
	}
	a, err := s.c.call(ctx, f, http.MethodGet, "/v2/sandboxes"+s.listQuery(q), nil)
	if s.c.cfg.Quirks.V1List && errors.Is(err, client.ErrUnsupported) || s.c.cfg.Quirks.V1List && noRoute(err) {
		s.c.oldList.Store(true)
		return s.listV1(ctx, f, q)
	}
	if err != nil {
		return client.Page{}, err
	}
	rows, odd, err := decodeList(a.body)
	if err != nil {
		return client.Page{}, s.c.fail(ctx, f, &badJSON{a, "list"})
	}
	page := client.Page{NextToken: a.header.Get("X-Next-Token"), ServerTime: a.serverTime()}
	page.Sandboxes = make([]client.Sandbox, 0, len(rows))
	for _, w := range rows {
		sb := s.sandbox(w, a)
		if s.c.cfg.Quirks.NoTemplateFilter && q.Template != "" && q.Template != sb.Template && q.Template != sb.TemplateID {
			continue
		}
		page.Sandboxes = append(page.Sandboxes, sb)
	}
	limit := q.Limit
	if limit == 0 {
		limit = defaultPage
	}
	switch {
	case odd > 0:
		page.MayBeIncomplete, page.Note = true, client.NoteOddRows
	case s.c.cfg.Quirks.NoPaging && page.NextToken == "" && len(rows) >= limit:
		page.MayBeIncomplete, page.Note = true, client.NoteFullPage
	}
	return page, nil
}

// noRoute reports a 404: a list itself is never missing.
func noRoute(err error) bool {
	e := (*client.Error)(nil)
	return asError(err, &e) && e.Status == http.StatusNotFound
}

// NoteRunningOnly marks a list from a service that has the old list call only.
const NoteRunningOnly = "the provider lists running sandboxes only; paused ones are missing"

// listV1 lists with the deprecated GET /sandboxes: running ones, in one page (§3).
func (s *sandboxes) listV1(ctx context.Context, f failing, q client.Query) (client.Page, error) {
	path := "/sandboxes"
	if len(q.Metadata) > 0 {
		path += "?metadata=" + encodeMetadata(q.Metadata)
	}
	a, err := s.c.call(ctx, f, http.MethodGet, path, nil)
	if err != nil {
		return client.Page{}, err
	}
	rows, _, err := decodeList(a.body)
	if err != nil {
		return client.Page{}, s.c.fail(ctx, f, &badJSON{a, "list"})
	}
	page := client.Page{ServerTime: a.serverTime(), MayBeIncomplete: true, Note: NoteRunningOnly}
	for _, w := range rows {
		sb := s.sandbox(w, a)
		if q.Matches(sb) {
			page.Sandboxes = append(page.Sandboxes, sb)
		}
	}
	return page, nil
}

// sandbox turns a row of an answer into the domain type.
func (s *sandboxes) sandbox(w wireSandbox, a answer) client.Sandbox {
	sb := w.sandbox(s.c.cfg.Name, s.now(a))
	if s.c.cfg.Quirks.UnsetIsNever && sb.End == client.EndUnset {
		sb.End = client.EndNever
	}
	return sb
}

// now is the server's clock where it told it, else ours.
func (s *sandboxes) now(a answer) time.Time {
	if t := a.serverTime(); !t.IsZero() {
		return t
	}
	return s.c.cfg.Now()
}

// listQuery encodes q. States are one comma list; metadata is encoded three
// times (§3.4).
func (s *sandboxes) listQuery(q client.Query) string {
	var parts []string
	if len(q.Metadata) > 0 {
		parts = append(parts, "metadata="+encodeMetadata(q.Metadata))
	}
	// Servers know two states and refuse others; those are filtered by the caller.
	known := !slices.ContainsFunc(q.States, func(st client.State) bool {
		return st != client.StateRunning && st != client.StatePaused
	})
	if len(q.States) > 0 && known && !s.c.cfg.Quirks.NoStateFilter {
		states := make([]string, len(q.States))
		for i, st := range q.States {
			states[i] = string(st)
		}
		parts = append(parts, "state="+strings.Join(states, ","))
	}
	if q.Template != "" && !s.c.cfg.Quirks.NoTemplateFilter {
		parts = append(parts, "template="+url.QueryEscape(q.Template))
	}
	if q.Limit > 0 {
		parts = append(parts, "limit="+strconv.Itoa(q.Limit))
	}
	if q.PageToken != "" {
		parts = append(parts, "nextToken="+url.QueryEscape(q.PageToken))
	}
	if len(parts) == 0 {
		return ""
	}
	return "?" + strings.Join(parts, "&")
}

// encodeMetadata is the metadata filter as a query value: each key and value
// percent-encoded, the pairs joined as a form, and the whole encoded once more.
func encodeMetadata(m map[string]string) string {
	form := url.Values{}
	for k, v := range m {
		form.Set(component(k), component(v))
	}
	return url.QueryEscape(form.Encode())
}

// component percent-encodes s with %20 for a blank, never a plus sign.
func component(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// badJSON is a 2xx answer that is not the JSON it should be.
type badJSON struct {
	a    answer
	what string
}

func (b *badJSON) Error() string { return "the " + b.what + " is not the expected JSON" }

// Get implements [client.Sandboxes]; it also learns the sandbox's tokens.
func (s *sandboxes) Get(ctx context.Context, id client.ID) (client.Sandbox, error) {
	f := failing{op: "get sandbox " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID("get sandbox", id); err != nil {
		return client.Sandbox{}, err
	}
	a, err := s.c.call(ctx, f, http.MethodGet, sandboxPath(id, ""), nil)
	if err != nil {
		return client.Sandbox{}, err
	}
	return s.one(ctx, f, a)
}

// one decodes an answer that is a single sandbox and keeps its tokens.
func (s *sandboxes) one(ctx context.Context, f failing, a answer) (client.Sandbox, error) {
	var w wireSandbox
	if err := json.Unmarshal(a.body, &w); err != nil || w.SandboxID == "" {
		return client.Sandbox{}, s.c.fail(ctx, f, &badJSON{a, "sandbox"})
	}
	sb := s.sandbox(w, a)
	if f.id == "" {
		f.id = sb.ID
	}
	if err := checkID(f.op, sb.ID); err != nil {
		return client.Sandbox{}, &client.Error{Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeBadAnswer, Message: "the provider sent an unusable sandbox id"}
	}
	sb.Raw = redact(a.body)
	s.c.learn(f.id, w)
	return sb, nil
}

// Create implements [client.Sandboxes] with POST /sandboxes (§3.2). It is never
// repeated by itself. Start and end are reckoned from the server's clock,
// because the answer holds neither.
func (s *sandboxes) Create(ctx context.Context, spec client.CreateSpec) (client.Sandbox, error) {
	f := failing{op: "create sandbox", code: client.CodeCreate, notFound: client.CodeTemplateMissing}
	if spec.Lifetime < 0 {
		return client.Sandbox{}, client.Usagef(f.op, "the lifetime %s is negative", spec.Lifetime)
	}
	if spec.Lifetime == 0 {
		spec.Lifetime = s.c.cfg.Lifetime
	}
	spec.Lifetime = max(spec.Lifetime, s.c.cfg.MinLifetime)
	if spec.Template == "" {
		spec.Template = s.c.cfg.Template
	}
	if err := s.checkMetadata(f.op, spec.Metadata); err != nil {
		return client.Sandbox{}, err
	}
	body := newSandbox{
		TemplateID: spec.Template,
		Timeout:    seconds(spec.Lifetime),
		Secure:     !spec.Insecure,
		AutoPause:  spec.AutoPause,
		Internet:   spec.Internet,
		Metadata:   spec.Metadata,
		EnvVars:    spec.Env,
	}
	if spec.AutoResume {
		if !spec.AutoPause {
			return client.Sandbox{}, client.Usagef(f.op, "resuming by itself needs pausing by itself")
		}
		body.AutoResume = &autoResume{true}
	}
	if s.c.cfg.Quirks.Lifecycle {
		body.Lifecycle = &lifecycle{OnTimeout: "kill", AutoResume: spec.AutoResume}
		if spec.AutoPause {
			body.Lifecycle.OnTimeout = "pause"
		}
	}
	if n := spec.Network; n != nil {
		if n.Public != nil && !*n.Public && spec.Insecure {
			return client.Sandbox{}, client.Usagef(f.op, "closing the ports to the public needs a secure sandbox")
		}
		body.Network = &wireNetwork{n.Public, n.AllowOut, n.DenyOut}
	}
	f.wait = spec.RequestTimeout
	a, err := s.c.call(ctx, f, http.MethodPost, "/sandboxes", body)
	if err != nil {
		return client.Sandbox{}, err
	}
	sb, err := s.one(ctx, f, a)
	if err != nil {
		return client.Sandbox{}, err
	}
	fillNew(&sb, spec, s.now(a))
	return sb, nil
}

// checkMetadata refuses keys that the service would refuse.
func (s *sandboxes) checkMetadata(op string, m map[string]string) error {
	if !s.c.cfg.Quirks.QualifiedKeys {
		return nil
	}
	for k := range m {
		if !qualified(k) {
			return client.Usagef(op, "%s takes no metadata key %q: letters, digits and - _ . up to 63, with a letter or digit at both ends", s.c.cfg.Name, client.OneLine(k, 40))
		}
	}
	return nil
}

// fillNew adds what a create answer leaves out.
func fillNew(sb *client.Sandbox, spec client.CreateSpec, now time.Time) {
	if sb.State == client.StateUnknown {
		sb.State = client.StateRunning
	}
	if sb.StartedAt.IsZero() {
		sb.StartedAt = now.UTC()
	}
	if sb.End == client.EndUnset || sb.End == client.EndNever && sb.ExpiresAt.IsZero() {
		sb.End = client.EndAt
		sb.ExpiresAt = now.Add(time.Duration(seconds(spec.Lifetime)) * time.Second).UTC()
	}
	if sb.Metadata == nil && len(spec.Metadata) > 0 {
		sb.Metadata = make(map[string]string, len(spec.Metadata))
		for k, v := range spec.Metadata {
			sb.Metadata[k] = v
		}
		if n := sb.Metadata[client.MetaName]; n != "" {
			sb.Name = n
		}
	}
	if sb.Template == sb.TemplateID && spec.Template != "" {
		sb.Template = spec.Template
	}
}

// Kill implements [client.Sandboxes] with DELETE (§3.8).
func (s *sandboxes) Kill(ctx context.Context, id client.ID) error {
	f := failing{op: "kill sandbox " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID("kill sandbox", id); err != nil {
		return err
	}
	for try := 1; ; try++ {
		_, err := s.c.call(ctx, f, http.MethodDelete, sandboxPath(id, ""), nil)
		if err == nil {
			s.c.forget(id)
			return nil
		}
		wait := client.RetryAfterOf(err)
		if !s.c.cfg.Quirks.BusyKill || wait == 0 || try >= maxKills || !pause(ctx, min(wait, maxKillWait)) {
			return err
		}
	}
}

// A kill that is refused for a moment is asked for again this often, after the
// time that the service named, within reason.
const (
	maxKills    = 4
	maxKillWait = 10 * time.Second
)

// pause waits; false says that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// SetLifetime implements [client.Sandboxes] with POST …/timeout (§3.5).
func (s *sandboxes) SetLifetime(ctx context.Context, id client.ID, d time.Duration) error {
	f := failing{op: "set lifetime of " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkLifetime("set lifetime", id, d); err != nil {
		return err
	}
	_, err := s.c.call(ctx, f, http.MethodPost, sandboxPath(id, "/timeout"), lifetime{seconds(d)})
	return err
}

// checkLifetime refuses what would be taken as "now" or as a default (KIL-05).
func checkLifetime(op string, id client.ID, d time.Duration) error {
	if err := checkID(op, id); err != nil {
		return err
	}
	if d <= 0 {
		return client.Usagef(op, "the lifetime must be more than 0, not %s", d)
	}
	return nil
}

// Connect implements [client.Connector] with POST …/connect (§3.5): it resumes
// a paused sandbox and never shortens a lifetime.
func (s *sandboxes) Connect(ctx context.Context, id client.ID, d time.Duration) (client.Sandbox, error) {
	f := failing{op: "connect to " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkLifetime("connect", id, d); err != nil {
		return client.Sandbox{}, err
	}
	a, err := s.c.call(ctx, f, http.MethodPost, sandboxPath(id, "/connect"), lifetime{seconds(max(d, s.c.cfg.MinLifetime))})
	if err != nil {
		return client.Sandbox{}, err
	}
	sb, err := s.one(ctx, f, a)
	if err != nil {
		return client.Sandbox{}, err
	}
	if sb.State == client.StateUnknown {
		sb.State = client.StateRunning
	}
	return sb, nil
}

// Pause implements [client.Pauser]. An already paused sandbox is ErrConflict (§3.6).
func (s *sandboxes) Pause(ctx context.Context, id client.ID) error {
	f := failing{op: "pause sandbox " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID("pause sandbox", id); err != nil {
		return err
	}
	if err := s.c.need(client.CapPause); err != nil {
		return err
	}
	if s.c.cfg.Quirks.PauseAgainOK {
		sb, err := s.Get(ctx, id)
		if err != nil {
			return err
		}
		if sb.State == client.StatePaused {
			return &client.Error{Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeConflict, Kind: client.ErrConflict, Message: "it is paused already"}
		}
	}
	if _, err := s.c.call(ctx, f, http.MethodPost, sandboxPath(id, "/pause"), struct{}{}); err != nil {
		return err
	}
	return s.paused(ctx, f, id)
}

// Waiting for a pause to settle (cubesandbox §5).
const (
	pauseStep     = 200 * time.Millisecond
	pausePatience = 30 * time.Second
)

// paused waits until the state says so, on services that need it.
func (s *sandboxes) paused(ctx context.Context, f failing, id client.ID) error {
	if !s.c.cfg.Quirks.PauseSettles {
		return nil
	}
	own, cancel := context.WithTimeout(ctx, pausePatience)
	defer cancel()
	for {
		sb, err := s.Get(own, id)
		switch {
		case err != nil && own.Err() == nil:
			return err
		case err == nil && sb.State != "pausing" && !sb.Running():
			return nil
		}
		if !pause(own, pauseStep) {
			return &client.Error{Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeServer, Kind: client.ErrUnavailable, Message: "it is still being paused"}
		}
	}
}

// Resume implements [client.Pauser] with the connect call, which the dialect
// prefers to its deprecated resume (§3.7).
func (s *sandboxes) Resume(ctx context.Context, id client.ID, d time.Duration) error {
	if err := s.c.need(client.CapPause); err != nil {
		return err
	}
	_, err := s.Connect(ctx, id, d)
	if e := (*client.Error)(nil); asError(err, &e) {
		e.Op = fmt.Sprintf("resume sandbox %s", id)
	}
	return err
}
