package e2b

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"golang.org/x/mod/semver"

	"abxdash/client"
	"abxdash/client/envdpb/filesystem/filesystemconnect"
	"abxdash/client/envdpb/process/processconnect"
)

// access is what it takes to talk to one sandbox's agent.
type access struct {
	token, traffic string
	domain         string
	version        string
}

// agent talks to the agent inside one sandbox. It never changes once made.
type agent struct {
	c      *Client
	id     client.ID
	access access
	// stale marks tokens that were refused: kept to be masked in errors, and for
	// the traffic token, which no later answer may tell again.
	stale bool
	base  string
	proc  processconnect.ProcessClient
	fs    filesystemconnect.FilesystemClient
}

// maxAgents bounds the cache of agents; one is about a kilobyte.
const maxAgents = 10000

// learn keeps the tokens of a sandbox out of an answer that held them.
func (c *Client) learn(id client.ID, w wireSandbox) {
	acc := access{
		token:   string(w.EnvdAccessToken),
		traffic: string(w.TrafficAccessToken),
		version: string(w.EnvdVersion),
	}
	if hostname(string(w.Domain)) && !c.cfg.Quirks.KeepDomain {
		acc.domain = string(w.Domain)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.agents[id]
	if old != nil && acc.traffic == "" {
		// Only create, connect and resume tell it (alicloud-express §3).
		acc.traffic = old.access.traffic
	}
	if old != nil && old.access == acc && !old.stale {
		return
	}
	a := c.newAgent(id, acc)
	if len(c.agents) >= maxAgents {
		clear(c.agents)
	}
	c.agents[id] = a
}

// refuse marks the tokens of a sandbox as no longer good.
func (c *Client) refuse(a *agent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.agents[a.id] == a {
		old := *a
		old.stale = true
		c.agents[a.id] = &old
	}
}

// forget drops the tokens of a sandbox.
func (c *Client) forget(id client.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.agents, id)
}

// hostname reports whether s can stand as the domain of a URL, port allowed.
func hostname(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != ':'
	})
}

// newAgent makes the Connect clients of one sandbox.
func (c *Client) newAgent(id client.ID, acc access) *agent {
	domain := acc.domain
	if domain == "" {
		domain = c.cfg.Domain
	}
	a := &agent{c: c, id: id, access: acc, base: expand(c.cfg.DataURL, id, domain, AgentPort)}
	opts := []connect.ClientOption{
		// Compression costs more than it saves on a stream of small chunks.
		connect.WithAcceptCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(maxAnswer),
	}
	if c.cfg.JSON {
		opts = append(opts, connect.WithProtoJSON())
	}
	a.proc = processconnect.NewProcessClient(a, a.base, opts...)
	a.fs = filesystemconnect.NewFilesystemClient(a, a.base, opts...)
	return a
}

// agentOf returns the agent of a sandbox. An unknown one is asked for first:
// only Get tells the token.
func (c *Client) agentOf(ctx context.Context, id client.ID) (*agent, error) {
	c.mu.Lock()
	a := c.agents[id]
	c.mu.Unlock()
	if a != nil && !a.stale {
		return a, nil
	}
	if _, err := c.Sandboxes().Get(ctx, id); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a = c.agents[id]; a == nil {
		return nil, &client.Error{Op: "get sandbox", Provider: c.cfg.Name, Code: client.CodeNotFound, Kind: client.ErrNotFound}
	}
	return a, nil
}

// with runs fn on the sandbox's agent. When the agent refuses the token, it is
// fetched once more and fn runs again; again says that fn may (its input can be
// sent twice).
func (c *Client) with(ctx context.Context, f failing, again bool, fn func(*agent) error) error {
	if err := checkID(f.op, f.id); err != nil {
		return err
	}
	a, err := c.agentOf(ctx, f.id)
	if err != nil {
		if e := (*client.Error)(nil); asError(err, &e) {
			e.Op = f.op
		}
		return err
	}
	err = fn(a)
	if ref := (*refusal)(nil); errors.As(err, &ref) && ref.status == http.StatusUnauthorized {
		c.refuse(a)
		if again {
			if a, gerr := c.agentOf(ctx, f.id); gerr == nil {
				err = fn(a)
			}
		}
	}
	return c.fail(ctx, f, err)
}

