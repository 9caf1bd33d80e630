package present

import (
	"time"

	"abxdash/client"
)

// SandboxJSON is the documented shape of a sandbox in every --json output
// (product.md §4). Lists are arrays of it; Metadata and Stray are never null.
type SandboxJSON struct {
	Provider  string `json:"provider"`
	ID        string `json:"id"`
	Name      string `json:"name"`
	Template  string `json:"template"`
	State     string `json:"state"`
	Isolation string `json:"isolation"`
	// StartedAt and ExpiresAt are RFC 3339 in UTC, null where there is none.
	StartedAt *time.Time `json:"started_at"`
	ExpiresAt *time.Time `json:"expires_at"`
	// CPU is the number of vCPUs.
	CPU      float64           `json:"cpu"`
	MemoryMB int64             `json:"memory_mb"`
	Metadata map[string]string `json:"metadata"`
	// Stray lists the reasons why it looks forgotten.
	Stray []string `json:"stray"`
}

// JSON returns the documented shape of s. Text is given as it is: a JSON
// encoder escapes it.
func JSON(s client.Sandbox, stray []string) SandboxJSON {
	j := SandboxJSON{
		Provider: s.Provider, ID: string(s.ID), Name: s.Name, Template: s.Template,
		State: string(s.State), Isolation: string(s.Isolation),
		CPU: s.CPU, MemoryMB: s.MemoryMB, Metadata: s.Metadata, Stray: stray,
	}
	if j.Template == "" {
		j.Template = s.TemplateID
	}
	if j.State == "" {
		j.State = string(client.StateUnknown)
	}
	if s.StartedAt.Year() > 1 {
		t := s.StartedAt.UTC()
		j.StartedAt = &t
	}
	if s.End == client.EndAt && s.ExpiresAt.Year() > 1 {
		t := s.ExpiresAt.UTC()
		j.ExpiresAt = &t
	}
	if j.Metadata == nil {
		j.Metadata = map[string]string{}
	}
	if j.Stray == nil {
		j.Stray = []string{}
	}
	return j
}
