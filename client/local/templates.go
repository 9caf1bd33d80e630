package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"abxdash/client"
	"abxdash/client/local/server"
)

var (
	_ client.Templates      = (*Provider)(nil)
	_ client.TemplateTagger = (*Provider)(nil)

	_ client.TemplateCanceller = (*Provider)(nil)
)

// Templates implements [client.Templates]. Without a running server it tells
// what the folder holds and starts none.
func (p *Provider) Templates(ctx context.Context) ([]client.TemplateInfo, error) {
	list, err := p.inner.Templates(ctx)
	if errors.Is(err, errNoServer) {
		return p.savedTemplates(), nil
	}
	return list, p.say("list templates", "", err)
}

// savedTemplates is what the folder holds, and the built-in template.
func (p *Provider) savedTemplates() []client.TemplateInfo {
	var out []client.TemplateInfo
	for _, t := range server.SavedTemplates(p.paths.templates) {
		out = append(out, savedInfo(t))
	}
	return out
}

func savedInfo(t server.Saved) client.TemplateInfo {
	return client.TemplateInfo{
		ID: t.ID, Names: t.Names, State: templateReady, CPU: float64(t.CPUs), MemoryMB: int64(t.MemoryMB), DiskMB: int64(t.DiskMB),
		Builds: int64(len(t.Builds)), CreatedAt: t.Created, UpdatedAt: t.Updated,
	}
}

// templateReady is the state of what is in the folder: nothing else gets there.
const templateReady = "ready"

// Template implements [client.Templates]. It starts no server either.
func (p *Provider) Template(ctx context.Context, ref string) (client.TemplateInfo, error) {
	t, err := p.inner.Template(ctx, ref)
	if !errors.Is(err, errNoServer) {
		return t, p.say("get template", "", err)
	}
	found, ok := server.SavedTemplate(p.paths.templates, ref)
	if !ok {
		return t, &client.Error{
			Op: "get template", Provider: Name, Code: client.CodeTemplateMissing, Kind: client.ErrNotFound,
			Message: "there is no template " + client.OneLine(ref, 80),
		}
	}
	t = savedInfo(found)
	for _, b := range found.Builds {
		t.History = append(t.History, client.TemplateBuildInfo{ID: b.ID, State: templateReady, CreatedAt: b.Created})
	}
	return t, nil
}

// served calls do with a server that runs, and once more with a new one when
// it met a server that was just ending.
func (p *Provider) served(ctx context.Context, op string, do func() error) error {
	for try := 0; ; try++ {
		if err := p.ensure(ctx); err != nil {
			return err
		}
		err := do()
		if try < maxTries && (errors.Is(err, errNoServer) || ending(err)) {
			continue
		}
		return p.say(op, "", err)
	}
}

// CreateTemplate implements [client.TemplateMaker]: steps on this machine's own
// system. It starts the server if none runs.
func (p *Provider) CreateTemplate(ctx context.Context, spec client.TemplateSpec) (b client.TemplateBuild, err error) {
	err = p.served(ctx, "create template", func() (err error) {
		b, err = p.inner.CreateTemplate(ctx, spec)
		return err
	})
	return b, err
}

// UpdateTemplate implements [client.TemplateMaker]: a build under the same name.
func (p *Provider) UpdateTemplate(ctx context.Context, ref string, spec client.TemplateSpec) (client.TemplateBuild, error) {
	spec.Name = ref
	return p.CreateTemplate(ctx, spec)
}

// TemplateBuild implements [client.TemplateMaker].
func (p *Provider) TemplateBuild(ctx context.Context, b client.TemplateBuild, offset int) (client.BuildState, error) {
	s, err := p.inner.TemplateBuild(ctx, b, offset)
	return s, p.say("follow the build", "", err)
}

// DeleteTemplate implements [client.TemplateMaker]. It starts the server if none runs.
func (p *Provider) DeleteTemplate(ctx context.Context, ref string) error {
	return p.served(ctx, "delete template", func() error { return p.inner.DeleteTemplate(ctx, ref) })
}

// CancelBuild implements [client.TemplateCanceller]. It starts no server: without
// one nothing is built.
func (p *Provider) CancelBuild(ctx context.Context, b client.TemplateBuild) error {
	body, err := json.Marshal(server.CancelBuildJSON{TemplateID: b.TemplateID, BuildID: b.BuildID})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, origin+server.PathCancelBuild, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if err = p.ask(req, nil); errors.Is(err, errNoServer) {
		return nil
	}
	return p.say("cancel the build", "", err)
}

// TemplateTags implements [client.TemplateTagger]. It starts the server if none runs.
func (p *Provider) TemplateTags(ctx context.Context, ref string) (tags []client.TemplateTag, err error) {
	err = p.served(ctx, "list tags", func() (err error) {
		tags, err = p.inner.TemplateTags(ctx, ref)
		return err
	})
	return tags, err
}

// AssignTags implements [client.TemplateTagger]. It starts the server if none runs.
func (p *Provider) AssignTags(ctx context.Context, target string, tags []string) error {
	return p.served(ctx, "assign tags", func() error { return p.inner.AssignTags(ctx, target, tags) })
}

// RemoveTags implements [client.TemplateTagger]. It starts the server if none runs.
func (p *Provider) RemoveTags(ctx context.Context, name string, tags []string) error {
	return p.served(ctx, "remove tags", func() error { return p.inner.RemoveTags(ctx, name, tags) })
}
