package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// NetworkProxy is a network of its own with one way out, a proxy that [Egress] bounds.
const NetworkProxy = "proxy"

// MetaNetwork with the value "host" asks for this machine's own network where
// internet access otherwise goes through a proxy.
const MetaNetwork = "abxdash.network"

// anyHost is the rule that lets every public host through.
const anyHost = "*"

// Egress bounds [NetworkProxy].
type Egress struct {
	// Allow has names, *.names, addresses and networks, each with :PORT at will,
	// or "*" for every public host.
	Allow []string
	// Deny has addresses and networks that "*" leaves out.
	Deny []string
}

// Networker is an [Instance] of [NetworkProxy] whose rules can be replaced.
type Networker interface {
	SetEgress(e Egress) error
}

// networkJSON is NetworkConfig (e2b-protocol §3.1).
type networkJSON struct {
	AllowPublicTraffic *bool           `json:"allowPublicTraffic,omitempty"`
	AllowOut           []string        `json:"allowOut,omitempty"`
	DenyOut            []string        `json:"denyOut,omitempty"`
	MaskRequestHost    string          `json:"maskRequestHost,omitempty"`
	EgressProxy        json.RawMessage `json:"egressProxy,omitempty"`
	Rules              json.RawMessage `json:"rules,omitempty"`
}

// networkUpdate is the body of PUT /sandboxes/{id}/network: a full replacement.
type networkUpdate struct {
	networkJSON
	Internet *bool `json:"allow_internet_access"`
}

// outbound reports whether rules were given for what goes out.
func (n *networkJSON) outbound() bool { return len(n.AllowOut)+len(n.DenyOut) > 0 }

// checkOutbound refuses what cannot be honoured and what is not well formed.
func (n *networkJSON) checkOutbound(denyAll bool) *apiError {
	switch {
	case given(n.EgressProxy):
		return refuse(http.StatusBadRequest, "network.egressProxy: not offered by the local server")
	case given(n.Rules):
		return refuse(http.StatusBadRequest, "network.rules: not offered by the local server")
	}
	for _, d := range n.DenyOut {
		if !isNetwork(d) {
			return refuse(http.StatusBadRequest, "network.denyOut: %q is neither an address nor a network", shorten(d))
		}
	}
	for _, a := range n.AllowOut {
		target := withoutPort(a)
		switch {
		case isNetwork(target):
		case !isDomain(target):
			return refuse(http.StatusBadRequest, "network.allowOut: %q is no address, network, name or *.name", shorten(a))
		case !denyAll:
			return refuse(http.StatusBadRequest, "network.allowOut: a name such as %q needs 0.0.0.0/0 in denyOut", shorten(a))
		}
	}
	return nil
}

// withoutPort takes :PORT off, an addition of ours.
func withoutPort(rule string) string {
	if isNetwork(rule) {
		return rule
	}
	host, port, ok := strings.Cut(rule, ":")
	if _, err := strconv.ParseUint(port, 10, 16); ok && err == nil {
		return host
	}
	return rule
}

func isNetwork(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	_, err := netip.ParsePrefix(s)
	return err == nil
}

func isDomain(s string) bool {
	name := strings.ToLower(strings.TrimPrefix(s, "*."))
	return word(name, "-_.") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "-") && !strings.Contains(name, "..") && len(name) <= 253
}

// everything reports a network that is all there is.
func everything(s string) bool { return s == "0.0.0.0/0" || s == "::/0" }

// denied reports whether nothing goes out but what is allowed.
func denied(n *networkJSON, internet *bool) bool {
	return internet != nil && !*internet || slices.ContainsFunc(n.DenyOut, everything)
}

// egressOf turns the rules of the protocol, in which all is allowed that is not
// denied and what is allowed wins, into an allow list.
func egressOf(n *networkJSON, internet *bool) Egress {
	var e Egress
	for _, a := range n.AllowOut {
		if everything(a) {
			a = anyHost
		}
		e.Allow = append(e.Allow, a)
	}
	if denied(n, internet) {
		return e
	}
	e.Allow = append(e.Allow, anyHost)
	e.Deny = slices.Clone(n.DenyOut)
	return e
}

