package acs

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"abxdash/client"
)

// APIKey is a key as the API shows it (alicloud-express §9). Times are RFC 3339
// text as sent, "" where unset.
type APIKey struct {
	ID     string `json:"apiKeyID"`
	Name   string `json:"apiKeyName"`
	Mask   string `json:"apiKeyMask"`
	TeamID string `json:"teamID"`
	Team   string `json:"teamName"`
	Status string `json:"status"`

	CreatedTime  string `json:"createdTime"`
	ExpireTime   string `json:"expireTime"`
	LastUsedTime string `json:"lastUsedTime"`
}

// Team owns keys, templates, sandboxes and quota.
type Team struct {
	ID          string `json:"teamID"`
	Name        string `json:"teamName"`
	Description string `json:"description"`
	Status      string `json:"status"`
	CreatedTime string `json:"createdTime"`
}

// Quota is the limit of one tag: vCPUs and GB of memory.
type Quota struct {
	Tag      string  `json:"tagValue"`
	CPUCores float64 `json:"cpuCores"`
	MemoryGB float64 `json:"memoryGB"`
}

// maxPages ends a walk over a server that repeats itself.
const maxPages = 200

// CreateAPIKey makes a key of a team (an empty teamID is the default team). The
// value is in no later answer: keep it, and show it nowhere else.
func (c *Client) CreateAPIKey(ctx context.Context, name, teamID string) (key APIKey, value string, err error) {
	const op = "create API key"
	if name == "" {
		return APIKey{}, "", client.Usagef(op, "the key needs a name")
	}
	in := struct {
		Name   string `json:"apiKeyName"`
		TeamID string `json:"teamID,omitempty"`
	}{name, teamID}
	return c.withValue(ctx, op, "CreateApiKey", http.MethodPost, "/api-keys", in)
}

// ResetAPIKey gives a key a new value; the old one is void at once.
func (c *Client) ResetAPIKey(ctx context.Context, id string) (key APIKey, value string, err error) {
	const op = "reset API key"
	if id == "" {
		return APIKey{}, "", client.Usagef(op, "no key given")
	}
	return c.withValue(ctx, op, "ResetApiKey", http.MethodPut, "/api-keys/"+encode(id)+"/reset", nil)
}

// withValue makes a call whose answer is a key with its value.
func (c *Client) withValue(ctx context.Context, op, action, method, path string, in any) (APIKey, string, error) {
	type valued struct {
		APIKey
		Value string `json:"apiKeyValue"`
	}
	var out struct {
		valued
		Key *valued `json:"apiKey"`
	}
	if err := c.call(ctx, op, action, method, path, nil, in, &out); err != nil {
		return APIKey{}, "", err
	}
	got := out.valued
	if out.Key != nil {
		got = *out.Key
	}
	if got.Value == "" {
		return APIKey{}, "", &client.Error{Op: op, Code: client.CodeBadAnswer, Message: "the answer holds no key value"}
	}
	return got.APIKey, got.Value, nil
}

// APIKeys lists the keys, without their values.
func (c *Client) APIKeys(ctx context.Context) ([]APIKey, error) {
	var all []APIKey
	err := c.numbered(ctx, func(q url.Values) (int, int, error) {
		var out struct {
			Keys  []APIKey `json:"apiKeys"`
			Total int      `json:"total"`
		}
		err := c.call(ctx, "list API keys", "ListApiKeys", http.MethodGet, "/api-keys", q, nil, &out)
		all = append(all, out.Keys...)
		return len(out.Keys), out.Total, err
	})
	return all, err
}

// DeleteAPIKey deletes a key.
func (c *Client) DeleteAPIKey(ctx context.Context, id string) error {
	const op = "delete API key"
	if id == "" {
		return client.Usagef(op, "no key given")
	}
	return c.call(ctx, op, "DeleteApiKey", http.MethodDelete, "/api-keys/"+encode(id), nil, nil, nil)
}

// Teams lists the teams.
func (c *Client) Teams(ctx context.Context) ([]Team, error) {
	var all []Team
	err := c.numbered(ctx, func(q url.Values) (int, int, error) {
		var out struct {
			Teams []Team `json:"teams"`
			Total int    `json:"total"`
		}
		err := c.call(ctx, "list teams", "ListTeams", http.MethodGet, "/teams", q, nil, &out)
		all = append(all, out.Teams...)
		return len(out.Teams), out.Total, err
	})
	return all, err
}

// numbered walks lists that page by number.
func (c *Client) numbered(ctx context.Context, page func(url.Values) (got, total int, err error)) error {
	seen := 0
	for n := 1; n <= maxPages && ctx.Err() == nil; n++ {
		got, total, err := page(url.Values{"pageNumber": {strconv.Itoa(n)}, "pageSize": {"100"}})
		if err != nil {
			return err
		}
		seen += got
		if got == 0 || seen >= total {
			return nil
		}
	}
	return ctx.Err()
}

// Quotas lists the quota of every tag.
func (c *Client) Quotas(ctx context.Context) ([]Quota, error) {
	var all []Quota
	err := c.tokened(ctx, nil, func(q url.Values) (string, error) {
		var out struct {
			Quotas    []Quota `json:"quotas"`
			NextToken string  `json:"nextToken"`
		}
		err := c.call(ctx, "list quotas", "ListQuota", http.MethodGet, "/quotas", q, nil, &out)
		all = append(all, out.Quotas...)
		return out.NextToken, err
	})
	return all, err
}

// tokened walks lists that page by token; a token seen before ends the walk.
func (c *Client) tokened(ctx context.Context, base url.Values, page func(url.Values) (next string, err error)) error {
	seen := map[string]bool{"": true}
	token := ""
	for range maxPages {
		q := url.Values{"maxResults": {"100"}}
		for k, v := range base {
			q[k] = v
		}
		if token != "" {
			q.Set("nextToken", token)
		}
		next, err := page(q)
		if err != nil {
			return err
		}
		if seen[next] {
			return nil
		}
		seen[next] = true
		token = next
	}
	return ctx.Err()
}
