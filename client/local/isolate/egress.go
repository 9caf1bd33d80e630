package isolate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// egressRule is one entry of Egress.Allow.
type egressRule struct {
	any     bool         // `*`
	suffix  string       // `.example.com` of `*.example.com`
	host    string       // a name in lower case
	network netip.Prefix // an address or a network
	port    uint16       // 0 is every port
}

// egressRules is an Egress, read.
type egressRules struct {
	allow []egressRule
	deny  []netip.Prefix
}

// parseEgress reads the lists.
func parseEgress(e Egress) (*egressRules, error) {
	rules := &egressRules{}
	for _, text := range e.Allow {
		r, err := parseRule(text)
		if err != nil {
			return nil, err
		}
		rules.allow = append(rules.allow, r)
	}
	for _, text := range e.Deny {
		r, ok := parseTarget(strings.TrimSpace(text))
		if !ok || !r.network.IsValid() {
			return nil, fmt.Errorf("deny rule %q: want an address or a network", text)
		}
		rules.deny = append(rules.deny, r.network)
	}
	return rules, nil
}

func parseRule(text string) (egressRule, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	if r, ok := parseTarget(s); ok {
		return r, nil
	}
	if i := strings.LastIndexByte(s, ':'); i > 0 {
		port, err := strconv.ParseUint(s[i+1:], 10, 16)
		if r, ok := parseTarget(s[:i]); ok && err == nil && port > 0 {
			r.port = uint16(port)
			return r, nil
		}
	}
	return egressRule{}, fmt.Errorf("allow rule %q: want a host name, *.DOMAIN, an address, a network or *, each with :PORT at will", text)
}

// parseTarget is a rule without a port.
func parseTarget(s string) (egressRule, bool) {
	if s == "*" {
		return egressRule{any: true}, true
	}
	if p, err := netip.ParsePrefix(s); err == nil {
		return egressRule{network: p.Masked()}, true
	}
	if a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return egressRule{network: netip.PrefixFrom(a, a.BitLen())}, true
	}
	if rest, ok := strings.CutPrefix(s, "*."); ok && isName(rest) {
		return egressRule{suffix: "." + rest}, true
	}
	return egressRule{host: s}, isName(s)
}

func isName(s string) bool {
	if s == "" || len(s) > 253 || s[0] == '.' || s[0] == '-' || strings.Contains(s, "..") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	})
}

// matchName reports whether the rule is about that host name or, by `*`, about all.
func (r egressRule) matchName(host string, port uint16) bool {
	if r.port != 0 && r.port != port {
		return false
	}
	return r.any || r.host != "" && r.host == host || r.suffix != "" && strings.HasSuffix(host, r.suffix)
}

// matchAddr reports whether the rule names the address. An address that no rule
// should reach by accident is named only by a network that is about such addresses,
// not by one that happens to be wide.
func (r egressRule) matchAddr(a netip.Addr, port uint16, kind reachKind) bool {
	if !r.network.IsValid() || !r.network.Contains(a) || r.port != 0 && r.port != port {
		return false
	}
	return kind != reachNever && kind != reachLoopback || r.network.Bits() >= narrow
}

// narrow is how long the prefix of a network must be to name addresses that are
// not meant for everybody: 127.0.0.0/8 is.
const narrow = 8

// egressPolicy decides where connections may go.
type egressPolicy struct {
	// rules are replaced as a whole.
	rules atomic.Pointer[egressRules]
	// resolve looks names up; own lists the addresses of this machine.
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	own     func() []netip.Addr
}

func newEgressPolicy(rules *egressRules) *egressPolicy {
	p := &egressPolicy{own: ownAddrs, resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}}
	p.rules.Store(rules)
	return p
}

func ownAddrs() []netip.Addr {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Addr
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out
}

// errEgress is a refusal by the allow list.
var errEgress = errors.New("not on this sandbox's allow list")