// unary runs one Connect call without a stream, bounded by the request timeout.
func (c *Client) unary(ctx context.Context, f failing, fn func(context.Context, *agent) error) error {
	ctx, cancel := c.bounded(ctx, 0)
	defer cancel()
	return c.with(ctx, f, true, func(a *agent) error { return fn(ctx, a) })
}

// dress puts the headers of every data-plane request on h (e2b-protocol §6.1, §7.1).
func (a *agent) dress(h http.Header) {
	h.Set("User-Agent", a.c.cfg.UserAgent)
	h.Set("Accept-Encoding", "identity")
	h.Set("E2b-Sandbox-Id", string(a.id))
	h.Set("E2b-Sandbox-Port", strconv.Itoa(AgentPort))
	if a.access.token != "" {
		h.Set("X-Access-Token", a.access.token)
	}
	if a.c.cfg.Quirks.TrafficToken && a.access.traffic != "" {
		h.Set("E2b-Traffic-Access-Token", a.access.traffic)
	}
}

// Do implements [connect.HTTPClient]. It turns answers that are not Connect's
// own into a *refusal, so that their text is not lost, and watches streams for
// silence.
func (a *agent) Do(req *http.Request) (*http.Response, error) {
	a.dress(req.Header)
	resp, err := a.c.http.Do(req)
	if err != nil {
		return nil, err
	}
	ct := resp.Header.Get("Content-Type")
	stream := strings.HasPrefix(req.Header.Get("Content-Type"), "application/connect+")
	switch {
	case resp.StatusCode == http.StatusOK && stream && (strings.HasPrefix(ct, "application/connect+") || asEnvelopes(req, resp)):
		resp.Body = a.c.watch(req.Context(), resp.Body)
		return resp, nil
	case resp.StatusCode == http.StatusOK && !stream && (strings.HasPrefix(ct, "application/json") || strings.HasPrefix(ct, "application/proto")):
		return resp, nil
	}
	ref := refused(resp)
	if code, message, ok := ref.wire(); ok {
		return nil, &wireError{code: code, message: message}
	}
	return nil, ref
}

// wireError is an error that the agent's RPC layer sent in a unary answer.
type wireError struct {
	code    connect.Code
	message string
}

func (w *wireError) Error() string { return w.code.String() + ": " + w.message }

// wire reads a Connect error body. Its code is a name; the HTTP layer's is a number (§7.1).
func (r *refusal) wire() (connect.Code, string, bool) {
	body := r.decode()
	name := text(body.Code)
	if name == "" {
		return 0, "", false
	}
	var code connect.Code
	if code.UnmarshalText([]byte(name)) != nil {
		return 0, "", false
	}
	return code, body.Message, true
}

// asError is errors.As for our error type; false for nil.
func asError(err error, e **client.Error) bool { return err != nil && errors.As(err, e) }

// user names the acting user in h (e2b-protocol §7.1).
func (a *agent) user(h http.Header, user string) {
	if user = a.acting(user); user != "" {
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":")))
	}
}

// acting is the user to name: the wanted one, else the configured one, else
// none, which is the sandbox's default.
func (a *agent) acting(user string) string {
	if user == "" {
		user = a.c.cfg.User
	}
	if user == "" && a.older("0.4.0") {
		// Such agents have no default user of their own (e2b-protocol §14).
		user = "user"
	}
	return user
}

// older reports whether the agent's version is known to be below v. An
// unreadable version counts as new.
func (a *agent) older(v string) bool {
	have := "v" + a.access.version
	return !a.c.cfg.Quirks.IgnoreVersion && semver.IsValid(have) && semver.Compare(have, "v"+v) < 0
}
