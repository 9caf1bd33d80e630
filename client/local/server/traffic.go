package server

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// How a request shows that it may reach a port of a sandbox that is closed to the
// public (e2b-protocol §6.3). The header is the protocol's. A browser cannot send it,
// so a link with the token as parameter leaves a cookie.
const (
	headerTraffic = "E2b-Traffic-Access-Token"
	trafficCookie = "abx-traffic"
	trafficParam  = "abx_traffic_token"
)

// admitTraffic decides about a request to a port other than the agent's and
// answers it if it may not, or not yet, go on. What it showed stays out of the sandbox.
func admitTraffic(w http.ResponseWriter, r *http.Request, t target, b *box) bool {
	if b.traffic == "" || !fronted(r) || t.port == envdPort {
		return true
	}
	if token := r.URL.Query().Get(trafficParam); token != "" && r.Method == http.MethodGet && b.isTraffic(token) {
		leaveCookie(w, r, token)
		return false
	}
	cookie, err := r.Cookie(trafficCookie)
	if b.isTraffic(r.Header.Get(headerTraffic)) || err == nil && b.isTraffic(cookie.Value) {
		r.Header.Del(headerTraffic)
		dropCookie(r.Header)
		return true
	}
	writeJSON(w, http.StatusForbidden, edgeError{
		SandboxID: t.id, Code: http.StatusForbidden,
		Message: "The sandbox is not open to the public: send its traffic access token",
	})
	return false
}

func (b *box) isTraffic(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(b.traffic)) == 1
}

// leaveCookie sends the browser to the same address without the token in it.
func leaveCookie(w http.ResponseWriter, r *http.Request, token string) {
	http.SetCookie(w, &http.Cookie{
		Name: trafficCookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: r.Header.Get(headerFront) == "https",
	})
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/")}
	q := r.URL.Query()
	q.Del(trafficParam)
	to.RawQuery = q.Encode()
	w.Header().Set("Location", to.String())
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}

// dropCookie takes our cookie out of what goes on into the sandbox.
func dropCookie(h http.Header) {
	lines := h.Values("Cookie")
	h.Del("Cookie")
	for _, line := range lines {
		var kept []string
		for part := range strings.SplitSeq(line, ";") {
			if name, _, _ := strings.Cut(strings.TrimSpace(part), "="); name != trafficCookie && name != "" {
				kept = append(kept, strings.TrimSpace(part))
			}
		}
		if len(kept) > 0 {
			h.Add("Cookie", strings.Join(kept, "; "))
		}
	}
}

// maskedHost is the Host header that a port is to see (maskRequestHost), "" for
// the one that was sent.
func (b *box) maskedHost(port int) string {
	if port == envdPort {
		return ""
	}
	return strings.ReplaceAll(b.rules.MaskRequestHost, "${PORT}", strconv.Itoa(port))
}
