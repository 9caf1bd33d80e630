package e2b

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"abxdash/client"
)

// Wire types of the control plane (e2b-protocol §3.1). They take more than the
// schema allows: compatible services send nulls, numbers as text, and times
// that are none.

// number is a JSON number, numeric text, or anything else as 0.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if err != nil || f != f || f < 0 || f > 1e15 {
		f = 0
	}
	*n = number(f)
	return nil
}

// word is a JSON string, or the JSON text of anything else; null is "".
type word string

func (w *word) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) != nil {
		s = string(b)
	}
	*w = word(s)
	return nil
}

// words is a map of strings; anything else is empty.
type words map[string]word

func (m *words) UnmarshalJSON(b []byte) error {
	var raw map[string]word
	if json.Unmarshal(b, &raw) != nil {
		raw = nil
	}
	*m = raw
	return nil
}

// wireSandbox is ListedSandbox, SandboxDetail and the create answer in one.
type wireSandbox struct {
	SandboxID          word            `json:"sandboxID"`
	TemplateID         word            `json:"templateID"`
	Alias              word            `json:"alias"`
	State              word            `json:"state"`
	StartedAt          json.RawMessage `json:"startedAt"`
	EndAt              json.RawMessage `json:"endAt"`
	CPUCount           number          `json:"cpuCount"`
	MemoryMB           number          `json:"memoryMB"`
	DiskSizeMB         number          `json:"diskSizeMB"`
	Metadata           words           `json:"metadata"`
	EnvdVersion        word            `json:"envdVersion"`
	Isolation          word            `json:"isolation"`
	Domain             word            `json:"domain"`
	EnvdAccessToken    word            `json:"envdAccessToken"`
	TrafficAccessToken word            `json:"trafficAccessToken"`
}

// newSandbox is the body of create. Timeout is always sent, in seconds.
type newSandbox struct {
	TemplateID string            `json:"templateID"`
	Timeout    int64             `json:"timeout"`
	Secure     bool              `json:"secure"`
	AutoPause  bool              `json:"autoPause,omitempty"`
	AutoResume *autoResume       `json:"autoResume,omitempty"`
	Lifecycle  *lifecycle        `json:"lifecycle,omitempty"`
	Internet   *bool             `json:"allow_internet_access,omitempty"`
	Network    *wireNetwork      `json:"network,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	EnvVars    map[string]string `json:"envVars,omitempty"`
}

type autoResume struct {
	Enabled bool `json:"enabled"`
}

// lifecycle is the newer form of autoPause and autoResume (cubesandbox §6).
type lifecycle struct {
	OnTimeout  string `json:"onTimeout"`
	AutoResume bool   `json:"autoResume"`
}

// wireNetwork is NetworkConfig as far as it is sent.
type wireNetwork struct {
	AllowPublicTraffic *bool    `json:"allowPublicTraffic,omitempty"`
	AllowOut           []string `json:"allowOut,omitempty"`
	DenyOut            []string `json:"denyOut,omitempty"`
}

// lifetime is the body of timeout and connect, in seconds.
type lifetime struct {
	Timeout int64 `json:"timeout"`
}

// sandbox turns a row into the domain type. now is the server's clock.
func (w wireSandbox) sandbox(provider string, now time.Time) client.Sandbox {
	s := client.Sandbox{
		Provider:    provider,
		ID:          client.ID(w.SandboxID),
		Name:        string(w.Alias),
		Template:    string(w.TemplateID),
		TemplateID:  string(w.TemplateID),
		State:       client.State(w.State),
		Isolation:   client.Isolation(w.Isolation),
		CPU:         float64(w.CPUCount),
		MemoryMB:    int64(w.MemoryMB),
		DiskMB:      int64(w.DiskSizeMB),
		EnvdVersion: string(w.EnvdVersion),
	}
	if w.Alias != "" {
		s.Template = string(w.Alias)
	}
	if s.State == "" {
		s.State = client.StateUnknown
	}
	if s.Isolation == "" {
		s.Isolation = client.IsolationProvider
	}
	if len(w.Metadata) > 0 {
		s.Metadata = make(map[string]string, len(w.Metadata))
		for k, v := range w.Metadata {
			s.Metadata[k] = string(v)
		}
		if n := s.Metadata[client.MetaName]; n != "" {
			s.Name = n
		}
	}
	s.StartedAt, _ = when(w.StartedAt)
	s.ExpiresAt, s.End = end(w.EndAt, now)
	return s
}

// farFuture is how far ahead an end of life means "never": services write year
// 2999, or a hundred years from now (LST-08).
const farFuture = 50 * 365 * 24 * time.Hour

// end reads an end of life.
func end(raw json.RawMessage, now time.Time) (time.Time, client.EndKind) {
	t, ok := when(raw)
	switch {
	case !ok:
		return time.Time{}, client.EndInvalid
	case t.IsZero():
		return time.Time{}, client.EndUnset
	case t.Sub(now) > farFuture:
		return t, client.EndNever
	}
	return t, client.EndAt
}

// when reads a time: RFC 3339, with or without a zone, or a Unix number. Absent,
// null, empty and year 1 are the zero time; ok is false for what is no time.
func when(raw json.RawMessage) (t time.Time, ok bool) {
	var s word
	if len(raw) > 0 {
		_ = s.UnmarshalJSON(raw)
	}
	v := strings.TrimSpace(string(s))
	if v == "" {
		return time.Time{}, true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, v); err == nil {
			if t.Year() <= 1 {
				return time.Time{}, true
			}
			return t.UTC(), true
		}
	}
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case err != nil || n < 0:
		return time.Time{}, false
	case n == 0:
		return time.Time{}, true
	case n > 1e11:
		return time.UnixMilli(n).UTC(), true
	}
	return time.Unix(n, 0).UTC(), true
}

// decodeList reads a list leniently: null is empty, rows that are no sandbox
// are counted and left out, one bad row never hides the others.
func decodeList(body []byte) (rows []wireSandbox, odd int, err error) {
	var raw []json.RawMessage
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, 0, nil
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, 0, err
	}
	for _, r := range raw {
		var w wireSandbox
		if json.Unmarshal(r, &w) != nil || w.SandboxID == "" {
			odd++
			continue
		}
		rows = append(rows, w)
	}
	return rows, odd, nil
}

// hidden replaces values that the raw view must not hold.
const hidden = "(hidden)"

// redact returns body without tokens, passwords and header values; nil if it is
// no JSON object. Metadata stays: the user wrote it.
func redact(body []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var top map[string]any
	if dec.Decode(&top) != nil {
		return nil
	}
	for k, v := range top {
		if k != "metadata" {
			top[k] = redactValue(k, v)
		}
	}
	out, err := json.Marshal(top)
	if err != nil {
		return nil
	}
	return out
}

// redactValue hides what stands under a telling key, at any depth.
func redactValue(key string, v any) any {
	k := strings.ToLower(key)
	for _, telling := range []string{"token", "secret", "password", "apikey", "api_key", "authorization"} {
		if strings.Contains(k, telling) && v != nil {
			return hidden
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, sub := range v {
			if k == "headers" || k == "envvars" {
				v[name] = hidden
				continue
			}
			v[name] = redactValue(name, sub)
		}
	case []any:
		for i := range v {
			v[i] = redactValue(key, v[i])
		}
	}
	return v
}
