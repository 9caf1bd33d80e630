package fake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"abxdash/client"
)

// Operations on templates as they appear in [Call.Op].
const (
	OpTemplates      = "templates"
	OpTemplate       = "template"
	OpTemplateCreate = "template create"
	OpTemplateUpdate = "template update"
	OpTemplateBuild  = "template build"
	OpTemplateDelete = "template delete"
	OpTags           = "template tags"
	OpTagsAssign     = "template tags assign"
	OpTagsRemove     = "template tags remove"
)

// TagDefault is the tag that a template's bare name means (e2b-protocol §4).
const TagDefault = "default"

// templateShelf is the templates of a provider; its lock guards it.
type templateShelf struct {
	list   []*shelved
	builds int
}

type shelved struct {
	info client.TemplateInfo
	tags []client.TemplateTag
	// asked counts how often the running build was looked at.
	asked int
}

// buildLooks is how often a build is looked at before it is ready.
const buildLooks = 3

var (
	_ client.Templates      = (*Provider)(nil)
	_ client.TemplateTagger = (*Provider)(nil)
)

// AddTemplates puts templates into the provider. Each gets a build and the tag
// "default", and one of v1, v2 … for every build that it says it had.
func (p *Provider) AddTemplates(list ...client.TemplateInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range list {
		if t.ID == "" {
			t.ID = fmt.Sprintf("tpl%d", len(p.tpl.list)+1)
		}
		if t.State == "" {
			t.State = "ready"
		}
		s := &shelved{info: t}
		for i := range max(t.Builds, 1) {
			p.tpl.builds++
			build := fmt.Sprintf("build-%d", p.tpl.builds)
			at := t.UpdatedAt.Add(-time.Duration(max(t.Builds, 1)-1-i) * 24 * time.Hour)
			s.tags = append(s.tags, client.TemplateTag{Tag: fmt.Sprintf("v%d", i+1), BuildID: build, CreatedAt: at})
		}
		last := s.tags[len(s.tags)-1]
		s.tags = append(s.tags, client.TemplateTag{Tag: TagDefault, BuildID: last.BuildID, CreatedAt: last.CreatedAt})
		p.tpl.list = append(p.tpl.list, s)
	}
}

// AddDemoTemplates adds those that the sandboxes of [Provider.AddMany] are of,
// and a few more: one that is being built and one that failed.
func (p *Provider) AddDemoTemplates() {
	now := p.opts.Now().Add(p.opts.Skew)
	mk := func(days int, builds int64, cpu float64, memory int64, names ...string) client.TemplateInfo {
		at := now.Add(-time.Duration(days) * 24 * time.Hour)
		return client.TemplateInfo{
			ID: names[0], Names: names, CPU: cpu, MemoryMB: memory, DiskMB: 4096, Builds: builds, Spawned: builds * 40,
			CreatedAt: at.Add(-time.Duration(builds) * 24 * time.Hour), UpdatedAt: at,
		}
	}
	building := mk(0, 9, 4, 2048, "agent-nightly")
	building.State = "building"
	failed := mk(1, 2, 2, 1024, "gpu-notebook")
	failed.State, failed.Reason = "error", "step 3: pip install ended with exit 1"
	p.AddTemplates(
		mk(40, 1, 2, 512, "base"), mk(2, 4, 2, 512, "python-hello", "py-data"), mk(9, 3, 2, 1024, "code-interpreter"),
		mk(12, 2, 2, 1024, "node22"), mk(5, 6, 4, 4096, "browser"), mk(3, 5, 2, 2048, "agent-go"), building, failed,
	)
}

// shelf finds a template by id or name. The lock is held.
func (p *Provider) shelf(op, ref string) (*shelved, error) {
	name, _, _ := strings.Cut(ref, ":")
	for _, s := range p.tpl.list {
		if s.info.ID == name || slices.Contains(s.info.Names, name) {
			return s, nil
		}
	}
	return nil, &client.Error{
		Op: op, Provider: p.opts.Name, Code: client.CodeTemplateMissing, Status: 404, Kind: client.ErrNotFound,
		Message: fmt.Sprintf("template %s does not exist", client.OneLine(ref, 60)),
	}
}

