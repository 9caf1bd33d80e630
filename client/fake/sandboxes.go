package fake

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"abxdash/client"
)

// box is one sandbox with its files and processes. The provider's lock guards
// sb; the box has its own lock for the rest.
type box struct {
	prov *Provider
	sb   client.Sandbox
	env  map[string]string

	mu      sync.Mutex
	tree    *tree
	procs   map[int]*process
	nextPID int
}

// Add puts sandboxes into the provider as they are; an empty Provider, State or
// ID is filled in, and one without an end has none. It returns their ids.
func (p *Provider) Add(list ...client.Sandbox) []client.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := make([]client.ID, len(list))
	for i, s := range list {
		if s.End == client.EndAt && s.ExpiresAt.IsZero() {
			s.End = client.EndUnset
		}
		ids[i] = p.add(s, nil).sb.ID
	}
	return ids
}

// add stores one sandbox. The lock is held.
func (p *Provider) add(s client.Sandbox, env map[string]string) *box {
	s = s.Clone()
	s.Provider = p.opts.Name
	if s.ID == "" {
		s.ID = p.newID()
	}
	if s.State == "" {
		s.State = client.StateRunning
	}
	if s.Isolation == "" {
		s.Isolation = p.opts.Isolation
	}
	b := &box{prov: p, sb: s, env: env, procs: map[int]*process{}, nextPID: 1}
	p.boxes[s.ID] = b
	p.order = nil
	return b
}

// newID makes the next id: `i` and 20 of [a-z0-9], the same in every run. The lock is held.
func (p *Provider) newID() client.ID {
	for {
		p.nextID++
		x := uint64(p.nextID) * 0x9E3779B97F4A7C15
		y := (x ^ x>>29) * 0xBF58476D1CE4E5B9
		id := client.ID("i" + pad36(x, 10) + pad36(y, 10))
		if p.boxes[id] == nil {
			return id
		}
	}
}

func pad36(x uint64, n int) string {
	s := fmt.Sprintf("%013s", strconv.FormatUint(x, 36))
	return s[len(s)-n:]
}

// Vanish removes sandboxes behind everybody's back, as another user would.
func (p *Provider) Vanish(ids ...client.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		p.drop(id)
	}
}

// drop removes a sandbox and ends its processes. The lock is held.
func (p *Provider) drop(id client.ID) {
	if b := p.boxes[id]; b != nil {
		b.killAll()
		delete(p.boxes, id)
		p.order = nil
	}
}

// Change edits a sandbox in place; it does nothing if there is none.
func (p *Provider) Change(id client.ID, edit func(*client.Sandbox)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.boxes[id]; b != nil {
		edit(&b.sb)
		p.order = nil
	}
}

// Stick makes Kill of id succeed and change nothing but the state (KIL-04).
func (p *Provider) Stick(id client.ID, state client.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sticky[id] = state
}

// Flap leaves the ids out of every second list.
func (p *Provider) Flap(ids ...client.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		p.flap[id] = true
	}
}

// All returns every sandbox, newest first, without recording a call.
func (p *Provider) All() []client.Sandbox {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	out := make([]client.Sandbox, 0, len(p.boxes))
	for _, b := range p.sorted() {
		out = append(out, b.sb.Clone())
	}
	return out
}

// expire removes what has reached its end. The lock is held.
func (p *Provider) expire() {
	now := p.serverNow()
	for id, b := range p.boxes {
		if b.sb.End == client.EndAt && b.sb.State != client.StatePaused && !b.sb.ExpiresAt.After(now) {
			p.drop(id)
		}
	}
}

func (p *Provider) serverNow() time.Time { return p.opts.Now().Add(p.opts.Skew) }

// sorted is every box, newest first. The lock is held.
func (p *Provider) sorted() []*box {
	if p.order == nil {
		p.order = slices.SortedFunc(maps.Values(p.boxes), func(a, b *box) int {
			return cmp.Or(b.sb.StartedAt.Compare(a.sb.StartedAt), cmp.Compare(a.sb.ID, b.sb.ID))
		})
	}
	return p.order
}

// List pages through what matches q, newest first.
func (p *Provider) List(ctx context.Context, q client.Query) (client.Page, error) {
	step, err := p.begin(ctx, OpList, "", q.PageToken)
	if err != nil {
		return client.Page{}, err
	}
	p.mu.Lock()
	page := p.page(q)
	p.mu.Unlock()
	if p.opts.OnList != nil {
		if page, err = p.opts.OnList(q, page); err != nil {
			return client.Page{}, err
		}
	}
	return page, step.Err
}

// page cuts one page. The lock is held.
func (p *Provider) page(q client.Query) client.Page {
	p.expire()
	limit := q.Limit
	if limit <= 0 || limit > p.opts.PageSize {
		limit = p.opts.PageSize
	}
	if q.PageToken == "" {
		p.flapped = !p.flapped
	}
	skip, _ := strconv.Atoi(q.PageToken) // a token that is not ours starts again
	page := client.Page{ServerTime: p.serverNow()}
	seen := 0
	for _, b := range p.sorted() {
		if !matches(b.sb, q) || p.flapped && p.flap[b.sb.ID] {
			continue
		}
		if seen++; seen <= skip {
			continue
		}
		if len(page.Sandboxes) == limit {
			page.NextToken = strconv.Itoa(skip + limit)
			break
		}
		page.Sandboxes = append(page.Sandboxes, b.sb.Clone())
	}
	return page
}

