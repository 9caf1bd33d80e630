package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"abxdash/client"
	"abxdash/client/agentserver"
	"abxdash/client/engine"
)

// GetURL is the address of a port, for a browser or curl. It makes no call. In
// secure mode a request needs [Sandbox.AccessHeaders] too. The error is E8004
// where ports have no URL.
func (sb *Sandbox) GetURL(port int) (string, error) {
	p, err := sb.ports()
	if err != nil {
		return "", err
	}
	return p.PortURL(sb.id, port)
}

// ports finds how the provider gives ports addresses.
func (sb *Sandbox) ports() (client.Ports, error) {
	_, has := client.Find[client.Ports](sb.p)
	if _, dials := client.Find[client.PortDialer](sb.p); dials && !has {
		return nil, unsupported(sb.p, "port URL", "reaches ports by connections of its own (client.PortDialer); they have no URL")
	}
	return optional[client.Ports](sb.p, client.CapPorts)
}

// AccessHeaders are the headers that requests to the sandbox's ports need. They
// hold tokens.
func (sb *Sandbox) AccessHeaders(ctx context.Context) (http.Header, error) {
	a, err := sb.Resolve(ctx, agentserver.Port)
	if err != nil {
		return nil, err
	}
	// These name one port and sandbox of a shared address; they are no access.
	a.Header.Del("E2b-Sandbox-Id")
	a.Header.Del("E2b-Sandbox-Port")
	return a.Header, nil
}

// Resolve asks the provider for the address of a port, with all headers that a
// request to it needs.
func (sb *Sandbox) Resolve(ctx context.Context, port int) (client.Address, error) {
	p, err := sb.ports()
	if err != nil {
		return client.Address{}, err
	}
	return p.ResolvePort(ctx, sb.id, port)
}

// reach is how HTTP to the sandbox's ports is done: by URL, or over connections
// of the provider's own.
func (sb *Sandbox) reach() (func(context.Context, int) (client.Address, error), *http.Client, error) {
	if d, ok := client.Find[client.PortDialer](sb.p); ok {
		resolve := func(_ context.Context, port int) (client.Address, error) {
			return client.Address{URL: fmt.Sprintf("http://%s.invalid:%d", sb.id, port), Header: http.Header{}}, nil
		}
		return resolve, &http.Client{Transport: sb.dialer(d), CheckRedirect: engine.SameHost}, nil
	}
	if _, err := optional[client.Ports](sb.p, client.CapPorts); err != nil {
		return nil, nil, err
	}
	hc := &http.Client{CheckRedirect: engine.SameHost}
	if w, ok := client.Find[client.WebClient](sb.p); ok {
		hc = w.HTTPClient()
	}
	return sb.Resolve, hc, nil
}

// dialer is the transport over a provider's own connections, made once.
func (sb *Sandbox) dialer(d client.PortDialer) *http.Transport {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if sb.local == nil {
		sb.local = &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			_, text, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			port, err := strconv.Atoi(text)
			if err != nil {
				return nil, err
			}
			return d.DialPort(ctx, sb.id, port)
		}}
	}
	return sb.local
}

// Server is the typed client of the agent-sandbox-server on port 9000. It makes
// no call: ask its Health whether the template has one. Agent sessions are its
// Sessions, Send and Items.
func (sb *Sandbox) Server() (*agentserver.Client, error) {
	resolve, hc, err := sb.reach()
	if err != nil {
		return nil, err
	}
	return agentserver.New(agentserver.Config{Resolve: resolve, HTTP: hc, Provider: sb.p.Name()}), nil
}

// Value is what a named command returned, as JSON.
type Value json.RawMessage

// String is a text result as it is, and any other result as JSON. It is
// untrusted text.
func (v Value) String() string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// Into decodes the result.
func (v Value) Into(to any) error {
	if err := json.Unmarshal(v, to); err != nil {
		return &client.Error{Op: "read result", Code: client.CodeBadAnswer, Message: "the result is of another type: " + client.OneLine(err.Error(), 200)}
	}
	return nil
}

// RunNamed calls a named command of the template (commands.py) with flat
// arguments and returns its unwrapped result. An unknown command is E3005, an
// exception in it E3000. Only ctx bounds it.
func (sb *Sandbox) RunNamed(ctx context.Context, name string, args map[string]any) (Value, error) {
	s, err := sb.Server()
	if err != nil {
		return nil, err
	}
	v, err := s.Run(ctx, name, args)
	return Value(v), err
}

// UploadURL always refuses: see [Files.UploadURL].
func (sb *Sandbox) UploadURL(context.Context, string) (client.Address, error) {
	return client.Address{}, unsupported(sb.p, "upload URL", "has no upload URL of the sandbox itself; Files().UploadURL is the address")
}

// DownloadURL always refuses: see [Files.DownloadURL].
func (sb *Sandbox) DownloadURL(context.Context, string) (client.Address, error) {
	return client.Address{}, unsupported(sb.p, "download URL", "has no download URL of the sandbox itself; Files().DownloadURL is the address")
}
