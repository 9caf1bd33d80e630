package opensandbox

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"abxdash/client"
)

// sandboxes is the life cycle (§2).
type sandboxes struct{ c *Client }

// Prefixes of a template that is no image.
const (
	snapshotPrefix = "snapshot:"
	poolPrefix     = "pool:"
)

// defaultPage is the page size when a query names none.
const defaultPage = 100

// List implements [client.Sandboxes]; the page token is the next page's number (§2.5).
func (s *sandboxes) List(ctx context.Context, q client.Query) (client.Page, error) {
	f := failing{op: "list sandboxes", code: client.CodeServer, notFound: client.CodeBadAnswer}
	if q.Limit < 0 || q.Limit > 100 {
		return client.Page{}, client.Usagef(f.op, "a page holds 1 to 100 sandboxes, not %d", q.Limit)
	}
	v := url.Values{"pageSize": {strconv.Itoa(defaultPage)}}
	if q.Limit > 0 {
		v.Set("pageSize", strconv.Itoa(q.Limit))
	}
	if q.PageToken != "" {
		v.Set("page", q.PageToken)
	}
	for _, st := range q.States {
		// "starting" stands for several; it is then filtered by the caller.
		if st != "starting" && st != client.StateUnknown {
			v.Add("state", string(st))
		}
	}
	if len(q.Metadata) > 0 {
		m, err := toLabels(f.op, q.Metadata)
		if err != nil {
			return client.Page{}, err
		}
		form := url.Values{}
		for k, val := range m {
			form.Set(k, val)
		}
		v.Set("metadata", form.Encode())
	}
	a, err := s.c.api(ctx, f, http.MethodGet, "/sandboxes?"+v.Encode(), nil)
	if err != nil {
		return client.Page{}, err
	}
	var w wirePage[json.RawMessage]
	if err := s.c.decode(f, a, "list", &w); err != nil {
		return client.Page{}, err
	}
	list, odd := rows(w.Items)
	page := client.Page{ServerTime: s.c.tick(a.header)}
	if odd > 0 {
		page.MayBeIncomplete, page.Note = true, client.NoteOddRows
	}
	for _, row := range list {
		sb := row.sandbox(s.c.cfg.Name, nil)
		if q.Template == "" || sb.Template == q.Template {
			page.Sandboxes = append(page.Sandboxes, sb)
		}
	}
	if w.Pagination.HasNextPage {
		page.NextToken = strconv.Itoa(max(w.Pagination.Page, 1) + 1)
	}
	return page, nil
}

// Get implements [client.Sandboxes].
func (s *sandboxes) Get(ctx context.Context, id client.ID) (client.Sandbox, error) {
	sb, _, err := s.get(ctx, "get sandbox "+string(id), id)
	return sb, err
}

// get also returns the nonce of the execd token.
func (s *sandboxes) get(ctx context.Context, op string, id client.ID) (client.Sandbox, string, error) {
	f := failing{op: op, id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID(op, id); err != nil {
		return client.Sandbox{}, "", err
	}
	a, err := s.c.api(ctx, f, http.MethodGet, sandboxPath(id, ""), nil)
	if err != nil {
		if errors.Is(err, client.ErrNotFound) {
			s.c.forget(id)
		}
		return client.Sandbox{}, "", err
	}
	return s.one(f, a)
}

func (s *sandboxes) one(f failing, a answer) (client.Sandbox, string, error) {
	var w wireSandbox
	if err := s.c.decode(f, a, "sandbox", &w); err != nil {
		return client.Sandbox{}, "", err
	}
	if checkID(f.op, client.ID(w.ID)) != nil {
		return client.Sandbox{}, "", &client.Error{Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeBadAnswer, Message: "the server sent an unusable sandbox id"}
	}
	return w.sandbox(s.c.cfg.Name, a.body), w.Metadata[metaNonce], nil
}

// Create implements [client.Sandboxes]. The server answers once the container
// runs, which can take minutes (§2.3); then execd is waited for. It is never
// repeated: there is no key that would make that safe.
func (s *sandboxes) Create(ctx context.Context, spec client.CreateSpec) (client.Sandbox, error) {
	f := failing{op: "create sandbox", code: client.CodeCreate, notFound: client.CodeTemplateMissing, wait: createPatience}
	if spec.RequestTimeout > 0 {
		f.wait = spec.RequestTimeout
	}
	body, nonce, err := s.body(f.op, spec)
	if err != nil {
		return client.Sandbox{}, err
	}
	a, err := s.c.api(ctx, f, http.MethodPost, "/sandboxes", body)
	if err != nil {
		return client.Sandbox{}, err
	}
	sb, _, err := s.one(f, a)
	if err != nil {
		return client.Sandbox{}, err
	}
	if sb.Template == "" {
		sb.Template, sb.TemplateID = first(spec.Template, s.c.cfg.Image), first(spec.Template, s.c.cfg.Image)
	}
	if token, err := s.c.ids.token(nonce); err == nil {
		s.c.learn(sb.ID, token)
	}
	return sb, s.ready(ctx, f, sb.ID)
}

// ready waits for execd: "Running" says only that the container runs (§2.3). A
// sandbox that never answers is left for the caller to see and kill.
func (s *sandboxes) ready(ctx context.Context, f failing, id client.ID) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	for {
		err := s.c.ping(ctx, id)
		if err == nil {
			return nil
		}
		if errors.Is(err, client.ErrUnauthorized) || !sleep(ctx, pollReady) {
			return &client.Error{
				Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeConnect, Kind: client.ErrUnavailable, Err: err,
				Message: "sandbox " + string(id) + " runs, but its agent does not answer: " + client.OneLine(err.Error(), 200),
				Hint:    "endpoint: server-proxy in the provider's entry reaches it through the server; abxdash kill " + string(id) + " removes it",
			}
		}
	}
}

