package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"abxdash/client"
)

// Net says how addresses are reached. The zero value uses the proxy of the
// process environment (HTTPS_PROXY, NO_PROXY) and the system's authorities.
type Net struct {
	// ProxyURL replaces the environment's proxy; "direct" is none.
	ProxyURL string
	// ExtraCA holds certificate authorities in PEM, added to the system's.
	ExtraCA []byte
	// DialContext replaces dialling; proxies then play no part.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewHTTPClient makes the client that providers share. It has no overall
// timeout, because streams last; each call has its own.
func NewHTTPClient(n Net) (*http.Client, error) {
	t, err := n.transport()
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: t, CheckRedirect: SameHost}, nil
}

func (n Net) transport() (*http.Transport, error) {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         n.DialContext,
		MaxIdleConns:        256,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		ReadBufferSize:      256 << 10,
		WriteBufferSize:     256 << 10,
	}
	switch {
	case n.DialContext != nil || n.ProxyURL == "direct":
		t.Proxy = nil
	case n.ProxyURL != "":
		u, err := url.Parse(n.ProxyURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
			// The URL may hold a password, so it is not repeated.
			return nil, configError("the proxy must be an http, https or socks5 URL")
		}
		t.Proxy = http.ProxyURL(u)
	}
	if len(n.ExtraCA) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(n.ExtraCA) {
			return nil, configError("the extra certificate authorities hold no certificate in PEM")
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return t, nil
}

func configError(message string) error {
	return &client.Error{Op: "set up the network", Code: client.CodeConfig, Message: message}
}

// SameHost is a CheckRedirect that stops what would carry a key or token to
// another host, or down to plain http.
func SameHost(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	if req.URL.Host != from.Host || from.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("refused a redirect to another address")
	}
	if len(via) >= 10 {
		return errors.New("too many redirects")
	}
	return nil
}
