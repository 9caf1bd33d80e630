// Package fake is an in-memory provider for tests and for the demo: thousands
// of rows, an injected clock, latency, scripted failures, a file tree and
// processes run by a small shell. It needs no network and no account, and it
// passes the same contract suite as the real ones.
package fake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"abxdash/client"
)

// Operations as they appear in [Call.Op] and are named to [Provider.Script].
const (
	OpList      = "list"
	OpGet       = "get"
	OpCreate    = "create"
	OpKill      = "kill"
	OpTimeout   = "timeout"
	OpConnect   = "connect"
	OpPause     = "pause"
	OpResume    = "resume"
	OpStart     = "start"
	OpAttach    = "attach"
	OpProcesses = "processes"
	OpWrite     = "write"
	OpClose     = "closestdin"
	OpResize    = "resize"
	OpSignal    = "signal"
	OpReadDir   = "readdir"
	OpStat      = "stat"
	OpOpen      = "open"
	OpPut       = "put"
	OpMkdir     = "mkdir"
	OpRename    = "rename"
	OpRemove    = "remove"
)

// Options shape a fake. The zero value works.
type Options struct {
	// Name is the provider's name; default "fake".
	Name string
	// Now is the clock of lifetimes; default time.Now.
	Now func() time.Time
	// Skew is added to Now to give the server's time.
	Skew time.Duration
	// Latency delays every call, by Sleep.
	Latency time.Duration
	// Sleep waits for d or for ctx; default a real timer. The sleep command of
	// the sandbox uses it too.
	Sleep func(ctx context.Context, d time.Duration) error
	// PageSize is the default and the largest page; default 100.
	PageSize int
	// Isolation is what created sandboxes report; default client.IsolationProvider.
	Isolation client.Isolation
	// Lifetime is the default lifetime; default 300 s.
	Lifetime time.Duration
	// Capabilities overrides what is declared.
	Capabilities *client.Capabilities
	// OnList may replace a page just before it is returned.
	OnList func(q client.Query, p client.Page) (client.Page, error)
	// Templates declares templates; see AddTemplates.
	Templates bool
	// Programs adds commands to those that sandboxes have.
	Programs map[string]Program
}

// Call is one recorded call.
type Call struct {
	Op string
	ID client.ID
	// Arg is the path, the command line, the duration or the bytes sent, in words.
	Arg string
	At  time.Time
}

// Step is what happens to one call instead of the usual.
type Step struct {
	// Err is returned; with Apply set, after the work was done.
	Err   error
	Apply bool
	// Skip claims success without doing anything.
	Skip bool
	// Hang waits for the caller's context.
	Hang bool
	// Delay is waited first, by Options.Sleep.
	Delay time.Duration
	// Repeat keeps the step for all later calls.
	Repeat bool
}

// Provider is the fake; it implements client.Provider, all its parts,
// client.Connector and client.Pauser. Use [New].
type Provider struct {
	opts     Options
	programs map[string]Program

	mu      sync.Mutex
	boxes   map[client.ID]*box
	order   []*box // newest first; nil when it must be made again
	calls   []Call
	scripts map[string][]Step // key op, or op and id
	sticky  map[client.ID]client.State
	flap    map[client.ID]bool
	flapped bool
	nextID  int
	tpl     templateShelf
	procs   sync.WaitGroup
}

var (
	_ client.Provider  = (*Provider)(nil)
	_ client.Sandboxes = (*Provider)(nil)
	_ client.Commands  = (*Provider)(nil)
	_ client.Files     = (*Provider)(nil)
	_ client.Connector = (*Provider)(nil)
	_ client.Pauser    = (*Provider)(nil)
)

