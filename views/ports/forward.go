package ports

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// Manager owns the forwards of this dashboard. It is a ui.Background.
type Manager struct {
	env      ui.Env
	cancel   context.CancelFunc
	forwards map[place]*forward
	running  sync.WaitGroup
}

// place is one port of one sandbox.
type place struct {
	key  present.Key
	port int
}

// forward is a port of this machine that leads into a sandbox.
type forward struct {
	at   place
	addr string // 127.0.0.1:PORT, "" until it listens
	stop context.CancelFunc
}

// openedMsg says that a forward listens, or why it does not.
type openedMsg struct {
	f   *forward
	ln  net.Listener
	err error
}

// NewManager makes an empty one.
func NewManager() *Manager { return &Manager{forwards: map[place]*forward{}} }

// Init implements ui.Background.
func (m *Manager) Init(env ui.Env) tea.Cmd {
	env.Ctx, m.cancel = context.WithCancel(env.Ctx)
	m.env = env
	return nil
}

// Close implements ui.Background: every forward ends.
func (m *Manager) Close() {
	m.cancel()
	m.running.Wait()
}

// Status implements ui.Background.
func (m *Manager) Status() string {
	if len(m.forwards) == 0 {
		return ""
	}
	return m.env.Lang.N(len(m.forwards), "%d port forwarded", "%d ports forwarded", len(m.forwards))
}

// Update implements ui.Background.
func (m *Manager) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case openedMsg:
		return m.opened(msg), false
	case present.GoneMsg:
		for _, k := range msg.Keys {
			for at := range m.forwards {
				if at.key == k {
					m.end(at)
				}
			}
		}
	}
	return nil, false
}

// at is the forward of a port, nil if there is none.
func (m *Manager) at(p place) *forward { return m.forwards[p] }

// end stops a forward.
func (m *Manager) end(p place) {
	if f := m.forwards[p]; f != nil {
		f.stop()
		delete(m.forwards, p)
	}
}

// whyNot says why a provider's ports cannot be forwarded, "" if they can.
func whyNot(p client.Provider, tr *lang.Catalog) string {
	if _, ok := client.Find[client.PortDialer](p); ok {
		return ""
	}
	_, ports := client.Find[client.Ports](p)
	_, web := client.Find[client.WebClient](p)
	if ports && web && p.Capabilities().Has(client.CapPorts) {
		return ""
	}
	return tr.T("%s gives no connection to a port", present.Clean(p.Name()))
}

// begin opens a forward: on the same number here if that is free, else on another.
func (m *Manager) begin(at place, p client.Provider) tea.Cmd {
	ctx, stop := context.WithCancel(m.env.Ctx)
	f := &forward{at: at, stop: stop}
	m.forwards[at] = f
	m.running.Add(1)
	return func() tea.Msg {
		defer m.running.Done()
		var lc net.ListenConfig
		ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(at.port)))
		if err != nil {
			ln, err = lc.Listen(ctx, "tcp", "127.0.0.1:0")
		}
		if err != nil {
			stop()
			return openedMsg{f: f, err: err}
		}
		m.running.Add(1)
		go func() {
			defer m.running.Done()
			serve(ctx, ln, p, at)
		}()
		return openedMsg{f: f, ln: ln}
	}
}

func (m *Manager) opened(msg openedMsg) tea.Cmd {
	f := msg.f
	if msg.err != nil {
		delete(m.forwards, f.at)
		return ui.Toast(ui.ToastError, m.env.Lang.T("forward: %s", present.CleanMax(msg.err.Error(), 200)))
	}
	f.addr = msg.ln.Addr().String()
	text := m.env.Lang.T("port %d is forwarded to %s", f.at.port, f.addr)
	return tea.Batch(ui.Toast(ui.ToastOK, text),
		present.Event(present.EventMsg{Key: f.at.key, At: m.env.Now(), Kind: present.EventNote, Text: text}))
}

// serve takes connections until ctx ends.
func serve(ctx context.Context, ln net.Listener, p client.Provider, at place) {
	if d, ok := client.Find[client.PortDialer](p); ok {
		serveTCP(ctx, ln, func(ctx context.Context) (net.Conn, error) { return d.DialPort(ctx, at.key.ID, at.port) })
		return
	}
	ports, _ := client.Find[client.Ports](p)
	web, _ := client.Find[client.WebClient](p)
	serveHTTP(ctx, ln, web.HTTPClient(), func(ctx context.Context) (client.Address, error) {
		return ports.ResolvePort(ctx, at.key.ID, at.port)
	})
}

// serveTCP joins each connection with one into the sandbox.
func serveTCP(ctx context.Context, ln net.Listener, dial func(context.Context) (net.Conn, error)) {
	var open sync.WaitGroup
	defer open.Wait()
	end := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer end()
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		open.Add(1)
		go func() {
			defer open.Done()
			defer c.Close()
			far, err := dial(ctx)
			if err != nil {
				return // the caller sees a closed connection, as with a port nobody listens on
			}
			defer far.Close()
			join(ctx, c, far)
		}()
	}
}

// join copies both ways until both sides are done or ctx ends. The end of one
// direction is passed on alone, where that can be said.
func join(ctx context.Context, a, b net.Conn) {
	end := context.AfterFunc(ctx, func() {
		_ = a.Close()
		_ = b.Close()
	})
	defer end()
	var both sync.WaitGroup
	way := func(to, from net.Conn) {
		defer both.Done()
		_, _ = io.Copy(to, from) // a broken connection is the end of it
		if h, ok := to.(interface{ CloseWrite() error }); ok {
			_ = h.CloseWrite()
		} else {
			_ = to.Close()
		}
	}
	both.Add(2)
	go way(a, b)
	go way(b, a)
	both.Wait()
}

// serveHTTP passes requests on to the port's address with the headers it needs.
// Those hold tokens: requests from web pages of other origins are refused.
func serveHTTP(ctx context.Context, ln net.Listener, hc *http.Client, resolve func(context.Context) (client.Address, error)) {
	proxy := &httputil.ReverseProxy{
		Transport: hc.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			if addr, ok := r.In.Context().Value(addressKey{}).(address); ok {
				r.SetURL(addr.url)
				r.Out.Host = addr.url.Host
				for k, v := range addr.header {
					r.Out.Header[k] = v
				}
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, client.OneLine(err.Error(), 200), http.StatusBadGateway)
		},
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !fromHere(r) {
				http.Error(w, "only for this machine", http.StatusForbidden)
				return
			}
			a, err := resolve(r.Context())
			if err != nil {
				http.Error(w, client.OneLine(err.Error(), 200), http.StatusBadGateway)
				return
			}
			u, err := url.Parse(a.URL)
			if err != nil {
				http.Error(w, "the provider gave no address", http.StatusBadGateway)
				return
			}
			proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), addressKey{}, address{url: u, header: a.Header})))
		}),
	}
	end := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer end()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		_ = server.Close()
	}
}

// address is where one request goes.
type address struct {
	url    *url.URL
	header http.Header
}

type addressKey struct{}

// fromHere reports whether a request is meant for this machine and comes from
// no page of another one: a name that an attacker points at loopback, and a page
// that calls it, are both told by these headers.
func fromHere(r *http.Request) bool {
	if !loopback(r.Host) {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}

func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}
