package present

import (
	"maps"
	"os"
	"os/user"
	"strings"

	"abxdash/client"
)

// Metadata keys beyond those of package client that a creator may set.
const (
	// MetaPID is the process that will kill the sandbox when it ends, as a
	// decimal number on the host named by client.MetaHost.
	MetaPID = "abxdash.pid"
	// MetaExpected is how long the sandbox is expected to be needed, as a Go duration.
	MetaExpected = "abxdash.expected"
)

// Owner is who creates sandboxes here.
type Owner struct{ User, Host string }

// CurrentOwner is the person and machine this process runs as. What cannot be
// found out is "unknown", so that the tag exists all the same.
func CurrentOwner() Owner {
	o := Owner{User: "unknown", Host: "unknown"}
	if u, err := user.Current(); err == nil && u.Username != "" {
		// Windows says DOMAIN\name.
		o.User = u.Username[strings.LastIndexByte(u.Username, '\\')+1:]
	}
	if h, err := os.Hostname(); err == nil && h != "" {
		o.Host = h
	}
	return o
}

// Tags returns the metadata for a sandbox about to be created: extra, then the
// name if there is one, then who made it. by is "dashboard", "cli", "try" or "mcp".
func (o Owner) Tags(by, name string, extra map[string]string) map[string]string {
	out := make(map[string]string, len(extra)+4)
	maps.Copy(out, extra)
	if name != "" {
		out[client.MetaName] = name
	}
	out[client.MetaOwner] = o.User
	out[client.MetaHost] = o.Host
	out[client.MetaStarted] = by
	return out
}

// Column words who owns s: "me", the user, "user@host" for the same user on
// another machine, or "?"; clean.
func (o Owner) Column(s client.Sandbox) string {
	u, h := s.Metadata[client.MetaOwner], s.Metadata[client.MetaHost]
	switch {
	case u == "":
		return "?"
	case u == o.User && h == o.Host:
		return "me"
	case u == o.User:
		return Clean(u + "@" + h)
	default:
		return Clean(u)
	}
}
