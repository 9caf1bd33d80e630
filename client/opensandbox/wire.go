package opensandbox

import (
	"encoding/json"
	"strings"
	"time"

	"abxdash/client"
)

// wireSandbox is the sandbox object (§2.4), also of the create answer.
type wireSandbox struct {
	ID    string `json:"id"`
	Image *struct {
		URI string `json:"uri"`
	} `json:"image"`
	SnapshotID string            `json:"snapshotId"`
	Status     wireStatus        `json:"status"`
	Metadata   map[string]string `json:"metadata"`
	ExpiresAt  string            `json:"expiresAt"`
	CreatedAt  string            `json:"createdAt"`
}

type wireStatus struct {
	State   string `json:"state"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// wirePage is a page of a list (§2.5).
type wirePage[T any] struct {
	Items      []T `json:"items"`
	Pagination struct {
		Page        int  `json:"page"`
		TotalPages  int  `json:"totalPages"`
		HasNextPage bool `json:"hasNextPage"`
	} `json:"pagination"`
}

// newSandbox is the body of create (§2.3). Timeout is always sent, in seconds.
type newSandbox struct {
	Image         *wireImage        `json:"image,omitempty"`
	SnapshotID    string            `json:"snapshotId,omitempty"`
	Entrypoint    []string          `json:"entrypoint,omitempty"`
	Timeout       int64             `json:"timeout"`
	Limits        map[string]string `json:"resourceLimits,omitempty"`
	Env           map[string]string `json:"env,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	NetworkPolicy *wirePolicy       `json:"networkPolicy,omitempty"`
	Extensions    map[string]string `json:"extensions,omitempty"`
}

type wireImage struct {
	URI string `json:"uri"`
}

// wirePolicy is an egress policy (§2.3, §5).
type wirePolicy struct {
	DefaultAction string     `json:"defaultAction,omitempty"`
	Egress        []wireRule `json:"egress,omitempty"`
}

type wireRule struct {
	Action string `json:"action"`
	Target string `json:"target"`
}

// states are the server's states in our words; others are shown in lower case (§2.4).
func stateOf(s string) client.State {
	switch strings.ToLower(s) {
	case "running":
		return client.StateRunning
	case "paused":
		return client.StatePaused
	case "", "unknown":
		return client.StateUnknown
	case "pending", "allocated", "resuming":
		return "starting"
	}
	return client.State(strings.ToLower(s))
}

// sandbox turns the object into the domain type. raw is the JSON it came as.
func (w wireSandbox) sandbox(provider string, raw []byte) client.Sandbox {
	s := client.Sandbox{
		Provider: provider, ID: client.ID(w.ID), State: stateOf(w.Status.State), Isolation: client.IsolationProvider,
		Metadata: fromLabels(w.Metadata), StartedAt: when(w.CreatedAt), Raw: raw,
	}
	delete(s.Metadata, metaNonce)
	s.Name = s.Metadata[client.MetaName]
	switch {
	case w.Image != nil:
		s.Template = w.Image.URI
	case w.SnapshotID != "":
		s.Template = snapshotPrefix + w.SnapshotID
	}
	s.TemplateID = s.Template
	switch t := when(w.ExpiresAt); {
	case w.ExpiresAt == "":
		// Without one it lives until it is deleted (§2.3).
		s.End = client.EndNever
	case t.IsZero():
		s.End = client.EndInvalid
	default:
		s.ExpiresAt, s.End = t, client.EndAt
	}
	return s
}

// when reads a time, zero if it is none.
func when(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// rows decodes a list leniently: one bad row never hides the others.
func rows(raw []json.RawMessage) (out []wireSandbox, odd int) {
	for _, r := range raw {
		var w wireSandbox
		if json.Unmarshal(r, &w) != nil || checkID("", client.ID(w.ID)) != nil {
			odd++
			continue
		}
		out = append(out, w)
	}
	return out, odd
}
