package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

func (c *cli) forwardCmd() *cobra.Command {
	return &cobra.Command{
		Use: "forward SANDBOX [LOCAL:]PORT…", Short: "Reach ports of a sandbox on this machine, until ctrl+c",
		Long: `Each port is served on 127.0.0.1, at the same number or at LOCAL; 0:PORT takes a
free one. Where the provider offers connections any protocol works, else HTTP
and web sockets. With --json each port is one line {"local":…,"port":…,"url":…}.`,
		Args: argCount(2, -1, "forward needs a sandbox and at least one port"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			var pairs []portPair
			for _, text := range args[1:] {
				pair, err := parsePair(text)
				if err != nil {
					return err
				}
				pairs = append(pairs, pair)
			}
			return c.forward(ctx, args[0], pairs)
		}),
	}
}

// portPair is one port inside and where it is served; local 0 is a free one.
type portPair struct{ local, port int }

func parsePair(text string) (portPair, error) {
	local, inside, two := strings.Cut(text, ":")
	if !two {
		inside = local
	}
	port, err := parsePort(inside)
	if err != nil {
		return portPair{}, err
	}
	out := portPair{local: port, port: port}
	if two {
		n, err := strconv.ParseUint(local, 10, 16)
		if err != nil {
			return out, client.Usagef("read the port", "%q is not LOCAL:PORT", client.OneLine(text, 30))
		}
		out.local = int(n)
	}
	return out, nil
}

// portServer serves one port of a sandbox on a listener until it is closed.
type portServer interface {
	serve(ctx context.Context, ln net.Listener, port int)
}

func (c *cli) forward(ctx context.Context, name string, pairs []portPair) error {
	sb, p, done, err := c.one(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	srv, err := c.portServer(p, sb)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel() // runs before the wait
	for _, pair := range pairs {
		var lc net.ListenConfig
		ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(pair.local)))
		if err != nil {
			return &client.Error{Op: "forward port", Code: client.CodeNetwork, Err: err, Hint: fmt.Sprintf("0:%d takes a free port", pair.port)}
		}
		wg.Go(func() { srv.serve(ctx, ln, pair.port) })
		if err := c.sayForward(ln.Addr(), pair.port); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func (c *cli) sayForward(at net.Addr, port int) error {
	local := at.String()
	if c.flags.JSON {
		return c.printLine(struct {
			Local string `json:"local"`
			Port  int    `json:"port"`
			URL   string `json:"url"`
		}{local, port, "http://" + local})
	}
	_, err := fmt.Fprintf(c.Out, "http://%s → port %d\n", local, port)
	return err
}

// portServer picks the way into the sandbox.
func (c *cli) portServer(p client.Provider, sb client.Sandbox) (portServer, error) {
	if d, ok := client.Find[client.PortDialer](p); ok && p.Capabilities().Has(client.CapPorts) {
		return &dialServer{c: c, dialer: d, id: sb.ID}, nil
	}
	urls, err := offered[client.Ports](p, client.CapPorts)
	if err != nil {
		return nil, err
	}
	web, err := offered[client.WebClient](p, client.CapPorts)
	if err != nil {
		return nil, err
	}
	return &webServer{c: c, ports: urls, client: web.HTTPClient(), id: sb.ID}, nil
}

// dialServer passes connections on, whatever is spoken on them.
type dialServer struct {
	c      *cli
	dialer client.PortDialer
	id     client.ID
}

func (d *dialServer) serve(ctx context.Context, ln net.Listener, port int) {
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		wg.Go(func() { d.pass(ctx, conn, port) })
	}
}

func (d *dialServer) pass(ctx context.Context, conn net.Conn, port int) {
	defer conn.Close()
	inside, err := d.dialer.DialPort(ctx, d.id, port)
	if err != nil {
		if ctx.Err() == nil {
			d.c.complain(err)
		}
		return
	}
	defer inside.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close(); _ = inside.Close() })
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		half(inside, conn)
	}()
	half(conn, inside)
	<-done
}

// half copies one direction and passes its end on.
func half(dst, src net.Conn) {
	_, err := io.Copy(dst, src)
	if cw, ok := dst.(interface{ CloseWrite() error }); ok && err == nil {
		err = cw.CloseWrite()
	}
	if err != nil {
		_ = dst.Close()
		_ = src.Close()
	}
}

// webServer passes HTTP requests on, with the headers that the provider wants.
type webServer struct {
	c      *cli
	ports  client.Ports
	client *http.Client
	id     client.ID
}

func (s *webServer) serve(ctx context.Context, ln net.Listener, port int) {
	hs := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.proxy(w, r, port) }),
		ReadHeaderTimeout: 30 * time.Second,
	}
	stop := context.AfterFunc(ctx, func() { _ = hs.Close() })
	defer stop()
	if err := hs.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		s.c.complain(&client.Error{Op: "forward port", Code: client.CodeNetwork, Err: err})
	}
}

func (s *webServer) proxy(w http.ResponseWriter, r *http.Request, port int) {
	// The address may carry a token: a page of another name must not use it.
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		http.Error(w, "ask for localhost or a loopback address", http.StatusForbidden)
		return
	}
	at, err := s.ports.ResolvePort(r.Context(), s.id, port)
	var to *url.URL
	if err == nil {
		to, err = url.Parse(at.URL)
	}
	if err != nil {
		http.Error(w, present.ErrorLine(err), http.StatusBadGateway)
		return
	}
	transport := s.client.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(to)
			for k, v := range at.Header {
				pr.Out.Header[k] = v
			}
		},
		Transport: transport, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				http.Error(w, client.OneLine(err.Error(), 200), http.StatusBadGateway)
			}
		},
	}
	proxy.ServeHTTP(w, r)
}
