package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"abxdash/client"
	"abxdash/client/local/server"
)

// ListenOptions says where other programs reach the local server.
type ListenOptions struct {
	// Addr is a loopback address with a port; port 0 is a free one.
	Addr string
	// TLS serves https, with an authority of this run's own.
	TLS bool
}

// Listening is how other programs reach the local server.
type Listening struct {
	// URL serves both planes.
	URL string
	// APIKey is valid until the listener ends. It is a secret.
	APIKey string
	// Domain makes names of ports: http(s)://<port>-<sandbox id>.<Domain>.
	Domain string
	// CAFile holds the authority's certificate (PEM), "" without TLS.
	CAFile string
}

// newAPIKey makes a key of the form that SDKs check: `e2b_` and hex digits.
func newAPIKey() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails on a supported system
	return "e2b_" + hex.EncodeToString(b)
}

// Listen lets programs that speak the E2B protocol use the local server: it
// answers on a loopback TCP port until ctx ends, and starts the server when a
// request needs it. ready, if not nil, is called once it answers. The server
// and its sandboxes outlive it.
func (p *Provider) Listen(ctx context.Context, o ListenOptions, ready func(Listening)) error {
	const op = "listen"
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return client.Usagef(op, "%q is not HOST:PORT", client.OneLine(o.Addr, 60))
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		e := client.Usagef(op, "%q is not a loopback address", client.OneLine(host, 60))
		e.Hint = "sandboxes on this machine are served to this machine only: use 127.0.0.1"
		return e
	}
	// A server that cannot start is told now, not to the first request.
	if err := p.ensure(ctx); err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return &client.Error{Op: op, Provider: Name, Code: client.CodeLocalServer, Kind: client.ErrUnavailable, Err: err}
	}
	defer ln.Close()
	port := ln.Addr().(*net.TCPAddr).Port
	info := Listening{
		URL: "http://" + ln.Addr().String(), APIKey: newAPIKey(), Domain: fmt.Sprintf("localhost:%d", port),
	}
	if o.TLS {
		ca, err := newAuthority(time.Now())
		if err != nil {
			return &client.Error{Op: op, Provider: Name, Code: client.CodeLocalServer, Message: "cannot make an authority", Err: err}
		}
		if info.CAFile, err = ca.save(p.paths.run, port); err != nil {
			return folderError(p.paths.run, err)
		}
		defer removeFile(info.CAFile, p.log)
		ln = ca.listener(ln)
		info.URL = "https://" + ln.Addr().String()
	}
	return p.serveFront(ctx, ln, info, ready)
}

// serveFront answers on ln until ctx ends.
func (p *Provider) serveFront(ctx context.Context, ln net.Listener, info Listening, ready func(Listening)) error {
	front := server.NewFront(server.FrontOptions{Key: info.APIKey, Dial: p.dialStarted, Logger: p.log})
	defer front.Close()
	hs := &http.Server{
		Handler:           front,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       640 * time.Second, // e2b-protocol §6.5
		ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	if ready != nil {
		ready(info)
	}
	select {
	case err := <-served:
		return &client.Error{Op: "listen", Provider: Name, Code: client.CodeLocalServer, Kind: client.ErrUnavailable, Err: err}
	case <-ctx.Done():
	}
	// Streams last as long as their commands: there is nothing to wait for.
	_ = hs.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		p.log.Debug("listener ended", "err", err)
	}
	return nil
}

// dialStarted connects to the server and starts it when none runs.
func (p *Provider) dialStarted(ctx context.Context) (net.Conn, error) {
	c, err := p.paths.dial(ctx)
	if !errors.Is(err, errNoServer) {
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	if err := p.ensure(ctx); err != nil {
		return nil, err
	}
	c, err = p.paths.dial(ctx)
	if err != nil {
		return nil, err
	}
	return c, nil
}
