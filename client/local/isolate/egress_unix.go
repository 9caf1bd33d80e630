//go:build linux || darwin

package isolate

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"abxdash/client"
)

// How the proxy gets in: init listens on the sandbox's loopback and hands the
// listening socket to the launcher, which keeps accepting from it. A socket stays
// in the network in which it was made, so the connections come from the sandbox and
// those of the proxy go out from here; nothing is copied twice.

// proxyPort is where the proxy is reached inside, if that is free.
const proxyPort = 3128

// proxyConns bounds the connections of one sandbox to its proxy at a time.
const proxyConns = 256

// egress is the launcher's side.
type egress struct {
	policy *egressPolicy

	mu     sync.Mutex
	from   *net.UnixConn // where the listening socket comes from
	cancel context.CancelFunc
	srv    *http.Server // nil until serve and after close
	served chan struct{}
	closed bool
}

// open makes the way by which the socket comes; the end that is returned is for init.
func (e *egress) open() (end *os.File, err error) {
	e.from, end, err = socketPair("egress")
	return end, err
}

// prepareEgress checks what cfg asks for; nil is no proxy.
func prepareEgress(cfg Config) (*egress, error) {
	const op = "start a local sandbox"
	if cfg.Network != NetworkProxy {
		return nil, nil //nolint:nilnil // both are a fine answer
	}
	if cfg.Level != client.IsolationNamespace && cfg.Level != client.IsolationContainer {
		return nil, client.Usagef(op, "a network by proxy needs the isolation level namespace or container")
	}
	rules, err := parseEgress(cfg.Egress)
	if err != nil {
		return nil, client.Usagef(op, "%v", err)
	}
	return &egress{policy: newEgressPolicy(rules)}, nil
}

// receiveLimit bounds the wait for the socket, which is there before init answers.
const receiveLimit = 10 * time.Second

// serve takes the listening socket from init and starts the proxy.
func (e *egress) serve() error {
	if err := e.from.SetReadDeadline(time.Now().Add(receiveLimit)); err != nil {
		return err
	}
	ln, err := receiveListener(e.from)
	if err != nil {
		return fmt.Errorf("take over the proxy's socket: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errors.Join(errEnded, ln.Close())
	}
	life, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	e.srv = &http.Server{
		Handler:           newEgressProxy(life, e.policy),
		ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(discard{}, "", 0),
	}
	e.served = make(chan struct{})
	go func() {
		defer close(e.served)
		_ = e.srv.Serve(newLimitListener(ln, proxyConns))
	}()
	return nil
}

// setEgress replaces the rules. What is connected already stays so.
func (s *Sandbox) setEgress(e Egress) error { return s.hold.egress.set(e) }

// set replaces the rules; a nil egress has none.
func (e *egress) set(to Egress) error {
	const op = "change the network of a local sandbox"
	rules, err := parseEgress(to)
	switch {
	case err != nil:
		return client.Usagef(op, "%v", err)
	case e == nil:
		return &client.Error{
			Op: op, Provider: "local", Code: client.CodeConflict, Kind: client.ErrConflict,
			Message: "it was started without the proxy that rules are for",
		}
	}
	e.policy.rules.Store(rules)
	return nil
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// close ends the proxy and every connection through it.
func (e *egress) close() {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed && e.from != nil {
		_ = e.from.Close()
	}
	e.closed = true
	if e.srv == nil {
		return
	}
	e.cancel()
	_ = e.srv.Close()
	<-e.served
	e.srv = nil
}

func receiveListener(from *net.UnixConn) (net.Listener, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, oobn, _, _, err := from.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return nil, err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, err
	}
	if len(msgs) != 1 {
		return nil, errors.New("no socket came")
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil {
		return nil, err
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	if len(fds) != 1 {
		return nil, errors.New("not one socket came")
	}
	f := os.NewFile(uintptr(fds[0]), "proxy")
	defer f.Close()
	return net.FileListener(f)
}

// offerProxy listens inside, hands the socket over and tells programs of it.
func (in *initProc) offerProxy() error {
	if in.cfg.FDs.Egress == 0 {
		return nil
	}
	to, err := unixConn(in.cfg.FDs.Egress)
	if err != nil {
		return err
	}
	defer to.Close()
	ln, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: proxyPort})
	if err != nil {
		return fmt.Errorf("listen for the proxy: %w", err)
	}
	defer ln.Close()
	f, err := ln.File()
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, err := to.WriteMsgUnix([]byte{0}, unix.UnixRights(int(f.Fd())), nil); err != nil {
		return fmt.Errorf("hand over the proxy's socket: %w", err)
	}
	in.setProxyEnv("http://127.0.0.1:" + strconv.Itoa(proxyPort))
	return nil
}

// setProxyEnv sets what programs look at, in both spellings, unless it is set.
func (in *initProc) setProxyEnv(url string) {
	if in.cfg.Env == nil {
		in.cfg.Env = map[string]string{}
	}
	const local = "localhost,127.0.0.1,::1"
	for name, value := range map[string]string{
		"HTTP_PROXY": url, "http_proxy": url, "HTTPS_PROXY": url, "https_proxy": url, "NO_PROXY": local, "no_proxy": local,
		"NODE_USE_ENV_PROXY": "1", // Node.js looks at the others only when told to
	} {
		if _, set := in.cfg.Env[name]; !set {
			in.cfg.Env[name] = value
		}
	}
}

// limitListener accepts so many connections at a time; more have to wait.
type limitListener struct {
	net.Listener
	free   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newLimitListener(ln net.Listener, n int) *limitListener {
	return &limitListener{Listener: ln, free: make(chan struct{}, n), closed: make(chan struct{})}
}

func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitConn{Conn: c, free: l.free}, nil
}

func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitConn struct {
	net.Conn
	free chan struct{}
	once sync.Once
}

func (c *limitConn) Close() error {
	c.once.Do(func() { <-c.free })
	return c.Conn.Close()
}

// CloseWrite passes on a half-close.
func (c *limitConn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return c.Close()
}
