package e2b

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"abxdash/client"
)

// maxTemplatePages ends a walk over a server that repeats itself.
const maxTemplatePages = 200

var (
	_ client.Templates      = (*Client)(nil)
	_ client.TemplateTagger = (*Client)(nil)
)

// wireTemplate is Template and TemplateWithBuilds together, read leniently (§4).
type wireTemplate struct {
	TemplateID  word    `json:"templateID"`
	Names       []word  `json:"names"`
	Aliases     []word  `json:"aliases"`
	BuildStatus word    `json:"buildStatus"`
	CPUCount    float64 `json:"cpuCount"`
	MemoryMB    int64   `json:"memoryMB"`
	DiskSizeMB  int64   `json:"diskSizeMB"`
	Public      bool    `json:"public"`
	SpawnCount  int64   `json:"spawnCount"`
	BuildCount  int64   `json:"buildCount"`
	CreatedAt   word    `json:"createdAt"`
	UpdatedAt   word    `json:"updatedAt"`
	Builds      []struct {
		BuildID   word    `json:"buildID"`
		Status    word    `json:"status"`
		CreatedAt word    `json:"createdAt"`
		CPUCount  float64 `json:"cpuCount"`
		MemoryMB  int64   `json:"memoryMB"`
	} `json:"builds"`
}

func (w wireTemplate) info() client.TemplateInfo {
	t := client.TemplateInfo{
		ID: string(w.TemplateID), State: string(w.BuildStatus), CPU: w.CPUCount, MemoryMB: w.MemoryMB, DiskMB: w.DiskSizeMB,
		Public: w.Public, Builds: w.BuildCount, Spawned: w.SpawnCount, CreatedAt: stamp(w.CreatedAt), UpdatedAt: stamp(w.UpdatedAt),
	}
	names := w.Names
	if len(names) == 0 {
		names = w.Aliases
	}
	for _, n := range names {
		t.Names = append(t.Names, string(n))
	}
	if len(w.Builds) > 0 {
		t.Builds = int64(len(w.Builds))
		if t.State == "" {
			t.State, t.CPU, t.MemoryMB = string(w.Builds[0].Status), w.Builds[0].CPUCount, w.Builds[0].MemoryMB
		}
	}
	for _, b := range w.Builds {
		t.History = append(t.History, client.TemplateBuildInfo{ID: string(b.BuildID), State: string(b.Status), CreatedAt: stamp(b.CreatedAt)})
	}
	return t
}

// stamp reads a time, zero if it is none.
func stamp(w word) time.Time {
	t, err := time.Parse(time.RFC3339Nano, string(w))
	if err != nil {
		return time.Time{}
	}
	return t
}

func templateFailing(op string) failing {
	return failing{op: op, code: client.CodeServer, notFound: client.CodeTemplateMissing}
}

// Templates implements [client.Templates]: /v2/templates with its pages, else
// the older list (§4). Some services wrap the array (alicloud-express §7).
func (c *Client) Templates(ctx context.Context) ([]client.TemplateInfo, error) {
	f := templateFailing("list templates")
	var all []client.TemplateInfo
	seen := map[string]bool{}
	path, token := "/v2/templates", ""
	for range maxTemplatePages {
		v := url.Values{}
		if token != "" {
			v.Set("nextToken", token)
		}
		a, err := c.call(ctx, f, http.MethodGet, path+query(v), nil)
		if s := statusOf(err); token == "" && path != "/templates" && (s == http.StatusNotFound || s == http.StatusMethodNotAllowed || s == http.StatusNotImplemented) {
			path = "/templates"
			continue
		}
		if err != nil {
			return nil, err
		}
		rows, ok := templateRows(a.body)
		if !ok {
			return nil, c.fail(ctx, f, &badJSON{a, "list of templates"})
		}
		for _, w := range rows {
			if id := string(w.TemplateID); !seen[id] {
				seen[id] = true
				all = append(all, w.info())
			}
		}
		next := a.header.Get("X-Next-Token")
		if next == "" || next == token || len(rows) == 0 {
			break
		}
		token = next
	}
	return all, nil
}

