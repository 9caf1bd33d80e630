package isolate

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// relay answers CONNECT host:port by dialling that port on the sandbox's
// loopback and hands every other request to next. It is how ports are reached
// from outside without a network in between.
//
// Only loopback hosts are dialled (400 for others); a port nobody listens on is
// 502. Whatever name was asked for, 127.0.0.1 is tried first and then ::1: many
// development servers bind only one.
type relay struct {
	next http.Handler
	// builtin serves ports that nothing inside listens on.
	builtin map[string]*builtin
	dial    func(ctx context.Context, network, addr string) (net.Conn, error)
}

func newRelay(next http.Handler) *relay {
	d := &net.Dialer{Timeout: 10 * time.Second}
	return &relay{next: next, dial: d.DialContext}
}

func (re *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		re.next.ServeHTTP(w, r)
		return
	}
	port, ok := loopbackPort(r.Host)
	if !ok {
		http.Error(w, "CONNECT reaches ports of this sandbox only, as 127.0.0.1:PORT", http.StatusBadRequest)
		return
	}
	target, err := re.dialLoopback(r.Context(), port)
	if b := re.builtin[port]; err != nil && b != nil {
		target, err = b.dial(r.Context())
	}
	if err != nil {
		http.Error(w, "nothing answers on port "+port, http.StatusBadGateway)
		return
	}
	defer target.Close()
	handOver(context.WithoutCancel(r.Context()), w, target)
}

// handOver answers a CONNECT and joins the caller's connection with target, until
// both have ended or ctx has. The caller closes target.
func handOver(ctx context.Context, w http.ResponseWriter, target net.Conn) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot be handed over", http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	if n := buffered.Reader.Buffered(); n > 0 {
		if _, err := io.CopyN(target, buffered.Reader, int64(n)); err != nil {
			return
		}
	}
	defer context.AfterFunc(ctx, func() {
		_ = conn.Close()
		_ = target.Close()
	})()
	copyBoth(conn, target)
}

// loopbackPort takes apart host:port and refuses other hosts than loopback.
func loopbackPort(hostport string) (port string, ok bool) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return "", false
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", false
	}
	if host == "localhost" {
		return port, true
	}
	ip := net.ParseIP(host)
	return port, ip != nil && ip.IsLoopback()
}

func (re *relay) dialLoopback(ctx context.Context, port string) (net.Conn, error) {
	var errs []error
	for _, host := range []string{"127.0.0.1", "::1"} {
		c, err := re.dial(ctx, "tcp", net.JoinHostPort(host, port))
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// copyBoth copies until both directions have ended. The end of one is passed on
// as a half-close, an error ends both.
func copyBoth(a, b net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		copyHalf(a, b)
	}()
	copyHalf(b, a)
	<-done
}

func copyHalf(dst, src net.Conn) {
	_, err := io.Copy(dst, src)
	if cw, ok := dst.(interface{ CloseWrite() error }); ok && err == nil {
		err = cw.CloseWrite()
	}
	if err != nil {
		_ = dst.Close()
		_ = src.Close()
	}
}
