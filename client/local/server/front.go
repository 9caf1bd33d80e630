package server

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// headerFront marks a request that came in by a [Front]. Only the server's own
// user can send it: the unix socket serves nobody else, and a Front removes it
// from what it is sent.
const headerFront = "Abxdash-Front"

// FrontOptions configures a [Front].
type FrontOptions struct {
	// Key is what control calls must carry in X-API-Key.
	Key string
	// Dial connects to the local server.
	Dial func(context.Context) (net.Conn, error)
	// Logger gets refusals at level debug; nil drops them.
	Logger *slog.Logger
}

// Front answers on a TCP port what the local server answers on its socket, for
// programs that do not know it. The socket is closed to other users; a port is
// open to every program and every web page on the machine, so a Front asks for
// more:
//
//   - Host must be a loopback address, localhost or a name below it (a page
//     whose name was rebound to this machine sends its own name).
//   - Origin, when there is one, must be the very host that was asked.
//   - Control calls need the key. The agent of a sandbox asks for the sandbox's
//     access token or a signature, and every sandbox made here has one. Other
//     ports are found by the sandbox's id, which nobody can guess.
type Front struct {
	key   string
	log   *slog.Logger
	proxy *httputil.ReverseProxy
	// up holds the connections to the server.
	up *http.Transport
}

// NewFront makes a front. Close gives up its idle connections.
func NewFront(o FrontOptions) *Front {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Front{key: o.Key, log: o.Logger}
	f.up = transport(func(ctx context.Context, _, _ string) (net.Conn, error) { return o.Dial(ctx) })
	// Below the time after which an idle server ends, so that no request meets
	// a connection that is just being closed.
	f.up.IdleConnTimeout = frontIdle
	f.proxy = &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host = "http", "localhost"
			pr.Out.URL.RawQuery = pr.In.URL.RawQuery // as sent
			pr.Out.Header.Set(headerFront, schemeOf(pr.In))
			pr.Out.Header.Del("X-Api-Key") // it has done its work, and no sandbox may see it
		},
		Transport:     f.up,
		FlushInterval: -1,
		BufferPool:    newBufferPool(),
		ErrorHandler:  f.failed,
		ErrorLog:      slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	return f
}

const frontIdle = 30 * time.Second

// Close gives up idle connections.
func (f *Front) Close() { f.up.CloseIdleConnections() }

// ServeHTTP checks a request and passes it on.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e := f.admit(r); e != nil {
		f.log.Debug("refused", "method", r.Method, "path", r.URL.Path, "why", e.Message)
		writeError(w, e)
		return
	}
	_ = http.NewResponseController(w).EnableFullDuplex() // where it cannot be had, nothing is lost
	f.proxy.ServeHTTP(w, r)
}

// schemeOf is how the caller reached us.
func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// admit returns the refusal of a request, or nil.
func (f *Front) admit(r *http.Request) *apiError {
	if !localHost(r.Host) {
		return refuse(http.StatusForbidden, "the host must be a loopback address, localhost or a name below it")
	}
	if origin := r.Header.Get("Origin"); origin != "" && !sameOrigin(origin, r.Host) {
		return refuse(http.StatusForbidden, "requests of other web pages are refused")
	}
	if r.Method == http.MethodConnect {
		return refuse(http.StatusMethodNotAllowed, "CONNECT is for the server's own socket")
	}
	_, isData, _ := routeOf(r)
	switch {
	case isData, signedFile(r), isUpload(r), r.Method == http.MethodGet && r.URL.Path == "/health":
		return nil
	case strings.HasPrefix(r.URL.Path, ownPaths):
		return refuse(http.StatusNotFound, "%s is for the server's own socket", r.URL.Path)
	}
	given := r.Header.Get("X-Api-Key")
	if given == "" {
		return refuse(http.StatusUnauthorized, "the API key is missing: send it in X-API-Key")
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(f.key)) != 1 {
		return refuse(http.StatusUnauthorized, "the API key is not the one that `abxdash local listen` printed")
	}
	return nil
}

// ownPaths is where the routes of our own are.
const ownPaths = "/abxdash/"

func (f *Front) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the caller left; nobody reads an answer
	}
	f.log.Warn("the local server does not answer", "err", err)
	writeError(w, refuse(http.StatusServiceUnavailable, "the local server does not answer"))
}

// localHost reports whether a Host header names this machine: a loopback
// address, localhost, or a name below it.
func localHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.IsLoopback()
}

// sameOrigin reports whether origin is the host that was asked.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}
