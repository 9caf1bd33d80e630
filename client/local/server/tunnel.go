package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

// tunnel answers CONNECT: the caller's connection becomes one to the port
// inside, for whatever protocol. It is our own addition to the data plane; the
// target is named as in every other request. The agent itself is not reached
// this way: some of its routes are the server's own.
func (d *dataPlane) tunnel(w http.ResponseWriter, r *http.Request, t target, b *box) {
	if t.port == envdPort {
		writeError(w, refuse(http.StatusForbidden, "the agent's port takes HTTP requests only"))
		return
	}
	inside, err := dialPort(r.Context(), b.sock, loopback(t.port))
	if err != nil {
		d.refused(w, t, err)
		return
	}
	defer inside.Close()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		writeError(w, refuse(http.StatusInternalServerError, "this connection cannot be handed over"))
		return
	}
	defer conn.Close()
	caller, ok := conn.(*net.UnixConn)
	if !ok {
		return
	}
	if _, err := io.WriteString(caller, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	join(&RelayConn{UnixConn: caller, r: buffered.Reader}, inside)
}

// join copies both ways until both directions have ended. The end of one is
// passed on as a half-close, an error ends both.
func join(a, b *RelayConn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		pass(a, b)
	}()
	pass(b, a)
	<-done
}

func pass(dst, src *RelayConn) {
	buf := make([]byte, connBuffer)
	// Hidden methods: a plain copy through buf.
	_, err := io.CopyBuffer(struct{ io.Writer }{dst}, struct{ io.Reader }{src}, buf)
	if err == nil {
		err = dst.CloseWrite()
	}
	if err != nil {
		_ = dst.Close()
		_ = src.Close()
	}
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// dialPort asks the agent for a connection to addr, a loopback address inside.
func dialPort(ctx context.Context, sock, addr string) (*RelayConn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c, err := DialUnix(ctx, sock)
	if err != nil {
		return nil, err
	}
	conn, status, err := Connect(ctx, c, addr, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask the agent for %s: %w", addr, err)
	case status == http.StatusBadGateway:
		return nil, errPortClosed
	case conn == nil:
		return nil, fmt.Errorf("ask the agent for %s: HTTP %d", addr, status)
	}
	return conn, nil
}

// Connect sends CONNECT host over c and returns the connection to what answers
// there, or nil and the status of a refusal. It closes c unless it succeeds.
// The end of ctx ends the handshake; after that it has no say.
func Connect(ctx context.Context, c *net.UnixConn, host string, header http.Header) (*RelayConn, int, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	conn, status, err := handshake(c, host, header)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil || conn == nil {
		return nil, status, errors.Join(err, ignoreClosed(c.Close()))
	}
	return conn, status, nil
}

func handshake(c *net.UnixConn, host string, header http.Header) (*RelayConn, int, error) {
	bw := bufio.NewWriter(c)
	fmt.Fprintf(bw, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", host, host)
	if err := header.Write(bw); err != nil {
		return nil, 0, err
	}
	fmt.Fprint(bw, "\r\n")
	if err := bw.Flush(); err != nil {
		return nil, 0, err
	}
	br := bufio.NewReader(c)
	res, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, 0, err
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, res.StatusCode, nil
	}
	return &RelayConn{UnixConn: c, r: br}, res.StatusCode, nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// RelayConn is a connection whose first bytes may already have been read.
type RelayConn struct {
	*net.UnixConn
	r *bufio.Reader // nil once it is empty
}

// Read first gives what came with the relay's answer.
func (c *RelayConn) Read(p []byte) (int, error) {
	if c.r != nil {
		if c.r.Buffered() > 0 {
			return c.r.Read(p)
		}
		c.r = nil
	}
	return c.UnixConn.Read(p)
}

// WriteTo hides the connection's own, which knows nothing of the first bytes.
func (c *RelayConn) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{c})
}
