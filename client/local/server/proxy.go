package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"
)

const (
	// copyBuffer is the unit of copying; output and files both want it large.
	copyBuffer = 256 << 10
	// connBuffer is the buffer on either side of a connection to an agent.
	connBuffer = 64 << 10
	// connectTimeout bounds reaching a port inside; the data has no limit.
	connectTimeout = 10 * time.Second
	// agentHost stands for the agent itself in the transports' URLs.
	agentHost = "agent.invalid"
)

// errPortClosed means that the sandbox answers but nothing listens on the port.
var errPortClosed = errors.New("port is not open")

// dataPlane passes requests into sandboxes.
type dataPlane struct {
	srv   *Server
	proxy *httputil.ReverseProxy
}

type routeKey struct{}

// route is what a proxied request carries in its context.
type route struct {
	target
	box *box
}

func newDataPlane(s *Server) *dataPlane {
	d := &dataPlane{srv: s}
	d.proxy = &httputil.ReverseProxy{
		Rewrite:       rewrite,
		Transport:     routedTransport{},
		FlushInterval: -1, // every frame at once
		BufferPool:    newBufferPool(),
		ErrorHandler:  d.failed,
		ErrorLog:      slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return d
}

// serve answers one data-plane request.
func (d *dataPlane) serve(w http.ResponseWriter, r *http.Request, t target) {
	b, ok := d.srv.find(t.id)
	if !ok || !d.srv.wakeFor(r.Context(), b) {
		sandboxGone(w, t)
		return
	}
	if t.port == envdPort && reserved(r.URL.Path) {
		writeJSON(w, http.StatusNotFound, edgeError{Message: "not found", Path: r.URL.Path, Code: http.StatusNotFound})
		return
	}
	if !admitTraffic(w, r, t, b) {
		return
	}
	if fronted(r) && t.port == envdPort && b.token == "" {
		writeError(w, refuse(http.StatusUnauthorized, "this sandbox was made without an access token; only the server's own socket reaches it"))
		return
	}
	if r.Method == http.MethodConnect {
		d.tunnel(w, r, t, b)
		return
	}
	// An agent may answer while the request still flows. Where the
	// connection cannot do that (a test's recorder), nothing is lost.
	_ = http.NewResponseController(w).EnableFullDuplex()
	ctx := context.WithValue(r.Context(), routeKey{}, route{target: t, box: b})
	d.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// fronted reports whether a request came in by a [Front].
func fronted(r *http.Request) bool { return r.Header.Get(headerFront) != "" }

func routeFrom(ctx context.Context) route {
	rt, _ := ctx.Value(routeKey{}).(route)
	return rt
}

func rewrite(pr *httputil.ProxyRequest) {
	rt := routeFrom(pr.In.Context())
	pr.Out.URL.Scheme = "http"
	pr.Out.URL.Host = agentHost
	if rt.port != envdPort {
		pr.Out.URL.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(rt.port))
	}
	if host := rt.box.maskedHost(rt.port); host != "" {
		pr.Out.Host = host
	}
	pr.Out.Header.Del(headerFront)
	// As sent: the proxy would drop parameters that it cannot parse.
	pr.Out.URL.RawQuery = pr.In.URL.RawQuery
}

// routedTransport sends a request over its sandbox's own connections.
type routedTransport struct{}

func (routedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	rt := routeFrom(r.Context())
	if rt.port == envdPort {
		return rt.box.agent.RoundTrip(r)
	}
	return rt.box.ports.RoundTrip(r)
}

// failed answers a request that did not get through.
func (d *dataPlane) failed(w http.ResponseWriter, r *http.Request, err error) {
	rt := routeFrom(r.Context())
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the caller left; nobody reads an answer
	}
	d.refused(w, rt.target, err)
}

// refused answers a request whose port could not be reached.
func (d *dataPlane) refused(w http.ResponseWriter, t target, err error) {
	if errors.Is(err, errPortClosed) {
		writeJSON(w, http.StatusBadGateway, edgeError{
			SandboxID: t.id, Message: "The sandbox is running but port is not open", Port: t.port, Code: http.StatusBadGateway,
		})
		return
	}
	d.srv.log.Debug("data plane", "sandbox", t.id, "port", t.port, "err", err)
	sandboxGone(w, t)
}

func sandboxGone(w http.ResponseWriter, t target) {
	writeJSON(w, http.StatusBadGateway, edgeError{
		SandboxID: t.id, Message: "The sandbox was not found", Code: http.StatusBadGateway,
	})
}

// newTransports makes the two ways into a sandbox: to its agent, and through
// the agent's relay (HTTP CONNECT) to a port inside.
func newTransports(sock string) (agent, ports *http.Transport) {
	agent = transport(func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := DialUnix(ctx, sock)
		if err != nil {
			return nil, err
		}
		return c, nil
	})
	ports = transport(func(ctx context.Context, _, addr string) (net.Conn, error) {
		c, err := dialPort(ctx, sock, addr)
		if err != nil {
			return nil, err
		}
		return c, nil
	})
	return agent, ports
}

func transport(dial func(context.Context, string, string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: dial,
		// What the caller accepts is between the caller and the sandbox.
		DisableCompression:  true,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		ReadBufferSize:      connBuffer,
		WriteBufferSize:     connBuffer,
	}
}

// bufferPool lends the proxy its copy buffers.
type bufferPool struct{ pool sync.Pool }

func newBufferPool() *bufferPool {
	return &bufferPool{pool: sync.Pool{New: func() any { return new([copyBuffer]byte) }}}
}

func (p *bufferPool) Get() []byte { return p.pool.Get().(*[copyBuffer]byte)[:] }

func (p *bufferPool) Put(b []byte) { p.pool.Put((*[copyBuffer]byte)(b)) }
