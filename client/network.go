package client

import (
	"context"
	"net"
	"net/http"
)

// Network is what traffic a new sandbox may make and take (e2b-protocol §3.1,
// alicloud-express §6). The zero value is the provider's default.
type Network struct {
	// AllowOut lists IPs, CIDRs, domains and "*.domain"; it wins over DenyOut. A
	// domain needs "0.0.0.0/0" in DenyOut.
	AllowOut []string
	// DenyOut lists IPs and CIDRs.
	DenyOut []string
	// Public is nil for the provider's default. False closes port URLs to
	// whoever lacks the traffic token (see [Address]); it needs a secure sandbox.
	Public *bool
}

// NetworkUpdate replaces all outbound rules of a live sandbox: what is left
// empty is cleared (e2b-protocol §3.1).
type NetworkUpdate struct {
	AllowOut, DenyOut []string
	// Internet false denies everything outbound; nil leaves it out.
	Internet *bool
}

// NetworkUpdater is found on a provider that declares CapNetworkUpdate.
type NetworkUpdater interface {
	UpdateNetwork(ctx context.Context, id ID, u NetworkUpdate) error
}

// Address is where something inside a sandbox is reached. Header may hold
// tokens: it goes with the request and nowhere else.
type Address struct {
	// Method is the HTTP method of a file transfer, "" where any fits.
	Method string
	URL    string
	Header http.Header
}

// String is the URL alone, so that printing an address shows no token.
func (a Address) String() string { return a.URL }

// GoString is String, for %#v.
func (a Address) GoString() string { return a.URL }

// Ports is found on a provider that declares CapPorts and gives ports a URL.
type Ports interface {
	// PortURL is the address of a port for a browser or curl. It makes no call.
	// The error is E8004 if there is no such address.
	PortURL(id ID, port int) (string, error)
	// ResolvePort asks the provider for the address of a port and for the
	// headers that a request to it needs.
	ResolvePort(ctx context.Context, id ID, port int) (Address, error)
}

// PortDialer is found on a provider whose ports are reached by a connection of
// its own instead of a URL.
type PortDialer interface {
	DialPort(ctx context.Context, id ID, port int) (net.Conn, error)
}

// WebClient is found on a provider whose ports are reached over HTTP with its
// own proxies and authorities. The client has no overall timeout, follows no
// redirect to another host, and adds no key by itself.
type WebClient interface {
	HTTPClient() *http.Client
}
