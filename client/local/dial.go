package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"abxdash/client"
	"abxdash/client/local/server"
)

// errNoServer means that no local server runs. It never leaves the package.
var errNoServer = errors.New("the local server is not running")

// origin is the address of every request; the dialer ignores it.
const origin = "http://localhost"

const (
	// lookTimeout bounds one question to the server about itself.
	lookTimeout = 10 * time.Second
	ioBuffer    = 256 << 10
)

// dial connects to the server after checking that it is ours.
func (p paths) dial(ctx context.Context) (net.Conn, error) {
	info, err := os.Lstat(p.socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoServer
	case err != nil:
		return nil, folderError(p.socket, err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, &client.Error{
			Op: "local server", Provider: Name, Code: client.CodeLocalServer,
			Message: fmt.Sprintf("%s is in the way: it is no socket", client.OneLine(p.socket, 200)),
			Hint:    "move it away",
		}
	}
	if err := checkOwner(p.socket, info); err != nil {
		return nil, err
	}
	c, err := server.DialUnix(ctx, p.socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil, errNoServer
	case err != nil:
		return nil, err
	}
	if err := checkPeer(c); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func checkPeer(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return errors.New("not a unix connection")
	}
	uid, err := server.PeerUID(u)
	if err != nil {
		return fmt.Errorf("ask who serves the socket: %w", err)
	}
	if me := os.Geteuid(); uid != me {
		return &client.Error{
			Op: "local server", Provider: Name, Code: client.CodeLocalServer,
			Message: fmt.Sprintf("the server on the socket runs as user id %d, this is user id %d", uid, me),
			Hint:    "run abxdash as that user, or set ABXDASH_HOME",
		}
	}
	return nil
}

// newTransport speaks HTTP over the socket and checks the protocol number.
func newTransport(p paths) (http.RoundTripper, *http.Transport) {
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) },
		// On the same machine packing costs more than it saves.
		DisableCompression:  true,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		ReadBufferSize:      ioBuffer,
		WriteBufferSize:     ioBuffer,
	}
	return handshake{t}, t
}

// handshake refuses answers of a server that speaks another protocol number.
type handshake struct{ next http.RoundTripper }

func (h handshake) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := h.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	n := res.Header.Get(server.HeaderProtocol)
	if n == "" || n == strconv.Itoa(server.Protocol) {
		return res, nil // the data plane names none
	}
	_ = res.Body.Close()
	return nil, otherProtocol(res.Header.Get(server.HeaderVersion))
}

func otherProtocol(version string) *client.Error {
	return &client.Error{
		Op: "local server", Provider: Name, Code: client.CodeLocalServer, Kind: client.ErrConflict,
		Message: fmt.Sprintf("a local server of version %q runs and this abxdash cannot talk to it; its sandboxes go on until their lifetime ends",
			client.OneLine(version, 40)),
		Hint: "`abxdash local stop` ends it and its sandboxes; or use the abxdash of that version",
	}
}

// look asks the server about itself. With hold the server stays for at least
// its idle time, so that a create can follow.
func (p *Provider) look(ctx context.Context, hold bool) (server.StatusJSON, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+server.PathStatus, nil)
	if err != nil {
		return server.StatusJSON{}, err
	}
	if hold {
		req.Header.Set(server.HeaderHold, "1")
	}
	var st server.StatusJSON
	err = p.ask(req, &st)
	return st, err
}

// refusedError is an answer of the server that is no success.
type refusedError struct {
	status        int
	code, message string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("HTTP %d: %s", e.status, client.OneLine(e.message, 300))
}

// ask sends one request about the server itself and decodes the answer into out.
func (p *Provider) ask(req *http.Request, out *server.StatusJSON) error {
	res, err := p.raw.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		var e struct {
			Message   string `json:"message"`
			ErrorCode string `json:"error_code"`
		}
		if json.Unmarshal(body, &e) != nil {
			e.Message = string(body)
		}
		return &refusedError{status: res.StatusCode, code: e.ErrorCode, message: e.Message}
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(out); err != nil {
		return fmt.Errorf("read the local server's answer: %w", err)
	}
	return nil
}
