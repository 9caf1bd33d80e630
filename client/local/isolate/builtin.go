package isolate

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// builtin is a server of ours that answers on a port of the sandbox as long as
// nothing inside listens there. It has no socket: the relay hands it connections,
// so that sandboxes which share the host's network do not get in each other's way.
type builtin struct {
	handler http.Handler
	conns   chan net.Conn
	start   sync.Once
}

func newBuiltin(h http.Handler) *builtin { return &builtin{handler: h, conns: make(chan net.Conn)} }

// dial gives a connection to the server, which starts with the first one and
// ends with the sandbox.
func (b *builtin) dial(ctx context.Context) (net.Conn, error) {
	b.start.Do(func() {
		srv := &http.Server{Handler: b.handler, ReadHeaderTimeout: 30 * time.Second}
		// Each request asks anew who listens: a connection that is kept would
		// hide a server that the sandbox has started since.
		srv.SetKeepAlivesEnabled(false)
		go func() { _ = srv.Serve(builtinListener{b.conns}) }()
	})
	near, far := net.Pipe()
	select {
	case b.conns <- pipeConn{far}:
		return pipeConn{near}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pipeConn is one end of a pipe. It cannot be half closed: the end of one
// direction is the end of both.
type pipeConn struct{ net.Conn }

// CloseWrite closes it.
func (c pipeConn) CloseWrite() error { return c.Close() }

// builtinListener gives a server the connections of a relay.
type builtinListener struct{ conns <-chan net.Conn }

func (l builtinListener) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, errors.New("closed")
	}
	return c, nil
}

func (l builtinListener) Close() error { return nil }

func (l builtinListener) Addr() net.Addr { return &net.UnixAddr{Name: "builtin", Net: "unix"} }