// New makes an empty provider.
func New(opts Options) *Provider {
	if opts.Name == "" {
		opts.Name = "fake"
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Sleep == nil {
		opts.Sleep = sleep
	}
	if opts.PageSize <= 0 {
		opts.PageSize = 100
	}
	if opts.Isolation == "" {
		opts.Isolation = client.IsolationProvider
	}
	if opts.Lifetime <= 0 {
		opts.Lifetime = 300 * time.Second
	}
	p := &Provider{
		opts:     opts,
		programs: programs(),
		boxes:    map[client.ID]*box{},
		scripts:  map[string][]Step{},
		sticky:   map[client.ID]client.State{},
		flap:     map[client.ID]bool{},
	}
	maps.Copy(p.programs, opts.Programs)
	return p
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Name is the configured name.
func (p *Provider) Name() string { return p.opts.Name }

// Sandboxes is the provider itself.
func (p *Provider) Sandboxes() client.Sandboxes { return p }

// Commands is the provider itself.
func (p *Provider) Commands() client.Commands { return p }

// Files is the provider itself.
func (p *Provider) Files() client.Files { return p }

// Capabilities are the usual ones, or those of the options.
func (p *Provider) Capabilities() client.Capabilities {
	if p.opts.Capabilities != nil {
		return *p.opts.Capabilities
	}
	out := client.Capabilities{
		Have: map[client.Capability]bool{
			client.CapCommands: true, client.CapPTY: true, client.CapReconnect: true,
			client.CapFiles: true, client.CapTransfer: true, client.CapPause: true,
		},
		Why: map[client.Capability]string{
			client.CapMetrics:  "an in-memory sandbox uses nothing that could be measured",
			client.CapSnapshot: "an in-memory sandbox cannot be snapshotted",
		},
	}
	if p.opts.Templates {
		out.Have[client.CapTemplates] = true
	}
	return out
}

// Close ends every process and waits for their goroutines. The provider can still be used.
func (p *Provider) Close() {
	p.mu.Lock()
	for _, b := range p.boxes {
		b.killAll()
	}
	p.mu.Unlock()
	p.procs.Wait()
}

// Calls returns what was called so far.
func (p *Provider) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// CallsOf returns the calls of one operation.
func (p *Provider) CallsOf(op string) []Call {
	return slices.DeleteFunc(p.Calls(), func(c Call) bool { return c.Op != op })
}

// ResetCalls forgets the recorded calls.
func (p *Provider) ResetCalls() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = nil
}

// Script queues steps for the next calls of op on the sandbox id; "" means any
// sandbox (and list and create, which have none). Steps for an id come first.
func (p *Provider) Script(op string, id client.ID, steps ...Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := scriptKey(op, id)
	p.scripts[k] = append(p.scripts[k], steps...)
}

// ClearScript drops what was queued for op and id.
func (p *Provider) ClearScript(op string, id client.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.scripts, scriptKey(op, id))
}

func scriptKey(op string, id client.ID) string {
	if id == "" {
		return op
	}
	return op + " " + string(id)
}

// begin records a call and plays latency and the scripted step. A non-nil
// error is the call's result; else the caller works (unless step.Skip) and
// returns step.Err in the end.
func (p *Provider) begin(ctx context.Context, op string, id client.ID, arg string) (Step, error) {
	p.mu.Lock()
	p.calls = append(p.calls, Call{Op: op, ID: id, Arg: arg, At: p.opts.Now()})
	step := p.take(op, id)
	p.mu.Unlock()

	if d := p.opts.Latency + step.Delay; d > 0 {
		if err := p.opts.Sleep(ctx, d); err != nil {
			return step, p.wrap(op, err)
		}
	}
	if step.Hang {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return step, p.wrap(op, err)
	}
	if step.Err != nil && !step.Apply {
		return step, step.Err
	}
	return step, nil
}

// take removes the next scripted step of a call. The lock is held.
func (p *Provider) take(op string, id client.ID) Step {
	for _, k := range []string{scriptKey(op, id), scriptKey(op, "")} {
		queue := p.scripts[k]
		if len(queue) == 0 {
			continue
		}
		step := queue[0]
		if !step.Repeat {
			p.scripts[k] = queue[1:]
		}
		return step
	}
	return Step{}
}

func (p *Provider) wrap(op string, err error) error {
	return &client.Error{Op: op, Provider: p.opts.Name, Code: client.CodeConnect, Kind: client.ErrUnavailable, Err: err}
}

// NotFound is the error of a sandbox that is not there.
func (p *Provider) NotFound(op string, id client.ID) error {
	return &client.Error{
		Op: op, Provider: p.opts.Name, Code: client.CodeNotFound, Status: 404, Kind: client.ErrNotFound,
		Message: fmt.Sprintf("sandbox %s does not exist", client.OneLine(string(id), 60)),
	}
}

// RateLimited is a 429 that asks to wait for d.
func RateLimited(d time.Duration) error {
	return &client.Error{Code: client.CodeRateLimited, Status: 429, Kind: client.ErrRateLimited, RetryAfter: d, Message: "too many requests"}
}

// ServerError is a 500.
func ServerError(message string) error {
	return &client.Error{Code: client.CodeServer, Status: 500, Kind: client.ErrUnavailable, Message: message}
}

// Unauthorized is a 401.
func Unauthorized() error {
	return &client.Error{Code: client.CodeAuthMissing, Status: 401, Kind: client.ErrUnauthorized, Message: "the key was not accepted"}
}

// BadRequest is a 400 with the server's reason.
func BadRequest(message string) error {
	return &client.Error{Code: client.CodeUsage, Status: 400, Message: message}
}
