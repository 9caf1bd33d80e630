package server

import (
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"abxdash/client"
)

// baseBuild is the build id of the built-in template.
const baseBuild = "00000000-0000-0000-0000-000000000000"

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
	TemplateID    string      `json:"templateID"`
	Public        bool        `json:"public"`
	Aliases       []string    `json:"aliases"`
	Names         []string    `json:"names"`
	CreatedAt     time.Time   `json:"createdAt"`
	UpdatedAt     time.Time   `json:"updatedAt"`
	LastSpawnedAt *time.Time  `json:"lastSpawnedAt"`
	SpawnCount    int64       `json:"spawnCount"`
	Builds        []buildJSON `json:"builds"`
}

type buildJSON struct {
	BuildID     string    `json:"buildID"`
	Status      string    `json:"status"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	FinishedAt  time.Time `json:"finishedAt"`
	CPUCount    int32     `json:"cpuCount"`
	MemoryMB    int32     `json:"memoryMB"`
	DiskSizeMB  int32     `json:"diskSizeMB"`
	EnvdVersion string    `json:"envdVersion"`
}

type aliasJSON struct {
	TemplateID string `json:"templateID"`
	Public     bool   `json:"public"`
}

type tagJSON struct {
	Tag       string    `json:"tag"`
	BuildID   string    `json:"buildID"`
	CreatedAt time.Time `json:"createdAt"`
}

// baseRec is the built-in template as if it were one of the user's. It is as
// old as the server.
func baseRec(born time.Time) templateRec {
	return templateRec{
		ID: baseTemplate, Alias: baseTemplate, Created: born,
		Builds: []buildRec{{ID: baseBuild, Created: born}}, Tags: map[string]string{defaultTag: baseBuild},
	}
}

// template finds a template by id or alias.
func (s *Server) template(name string) (templateRec, bool) {
	if isBase(name) {
		return baseRec(s.born), true
	}
	return s.store.find(name)
}

// source is what a new sandbox starts with.
type source struct {
	// id is the template's, alias its name, "" without one.
	id, alias string
	// home is copied; "" is an empty home.
	home string
	setup
}

// sourceOf resolves the template of a create.
func (s *Server) sourceOf(text string) (source, *apiError) {
	ref, e := parseRef(text)
	if e != nil {
		return source{}, e
	}
	if isBase(ref.name) && ref.tag == defaultTag {
		return source{id: baseTemplate}, nil
	}
	t, ok := s.store.find(ref.name)
	build := t.Tags[ref.tag]
	if !ok || build == "" {
		return source{}, refuse(http.StatusNotFound, "template %q not found: the local server has %q and what was saved here", shorten(text), baseTemplate)
	}
	src := source{id: t.ID, alias: t.Alias, home: s.store.home(t.ID, build), setup: t.build(build).setup}
	if src.Image != "" && s.opt.Isolation != client.IsolationContainer {
		return source{}, refuse(http.StatusBadRequest, "template %q was built from the image %s, which needs the isolation level container; this server works at %s",
			shorten(text), src.Image, s.opt.Isolation)
	}
	if len(src.Places) > 0 && !hasRoot(s.opt.Isolation) {
		return source{}, refuse(http.StatusBadRequest, "template %q has folders outside the home (%s), which need the isolation level namespace or container; this server works at %s",
			shorten(text), strings.Join(src.Places, " "), s.opt.Isolation)
	}
	return src, nil
}

func aliases(t *templateRec) []string {
	switch {
	case t.ID == baseTemplate:
		return []string{baseTemplate, codeTemplate}
	case t.Alias == "":
		return []string{}
	}
	return []string{t.Alias}
}

func (s *Server) handleTemplates(w http.ResponseWriter, _ *http.Request) {
	out := []templateJSON{}
	for _, t := range append([]templateRec{baseRec(s.born)}, s.store.list()...) {
		last := t.Builds[len(t.Builds)-1]
		cpus, memory := limits{last.CPUs, last.MemoryMB}.shown(s.host)
		out = append(out, templateJSON{
			TemplateID: t.ID, BuildID: last.ID,
			CPUCount: cpus, MemoryMB: memory, DiskSizeMB: s.host.diskMB,
			Aliases: aliases(&t), Names: aliases(&t), EnvdVersion: s.opt.EnvdVersion,
			CreatedAt: t.Created, UpdatedAt: last.Created,
			BuildCount: int32(len(t.Builds)), BuildStatus: "ready",
		})
	}
	writeJSON(w, http.StatusOK, out)
}

// named finds the template of a path segment and answers 404 itself.
func (s *Server) named(w http.ResponseWriter, text string) (templateRec, templateRef, bool) {
	ref, e := parseRef(text)
	if e == nil {
		if t, ok := s.template(ref.name); ok {
			return t, ref, true
		}
		e = refuse(http.StatusNotFound, "template %q not found", shorten(text))
	}
	writeError(w, e)
	return templateRec{}, ref, false
}

func (s *Server) handleTemplate(w http.ResponseWriter, r *http.Request) {
	t, _, ok := s.named(w, r.PathValue("id"))
	if !ok {
		return
	}
	out := templateDetailJSON{
		TemplateID: t.ID, Aliases: aliases(&t), Names: aliases(&t), CreatedAt: t.Created,
		UpdatedAt: t.Builds[len(t.Builds)-1].Created, Builds: []buildJSON{},
	}
	for _, b := range slices.Backward(t.Builds) {
		cpus, memory := limits{b.CPUs, b.MemoryMB}.shown(s.host)
		out.Builds = append(out.Builds, buildJSON{
			BuildID: b.ID, Status: "ready", CreatedAt: b.Created, UpdatedAt: b.Created, FinishedAt: b.Created,
			CPUCount: cpus, MemoryMB: memory, DiskSizeMB: s.host.diskMB, EnvdVersion: s.opt.EnvdVersion,
		})
	}
	writeJSON(w, http.StatusOK, out)
}

// handleTemplatePart serves /templates/aliases/{alias} and /templates/{id}/tags,
// which the router cannot tell apart.
func (s *Server) handleTemplatePart(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.PathValue("id") == "aliases":
		if t, _, ok := s.named(w, r.PathValue("part")); ok {
			writeJSON(w, http.StatusOK, aliasJSON{TemplateID: t.ID})
		}
	case r.PathValue("part") == "tags":
		s.handleTags(w, r)
	default:
		unknownRoute(w, r)
	}
}

func (s *Server) handleTags(w http.ResponseWriter, r *http.Request) {
	t, _, ok := s.named(w, r.PathValue("id"))
	if !ok {
		return
	}
	out := []tagJSON{}
	for _, tag := range slices.Sorted(maps.Keys(t.Tags)) {
		out = append(out, tagJSON{Tag: tag, BuildID: t.Tags[tag], CreatedAt: t.build(t.Tags[tag]).Created})
	}
	writeJSON(w, http.StatusOK, out)
}

type tagsBody struct {
	Target string   `json:"target"`
	Name   string   `json:"name"`
	Tags   []string `json:"tags"`
}

// checkTags refuses what is no list of tags.
func checkTags(tags []string) *apiError {
	if len(tags) == 0 {
		return refuse(http.StatusBadRequest, "tags must name at least one tag")
	}
	for _, t := range tags {
		if !word(t, "-_.") || len(t) > maxRef {
			return refuse(http.StatusBadRequest, "%q is not a tag", shorten(t))
		}
	}
	return nil
}

func (s *Server) handleAddTags(w http.ResponseWriter, r *http.Request) {
	body, e := readBody[tagsBody](w, r, false)
	var ref templateRef
	if e == nil {
		ref, e = parseRef(body.Target)
	}
	if e == nil {
		e = checkTags(body.Tags)
	}
	if e != nil {
		writeError(w, e)
		return
	}
	id, err := s.store.tag(ref.name, ref.tag, body.Tags)
	if err != nil {
		writeError(w, storeError(err, body.Target))
		return
	}
	writeJSON(w, http.StatusCreated, struct {
		Tags    []string `json:"tags"`
		BuildID string   `json:"buildID"`
	}{body.Tags, id})
}

func (s *Server) handleDeleteTags(w http.ResponseWriter, r *http.Request) {
	body, e := readBody[tagsBody](w, r, false)
	var ref templateRef
	if e == nil {
		ref, e = parseRef(body.Name)
	}
	if e == nil {
		e = checkTags(body.Tags)
	}
	if e == nil && (ref.tagged || slices.Contains(body.Tags, defaultTag)) {
		e = refuse(http.StatusBadRequest, "the tag %q cannot be removed, and name must have none", defaultTag)
	}
	if e == nil {
		if err := s.store.untag(ref.name, body.Tags, false); err != nil {
			e = storeError(err, body.Name)
		}
	}
	s.answerEmpty(w, e)
}

// handleDeleteTemplate removes a template, or with a tag that one build.
// Sandboxes made from it have their own copy and go on.
func (s *Server) handleDeleteTemplate(w http.ResponseWriter, r *http.Request) {
	ref, e := parseRef(r.PathValue("id"))
	if e == nil && isBase(ref.name) {
		e = refuse(http.StatusForbidden, "the template %q is built in", ref.name)
	}
	if e == nil {
		var tags []string
		if ref.tagged {
			tags = []string{ref.tag}
		}
		if err := s.store.untag(ref.name, tags, !ref.tagged); err != nil {
			e = storeError(err, r.PathValue("id"))
		}
	}
	s.answerEmpty(w, e)
}

func storeError(err error, name string) *apiError {
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(http.StatusNotFound, "template %q not found", shorten(name))
	}
	return refuse(http.StatusInternalServerError, "%s", err)
}
