//go:build unix

package expresstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// recipe is a template that was made here.
type recipe struct {
	id, name string
	tags     []string
	cpu, mem int
	// build is the id of the newest build, state its status, polls how often it
	// was asked for.
	build, state string
	polls        int
	reason       string
	files        map[string]int
}

// buildRequest is the body of a build's start (e2b-protocol §12).
type buildRequest struct {
	FromImage    string            `json:"fromImage"`
	FromTemplate string            `json:"fromTemplate"`
	Steps        []json.RawMessage `json:"steps"`
}

// hashRE is the form of the name of an archive (e2b-protocol §12.2).
var hashRE = regexp.MustCompile(`^[0-9a-f]{64}$`)

// builds serves the calls that make templates (e2b-protocol §12, alicloud-express
// §7); parts is the path without a version. It reports whether there is such a call.
func (s *Server) builds(w http.ResponseWriter, r *http.Request, version string, parts []string) bool {
	call := fmt.Sprintf("%s %s %d", r.Method, version, len(parts))
	switch {
	case parts[0] != "templates":
		return false
	case call == "POST v3 1":
		s.newTemplate(w, r)
	case len(parts) == 2 && version == "" && parts[1] == "tags" && (r.Method == http.MethodPost || r.Method == http.MethodDelete):
		s.tagTemplate(w, r)
	case call == "GET  4" && parts[2] == "files":
		s.templateFile(w, parts[1], parts[3])
	case call == "POST v2 4" && parts[2] == "builds":
		s.startBuild(w, r, parts[1], parts[3])
	case call == "GET  5" && parts[2] == "builds" && parts[4] == "status":
		s.buildStatus(w, parts[1], parts[3])
	default:
		return false
	}
	return true
}

// newTemplate is POST /v3/templates; a name that is there gets another build.
func (s *Server) newTemplate(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
		CPU  int      `json:"cpuCount"`
		Mem  int      `json:"memoryMB"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Name == "" || in.CPU > 1 && in.CPU%2 != 0 || in.Mem%2 != 0 {
		refuse(w, http.StatusBadRequest, "the body is no valid template request")
		return
	}
	name, tag, _ := strings.Cut(in.Name, ":")
	tags := in.Tags
	if tag != "" {
		tags = append([]string{tag}, tags...)
	}
	if len(tags) == 0 {
		tags = []string{"default"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.template(name)
	if m == nil {
		m = &recipe{id: "tpl" + random(6), name: name, files: map[string]int{}}
		s.recipes = append(s.recipes, m)
	}
	m.build, m.state, m.polls, m.cpu, m.mem = uuid(), "waiting", 0, in.CPU, in.Mem
	for _, t := range tags {
		if !slices.Contains(m.tags, t) {
			m.tags = append(m.tags, t)
		}
	}
	answer(w, http.StatusAccepted, map[string]any{
		"templateID": m.id, "buildID": m.build, "public": false, "names": []string{m.name}, "aliases": []string{m.name}, "tags": tags,
	})
}

// uuid has the form of a build's id.
func uuid() string {
	h := random(16)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:32]
}

// template finds one by id or name. The caller holds mu.
func (s *Server) template(ref string) *recipe {
	for _, m := range s.recipes {
		if m.id == ref || m.name == ref {
			return m
		}
	}
	return nil
}

// build finds a build of a template, or answers that there is none. The caller holds mu.
func (s *Server) build(w http.ResponseWriter, id, build string) *recipe {
	m := s.template(id)
	if m == nil || build != "" && m.build != build {
		refuse(w, http.StatusNotFound, "template or build not found")
		return nil
	}
	return m
}

// templateFile says where the files of a COPY step go (e2b-protocol §12.3).
func (s *Server) templateFile(w http.ResponseWriter, id, hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.build(w, id, "")
	switch {
	case m == nil:
	case !hashRE.MatchString(hash):
		refuse(w, http.StatusBadRequest, "the hash is 64 lower-case hexadecimal digits")
	case m.files[hash] > 0:
		answer(w, http.StatusCreated, map[string]any{"present": true})
	default:
		answer(w, http.StatusCreated, map[string]any{"present": false, "url": "http://api." + Domain + "/upload/" + m.id + "/" + hash})
	}
}

// putFile takes an archive. Like an object store it needs a length and no key.
func (s *Server) putFile(w http.ResponseWriter, r *http.Request, id, hash string) {
	n, err := io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.template(id)
	switch {
	case m == nil || err != nil:
		w.WriteHeader(http.StatusForbidden)
	case r.ContentLength < 0:
		w.WriteHeader(http.StatusLengthRequired)
	case r.Header.Get("X-Api-Key") != "" || r.Header.Get("Authorization") != "":
		w.WriteHeader(http.StatusBadRequest)
	default:
		m.files[hash] = int(n)
		w.WriteHeader(http.StatusOK)
	}
}

// startBuild is POST /v2/templates/{id}/builds/{build}. Express makes templates of
// an image; other steps only where the switch says so.
func (s *Server) startBuild(w http.ResponseWriter, r *http.Request, id, build string) {
	var in buildRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || (in.FromImage == "") == (in.FromTemplate == "") {
		refuse(w, http.StatusBadRequest, "give either fromImage or fromTemplate")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.build(w, id, build)
	switch {
	case m == nil:
	case len(in.Steps) > 0 && !s.sw.BuildSteps:
		refuse(w, http.StatusBadRequest, "templates are built from an image only")
	case m.state != "waiting":
		refuse(w, http.StatusConflict, "the build has begun already")
	default:
		m.state = "building"
		if strings.Contains(in.FromImage, "no-such") {
			m.reason = "the image cannot be pulled"
		}
		w.WriteHeader(http.StatusAccepted) // without a body (alicloud-express §7)
	}
}

// buildStatus is building when first asked, then how it ended.
func (s *Server) buildStatus(w http.ResponseWriter, id, build string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.build(w, id, build)
	if m == nil {
		return
	}
	if m.polls++; m.polls > 1 && m.state == "building" {
		m.state = "ready"
		if m.reason != "" {
			m.state = "error"
		}
	}
	out := map[string]any{"templateID": m.id, "buildID": m.build, "status": m.state, "logs": []string{}, "logEntries": []any{}}
	if m.state == "error" {
		out["reason"] = map[string]any{"message": m.reason, "step": "base", "logEntries": []any{}}
	}
	answer(w, http.StatusOK, out)
}

// tagTemplate assigns or removes tags (e2b-protocol §4).
func (s *Server) tagTemplate(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Target string   `json:"target"`
		Name   string   `json:"name"`
		Tags   []string `json:"tags"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Tags) == 0 {
		refuse(w, http.StatusBadRequest, "tags are needed")
		return
	}
	name, _, _ := strings.Cut(in.Target+in.Name, ":")
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.build(w, name, "")
	switch {
	case m == nil:
	case r.Method == http.MethodPost:
		m.tags = slices.Compact(slices.Sorted(slices.Values(append(m.tags, in.Tags...))))
		answer(w, http.StatusCreated, map[string]any{"tags": in.Tags, "buildID": m.build})
	case slices.Contains(in.Tags, "default"):
		refuse(w, http.StatusBadRequest, "the tag default cannot go")
	default:
		m.tags = slices.DeleteFunc(m.tags, func(t string) bool { return slices.Contains(in.Tags, t) })
		w.WriteHeader(http.StatusNoContent)
	}
}