// addrs are the addresses of host that a connection may go to. Whoever dials must
// take one of these: a name looked up again may say something else.
func (p *egressPolicy) addrs(ctx context.Context, host string, port uint16) ([]netip.Addr, error) {
	rules := p.rules.Load()
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	var found []netip.Addr
	var named []egressRule
	if a, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{a}
		for _, r := range rules.allow {
			if r.any && (r.port == 0 || r.port == port) {
				named = append(named, r)
			}
		}
	} else {
		for _, r := range rules.allow {
			if r.matchName(host, port) {
				named = append(named, r)
			}
		}
		// A name that no rule is about is not even looked up, unless a rule is
		// about addresses: looking up can carry data out, too.
		if len(named) == 0 && !slices.ContainsFunc(rules.allow, func(r egressRule) bool { return r.network.IsValid() }) {
			return nil, errEgress
		}
		if found, err = p.resolve(ctx, host); err != nil {
			return nil, fmt.Errorf("look up %s: %w", host, err)
		}
	}
	var ok []netip.Addr
	for _, a := range found {
		if a = a.Unmap().WithZone(""); rules.allowed(a, port, named, reach(a, p.own())) {
			ok = append(ok, a)
		}
	}
	if len(ok) == 0 {
		return nil, errEgress
	}
	return ok, nil
}

// allowed decides about one address; named are the rules that fit by name.
func (e *egressRules) allowed(a netip.Addr, port uint16, named []egressRule, kind reachKind) bool {
	for _, r := range e.allow {
		if r.matchAddr(a, port, kind) {
			return true
		}
	}
	byName := slices.ContainsFunc(named, func(r egressRule) bool { return !r.any })
	switch kind {
	case reachLoopback:
		return slices.ContainsFunc(named, func(r egressRule) bool { return r.host == "localhost" })
	case reachNever:
		return false
	case reachPrivate:
		return byName
	}
	return byName || len(named) > 0 && !slices.ContainsFunc(e.deny, func(n netip.Prefix) bool { return n.Contains(a) })
}

type reachKind uint8

const (
	reachPublic   reachKind = iota
	reachPrivate            // networks that are not on the Internet
	reachLoopback           // this machine's own loopback
	reachNever              // link-local, metadata, this machine by another address
)

// metadata are the addresses at which clouds serve secrets to their machines,
// those that are link-local left out.
func metadata() []string {
	return []string{"fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"}
}

// neverNetworks hold no host to talk to, or carry an address of version 4 that
// would have to be judged in its stead.
func neverNetworks() []string {
	return []string{"0.0.0.0/8", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96"}
}

func reach(a netip.Addr, own []netip.Addr) reachKind {
	if a.IsLoopback() {
		return reachLoopback
	}
	if a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() || slices.Contains(own, a) || slices.Contains(metadata(), a.String()) {
		return reachNever
	}
	for _, n := range neverNetworks() {
		if netip.MustParsePrefix(n).Contains(a) {
			return reachNever
		}
	}
	if a.IsPrivate() || netip.MustParsePrefix("100.64.0.0/10").Contains(a) {
		return reachPrivate
	}
	return reachPublic
}

// egressDial is how long one connection may take to come about.
const egressDial = 20 * time.Second

// dial connects to the first address that answers.
func (p *egressPolicy) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("%q is no port", portText)
	}
	ctx, cancel := context.WithTimeout(ctx, egressDial)
	defer cancel()
	addrs, err := p.addrs(ctx, host, uint16(port))
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, a := range addrs {
		c, err := (&net.Dialer{}).DialContext(ctx, network, netip.AddrPortFrom(a, uint16(port)).String())
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// egressProxy is an HTTP proxy: CONNECT for everything, absolute addresses for
// plain HTTP. life ends the connections that were handed over.
type egressProxy struct {
	policy *egressPolicy
	life   context.Context
	plain  *httputil.ReverseProxy
}

func newEgressProxy(life context.Context, policy *egressPolicy) *egressProxy {
	p := &egressProxy{policy: policy, life: life}
	p.plain = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host },
		Transport: &http.Transport{
			DialContext: policy.dial, DisableKeepAlives: true, ResponseHeaderTimeout: 5 * time.Minute, DisableCompression: true,
		},
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { refuseEgress(w, err) },
	}
	return p
}

// refuseEgress says why; the text goes to the sandbox's own program.
func refuseEgress(w http.ResponseWriter, err error) {
	if errors.Is(err, errEgress) {
		http.Error(w, errEgress.Error(), http.StatusForbidden)
		return
	}
	http.Error(w, "cannot be reached", http.StatusBadGateway)
}

func (p *egressProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(p.life, cancel)()
		// An answer may begin while the request still flows.
		_ = http.NewResponseController(w).EnableFullDuplex()
		p.plain.ServeHTTP(w, r.WithContext(ctx))
	default:
		http.Error(w, "this is a proxy", http.StatusBadRequest)
	}
}

func (p *egressProxy) tunnel(w http.ResponseWriter, r *http.Request) {
	target, err := p.policy.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		refuseEgress(w, err)
		return
	}
	defer target.Close()
	handOver(p.life, w, target)
}