const (
	pollReady = 200 * time.Millisecond
	pollState = 500 * time.Millisecond
)

// sleep waits; false says that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// body makes the create request; the execd token is always ours.
func (s *sandboxes) body(op string, spec client.CreateSpec) (newSandbox, string, error) {
	if spec.Lifetime < 0 {
		return newSandbox{}, "", client.Usagef(op, "the lifetime %s is negative", spec.Lifetime)
	}
	if spec.AutoPause || spec.AutoResume {
		return newSandbox{}, "", &client.Error{
			Op: op, Provider: s.c.cfg.Name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: "OpenSandbox deletes a sandbox at the end of its life; it cannot pause it instead",
		}
	}
	labels, err := toLabels(op, spec.Metadata)
	if err != nil {
		return newSandbox{}, "", err
	}
	b := newSandbox{Metadata: labels, Env: maps.Clone(spec.Env)}
	b.Timeout = int64((max(first(spec.Lifetime, s.c.cfg.Lifetime), MinLifetime) + time.Second - 1) / time.Second)
	if err := s.source(op, &b, first(spec.Template, s.c.cfg.Image)); err != nil {
		return newSandbox{}, "", err
	}
	if b.NetworkPolicy, err = policyOf(op, spec); err != nil {
		return newSandbox{}, "", err
	}
	if b.Env == nil {
		b.Env = map[string]string{}
	}
	// execd expands $NAME in paths and knows no escape (§4.7): this one stands for it.
	b.Env[dollarName] = "$"
	nonce := ""
	if !spec.Insecure {
		if nonce, err = s.c.ids.nonce(); err != nil {
			return newSandbox{}, "", err
		}
		token, err := s.c.ids.token(nonce)
		if err != nil {
			return newSandbox{}, "", err
		}
		b.Env[tokenName], labels[metaNonce] = token, nonce
	}
	return b, nonce, nil
}

// tokenName is the variable that switches execd's authentication on (§4.1).
const tokenName = "EXECD_ACCESS_TOKEN"

// source says what the sandbox is made from.
func (s *sandboxes) source(op string, b *newSandbox, template string) error {
	limits := map[string]string{"cpu": s.c.cfg.CPU, "memory": s.c.cfg.Memory}
	stay := []string{"tail", "-f", "/dev/null"}
	if id, ok := strings.CutPrefix(template, snapshotPrefix); ok && id != "" {
		b.SnapshotID, b.Limits, b.Entrypoint = id, limits, stay
		return nil
	}
	if pool, ok := strings.CutPrefix(template, poolPrefix); ok && pool != "" {
		b.Extensions = map[string]string{"poolRef": pool}
		return nil
	}
	if strings.ContainsAny(template, " \t\n") {
		return client.Usagef(op, "%q is not an image, snapshot:<id> or pool:<name>", client.OneLine(template, 60))
	}
	b.Image, b.Limits, b.Entrypoint = &wireImage{template}, limits, stay
	return nil
}

// policyOf turns what was asked of the network into an egress policy, nil for none.
func policyOf(op string, spec client.CreateSpec) (*wirePolicy, error) {
	var p *wirePolicy
	if spec.Internet != nil && !*spec.Internet {
		p = &wirePolicy{DefaultAction: "deny"}
	}
	n := spec.Network
	if n == nil {
		return p, nil
	}
	if n.Public != nil && !*n.Public {
		return nil, &client.Error{Op: op, Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: "OpenSandbox cannot close a sandbox's ports to the public"}
	}
	rules, deny, err := rulesOf(op, n.AllowOut, n.DenyOut)
	if err != nil {
		return nil, err
	}
	if len(rules) == 0 && !deny {
		return p, nil
	}
	p = &wirePolicy{DefaultAction: "allow", Egress: rules}
	if deny || spec.Internet != nil && !*spec.Internet {
		p.DefaultAction = "deny"
	}
	return p, nil
}