// listTemplates lists the built-in templates and those that were made
// (e2b-protocol §4, alicloud-express §7).
func (s *Server) listTemplates(w http.ResponseWriter) {
	rows := []map[string]any{}
	add := func(id, build, name, status string, cpu, mem int, public bool) {
		rows = append(rows, map[string]any{
			"templateID": id, "buildID": build, "names": []string{name}, "aliases": []string{name},
			"cpuCount": cpu, "memoryMB": mem, "diskSizeMB": 10240, "public": public, "buildStatus": status, "buildCount": 1, "spawnCount": 0,
			"createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z", "lastSpawnedAt": nil, "createdBy": nil, "envdVersion": "0.6.13",
		})
	}
	for _, name := range templates() {
		add("tpl0"+name, "00000000-0000-4000-8000-000000000000", name, "ready", 2, 2048, true)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.recipes {
		add(m.id, m.build, m.name, m.state, m.cpu, m.mem, false)
	}
	answer(w, http.StatusOK, rows)
}

// deleteTemplate deletes a template or a snapshot.
func (s *Server) deleteTemplate(w http.ResponseWriter, escaped string) {
	name, err := url.PathUnescape(escaped)
	if err != nil {
		refuse(w, http.StatusBadRequest, "bad id")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.shots, func(x snapshot) bool { return x.id == name || x.name == name })
	j := slices.IndexFunc(s.recipes, func(m *recipe) bool { return m.id == name || m.name == name })
	switch {
	case i >= 0:
		s.shots = slices.Delete(s.shots, i, i+1)
		w.WriteHeader(http.StatusNoContent)
	case j >= 0:
		s.recipes = slices.Delete(s.recipes, j, j+1)
		w.WriteHeader(http.StatusNoContent)
	case slices.Contains(templates(), name):
		refuse(w, http.StatusBadRequest, "built-in templates cannot be deleted")
	default:
		refuse(w, http.StatusNotFound, "template not found")
	}
}
