package opensandbox

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"abxdash/client"
)

// wireSnapshot is a snapshot (§2.7).
type wireSnapshot struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Status wireStatus `json:"status"`
}

func (w wireSnapshot) snapshot() client.Snapshot {
	s := client.Snapshot{ID: snapshotPrefix + w.ID}
	if w.Name != "" {
		s.Names = []string{w.Name}
	}
	return s
}

// snapshotPatience bounds the making of a snapshot.
const snapshotPatience = 15 * time.Minute

// Snapshot implements [client.Snapshotter]: the file system is saved, not the
// memory. It waits until the snapshot is ready.
func (c *Client) Snapshot(ctx context.Context, id client.ID, name string) (client.Snapshot, error) {
	f := failing{op: "snapshot sandbox " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID(f.op, id); err != nil {
		return client.Snapshot{}, err
	}
	body := map[string]string{}
	if name != "" {
		body["name"] = name
	}
	a, err := c.api(ctx, f, http.MethodPost, sandboxPath(id, "/snapshots"), body)
	ctx, cancel := context.WithTimeout(ctx, snapshotPatience)
	defer cancel()
	for {
		var w wireSnapshot
		if err == nil {
			err = c.decode(f, a, "snapshot", &w)
		}
		switch {
		case err != nil:
			return client.Snapshot{}, err
		case strings.EqualFold(w.Status.State, "ready"):
			return w.snapshot(), nil
		case strings.EqualFold(w.Status.State, "failed"):
			return client.Snapshot{}, &client.Error{Op: f.op, Provider: c.cfg.Name, Code: client.CodeServer, Message: "the snapshot failed: " + client.OneLine(w.Status.Message, 200)}
		case !sleep(ctx, pollState):
			return client.Snapshot{}, c.fail(ctx, f, ctx.Err())
		}
		a, err = c.api(ctx, f, http.MethodGet, "/snapshots/"+url.PathEscape(w.ID), nil)
	}
}

// Snapshots implements [client.Snapshotter].
func (c *Client) Snapshots(ctx context.Context, q client.SnapshotQuery) ([]client.Snapshot, string, error) {
	f := failing{op: "list snapshots", code: client.CodeServer, notFound: client.CodeUnsupported}
	v := url.Values{}
	if q.Sandbox != "" {
		v.Set("sandboxId", string(q.Sandbox))
	}
	if q.Limit > 0 {
		v.Set("pageSize", strconv.Itoa(min(q.Limit, 100)))
	}
	if q.PageToken != "" {
		v.Set("page", q.PageToken)
	}
	path := "/snapshots"
	if len(v) > 0 {
		path += "?" + v.Encode()
	}
	a, err := c.api(ctx, f, http.MethodGet, path, nil)
	if err != nil {
		return nil, "", err
	}
	var w wirePage[wireSnapshot]
	if err := c.decode(f, a, "list of snapshots", &w); err != nil {
		return nil, "", err
	}
	var out []client.Snapshot
	for _, s := range w.Items {
		if q.Name == "" || q.Name == s.Name {
			out = append(out, s.snapshot())
		}
	}
	next := ""
	if w.Pagination.HasNextPage {
		next = strconv.Itoa(max(w.Pagination.Page, 1) + 1)
	}
	return out, next, nil
}

// DeleteSnapshot implements [client.Snapshotter]; it takes an id.
func (c *Client) DeleteSnapshot(ctx context.Context, snapshot string) error {
	f := failing{op: "delete snapshot", code: client.CodeServer, notFound: client.CodeTemplateMissing}
	id := strings.TrimPrefix(snapshot, snapshotPrefix)
	if id == "" {
		return client.Usagef(f.op, "no snapshot given")
	}
	_, err := c.api(ctx, f, http.MethodDelete, "/snapshots/"+url.PathEscape(id), nil)
	return err
}

// Pool is a pool of warm sandboxes, on Kubernetes only (§2.8).
type Pool struct {
	Name     string       `json:"name"`
	Capacity PoolCapacity `json:"capacitySpec"`
	Status   struct {
		Total     int `json:"total"`
		Allocated int `json:"allocated"`
		Available int `json:"available"`
	} `json:"status"`
}

// PoolCapacity is how many sandboxes a pool holds ready, and at most.
type PoolCapacity struct {
	BufferMax int `json:"bufferMax"`
	BufferMin int `json:"bufferMin"`
	PoolMax   int `json:"poolMax"`
	PoolMin   int `json:"poolMin"`
}

// Pools lists the pools. A server without them gives E8004.
func (c *Client) Pools(ctx context.Context) ([]Pool, error) {
	f := failing{op: "list pools", code: client.CodeServer, notFound: client.CodeUnsupported}
	a, err := c.api(ctx, f, http.MethodGet, "/pools", nil)
	if err != nil {
		return nil, err
	}
	var w struct {
		Items []Pool `json:"items"`
	}
	return w.Items, c.decode(f, a, "list of pools", &w)
}

// CreatePool makes a pool of pods of a template, which is Kubernetes' own object.
func (c *Client) CreatePool(ctx context.Context, name string, template json.RawMessage, capacity PoolCapacity) error {
	f := failing{op: "create pool", code: client.CodeServer, notFound: client.CodeUnsupported}
	body := struct {
		Name     string          `json:"name"`
		Template json.RawMessage `json:"template"`
		Capacity PoolCapacity    `json:"capacitySpec"`
	}{name, template, capacity}
	_, err := c.api(ctx, f, http.MethodPost, "/pools", body)
	return err
}

// ResizePool changes a pool's capacity; nothing else of it can be changed.
func (c *Client) ResizePool(ctx context.Context, name string, capacity PoolCapacity) error {
	f := failing{op: "resize pool", code: client.CodeServer, notFound: client.CodeNotFound}
	body := struct {
		Capacity PoolCapacity `json:"capacitySpec"`
	}{capacity}
	_, err := c.api(ctx, f, http.MethodPut, "/pools/"+url.PathEscape(name), body)
	return err
}

// DeletePool removes a pool.
func (c *Client) DeletePool(ctx context.Context, name string) error {
	f := failing{op: "delete pool", code: client.CodeServer, notFound: client.CodeNotFound}
	_, err := c.api(ctx, f, http.MethodDelete, "/pools/"+url.PathEscape(name), nil)
	return err
}

// sampleAge is how long one reading of metrics is good for (§13).
const sampleAge = 2 * time.Second

// Metrics implements [client.MetricsReader] with one reading taken now: the
// server keeps none. Use and memory are those of the machine under the sandbox,
// not of the sandbox alone (§4.8).
func (c *Client) Metrics(ctx context.Context, id client.ID, _, to time.Time) ([]client.Metric, error) {
	f := failing{op: "get metrics of " + string(id), id: id, code: client.CodeServer, notFound: client.CodeUnsupported}
	now := c.cfg.Now()
	if !to.IsZero() && to.Before(now.Add(-sampleAge)) {
		return nil, nil
	}
	c.mu.Lock()
	b := c.boxOf(id)
	if now.Sub(b.sampleAt) < sampleAge {
		m := b.sample
		c.mu.Unlock()
		return []client.Metric{m}, nil
	}
	c.mu.Unlock()
	a, err := c.call(ctx, f, request{method: http.MethodGet, url: "/metrics"})
	if err != nil {
		return nil, err
	}
	var w struct {
		CPUCount float64 `json:"cpu_count"`
		CPUUsed  float64 `json:"cpu_used_pct"`
		MemTotal float64 `json:"mem_total_mib"`
		MemUsed  float64 `json:"mem_used_mib"`
		At       int64   `json:"timestamp"`
	}
	if err := c.decode(f, a, "reading", &w); err != nil {
		return nil, err
	}
	const mib = 1 << 20
	m := client.Metric{
		At: time.UnixMilli(w.At).UTC(), CPUCount: w.CPUCount, CPUUsed: w.CPUUsed,
		MemUsed: int64(w.MemUsed * mib), MemTotal: int64(w.MemTotal * mib),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b = c.boxOf(id)
	b.sample, b.sampleAt = m, now
	return []client.Metric{m}, nil
}

// Logs implements [client.LogReader] with the text form of the server's
// diagnostics: what the entrypoint and execd wrote, not commands (§6).
func (c *Client) Logs(ctx context.Context, id client.ID, since time.Time, limit int) ([]client.LogEntry, error) {
	f := failing{op: "get logs of " + string(id), id: id, code: client.CodeServer, notFound: client.CodeNotFound}
	if err := checkID(f.op, id); err != nil {
		return nil, err
	}
	v := url.Values{}
	if limit > 0 {
		v.Set("tail", strconv.Itoa(min(limit, 10000)))
	}
	if !since.IsZero() {
		v.Set("since", strconv.FormatInt(int64(max(c.now().Sub(since)/time.Second, 1)), 10)+"s")
	}
	path := sandboxPath(id, "/diagnostics/logs")
	if len(v) > 0 {
		path += "?" + v.Encode()
	}
	a, err := c.api(ctx, f, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	var out []client.LogEntry
	for line := range strings.Lines(string(a.body)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		e := client.LogEntry{Level: "info", Message: line}
		if stamp, rest, ok := strings.Cut(line, " "); ok {
			if at := when(stamp); !at.IsZero() {
				e.At, e.Message = at, rest
			}
		}
		if e.At.IsZero() || !e.At.Before(since) {
			out = append(out, e)
		}
	}
	return out, nil
}

// rulesOf turns lists of destinations into rules. deny says that everything
// else is denied. Rules go by name: addresses and ranges cannot be told to the
// server, but for the one that means everything (§2.3).
func rulesOf(op string, allow, deny []string) (rules []wireRule, all bool, err error) {
	for _, d := range deny {
		if d == "0.0.0.0/0" || d == "::/0" || d == "*" {
			all = true
			continue
		}
		if err := checkTarget(op, d); err != nil {
			return nil, false, err
		}
		rules = append(rules, wireRule{"deny", d})
	}
	for _, a := range allow {
		if err := checkTarget(op, a); err != nil {
			return nil, false, err
		}
		// What is allowed wins, and the first rule for a target does.
		rules = slices.Insert(rules, 0, wireRule{"allow", a})
	}
	return rules, all, nil
}

func checkTarget(op, t string) error {
	_, perr := netip.ParsePrefix(t)
	if net.ParseIP(t) != nil || perr == nil || strings.ContainsAny(t, " /:") || t == "" {
		return client.Usagef(op, "OpenSandbox's network rules name hosts, such as pypi.org or *.pypi.org, not %q", client.OneLine(t, 60))
	}
	return nil
}

// EgressPolicy is the network policy in force inside a sandbox that was made
// with one (§5).
type EgressPolicy struct {
	Mode, DefaultAction string
	// Rules are "allow host" or "deny host".
	Rules []string
}

// egress makes a call to the policy sidecar.
func (c *Client) egress(ctx context.Context, f failing, method string, body any) (answer, error) {
	e, err := c.resolve(ctx, failing{op: f.op, id: f.id, code: client.CodeNetwork, notFound: client.CodeNotFound}, f.id, egressPort, c.useProxy())
	if err != nil {
		return answer{}, err
	}
	ex, err := c.execd(ctx, f)
	if err != nil {
		return answer{}, err
	}
	e.arm(ex.header.Get("X-Execd-Access-Token"))
	ctx, cancel := c.bounded(ctx, 0)
	defer cancel()
	a, err := c.do(ctx, request{method: method, url: e.base + "/policy", header: e.header, body: body})
	if stale(err) {
		return a, &client.Error{
			Op: f.op, Provider: c.cfg.Name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: "the sandbox was made without a network policy, so it has nothing to change",
			Hint:    "give the network rules when it is created",
		}
	}
	return a, c.fail(ctx, f, err)
}

// wirePolicyState is the answer of GET /policy.
type wirePolicyState struct {
	Mode   string     `json:"mode"`
	Policy wirePolicy `json:"policy"`
}

// Egress reads the policy in force.
func (c *Client) Egress(ctx context.Context, id client.ID) (EgressPolicy, error) {
	f := failing{op: "read network policy of " + string(id), id: id, code: client.CodeNetwork, notFound: client.CodeUnsupported}
	w, err := c.policy(ctx, f)
	if err != nil {
		return EgressPolicy{}, err
	}
	p := EgressPolicy{Mode: w.Mode, DefaultAction: w.Policy.DefaultAction}
	for _, r := range w.Policy.Egress {
		p.Rules = append(p.Rules, r.Action+" "+r.Target)
	}
	return p, nil
}

func (c *Client) policy(ctx context.Context, f failing) (wirePolicyState, error) {
	var w wirePolicyState
	if err := checkID(f.op, f.id); err != nil {
		return w, err
	}
	a, err := c.egress(ctx, f, http.MethodGet, nil)
	if err != nil {
		return w, err
	}
	return w, c.decode(f, a, "policy", &w)
}

// UpdateNetwork implements [client.NetworkUpdater]: the rules that are there
// and not wanted are removed, then the new ones are set. Whether everything
// else is allowed is decided at creation and stays.
func (c *Client) UpdateNetwork(ctx context.Context, id client.ID, u client.NetworkUpdate) error {
	f := failing{op: "update network of " + string(id), id: id, code: client.CodeNetwork, notFound: client.CodeUnsupported}
	rules, all, err := rulesOf(f.op, u.AllowOut, u.DenyOut)
	if err != nil {
		return err
	}
	w, err := c.policy(ctx, f)
	if err != nil {
		return err
	}
	deny := all || u.Internet != nil && !*u.Internet
	if deny != strings.EqualFold(w.Policy.DefaultAction, "deny") && (deny || u.Internet != nil) {
		return &client.Error{
			Op: f.op, Provider: c.cfg.Name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: "what happens to other traffic (" + client.OneLine(w.Policy.DefaultAction, 20) + ") was decided when the sandbox was created",
		}
	}
	var gone []string
	for _, old := range w.Policy.Egress {
		if !slices.Contains(rules, old) {
			gone = append(gone, old.Target)
		}
	}
	if len(gone) > 0 {
		if _, err := c.egress(ctx, f, http.MethodDelete, gone); err != nil {
			return err
		}
	}
	if len(rules) == 0 {
		return nil
	}
	_, err = c.egress(ctx, f, http.MethodPatch, rules)
	return err
}
