package server

import (
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// envdPort is where a sandbox's agent answers (e2b-protocol §1).
const envdPort = 49983

// Routing headers (e2b-protocol §6.1).
const (
	headerID   = "E2b-Sandbox-Id"
	headerPort = "E2b-Sandbox-Port"
)

// target is one port of one sandbox.
type target struct {
	id   string
	port int
}

// routeOf tells data-plane requests from control calls and finds their target.
// A non-empty problem is the text of a 400 answer.
func routeOf(r *http.Request) (t target, isData bool, problem string) {
	id, port := r.Header.Get(headerID), r.Header.Get(headerPort)
	if id == "" && port == "" {
		var ok bool
		if port, id, ok = hostLabel(r.Host); !ok {
			return target{}, false, ""
		}
	} else if id == "" || port == "" {
		return target{}, true, "missing header"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return target{}, true, "Invalid sandbox port"
	}
	id, e := parseID(id)
	if e != nil {
		return target{}, true, "Invalid sandbox ID"
	}
	return target{id: id, port: int(n)}, true, ""
}

// hostLabel reads `<port>-<id>[-<old client id>].<any domain>`.
func hostLabel(host string) (port, id string, ok bool) {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	label, _, dotted := strings.Cut(host, ".")
	port, id, dashed := strings.Cut(label, "-")
	if !dotted || !dashed || port == "" || strings.Trim(port, "0123456789") != "" {
		return "", "", false
	}
	id, _, _ = strings.Cut(id, "-")
	return port, strings.ToLower(id), true
}

// reserved reports agent routes that are the server's own (e2b-protocol §6.4).
func reserved(p string) bool {
	switch path.Clean("/" + p) {
	case "/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade":
		return true
	}
	return false
}