// Kill implements [client.Sandboxes].
func (s *sandboxes) Kill(ctx context.Context, id client.ID) error {
	f := failing{op: "kill sandbox " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID(f.op, id); err != nil {
		return err
	}
	_, err := s.c.api(ctx, f, http.MethodDelete, sandboxPath(id, ""), nil)
	if err == nil || errors.Is(err, client.ErrNotFound) {
		s.c.forget(id)
	}
	return err
}

// SetLifetime implements [client.Sandboxes]: the server takes a time, which is
// reckoned from its own clock (§2.6). A sandbox without an end cannot get one.
func (s *sandboxes) SetLifetime(ctx context.Context, id client.ID, d time.Duration) error {
	f := failing{op: "set lifetime of " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID(f.op, id); err != nil {
		return err
	}
	if d <= 0 {
		return client.Usagef(f.op, "the lifetime must be more than 0, not %s", d)
	}
	body := map[string]string{"expiresAt": s.c.now().Add(d).UTC().Format(time.RFC3339Nano)}
	_, err := s.c.api(ctx, f, http.MethodPost, sandboxPath(id, "/renew-expiration"), body)
	return err
}

// Connect implements [client.Connector]: a paused sandbox is resumed, and a
// lifetime that would end sooner is moved.
func (s *sandboxes) Connect(ctx context.Context, id client.ID, d time.Duration) (client.Sandbox, error) {
	op := "connect to " + string(id)
	if d <= 0 {
		return client.Sandbox{}, client.Usagef(op, "the lifetime must be more than 0, not %s", d)
	}
	sb, _, err := s.get(ctx, op, id)
	if err != nil {
		return sb, err
	}
	if sb.State == client.StatePaused {
		if err := s.resume(ctx, id); err != nil {
			return sb, err
		}
	}
	if left, ok := sb.Remaining(s.c.now()); ok && left < d {
		if err := s.SetLifetime(ctx, id, d); err != nil {
			return sb, err
		}
	}
	sb, _, err = s.get(ctx, op, id)
	return sb, err
}

// Pause implements [client.Pauser]. The server takes a second pause for
// success, so the state is asked for first; on Kubernetes it takes a while (§2.6).
func (s *sandboxes) Pause(ctx context.Context, id client.ID) error {
	f := failing{op: "pause sandbox " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	sb, _, err := s.get(ctx, f.op, id)
	if err != nil {
		return err
	}
	if sb.State == client.StatePaused {
		return &client.Error{Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeConflict, Kind: client.ErrConflict, Message: "it is paused already"}
	}
	if _, err := s.c.api(ctx, f, http.MethodPost, sandboxPath(id, "/pause"), nil); err != nil {
		return err
	}
	s.c.forget(id)
	return s.until(ctx, f, id, func(st client.State) bool { return st != client.StateRunning && st != "pausing" })
}

// Resume implements [client.Pauser].
func (s *sandboxes) Resume(ctx context.Context, id client.ID, d time.Duration) error {
	if err := s.resume(ctx, id); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	_, err := s.Connect(ctx, id, d)
	return err
}

// resume waits until the sandbox runs and execd answers; its address may have
// changed (§2.6).
func (s *sandboxes) resume(ctx context.Context, id client.ID) error {
	f := failing{op: "resume sandbox " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID(f.op, id); err != nil {
		return err
	}
	if _, err := s.c.api(ctx, f, http.MethodPost, sandboxPath(id, "/resume"), nil); err != nil {
		return err
	}
	s.c.forget(id)
	if err := s.until(ctx, f, id, func(st client.State) bool { return st == client.StateRunning }); err != nil {
		return err
	}
	return s.ready(ctx, f, id)
}

// statePatience bounds the wait for a change of state.
const statePatience = 2 * time.Minute

func (s *sandboxes) until(ctx context.Context, f failing, id client.ID, ok func(client.State) bool) error {
	ctx, cancel := context.WithTimeout(ctx, statePatience)
	defer cancel()
	for {
		sb, _, err := s.get(ctx, f.op, id)
		switch {
		case err != nil:
			return err
		case ok(sb.State):
			return nil
		case sb.State == "failed" || sb.State == "terminated":
			return &client.Error{Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeServer, Message: "the sandbox is " + string(sb.State)}
		}
		if !sleep(ctx, pollState) {
			return &client.Error{Op: f.op, Provider: s.c.cfg.Name, Code: client.CodeServer, Kind: client.ErrUnavailable, Message: "it is still " + client.OneLine(string(sb.State), 30)}
		}
	}
}

// PatchMetadata changes metadata: a nil value removes the key (§2.6).
func (c *Client) PatchMetadata(ctx context.Context, id client.ID, change map[string]*string) (client.Sandbox, error) {
	f := failing{op: "change metadata of " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID(f.op, id); err != nil {
		return client.Sandbox{}, err
	}
	body := map[string]*string{}
	for k, v := range change {
		value := ""
		if v != nil {
			value = *v
		}
		m, err := toLabels(f.op, map[string]string{k: value})
		if err != nil {
			return client.Sandbox{}, err
		}
		for key, val := range m {
			body[key] = &val
			if v == nil {
				body[key] = nil
			}
		}
	}
	a, err := c.api(ctx, f, http.MethodPatch, sandboxPath(id, "/metadata"), body)
	if err != nil {
		return client.Sandbox{}, err
	}
	sb, _, err := (&sandboxes{c}).one(f, a)
	return sb, err
}

// first is the first value that is not zero.
func first[T comparable](list ...T) T {
	var zero T
	for _, v := range list {
		if v != zero {
			return v
		}
	}
	return zero
}
