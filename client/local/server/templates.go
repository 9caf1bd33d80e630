package server

import (
	"net/http"
	"strings"
	"time"
)

// baseTemplate is the one template a local server has: the machine's own programs.
const baseTemplate = "base"

// templateName resolves a template reference; tag `default` equals no tag.
func templateName(ref string) (string, bool) {
	ref = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(ref)), ":default")
	return ref, ref == baseTemplate
}

// templateJSON is one element of the template list (e2b-protocol §4).
type templateJSON struct {
	TemplateID    string     `json:"templateID"`
	BuildID       string     `json:"buildID"`
	CPUCount      int32      `json:"cpuCount"`
	MemoryMB      int32      `json:"memoryMB"`
	DiskSizeMB    int32      `json:"diskSizeMB"`
	Public        bool       `json:"public"`
	Aliases       []string   `json:"aliases"`
	Names         []string   `json:"names"`
	EnvdVersion   string     `json:"envdVersion"`
	CreatedAt     time.Time  `json:"createdAt"`
	UpdatedAt     time.Time  `json:"updatedAt"`
	LastSpawnedAt *time.Time `json:"lastSpawnedAt"`
	CreatedBy     *struct{}  `json:"createdBy"`
	SpawnCount    int64      `json:"spawnCount"`
	BuildCount    int32      `json:"buildCount"`
	BuildStatus   string     `json:"buildStatus"`
}

type templateDetailJSON struct {
	TemplateID    string     `json:"templateID"`
	Public        bool       `json:"public"`
	Aliases       []string   `json:"aliases"`
	Names         []string   `json:"names"`
	CreatedAt     time.Time  `json:"createdAt"`
	UpdatedAt     time.Time  `json:"updatedAt"`
	LastSpawnedAt *time.Time `json:"lastSpawnedAt"`
	SpawnCount    int64      `json:"spawnCount"`
	Builds        []struct{} `json:"builds"`
}

type aliasJSON struct {
	TemplateID string `json:"templateID"`
	Public     bool   `json:"public"`
}

func (s *Server) handleTemplates(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, []templateJSON{{
		TemplateID: baseTemplate, BuildID: "00000000-0000-0000-0000-000000000000",
		CPUCount: s.host.cpus, MemoryMB: s.host.memoryMB, DiskSizeMB: s.host.diskMB,
		Aliases: []string{baseTemplate}, Names: []string{baseTemplate},
		EnvdVersion: s.opt.EnvdVersion, CreatedAt: s.born, UpdatedAt: s.born,
		BuildStatus: "ready",
	}})
}

func (s *Server) handleTemplate(w http.ResponseWriter, r *http.Request) {
	if _, ok := templateName(r.PathValue("id")); !ok {
		writeError(w, refuse(http.StatusNotFound, "template %q not found", r.PathValue("id")))
		return
	}
	writeJSON(w, http.StatusOK, templateDetailJSON{
		TemplateID: baseTemplate, Aliases: []string{baseTemplate}, Names: []string{baseTemplate},
		CreatedAt: s.born, UpdatedAt: s.born, Builds: []struct{}{},
	})
}

func (s *Server) handleAlias(w http.ResponseWriter, r *http.Request) {
	if _, ok := templateName(r.PathValue("alias")); !ok {
		writeError(w, refuse(http.StatusNotFound, "alias %q not found", r.PathValue("alias")))
		return
	}
	writeJSON(w, http.StatusOK, aliasJSON{TemplateID: baseTemplate})
}