// open reports whether e keeps nothing back but what "*" never reaches.
func (e *Egress) open() bool { return slices.Contains(e.Allow, anyHost) && len(e.Deny) == 0 }

// checkNetwork decides the network of a create: off unless asked for, the host's at
// levels that cannot separate it, and a proxy where there are rules. Behind a front,
// where SDKs ask for the internet by default, it is a proxy, too: then ports do not
// collide and services of this machine are not in reach.
func (s *Server) checkNetwork(req *newSandbox) *apiError {
	n := &req.Network
	if n.AllowPublicTraffic != nil && !*n.AllowPublicTraffic && !req.Secure {
		return refuse(http.StatusBadRequest, "network.allowPublicTraffic: false needs secure: true")
	}
	if e := n.checkOutbound(denied(n, req.AllowInternetAccess)); e != nil {
		return e
	}
	if v, ok := req.Metadata[MetaNetwork]; ok && v != NetworkHost {
		return refuse(http.StatusBadRequest, "metadata %s: %q is not known, only %q", MetaNetwork, shorten(v), NetworkHost)
	}
	separate := separatesNetwork(s.opt.Isolation)
	proxied := req.fronted && req.Metadata[MetaNetwork] != NetworkHost
	// The protocol's default is on. Our own callers say what they want.
	internet := req.fronted
	if req.AllowInternetAccess != nil {
		internet = *req.AllowInternetAccess
	}
	switch {
	case n.outbound() && !separate:
		return refuse(http.StatusBadRequest, "network: rules need the isolation level namespace or container, this server works at %s", s.opt.Isolation)
	case n.outbound(), internet && separate && proxied:
		req.network, req.egress = NetworkProxy, egressOf(n, req.AllowInternetAccess)
	case internet || !separate:
		req.network = NetworkHost
	default:
		req.network = NetworkOff
	}
	return nil
}

// handleNetwork replaces the outbound rules of a running sandbox. Connections
// that are open stay so.
func (s *Server) handleNetwork(w http.ResponseWriter, r *http.Request, b *box) {
	body, e := readBody[networkUpdate](w, r, false)
	if e == nil {
		e = body.checkOutbound(denied(&body.networkJSON, body.Internet))
	}
	if e == nil {
		e = s.setNetwork(r.Context(), b, body)
	}
	s.answerEmpty(w, e)
}

func (s *Server) setNetwork(ctx context.Context, b *box, u networkUpdate) *apiError {
	if e := b.takeTurn(ctx); e != nil {
		return e
	}
	defer b.endTurn()
	rules := egressOf(&u.networkJSON, u.Internet)
	switch {
	case b.network == NetworkHost && !rules.open():
		return refuse(http.StatusConflict, "sandbox %q shares this machine's network, which cannot be taken from it; create it with network rules", b.id)
	case b.network == NetworkOff && len(rules.Allow) > 0:
		return refuse(http.StatusConflict, "sandbox %q was made without a network; create it with network rules, such as denyOut of 0.0.0.0/0 alone", b.id)
	}
	if b.network == NetworkProxy {
		n, ok := b.inst.(Networker)
		if !ok {
			return refuse(http.StatusNotImplemented, "changing the network of a running sandbox is not offered by the local server here")
		}
		if err := n.SetEgress(rules); err != nil {
			return refuse(http.StatusInternalServerError, "cannot change the network of sandbox %q: %s", b.id, err)
		}
	}
	s.mu.Lock()
	b.rules.AllowOut, b.rules.DenyOut, b.internet = u.AllowOut, u.DenyOut, !denied(&u.networkJSON, u.Internet)
	s.mu.Unlock()
	b.logs.add(s.clock.Now(), levelInfo, "network rules replaced", map[string]string{"allow": strings.Join(rules.Allow, " "), "deny": strings.Join(rules.Deny, " ")})
	return nil
}

// networkOf is what a detail tells: the rules, nil without any, and whether
// everything is allowed that they do not deny.
func (s *Server) networkOf(b *box) (rules *networkJSON, internet bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.rules.outbound() || b.traffic != "" || b.rules.MaskRequestHost != "" {
		c := b.rules
		rules = &c
	}
	return rules, b.internet
}