func templateRows(body []byte) ([]wireTemplate, bool) {
	var rows []wireTemplate
	if json.Unmarshal(body, &rows) == nil {
		return rows, true
	}
	var wrapped struct {
		Data      []wireTemplate `json:"data"`
		Templates []wireTemplate `json:"templates"`
	}
	if json.Unmarshal(body, &wrapped) != nil || wrapped.Data == nil && wrapped.Templates == nil {
		return nil, false
	}
	return append(wrapped.Data, wrapped.Templates...), true
}

func statusOf(err error) int {
	var e *client.Error
	if asError(err, &e) {
		return e.Status
	}
	return 0
}

// templateID resolves an id or a name. A name is looked up first; an unknown
// one is taken as an id.
func (c *Client) templateID(ctx context.Context, ref string) (string, error) {
	f := templateFailing("find template")
	if ref == "" {
		return "", client.Usagef(f.op, "no template given")
	}
	a, err := c.call(ctx, f, http.MethodGet, "/templates/aliases/"+component(ref), nil)
	if err == nil {
		var out struct {
			TemplateID word `json:"templateID"`
		}
		if json.Unmarshal(a.body, &out) == nil && out.TemplateID != "" {
			return string(out.TemplateID), nil
		}
	}
	switch s := statusOf(err); {
	case err == nil, s == http.StatusNotFound, s == http.StatusMethodNotAllowed, s == http.StatusBadRequest, s == http.StatusForbidden:
		return c.listedID(ctx, ref), nil
	}
	return "", err
}

// listedID looks ref up in the list, for services without the route for names.
// What is not listed is taken as an id.
func (c *Client) listedID(ctx context.Context, ref string) string {
	list, _ := c.Templates(ctx) // without a list ref may still be an id
	for _, t := range list {
		if t.ID == ref || slices.Contains(t.Names, ref) {
			return t.ID
		}
	}
	return ref
}

// Template implements [client.Templates].
func (c *Client) Template(ctx context.Context, ref string) (client.TemplateInfo, error) {
	f := templateFailing("get template")
	id, err := c.templateID(ctx, ref)
	if err != nil {
		return client.TemplateInfo{}, err
	}
	a, err := c.call(ctx, f, http.MethodGet, "/templates/"+component(id), nil)
	if err != nil {
		return client.TemplateInfo{}, err
	}
	var w wireTemplate
	if json.Unmarshal(a.body, &w) != nil || w.TemplateID == "" {
		return client.TemplateInfo{}, c.fail(ctx, f, &badJSON{a, "template"})
	}
	return w.info(), nil
}

// buildStart is BuildStart: a build from an image, with steps on top of it (§4).
type buildStart struct {
	FromImage string         `json:"fromImage"`
	Registry  *imageRegistry `json:"fromImageRegistry,omitempty"`
	StartCmd  string         `json:"startCmd,omitempty"`
	ReadyCmd  string         `json:"readyCmd,omitempty"`
	Steps     []buildStep    `json:"steps"`
	Force     bool           `json:"force"`
}

// buildStep is one step of a build (§12.1).
type buildStep struct {
	Type      string   `json:"type"`
	Args      []string `json:"args"`
	Force     bool     `json:"force"`
	FilesHash string   `json:"filesHash,omitempty"`
}

type imageRegistry struct {
	Type     string `json:"type"`
	Username string `json:"username"`
	Password string `json:"password"`
}