// onShelf plays a call and, unless it was scripted to fail, does the work under
// the lock.
func (p *Provider) onShelf(ctx context.Context, op, ref, arg string, work func() error) error {
	step, err := p.begin(ctx, op, client.ID(ref), arg)
	if err != nil {
		return err
	}
	if !step.Skip {
		p.mu.Lock()
		err = work()
		p.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return step.Err
}

func (s *shelved) copied() client.TemplateInfo {
	t := s.info
	t.Names = slices.Clone(t.Names)
	return t
}

// Templates implements [client.Templates].
func (p *Provider) Templates(ctx context.Context) (out []client.TemplateInfo, err error) {
	err = p.onShelf(ctx, OpTemplates, "", "", func() error {
		for _, s := range p.tpl.list {
			out = append(out, s.copied())
		}
		return nil
	})
	return out, err
}

// Template implements [client.Templates].
func (p *Provider) Template(ctx context.Context, ref string) (out client.TemplateInfo, err error) {
	err = p.onShelf(ctx, OpTemplate, ref, "", func() error {
		s, err := p.shelf("get template", ref)
		if err == nil {
			out = s.copied()
		}
		return err
	})
	return out, err
}

// CreateTemplate implements [client.TemplateMaker]. A name that is taken gives
// [client.ErrConflict].
func (p *Provider) CreateTemplate(ctx context.Context, spec client.TemplateSpec) (b client.TemplateBuild, err error) {
	err = p.onShelf(ctx, OpTemplateCreate, spec.Name, spec.Image, func() error {
		if _, err := p.shelf("create template", spec.Name); err == nil {
			return &client.Error{
				Op: "create template", Provider: p.opts.Name, Code: client.CodeConflict, Status: 409, Kind: client.ErrConflict,
				Message: client.OneLine(spec.Name, 60) + " is there already",
			}
		}
		now := p.opts.Now().Add(p.opts.Skew)
		s := &shelved{info: client.TemplateInfo{ID: fmt.Sprintf("tpl%d", len(p.tpl.list)+1), Names: []string{spec.Name}, CreatedAt: now}}
		p.tpl.list = append(p.tpl.list, s)
		b = p.build(s, spec)
		return nil
	})
	return b, err
}

// UpdateTemplate implements [client.TemplateMaker].
func (p *Provider) UpdateTemplate(ctx context.Context, ref string, spec client.TemplateSpec) (b client.TemplateBuild, err error) {
	err = p.onShelf(ctx, OpTemplateUpdate, ref, spec.Image, func() error {
		s, err := p.shelf("update template", ref)
		if err == nil {
			b = p.build(s, spec)
		}
		return err
	})
	return b, err
}

// build begins another build of a template. The lock is held.
func (p *Provider) build(s *shelved, spec client.TemplateSpec) client.TemplateBuild {
	p.tpl.builds++
	now := p.opts.Now().Add(p.opts.Skew)
	b := client.TemplateBuild{TemplateID: s.info.ID, BuildID: fmt.Sprintf("build-%d", p.tpl.builds)}
	s.info.State, s.info.Reason, s.info.UpdatedAt, s.asked = "building", "", now, 0
	s.info.CPU, s.info.MemoryMB = spec.CPU, int64(spec.MemoryMB)
	s.info.Builds++
	for _, tag := range append(slices.Clone(spec.Tags), TagDefault) {
		s.point(tag, b.BuildID, now)
	}
	return b
}

// point makes a tag mean a build.
func (s *shelved) point(tag, build string, now time.Time) {
	s.tags = slices.DeleteFunc(s.tags, func(t client.TemplateTag) bool { return t.Tag == tag })
	s.tags = append(s.tags, client.TemplateTag{Tag: tag, BuildID: build, CreatedAt: now})
}

// TemplateBuild implements [client.TemplateMaker]: a build says a line each time
// it is looked at and is then ready.
func (p *Provider) TemplateBuild(ctx context.Context, b client.TemplateBuild, offset int) (out client.BuildState, err error) {
	err = p.onShelf(ctx, OpTemplateBuild, b.TemplateID, b.BuildID, func() error {
		s, err := p.shelf("follow the build", b.TemplateID)
		if err != nil {
			return err
		}
		if s.info.State == "building" {
			if s.asked++; s.asked >= buildLooks {
				s.info.State = "ready"
			}
		}
		out.State, out.Reason = s.info.State, s.info.Reason
		for i := offset; i < s.asked; i++ {
			out.Logs = append(out.Logs, client.LogEntry{At: p.opts.Now(), Level: "info", Message: fmt.Sprintf("[base] layer %d of %d", i+1, buildLooks)})
		}
		return nil
	})
	return out, err
}

// DeleteTemplate implements [client.TemplateMaker].
func (p *Provider) DeleteTemplate(ctx context.Context, ref string) error {
	return p.onShelf(ctx, OpTemplateDelete, ref, "", func() error {
		s, err := p.shelf("delete template", ref)
		if err == nil {
			p.tpl.list = slices.DeleteFunc(p.tpl.list, func(o *shelved) bool { return o == s })
		}
		return err
	})
}

// TemplateTags implements [client.TemplateTagger].
func (p *Provider) TemplateTags(ctx context.Context, ref string) (out []client.TemplateTag, err error) {
	err = p.onShelf(ctx, OpTags, ref, "", func() error {
		s, err := p.shelf("list tags", ref)
		if err == nil {
			out = slices.Clone(s.tags)
		}
		return err
	})
	return out, err
}

// AssignTags implements [client.TemplateTagger].
func (p *Provider) AssignTags(ctx context.Context, target string, tags []string) error {
	return p.onShelf(ctx, OpTagsAssign, target, strings.Join(tags, " "), func() error {
		s, err := p.shelf("assign tags", target)
		if err != nil {
			return err
		}
		_, from, ok := strings.Cut(target, ":")
		if !ok {
			from = TagDefault
		}
		for _, t := range s.tags {
			if t.Tag != from {
				continue
			}
			for _, tag := range tags {
				s.point(tag, t.BuildID, p.opts.Now().Add(p.opts.Skew))
			}
			return nil
		}
		return &client.Error{
			Op: "assign tags", Provider: p.opts.Name, Code: client.CodeTemplateMissing, Status: 404, Kind: client.ErrNotFound,
			Message: "there is no tag " + client.OneLine(from, 60),
		}
	})
}

// RemoveTags implements [client.TemplateTagger]; the tag "default" stays.
func (p *Provider) RemoveTags(ctx context.Context, name string, tags []string) error {
	return p.onShelf(ctx, OpTagsRemove, name, strings.Join(tags, " "), func() error {
		if slices.Contains(tags, TagDefault) {
			return BadRequest("the default tag cannot be removed")
		}
		s, err := p.shelf("remove tags", name)
		if err == nil {
			s.tags = slices.DeleteFunc(s.tags, func(t client.TemplateTag) bool { return slices.Contains(tags, t.Tag) })
		}
		return err
	})
}
