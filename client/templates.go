package client

import (
	"context"
	"io"
	"time"
)

// TemplateInfo is one template as a list or a get shows it. All text is untrusted.
type TemplateInfo struct {
	ID string
	// Names are what people call it, aliases included; may be empty.
	Names []string
	// State is the last build's as the provider words it: waiting, pending,
	// building, ready, error.
	State string
	// Reason says why a build failed, "" if unknown.
	Reason string
	// CPU is vCPUs, MemoryMB and DiskMB are MiB; 0 is unknown.
	CPU              float64
	MemoryMB, DiskMB int64
	Public           bool
	// Builds and Spawned count builds and sandboxes so far; 0 where not told.
	Builds, Spawned int64
	CreatedAt       time.Time
	UpdatedAt       time.Time
	// History are the builds that the provider remembers, newest first; nil
	// where it tells none, as in lists.
	History []TemplateBuildInfo
}

// TemplateBuildInfo is one build of a template. State is as in [TemplateInfo];
// all text is untrusted.
type TemplateBuildInfo struct {
	ID, State string
	CreatedAt time.Time
}

// BuildState is what History says about a build, "" if it does not know it.
func (t TemplateInfo) BuildState(id string) string {
	for _, b := range t.History {
		if b.ID == id {
			return b.State
		}
	}
	return ""
}

// Name is what people call the template, else its id.
func (t TemplateInfo) Name() string {
	if len(t.Names) > 0 {
		return t.Names[0]
	}
	return t.ID
}

// RegistryLogin is a user name and password for pulling an image. It prints
// without its password.
type RegistryLogin struct{ Username, Password string }

// String shows no password.
func (r RegistryLogin) String() string { return "login of " + OneLine(r.Username, 60) }

// GoString is String, for %#v.
func (r RegistryLogin) GoString() string { return r.String() }

// TemplateSpec is a template to make from an image.
type TemplateSpec struct {
	Name string
	Tags []string
	// CPU is vCPUs, MemoryMB MiB; 0 is the provider's default.
	CPU      float64
	MemoryMB int
	// Image is the source image's full name.
	Image string
	// Registry is nil for an image that anyone may pull.
	Registry *RegistryLogin
	// RegistryType is "acr", "acree" or "" (alicloud-express §7); ACRInstance is
	// the id of an ACR Enterprise instance.
	RegistryType, ACRInstance string
	// Direct tells that the image has the platform's runtime files already.
	Direct bool
	// StartCommand and ReadyCommand are run in the template, "" for none.
	StartCommand, ReadyCommand string
	// Generation is the Express runtime, 1 or 2; 0 is the provider's choice.
	Generation int
	// Force builds without the provider's cache.
	Force bool
	// Steps are taken on top of Image, in order, by a provider that has
	// [CapTemplateSteps]; nil makes the template of the image as it is.
	Steps []TemplateStep
	// Progress is told what is sent, one clean line each; nil is fine.
	Progress func(text string)
}

// Types of build steps (e2b-protocol §12.1).
const (
	StepCopy    = "COPY"
	StepRun     = "RUN"
	StepEnv     = "ENV"
	StepWorkdir = "WORKDIR"
	StepUser    = "USER"
)

// TemplateStep is one step that a provider takes on top of an image
// (e2b-protocol §12.1).
type TemplateStep struct {
	// Type is one of the step types, Args are as they go over the wire.
	Type string
	Args []string
	// FilesHash is 64 hex digits that stand for the files of a COPY, "" for others.
	FilesHash string
	// Files makes a gzipped tar of the files of a COPY. It is called only when
	// the provider does not have them yet.
	Files func(ctx context.Context) (TemplateFiles, error)
}

// TemplateFiles is an archive to upload: exactly Size bytes. The caller closes it.
type TemplateFiles struct {
	io.ReadCloser
	Size int64
}

// TemplateBuild names a running build.
type TemplateBuild struct{ TemplateID, BuildID string }

// BuildState is how far a build is.
type BuildState struct {
	// State is as in TemplateInfo. Ready and Failed interpret it.
	State string
	// Reason and Step say why and where it failed.
	Reason, Step string
	// Logs are the entries from the asked-for offset on, oldest first.
	Logs []LogEntry
}

// Ready reports success.
func (b BuildState) Ready() bool { return b.State == "ready" }

// Failed reports a build that will not become ready.
func (b BuildState) Failed() bool { return b.State == "error" || b.State == "failed" }

// TemplateTag is one tag of a template.
type TemplateTag struct {
	Tag, BuildID string
	CreatedAt    time.Time
}

// TemplateMaker makes templates from images: over the E2B API or natively.
type TemplateMaker interface {
	// CreateTemplate registers a template and starts its build. With a name that
	// is taken it either starts another build of that template, or gives
	// ErrConflict; then UpdateTemplate does it.
	CreateTemplate(ctx context.Context, spec TemplateSpec) (TemplateBuild, error)
	// UpdateTemplate gives an existing template, by id or name, another image.
	UpdateTemplate(ctx context.Context, ref string, spec TemplateSpec) (TemplateBuild, error)
	// TemplateBuild tells how far a build is, with the log from an offset on.
	TemplateBuild(ctx context.Context, b TemplateBuild, offset int) (BuildState, error)
	DeleteTemplate(ctx context.Context, ref string) error
}

// TemplateCanceller is found on a maker whose builds can be ended.
type TemplateCanceller interface {
	// CancelBuild ends a build and returns once nothing of it runs any more. One
	// that has ended already is no error.
	CancelBuild(ctx context.Context, b TemplateBuild) error
}

// Templates is found on a provider that has templates of its own.
type Templates interface {
	TemplateMaker
	Templates(ctx context.Context) ([]TemplateInfo, error)
	// Template takes an id or a name.
	Template(ctx context.Context, ref string) (TemplateInfo, error)
}

// TemplateTagger is found on a provider whose templates have tags.
type TemplateTagger interface {
	TemplateTags(ctx context.Context, ref string) ([]TemplateTag, error)
	// AssignTags makes tags point at what target, "name" or "name:tag", points at.
	AssignTags(ctx context.Context, target string, tags []string) error
	RemoveTags(ctx context.Context, name string, tags []string) error
}
