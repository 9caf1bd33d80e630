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
func (p paths) dial(ctx context.Context) (*net.UnixConn, error) {
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

func checkPeer(c *net.UnixConn) error {
	uid, err := server.PeerUID(c)
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

// newTransport speaks HTTP over the socket.
func newTransport(p paths) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := p.dial(ctx)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		// On the same machine packing costs more than it saves.
		DisableCompression:  true,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		ReadBufferSize:      ioBuffer,
		WriteBufferSize:     ioBuffer,
	}
}

// ours is the transport with what is special about the local server: an end
// in the middle of a request, and other protocol numbers.
type ours struct {
	next  http.RoundTripper
	paths paths
	// anyProtocol lets answers of servers with another protocol number through.
	anyProtocol bool
}

func (o ours) RoundTrip(r *http.Request) (*http.Response, error) {
	r, err := addFolders(r)
	if err != nil {
		return nil, err
	}
	res, err := o.next.RoundTrip(r)
	if err != nil {
		if cut(err) && o.gone(r.Context()) {
			return nil, errNoServer
		}
		return nil, err
	}
	n := res.Header.Get(server.HeaderProtocol)
	if o.anyProtocol || n == "" || n == strconv.Itoa(server.Protocol) {
		return res, nil // the data plane names none
	}
	_ = res.Body.Close()
	return nil, otherProtocol(res.Header.Get(server.HeaderVersion))
}

// cut reports a connection that the other side ended without an answer.
func cut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// gone reports that no server listens any more. Then whatever the cut request
// may have done has ended with the server.
func (o ours) gone(ctx context.Context) bool {
	c, err := o.paths.dial(ctx)
	if err == nil {
		_ = c.Close()
		return false
	}
	return errors.Is(err, errNoServer)
}

func otherProtocol(version string) *client.Error {
	return &client.Error{
		Op: "local server", Provider: Name, Code: client.CodeLocalServer, Kind: client.ErrConflict,
		Message: fmt.Sprintf("a local server of version %q runs and this abxdash cannot talk to it; its sandboxes go on until their lifetime ends",
			client.OneLine(version, 40)),
		Hint: "`abxdash local stop` ends it and its sandboxes; or use the abxdash of that version",
	}
}

// asker asks the server about itself.
type asker struct {
	paths paths
	raw   *http.Transport
	// patience bounds one question.
	patience time.Duration
}

func newAsker(p paths) asker { return asker{p, newTransport(p), lookTimeout} }

// look reads the server's status. With hold it announces a create.
func (a asker) look(ctx context.Context, hold bool) (server.StatusJSON, error) {
	ctx, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+server.PathStatus, nil)
	if err != nil {
		return server.StatusJSON{}, err
	}
	if hold {
		req.Header.Set(server.HeaderHold, "1")
	}
	var st server.StatusJSON
	err = a.ask(req, &st)
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
func (a asker) ask(req *http.Request, out *server.StatusJSON) error {
	res, err := ours{a.raw, a.paths, true}.RoundTrip(req)
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
