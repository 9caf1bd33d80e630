package check

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	"abxdash/client"
	"abxdash/client/agentserver"
	"abxdash/templates"
)

// ServeOptions say how the server of a sandbox is started.
type ServeOptions struct {
	// Command is a shell command; "" is the one of Target.
	Command string
	Target  templates.Target
	// Port is where it will answer; 0 is 9000.
	Port int
	// Patience bounds the wait for its first answer; 0 is a minute.
	Patience time.Duration
}

// Served is what came of [Serve].
type Served struct {
	// Already tells that a server answered before anything was started.
	Already bool `json:"already"`
	// PID is that of what was started, 0 if nothing was.
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
	Port    int    `json:"port"`
}

// logFile is where a server that was started by hand writes.
const logFile = "/tmp/agent-sandbox-server.log"

// Serve starts the server of named commands in a running sandbox through the
// sandbox's agent, unless one answers already, and waits until it does. This is
// for platforms that take no start command: Express of generation 1
// (alicloud-express §9.1). The server goes on when this returns.
func Serve(ctx context.Context, p client.Provider, id client.ID, o ServeOptions) (Served, error) {
	const op = "start the server"
	if o.Port == 0 {
		o.Port = templates.ServerPort
	}
	if o.Patience <= 0 {
		o.Patience = startPatience
	}
	out := Served{Port: o.Port}
	for _, need := range []client.Capability{client.CapCommands, client.CapPorts} {
		if err := p.Capabilities().Missing(p.Name(), need); err != nil {
			return out, err
		}
	}
	c, err := reach(p, id, o.Port)
	if err != nil {
		return out, err
	}
	if c.Health(ctx) == nil {
		out.Already = true
		return out, nil
	}
	if err := ctx.Err(); err != nil {
		return out, context.Cause(ctx)
	}
	if out.Command = o.Command; out.Command == "" {
		if out.Command = o.Target.StartCommand(); out.Command == "" {
			out.Command = "cd " + o.Target.Workdir() + " && exec python3 " + templates.FileCommands
		}
	}
	proc, err := p.Commands().Start(ctx, id, client.Command{
		Argv: []string{"/bin/sh", "-c", `exec /bin/sh -c "$1" >` + logFile + ` 2>&1`, "sh", out.Command},
		Env:  map[string]string{"ABX_SERVER_PORT": strconv.Itoa(o.Port), "PYTHONUNBUFFERED": "1"}, Tag: "agent-sandbox-server",
	})
	if err != nil {
		return out, err
	}
	out.PID = proc.PID()
	s := &server{proc: proc, done: make(chan struct{})}
	go s.read()
	defer s.stop()
	limit, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	tick := time.NewTicker(pollPace)
	defer tick.Stop()
	for {
		err := c.Health(limit)
		if err == nil {
			return out, nil
		}
		select {
		case <-s.done:
			return out, ended(ctx, p, id, s)
		case <-limit.Done():
			if ctx.Err() != nil {
				return out, context.Cause(ctx)
			}
			return out, &client.Error{Op: op, Code: client.CodeRunTimeout, Err: err, Message: "port " + strconv.Itoa(o.Port) + " did not answer within " + o.Patience.String(), Hint: "its output is in " + logFile + " of the sandbox"}
		case <-tick.C:
		}
	}
}

// ended words the end of a server that should have gone on, by what it wrote.
func ended(ctx context.Context, p client.Provider, id client.ID, s *server) error {
	b := &box{p: p, id: id}
	if text, ok, err := b.quick(ctx, "/bin/sh", "-c", "tail -n 20 "+logFile); err == nil && ok {
		s.mu.Lock()
		s.add([]byte(text + "\n"))
		s.mu.Unlock()
	}
	return s.failure()
}

// reach makes a client of a sandbox's server: over the provider's own
// connection where it has one, else over the port's address.
func reach(p client.Provider, id client.ID, port int) (*agentserver.Client, error) {
	cfg := agentserver.Config{Port: port, Provider: p.Name(), RequestTimeout: callPatience}
	if d, ok := client.Find[client.PortDialer](p); ok {
		cfg.Resolve = func(context.Context, int) (client.Address, error) {
			return client.Address{URL: "http://sandbox.invalid"}, nil
		}
		cfg.HTTP = &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true, // nothing of it outlives the sandbox
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return d.DialPort(ctx, id, port)
			},
		}}
		return agentserver.New(cfg), nil
	}
	ports, ok := client.Find[client.Ports](p)
	if !ok {
		return nil, &client.Error{Op: "reach port " + strconv.Itoa(port), Provider: p.Name(), Code: client.CodeUnsupported, Kind: client.ErrUnsupported}
	}
	if w, ok := client.Find[client.WebClient](p); ok {
		cfg.HTTP = w.HTTPClient()
	}
	cfg.Resolve = func(ctx context.Context, port int) (client.Address, error) { return ports.ResolvePort(ctx, id, port) }
	return agentserver.New(cfg), nil
}
