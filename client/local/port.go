package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"abxdash/client"
	"abxdash/client/local/server"
)

// DialPort connects to a TCP port inside a sandbox, whatever protocol is
// spoken there. The result passes half-closes on (CloseWrite). A port that
// nobody listens on is E5001, a sandbox that is not there ErrNotFound.
func (p *Provider) DialPort(ctx context.Context, id client.ID, port int) (net.Conn, error) {
	const op = "connect to port"
	if port < 1 || port > 65535 {
		return nil, client.Usagef(op, "port %d is not in 1 to 65535", port)
	}
	c, err := p.paths.dial(ctx)
	if err != nil {
		return nil, p.say(op, id, err)
	}
	h := http.Header{}
	h.Set("E2b-Sandbox-Id", string(id))
	h.Set("E2b-Sandbox-Port", strconv.Itoa(port))
	conn, status, err := server.Connect(ctx, c, "sandbox:"+strconv.Itoa(port), h)
	switch {
	case err != nil && cut(err) && errors.Is(p.ping(ctx), errNoServer):
		return nil, p.say(op, id, errNoServer)
	case err != nil:
		return nil, &client.Error{Op: op, Provider: Name, Code: client.CodeNetwork, Kind: client.ErrUnavailable, Err: err}
	case conn != nil:
		return conn, nil
	case status != http.StatusBadGateway:
		return nil, &client.Error{Op: op, Provider: Name, Code: client.CodeServer, Status: status, Message: fmt.Sprintf("HTTP %d", status)}
	}
	// The same status for both; which one it is the list of sandboxes tells.
	if _, err := p.Sandboxes().Get(ctx, id); err != nil {
		return nil, err
	}
	return nil, &client.Error{
		Op: op, Provider: Name, Code: client.CodeConnect, Kind: client.ErrUnavailable, Status: status,
		Message: fmt.Sprintf("nothing listens on port %d of sandbox %s", port, id),
	}
}

// ping tells whether a server listens.
func (p *Provider) ping(ctx context.Context) error {
	c, err := p.paths.dial(ctx)
	if err != nil {
		return err
	}
	return c.Close()
}