// CreateTemplate implements [client.TemplateMaker] with the pair POST
// /v3/templates and POST /v2/…/builds/… (§12, alicloud-express §7). A name that
// is there gets another build. When the second call fails, a template that the
// first one made is deleted again.
func (c *Client) CreateTemplate(ctx context.Context, spec client.TemplateSpec) (client.TemplateBuild, error) {
	f := templateFailing("create template")
	if spec.Name == "" || spec.Image == "" {
		return client.TemplateBuild{}, client.Usagef(f.op, "a template needs a name and an image")
	}
	// Whether it was there decides whether a failed start may delete it.
	before, err := c.Templates(ctx)
	if err != nil {
		return client.TemplateBuild{}, err
	}
	in := struct {
		Name     string   `json:"name"`
		CPUCount int      `json:"cpuCount,omitempty"`
		MemoryMB int      `json:"memoryMB,omitempty"`
		Tags     []string `json:"tags,omitempty"`
	}{spec.Name, int(spec.CPU), spec.MemoryMB, spec.Tags}
	a, err := c.call(ctx, f, http.MethodPost, "/v3/templates", in)
	if err != nil {
		return client.TemplateBuild{}, err
	}
	var out struct {
		TemplateID word `json:"templateID"`
		BuildID    word `json:"buildID"`
	}
	if json.Unmarshal(a.body, &out) != nil || out.TemplateID == "" || out.BuildID == "" {
		return client.TemplateBuild{}, c.fail(ctx, f, &badJSON{a, "new template"})
	}
	b := client.TemplateBuild{TemplateID: string(out.TemplateID), BuildID: string(out.BuildID)}
	err = c.sendFiles(ctx, b.TemplateID, spec)
	if err == nil {
		err = c.startBuild(ctx, b, spec)
	}
	if err != nil {
		c.undoTemplate(ctx, b.TemplateID, before)
		return client.TemplateBuild{}, err
	}
	return b, nil
}

