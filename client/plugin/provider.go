package plugin

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"abxdash/client"
	"abxdash/client/plugin/wire"
)

// Options say how a plug-in is run.
type Options struct {
	// Lookup finds a variable; "" is not set.
	Lookup func(name string) (string, error)
	Logger *slog.Logger
	// RequestTimeout bounds one call; 0 is 60 s, negative none.
	RequestTimeout time.Duration
	UserAgent      string
	// HTTPClient replaces the one of rest plug-ins; nil makes one.
	HTTPClient *http.Client
}

// Provider is a plug-in as a provider.
type Provider struct {
	m       Manifest
	t       transport
	timeout time.Duration
	// secrets are masked in errors.
	secrets []client.Secret
}

var (
	_ client.Provider = (*Provider)(nil)
	_ client.Pauser   = (*Provider)(nil)
)

// Open makes the provider of an installed plug-in. Nothing is started. A
// changed file, or a variable that is missing, is an error.
func Open(in Installed, o Options) (*Provider, error) {
	if err := in.Verify(); err != nil {
		return nil, err
	}
	return open(in.Dir, in.Manifest, o)
}

func open(dir string, m Manifest, o Options) (*Provider, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = time.Minute
	}
	p := &Provider{m: m, timeout: o.RequestTimeout}
	var env []string
	for _, v := range m.Environment {
		text, err := o.Lookup(v.Name)
		if err != nil {
			return nil, err
		}
		if text == "" {
			if v.Required {
				return nil, &client.Error{
					Op: "open provider " + m.ID, Provider: m.ID, Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized,
					Message: v.Name + " is not set", Hint: client.OneLine(v.Description, 200),
				}
			}
			continue
		}
		env = append(env, v.Name+"="+text)
		p.secrets = append(p.secrets, client.NewSecret(text))
	}
	if m.Kind == KindREST {
		return p, p.rest(o)
	}
	argv, err := command(dir, m)
	if err != nil {
		return nil, err
	}
	if env == nil {
		env = []string{} // nil would give it everything
	}
	p.t = &program{argv: argv, dir: dir, env: env, log: o.Logger}
	return p, nil
}

// rest prepares a plug-in of kind rest.
func (p *Provider) rest(o Options) error {
	s := &service{base: strings.TrimRight(p.m.BaseURL, "/"), agent: o.UserAgent}
	if p.m.Key != "" {
		text, err := o.Lookup(p.m.Key)
		if err != nil {
			return err
		}
		if text == "" {
			return &client.Error{
				Op: "open provider " + p.m.ID, Provider: p.m.ID, Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized, Message: p.m.Key + " is not set",
			}
		}
		s.key = text
		p.secrets = append(p.secrets, client.NewSecret(text))
	}
	hc := http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 32, IdleConnTimeout: 90 * time.Second}}
	if o.HTTPClient != nil {
		hc = *o.HTTPClient
	}
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("refused a redirect") }
	s.http = &hc
	var seed [4]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return err
	}
	s.last.Store(int64(binary.BigEndian.Uint32(seed[:])) << 20)
	p.t = s
	return nil
}

// Close ends the plug-in's process.
func (p *Provider) Close() { p.t.close() }

// Name implements [client.Provider].
func (p *Provider) Name() string { return p.m.ID }

// Capabilities implements [client.Provider]: what the manifest says.
func (p *Provider) Capabilities() client.Capabilities { return p.m.capabilities() }

func (m Manifest) capabilities() client.Capabilities {
	caps := client.Capabilities{Have: map[client.Capability]bool{}, Why: map[client.Capability]string{}}
	for _, k := range []client.Capability{client.CapCommands, client.CapFiles} {
		caps.Have[k] = true
	}
	for _, text := range m.Capabilities {
		switch k := client.Capability(text); k {
		case client.CapPTY, client.CapReconnect, client.CapPause:
			caps.Have[k] = true
		}
	}
	for _, k := range client.AllCapabilities() {
		if !caps.Have[k] {
			caps.Why[k] = "the plug-in " + m.ID + " does not offer it, or plug-ins cannot"
		}
	}
	return caps
}

// Sandboxes implements [client.Provider].
func (p *Provider) Sandboxes() client.Sandboxes { return p }

// Commands implements [client.Provider].
func (p *Provider) Commands() client.Commands { return p }

