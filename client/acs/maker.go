package acs

import (
	"context"
	"errors"
	"net/http"

	"abxdash/client"
)

// Maker makes templates natively (alicloud-express §9.1).
type Maker struct {
	c *Client
	// team is "" for the default team.
	team string
}

var _ client.TemplateMaker = (*Maker)(nil)

// Maker makes templates of a team; "" is the default team.
func (c *Client) Maker(team string) *Maker { return &Maker{c: c, team: team} }

// native words a spec as the API wants it. Commands are taken by generation 2
// only; on generation 1 the caller starts the server itself.
func (m *Maker) native(spec client.TemplateSpec) TemplateSpec {
	s := SandboxConfig{
		Image: spec.Image, Generation: spec.Generation, RegistryType: spec.RegistryType, ACRInstanceID: spec.ACRInstance,
	}
	if spec.Generation != 1 {
		s.StartCommand, s.ReadyCommand = spec.StartCommand, spec.ReadyCommand
	}
	if r := spec.Registry; r != nil {
		s.Registry = &RegistryConfig{Auth: &RegistryAuth{UserName: r.Username, Password: r.Password}}
	}
	out := TemplateSpec{Name: spec.Name, TeamID: m.team, RuntimeConfig: RuntimeConfig{CPU: int(spec.CPU), MemorySize: spec.MemoryMB, SandboxConfig: s}}
	for _, tag := range spec.Tags {
		out.ResourceTags = append(out.ResourceTags, ResourceTag{Key: "tag", Value: tag})
	}
	return out
}

// masked takes a registry password out of an error.
func masked(err error, spec client.TemplateSpec) error {
	var e *client.Error
	if spec.Registry != nil && errors.As(err, &e) {
		e.Message = client.OneLine(client.Mask(e.Message, spec.Registry.Password), 300)
	}
	return err
}

// CreateTemplate implements [client.TemplateMaker].
func (m *Maker) CreateTemplate(ctx context.Context, spec client.TemplateSpec) (client.TemplateBuild, error) {
	id, err := m.c.CreateTemplate(ctx, m.native(spec))
	return client.TemplateBuild{TemplateID: id}, masked(err, spec)
}

// find resolves an id or a name.
func (m *Maker) find(ctx context.Context, ref string) (string, error) {
	list, err := m.c.Templates(ctx, m.team)
	if err != nil {
		return "", err
	}
	for _, t := range list {
		if t.ID == ref || t.Name == ref {
			return t.ID, nil
		}
	}
	return "", &client.Error{
		Op: "find template", Code: client.CodeTemplateMissing, Kind: client.ErrNotFound,
		Message: "there is no template " + client.OneLine(ref, 80),
	}
}

// UpdateTemplate implements [client.TemplateMaker]. The generation of a
// template cannot change, so it is left out.
func (m *Maker) UpdateTemplate(ctx context.Context, ref string, spec client.TemplateSpec) (client.TemplateBuild, error) {
	id, err := m.find(ctx, ref)
	if err != nil {
		return client.TemplateBuild{}, err
	}
	in := m.native(spec)
	in.Name, in.RuntimeConfig.SandboxConfig.Generation = "", 0
	return client.TemplateBuild{TemplateID: id}, masked(m.c.UpdateTemplate(ctx, id, m.team, in), spec)
}

// TemplateBuild implements [client.TemplateMaker]. The native API has no build
// log, only a state and a reason.
func (m *Maker) TemplateBuild(ctx context.Context, b client.TemplateBuild, _ int) (client.BuildState, error) {
	t, err := m.c.Template(ctx, b.TemplateID, m.team)
	if err != nil {
		return client.BuildState{}, err
	}
	return client.BuildState{State: t.Status.State, Reason: client.OneLine(t.Status.Reason.Message, 300)}, nil
}

// DeleteTemplate implements [client.TemplateMaker].
func (m *Maker) DeleteTemplate(ctx context.Context, ref string) error {
	id, err := m.find(ctx, ref)
	if err != nil {
		return err
	}
	return m.c.DeleteTemplate(ctx, id, m.team)
}

// UpdateTemplate gives a template another image or size; what is unset in spec
// stays. Name is not changed. The verb is PUT (alicloud-express §9, inferred).
func (c *Client) UpdateTemplate(ctx context.Context, id, teamID string, spec TemplateSpec) error {
	const op = "update template"
	if id == "" {
		return client.Usagef(op, "no template given")
	}
	in := struct {
		RuntimeConfig RuntimeConfig `json:"runtimeConfig"`
		BuildConfig   *BuildConfig  `json:"buildConfig,omitempty"`
	}{spec.RuntimeConfig, spec.BuildConfig}
	return c.call(ctx, op, "UpdateTemplate", http.MethodPut, "/templates/"+encode(id), team(teamID), in, nil)
}