// undoTemplate deletes a template unless it was there before.
func (c *Client) undoTemplate(ctx context.Context, id string, before []client.TemplateInfo) {
	for _, t := range before {
		if t.ID == id {
			return
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.RequestTimeout)
	defer cancel()
	if err := c.deleteTemplate(end, id); err != nil {
		c.cfg.Logger.Warn("a template whose build did not start is left", "template", id, "error", err)
	}
}

func (c *Client) startBuild(ctx context.Context, b client.TemplateBuild, spec client.TemplateSpec) error {
	f := templateFailing("start the build")
	f.code = client.CodeTemplateBuild
	body := buildStart{FromImage: spec.Image, StartCmd: spec.StartCommand, ReadyCmd: spec.ReadyCommand, Steps: []buildStep{}, Force: spec.Force}
	for _, s := range spec.Steps {
		body.Steps = append(body.Steps, buildStep{Type: s.Type, Args: s.Args, FilesHash: s.FilesHash})
	}
	header := http.Header{}
	if r := spec.Registry; r != nil {
		body.Registry = &imageRegistry{"registry", r.Username, r.Password}
		header.Set("X-E2b-Template-Source-Username", r.Username)
		header.Set("X-E2b-Template-Source-Password", r.Password)
	}
	if spec.RegistryType != "" {
		header.Set("X-E2b-Template-Source-Registry-Type", spec.RegistryType)
		mode := "builder"
		if spec.Direct {
			mode = "direct"
		}
		header.Set("X-E2b-Template-Build-Mode", mode)
	}
	if spec.ACRInstance != "" {
		header.Set("X-E2b-Template-Source-Acree-Instance-Id", spec.ACRInstance)
	}
	f.header = header
	_, err := c.call(ctx, f, http.MethodPost, "/v2/templates/"+component(b.TemplateID)+"/builds/"+component(b.BuildID), body)
	var e *client.Error
	if asError(err, &e) && e.Status == http.StatusBadRequest && e.Hint == "" {
		e.Hint = "templates are made of a ready image: check its name, that it is linux/amd64, and its registry's login"
	}
	if spec.Registry != nil && asError(err, &e) {
		e.Message = client.OneLine(client.Mask(e.Message, spec.Registry.Password), 300)
	}
	return err
}

// UpdateTemplate implements [client.TemplateMaker]: a build under the same name.
func (c *Client) UpdateTemplate(ctx context.Context, ref string, spec client.TemplateSpec) (client.TemplateBuild, error) {
	spec.Name = ref
	return c.CreateTemplate(ctx, spec)
}

// TemplateBuild implements [client.TemplateMaker] (§4, §12.5).
func (c *Client) TemplateBuild(ctx context.Context, b client.TemplateBuild, offset int) (client.BuildState, error) {
	f := templateFailing("follow the build")
	v := url.Values{"logsOffset": {strconv.Itoa(offset)}}
	a, err := c.call(ctx, f, http.MethodGet, "/templates/"+component(b.TemplateID)+"/builds/"+component(b.BuildID)+"/status"+query(v), nil)
	if err != nil {
		return client.BuildState{}, err
	}
	var w struct {
		Status  word     `json:"status"`
		Logs    []string `json:"logs"`
		Entries []struct {
			Timestamp word `json:"timestamp"`
			Message   word `json:"message"`
			Level     word `json:"level"`
			Step      word `json:"step"`
		} `json:"logEntries"`
		Reason *struct {
			Message word `json:"message"`
			Step    word `json:"step"`
		} `json:"reason"`
	}
	if json.Unmarshal(a.body, &w) != nil || w.Status == "" {
		return client.BuildState{}, c.fail(ctx, f, &badJSON{a, "build status"})
	}
	s := client.BuildState{State: string(w.Status)}
	for _, e := range w.Entries {
		entry := client.LogEntry{At: stamp(e.Timestamp), Level: string(e.Level), Message: string(e.Message)}
		if e.Step != "" {
			entry.Fields = map[string]string{"step": string(e.Step)}
		}
		s.Logs = append(s.Logs, entry)
	}
	if len(w.Entries) == 0 {
		for _, line := range w.Logs {
			s.Logs = append(s.Logs, client.LogEntry{Message: line})
		}
	}
	if w.Reason != nil {
		s.Reason, s.Step = c.clean("", string(w.Reason.Message)), string(w.Reason.Step)
	}
	return s, nil
}

// DeleteTemplate implements [client.TemplateMaker]; ref is an id or a name.
func (c *Client) DeleteTemplate(ctx context.Context, ref string) error {
	id, err := c.templateID(ctx, ref)
	if err != nil {
		return err
	}
	return c.deleteTemplate(ctx, id)
}

func (c *Client) deleteTemplate(ctx context.Context, id string) error {
	_, err := c.call(ctx, templateFailing("delete template"), http.MethodDelete, "/templates/"+component(id), nil)
	return err
}

// TemplateTags implements [client.TemplateTagger] (§4).
func (c *Client) TemplateTags(ctx context.Context, ref string) ([]client.TemplateTag, error) {
	f := templateFailing("list tags")
	id, err := c.templateID(ctx, ref)
	if err != nil {
		return nil, err
	}
	a, err := c.call(ctx, f, http.MethodGet, "/templates/"+component(id)+"/tags", nil)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Tag       word `json:"tag"`
		BuildID   word `json:"buildID"`
		CreatedAt word `json:"createdAt"`
	}
	if json.Unmarshal(a.body, &rows) != nil {
		return nil, c.fail(ctx, f, &badJSON{a, "list of tags"})
	}
	var out []client.TemplateTag
	for _, r := range rows {
		out = append(out, client.TemplateTag{Tag: string(r.Tag), BuildID: string(r.BuildID), CreatedAt: stamp(r.CreatedAt)})
	}
	return out, nil
}

// AssignTags implements [client.TemplateTagger].
func (c *Client) AssignTags(ctx context.Context, target string, tags []string) error {
	f := templateFailing("assign tags")
	if target == "" || len(tags) == 0 {
		return client.Usagef(f.op, "a template and at least one tag are needed")
	}
	in := struct {
		Target string   `json:"target"`
		Tags   []string `json:"tags"`
	}{target, tags}
	_, err := c.call(ctx, f, http.MethodPost, "/templates/tags", in)
	return err
}

// RemoveTags implements [client.TemplateTagger]; the tag `default` cannot go.
func (c *Client) RemoveTags(ctx context.Context, name string, tags []string) error {
	f := templateFailing("remove tags")
	if name == "" || len(tags) == 0 {
		return client.Usagef(f.op, "a template and at least one tag are needed")
	}
	in := struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}{name, tags}
	_, err := c.call(ctx, f, http.MethodDelete, "/templates/tags", in)
	return err
}