// Files implements [client.Provider].
func (p *Provider) Files() client.Files { return p }

// fail makes a domain error of whatever went wrong.
func (p *Provider) fail(ctx context.Context, op string, code client.Code, err error) error {
	if err == nil {
		return nil
	}
	e := &client.Error{Op: op, Provider: p.m.ID, Code: code, Kind: client.ErrUnavailable, Err: err}
	var we *wireError
	var done *client.Error
	switch {
	case errors.As(err, &we):
		e = we.e.Client(op, p.m.ID, code)
	case errors.As(err, &done):
		return err
	case ctx.Err() != nil:
		e.Err, e.Message = ctx.Err(), "cancelled"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			e.Message = "no answer in time"
		} else {
			e.Kind = nil
		}
	default:
		e.Code = client.CodeNetwork
		e.Message = err.Error()
	}
	for _, s := range p.secrets {
		e.Message, e.Hint = s.Mask(e.Message), s.Mask(e.Hint)
	}
	e.Message = client.OneLine(e.Message, 300)
	return e
}

// wireError is an error that the plug-in sent.
type wireError struct{ e *wire.Error }

func (w *wireError) Error() string { return w.e.Message }

// bounded limits a call.
func (p *Provider) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.timeout < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, p.timeout)
}

// call makes a call without a stream.
func (p *Provider) call(ctx context.Context, op string, code client.Code, method string, params wire.Params, result any) error {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	ch, err := p.begin(ctx, method, params)
	if err != nil {
		return p.fail(ctx, op, code, err)
	}
	stop := context.AfterFunc(ctx, ch.close)
	defer ch.close()
	defer stop()
	raw, err := finish(ch)
	if err == nil && result != nil {
		if json.Unmarshal(raw, result) != nil {
			err = &client.Error{Op: op, Provider: p.m.ID, Code: client.CodeBadAnswer, Message: "the plug-in's answer is not what it should be"}
		}
	}
	return p.fail(ctx, op, code, err)
}

func (p *Provider) begin(ctx context.Context, method string, params wire.Params) (channel, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return p.t.open(ctx, method, raw)
}

// finish reads to the result.
func finish(ch channel) (json.RawMessage, error) {
	for {
		m, err := ch.recv()
		switch {
		case err != nil:
			return nil, err
		case m.Error != nil:
			return nil, &wireError{m.Error}
		case m.Result != nil:
			return m.Result, nil
		}
	}
}

// Hello asks the plug-in who it is; it is how installing finds out whether a
// program speaks the protocol.
func (p *Provider) Hello(ctx context.Context) error {
	var h wire.HelloResult
	if err := p.call(ctx, "greet plug-in "+p.m.ID, client.CodeBadAnswer, wire.Hello, wire.Params{}, &h); err != nil {
		return err
	}
	if h.Protocol != wire.Version {
		return &client.Error{
			Op: "greet plug-in " + p.m.ID, Provider: p.m.ID, Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: fmt.Sprintf("it speaks version %d of the protocol, not %d", h.Protocol, wire.Version),
		}
	}
	return nil
}

func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// List implements [client.Sandboxes].
func (p *Provider) List(ctx context.Context, q client.Query) (client.Page, error) {
	params := wire.Params{Metadata: q.Metadata, Template: q.Template, Limit: q.Limit, Page: q.PageToken}
	for _, s := range q.States {
		params.States = append(params.States, string(s))
	}
	var w wire.Page
	if err := p.call(ctx, "list sandboxes", client.CodeServer, wire.List, params, &w); err != nil {
		return client.Page{}, err
	}
	page := client.Page{NextToken: w.Next}
	for _, s := range w.Sandboxes {
		if s.ID == "" {
			page.MayBeIncomplete, page.Note = true, client.NoteOddRows
			continue
		}
		page.Sandboxes = append(page.Sandboxes, s.Client(p.m.ID))
	}
	return page, nil
}

// one makes a call that answers with a sandbox.
func (p *Provider) one(ctx context.Context, op string, code client.Code, method string, params wire.Params) (client.Sandbox, error) {
	var w wire.Sandbox
	if err := p.call(ctx, op, code, method, params, &w); err != nil {
		return client.Sandbox{}, err
	}
	if w.ID == "" {
		return client.Sandbox{}, &client.Error{Op: op, Provider: p.m.ID, Code: client.CodeBadAnswer, Message: "the plug-in sent a sandbox without an id"}
	}
	return w.Client(p.m.ID), nil
}

