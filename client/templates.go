package client

import (
	"context"
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