func matches(s client.Sandbox, q client.Query) bool {
	if len(q.States) > 0 && !slices.Contains(q.States, s.State) {
		return false
	}
	if q.Template != "" && q.Template != s.Template && q.Template != s.TemplateID {
		return false
	}
	for k, v := range q.Metadata {
		if got, ok := s.Metadata[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// find returns the live box. The lock is held.
func (p *Provider) find(op string, id client.ID) (*box, error) {
	p.expire()
	if b := p.boxes[id]; b != nil {
		return b, nil
	}
	return nil, p.NotFound(op, id)
}

// Get returns one sandbox.
func (p *Provider) Get(ctx context.Context, id client.ID) (client.Sandbox, error) {
	step, err := p.begin(ctx, OpGet, id, "")
	if err != nil {
		return client.Sandbox{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.find(OpGet, id)
	if err != nil {
		return client.Sandbox{}, err
	}
	return b.sb.Clone(), step.Err
}

// Create makes a sandbox that runs at once.
func (p *Provider) Create(ctx context.Context, spec client.CreateSpec) (client.Sandbox, error) {
	step, err := p.begin(ctx, OpCreate, "", spec.Template)
	if err != nil {
		return client.Sandbox{}, err
	}
	if spec.Lifetime < 0 {
		return client.Sandbox{}, client.Usagef("create sandbox", "the lifetime must be positive, not %s", spec.Lifetime)
	}
	if spec.Lifetime == 0 {
		spec.Lifetime = p.opts.Lifetime
	}
	if spec.Template == "" {
		spec.Template = "base"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.serverNow()
	b := p.add(client.Sandbox{
		Name: spec.Metadata[client.MetaName], Template: spec.Template, TemplateID: spec.Template,
		StartedAt: now, ExpiresAt: now.Add(spec.Lifetime.Round(time.Second)), CPU: 2, MemoryMB: 512, DiskMB: 1024,
		Metadata: spec.Metadata, EnvdVersion: "0.6.13",
	}, maps.Clone(spec.Env))
	return b.sb.Clone(), step.Err
}

// Kill removes a sandbox and its processes.
func (p *Provider) Kill(ctx context.Context, id client.ID) error {
	step, err := p.begin(ctx, OpKill, id, "")
	if err != nil || step.Skip {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.find(OpKill, id)
	if err != nil {
		return err
	}
	if state, ok := p.sticky[id]; ok {
		b.sb.State = state
		return step.Err
	}
	p.drop(id)
	return step.Err
}

// SetLifetime makes the sandbox end d from now.
func (p *Provider) SetLifetime(ctx context.Context, id client.ID, d time.Duration) error {
	if d <= 0 {
		return client.Usagef("set lifetime", "the lifetime must be positive, not %s", d)
	}
	step, err := p.begin(ctx, OpTimeout, id, d.String())
	if err != nil || step.Skip {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.find(OpTimeout, id)
	if err != nil {
		return err
	}
	b.sb.End, b.sb.ExpiresAt = client.EndAt, p.serverNow().Add(d)
	return step.Err
}

// Connect extends a lifetime, never shortens it, and resumes a paused sandbox.
func (p *Provider) Connect(ctx context.Context, id client.ID, lifetime time.Duration) (client.Sandbox, error) {
	return p.revive(ctx, OpConnect, id, lifetime)
}

// Resume runs a paused sandbox again.
func (p *Provider) Resume(ctx context.Context, id client.ID, lifetime time.Duration) error {
	_, err := p.revive(ctx, OpResume, id, lifetime)
	return err
}

func (p *Provider) revive(ctx context.Context, op string, id client.ID, lifetime time.Duration) (client.Sandbox, error) {
	if lifetime < 0 {
		return client.Sandbox{}, client.Usagef(op, "the lifetime must not be negative")
	}
	step, err := p.begin(ctx, op, id, lifetime.String())
	if err != nil {
		return client.Sandbox{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.find(op, id)
	if err != nil {
		return client.Sandbox{}, err
	}
	if !step.Skip {
		b.sb.State = client.StateRunning
		if end := p.serverNow().Add(lifetime); b.sb.End == client.EndAt && end.After(b.sb.ExpiresAt) {
			b.sb.ExpiresAt = end
		}
	}
	return b.sb.Clone(), step.Err
}

// Pause stops a running sandbox.
func (p *Provider) Pause(ctx context.Context, id client.ID) error {
	step, err := p.begin(ctx, OpPause, id, "")
	if err != nil || step.Skip {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.find(OpPause, id)
	if err != nil {
		return err
	}
	if b.sb.State != client.StateRunning {
		return &client.Error{
			Op: "pause", Provider: p.opts.Name, Code: client.CodeConflict, Status: 409, Kind: client.ErrConflict,
			Message: fmt.Sprintf("sandbox %s is %s, not running", id, b.sb.State),
		}
	}
	b.sb.State = client.StatePaused
	return step.Err
}

// running returns the box if commands and files can be used in it.
func (p *Provider) running(op string, id client.ID) (*box, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.find(op, id)
	if err != nil {
		return nil, err
	}
	if b.sb.State == client.StatePaused {
		return nil, &client.Error{
			Op: op, Provider: p.opts.Name, Code: client.CodeConflict, Kind: client.ErrConflict,
			Message: fmt.Sprintf("sandbox %s is paused", id), Hint: "resume it first",
		}
	}
	return b, nil
}