// Get implements [client.Sandboxes].
func (p *Provider) Get(ctx context.Context, id client.ID) (client.Sandbox, error) {
	return p.one(ctx, "get sandbox", client.CodeServer, wire.Get, wire.Params{ID: string(id)})
}

// Create implements [client.Sandboxes].
func (p *Provider) Create(ctx context.Context, spec client.CreateSpec) (client.Sandbox, error) {
	if spec.Lifetime < 0 {
		return client.Sandbox{}, client.Usagef("create sandbox", "the lifetime %s is negative", spec.Lifetime)
	}
	if spec.Network != nil || spec.Internet != nil || spec.AutoResume {
		return client.Sandbox{}, &client.Error{
			Op: "create sandbox", Provider: p.m.ID, Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: "a plug-in cannot be told about the network",
		}
	}
	if spec.Lifetime == 0 {
		spec.Lifetime = 300 * time.Second
	}
	return p.one(ctx, "create sandbox", client.CodeCreate, wire.Create, wire.Params{
		Template: spec.Template, Seconds: seconds(spec.Lifetime), Env: spec.Env, Metadata: spec.Metadata, AutoPause: spec.AutoPause,
	})
}

// Kill implements [client.Sandboxes].
func (p *Provider) Kill(ctx context.Context, id client.ID) error {
	return p.call(ctx, "kill sandbox", client.CodeServer, wire.Kill, wire.Params{ID: string(id)}, nil)
}

// SetLifetime implements [client.Sandboxes].
func (p *Provider) SetLifetime(ctx context.Context, id client.ID, d time.Duration) error {
	if d <= 0 {
		return client.Usagef("set lifetime", "the lifetime must be more than 0, not %s", d)
	}
	return p.call(ctx, "set lifetime", client.CodeServer, wire.SetLifetime, wire.Params{ID: string(id), Seconds: seconds(d)}, nil)
}

// Pause implements [client.Pauser].
func (p *Provider) Pause(ctx context.Context, id client.ID) error {
	if err := p.Capabilities().Missing(p.m.ID, client.CapPause); err != nil {
		return err
	}
	return p.call(ctx, "pause sandbox", client.CodeServer, wire.Pause, wire.Params{ID: string(id)}, nil)
}

// Resume implements [client.Pauser].
func (p *Provider) Resume(ctx context.Context, id client.ID, d time.Duration) error {
	if err := p.Capabilities().Missing(p.m.ID, client.CapPause); err != nil {
		return err
	}
	return p.call(ctx, "resume sandbox", client.CodeServer, wire.Resume, wire.Params{ID: string(id), Seconds: seconds(d)}, nil)
}

// Start implements [client.Commands].
func (p *Provider) Start(ctx context.Context, id client.ID, c client.Command) (client.Process, error) {
	const op = "start command"
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, client.Usagef(op, "no command given")
	}
	params := wire.Params{ID: string(id), Argv: c.Argv, Env: c.Env, Dir: c.Dir, User: c.User, Tag: c.Tag, Stdin: c.Stdin, TimeoutMS: c.Timeout.Milliseconds()}
	if c.PTY != nil {
		params.PTY = &wire.Size{Cols: c.PTY.Cols, Rows: c.PTY.Rows}
	}
	return p.join(ctx, op, wire.Start, params)
}

// Attach implements [client.Commands].
func (p *Provider) Attach(ctx context.Context, id client.ID, pid int) (client.Process, error) {
	return p.join(ctx, fmt.Sprintf("attach to process %d", pid), wire.Attach, wire.Params{ID: string(id), PID: pid})
}

// join begins a stream and waits for the process to have started.
func (p *Provider) join(ctx context.Context, op, method string, params wire.Params) (client.Process, error) {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	ch, err := p.begin(ctx, method, params)
	if err != nil {
		return nil, p.fail(ctx, op, client.CodeRun, err)
	}
	stop := context.AfterFunc(ctx, ch.close)
	m, err := ch.recv()
	switch {
	case err == nil && m.Error != nil:
		err = &wireError{m.Error}
	case err == nil && (m.Event == nil || m.Event.Started == 0):
		err = &client.Error{Op: op, Provider: p.m.ID, Code: client.CodeBadAnswer, Message: "the plug-in does not say that the process has started"}
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		ch.close()
		return nil, p.fail(ctx, op, client.CodeRun, err)
	}
	return &process{p: p, ch: ch, pid: m.Event.Started}, nil
}

