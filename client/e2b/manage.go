package e2b

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"abxdash/client"
)

// snapshotPatience bounds the making of a snapshot, which can take minutes
// (alicloud-express §5.2).
const snapshotPatience = 5 * time.Minute

// networkUpdate is the body of PUT …/network; what is left out is cleared (§3.1).
type networkUpdate struct {
	AllowOut []string `json:"allowOut,omitempty"`
	DenyOut  []string `json:"denyOut,omitempty"`
	Internet *bool    `json:"allow_internet_access,omitempty"`
	// Camel is the same in the spelling of some services.
	Camel *bool `json:"allowInternetAccess,omitempty"`
}

// UpdateNetwork implements [client.NetworkUpdater] with PUT …/network (§3).
func (c *Client) UpdateNetwork(ctx context.Context, id client.ID, u client.NetworkUpdate) error {
	f := failing{op: "update network of " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID("update network", id); err != nil {
		return err
	}
	if err := c.need(client.CapNetworkUpdate); err != nil {
		return err
	}
	body := networkUpdate{AllowOut: u.AllowOut, DenyOut: u.DenyOut, Internet: u.Internet}
	if c.cfg.Quirks.CamelInternet {
		body.Internet, body.Camel = nil, u.Internet
	}
	_, err := c.call(ctx, f, http.MethodPut, sandboxPath(id, "/network"), body)
	return err
}

// wireSnapshot is SnapshotInfo (§3.1).
type wireSnapshot struct {
	SnapshotID word   `json:"snapshotID"`
	Names      []word `json:"names"`
}

func (w wireSnapshot) snapshot() client.Snapshot {
	s := client.Snapshot{ID: string(w.SnapshotID)}
	for _, n := range w.Names {
		s.Names = append(s.Names, string(n))
	}
	return s
}

// Snapshot implements [client.Snapshotter] with POST …/snapshots (§3.11).
func (c *Client) Snapshot(ctx context.Context, id client.ID, name string) (client.Snapshot, error) {
	f := failing{
		op: "snapshot sandbox " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound,
		wait: max(snapshotPatience, c.cfg.RequestTimeout),
	}
	if err := checkID("snapshot sandbox", id); err != nil {
		return client.Snapshot{}, err
	}
	if err := c.need(client.CapSnapshot); err != nil {
		return client.Snapshot{}, err
	}
	body := struct {
		Name string `json:"name,omitempty"`
	}{name}
	a, err := c.call(ctx, f, http.MethodPost, sandboxPath(id, "/snapshots"), body)
	if err != nil {
		return client.Snapshot{}, err
	}
	var w wireSnapshot
	if json.Unmarshal(a.body, &w) != nil || w.SnapshotID == "" {
		return client.Snapshot{}, c.fail(ctx, f, &badJSON{a, "snapshot"})
	}
	return w.snapshot(), nil
}

// Snapshots implements [client.Snapshotter] with GET /snapshots (§3).
func (c *Client) Snapshots(ctx context.Context, q client.SnapshotQuery) ([]client.Snapshot, string, error) {
	f := failing{op: "list snapshots", code: client.CodeServer, notFound: client.CodeUnsupported}
	if q.Limit < 0 || q.Limit > 100 {
		return nil, "", client.Usagef(f.op, "a page holds 1 to 100 snapshots, not %d", q.Limit)
	}
	if err := c.need(client.CapSnapshot); err != nil {
		return nil, "", err
	}
	v := url.Values{}
	for name, text := range map[string]string{"sandboxID": string(q.Sandbox), "name": q.Name, "nextToken": q.PageToken} {
		if text != "" {
			v.Set(name, text)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	a, err := c.call(ctx, f, http.MethodGet, "/snapshots"+query(v), nil)
	if err != nil {
		return nil, "", err
	}
	var rows []wireSnapshot
	if err := json.Unmarshal(a.body, &rows); err != nil {
		return nil, "", c.fail(ctx, f, &badJSON{a, "list of snapshots"})
	}
	out := make([]client.Snapshot, 0, len(rows))
	for _, w := range rows {
		out = append(out, w.snapshot())
	}
	return out, a.header.Get("X-Next-Token"), nil
}

// DeleteSnapshot implements [client.Snapshotter]: a snapshot is deleted like a
// template, and its name may hold "/" and ":" (§2.1, §3).
func (c *Client) DeleteSnapshot(ctx context.Context, snapshot string) error {
	f := failing{op: "delete snapshot", code: client.CodeServer, notFound: client.CodeTemplateMissing}
	if snapshot == "" {
		return client.Usagef(f.op, "no snapshot given")
	}
	if err := c.need(client.CapSnapshot); err != nil {
		return err
	}
	_, err := c.call(ctx, f, http.MethodDelete, "/templates/"+component(snapshot), nil)
	return err
}

// ResolvePort implements [client.Ports]. It asks for the sandbox, so that its
// own domain and its tokens are known; a traffic token is known only after a
// create or connect by this client (alicloud-express §3).
func (c *Client) ResolvePort(ctx context.Context, id client.ID, port int) (client.Address, error) {
	f := failing{op: "resolve port", id: id, code: client.CodeNetwork, notFound: client.CodeNotFound}
	if port < 1 || port > 65535 {
		return client.Address{}, client.Usagef(f.op, "port %d is not in 1 to 65535", port)
	}
	var out client.Address
	err := c.with(ctx, f, true, func(a *agent) error {
		pattern := c.cfg.WebURL
		if pattern == "" {
			// One address for everything: the headers tell the port.
			pattern = c.cfg.DataURL
		}
		domain := a.access.domain
		if domain == "" {
			domain = c.cfg.Domain
		}
		out = client.Address{URL: expand(pattern, id, domain, port), Header: http.Header{}}
		out.Header.Set("E2b-Sandbox-Id", string(id))
		out.Header.Set("E2b-Sandbox-Port", strconv.Itoa(port))
		if a.access.token != "" {
			out.Header.Set("X-Access-Token", a.access.token)
		}
		if a.access.traffic != "" {
			out.Header.Set("E2b-Traffic-Access-Token", a.access.traffic)
		}
		return nil
	})
	return out, err
}

// UploadAddress implements [client.FileLinks] (§7.5).
func (c *Client) UploadAddress(ctx context.Context, id client.ID, path string) (client.Address, error) {
	return c.fileAddress(ctx, "upload URL", http.MethodPost, id, path)
}

// DownloadAddress implements [client.FileLinks] (§7.4).
func (c *Client) DownloadAddress(ctx context.Context, id client.ID, path string) (client.Address, error) {
	return c.fileAddress(ctx, "download URL", http.MethodGet, id, path)
}

// fileAddress is the agent's /files with the headers it needs. There is no
// signature in it: not every service takes one without the token.
func (c *Client) fileAddress(ctx context.Context, op, method string, id client.ID, path string) (client.Address, error) {
	f := failing{op: op, id: id, code: client.CodeFiles, notFound: client.CodeNotFound}
	if err := checkPath(op, path); err != nil {
		return client.Address{}, err
	}
	if path == "" {
		return client.Address{}, client.Usagef(op, "no path given")
	}
	var out client.Address
	err := c.with(ctx, f, true, func(a *agent) error {
		out = client.Address{Method: method, URL: a.fileURL(path), Header: http.Header{}}
		a.dress(out.Header)
		out.Header.Del("User-Agent")
		if method == http.MethodPost {
			out.Header.Set("Content-Type", "application/octet-stream")
		}
		return nil
	})
	return out, err
}