// Processes implements [client.Commands].
func (p *Provider) Processes(ctx context.Context, id client.ID) ([]client.ProcessInfo, error) {
	var list []wire.Process
	err := p.call(ctx, "list processes", client.CodeRPC, wire.Processes, wire.Params{ID: string(id)}, &list)
	out := make([]client.ProcessInfo, len(list))
	for i, x := range list {
		out[i] = client.ProcessInfo{PID: x.PID, Argv: x.Argv, Dir: x.Dir, Tag: x.Tag}
	}
	return out, err
}

// process is a stream of start or attach.
type process struct {
	p    *Provider
	ch   channel
	pid  int
	mu   sync.Mutex
	exit client.Exit
	last error
}

func (r *process) PID() int          { return r.pid }
func (r *process) Exit() client.Exit { return r.exit }

// Next implements [client.Process].
func (r *process) Next() (client.Frame, error) {
	for r.last == nil {
		m, err := r.ch.recv()
		switch {
		case errors.Is(err, net.ErrClosed):
			r.last = &client.Error{Op: "read output", Provider: r.p.m.ID, Code: client.CodeRun, Message: "detached", Err: err}
		case err != nil:
			r.last = &client.Error{Op: "read output", Provider: r.p.m.ID, Code: client.CodeNetwork, Kind: client.ErrStreamBroken, Message: client.ErrStreamBroken.Error(), Err: err}
		case m.Error != nil:
			r.last = r.p.fail(context.Background(), "read output", client.CodeRun, &wireError{m.Error})
		case m.Result != nil:
			r.ended(m.Result)
		case m.Event != nil:
			if f, ok := frame(*m.Event); ok {
				return f, nil
			}
		}
	}
	r.ch.close()
	return client.Frame{}, r.last
}

func (r *process) ended(raw json.RawMessage) {
	var x wire.Exit
	if json.Unmarshal(raw, &x) != nil {
		r.last = &client.Error{Op: "read output", Provider: r.p.m.ID, Code: client.CodeBadAnswer, Message: "the plug-in does not say how the process ended"}
		return
	}
	r.exit = client.Exit{Code: x.Code, Signal: x.Signal, Status: client.OneLine(x.Status, 200), TimedOut: x.TimedOut}
	r.last = io.EOF
}

func frame(ev wire.Event) (client.Frame, bool) {
	switch {
	case len(ev.Stdout) > 0:
		return client.Frame{Stream: client.Stdout, Data: ev.Stdout}, true
	case len(ev.Stderr) > 0:
		return client.Frame{Stream: client.Stderr, Data: ev.Stderr}, true
	case len(ev.Terminal) > 0:
		return client.Frame{Stream: client.Terminal, Data: ev.Terminal}, true
	}
	return client.Frame{}, false
}

func (r *process) send(ctx context.Context, op string, in wire.Input) error {
	return r.p.fail(ctx, op, client.CodeRPC, r.ch.send(ctx, in))
}

// Write implements [client.Process].
func (r *process) Write(ctx context.Context, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(data) > 0 {
		n := min(len(data), 64<<10)
		if err := r.send(ctx, "send input", wire.Input{Data: data[:n]}); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (r *process) CloseStdin(ctx context.Context) error {
	return r.send(ctx, "close input", wire.Input{EOF: true})
}

func (r *process) Resize(ctx context.Context, s client.Size) error {
	return r.send(ctx, "resize terminal", wire.Input{Resize: &wire.Size{Cols: s.Cols, Rows: s.Rows}})
}

func (r *process) Signal(ctx context.Context, s client.Signal) error {
	if s != client.SIGKILL && s != client.SIGTERM {
		return client.Usagef("send signal", "only SIGTERM and SIGKILL can be sent, not %d", s)
	}
	return r.send(ctx, "send signal", wire.Input{Signal: int(s)})
}

func (r *process) Close() error {
	r.ch.close()
	return nil
}
