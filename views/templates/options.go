// Package templates is the templates screen: the templates of every provider,
// the template folders on this machine, the wizard that makes new ones, and the
// views of a check, a build and a deploy. What outlives a screen belongs to
// [Manager].
package templates

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	tpl "abxdash/templates"
	"abxdash/templates/capture"
	"abxdash/templates/check"
	"abxdash/templates/deploy"
	"abxdash/ui"
	"abxdash/views/present"
)

// Routes of this package; main gives each its constructor.
const (
	// RouteTemplates is the screen itself.
	RouteTemplates ui.Route = "templates"
	// RouteDetail takes a DetailParams: one template of a provider.
	RouteDetail ui.Route = "template"
	// RouteRun takes a RunParams: a build or a deploy.
	RouteRun ui.Route = "template-run"
	// RouteCheck takes a CheckParams: a folder that runs here.
	RouteCheck ui.Route = "template-check"
	// RouteWizard is the making of a new folder.
	RouteWizard ui.Route = "template-wizard"
)

// DetailParams names a template.
type DetailParams struct{ Provider, ID string }

// RunParams names a build or deploy by its number.
type RunParams struct{ Number int }

// CheckParams names a template folder.
type CheckParams struct{ Dir string }

// Native is the native way to make templates, for whoever has the keys for it.
type Native struct {
	Maker client.TemplateMaker
	// Login asks for a temporary login to the container registry: of an
	// Enterprise instance, or with "" of the personal edition.
	Login func(ctx context.Context, instance string) (client.RegistryLogin, error)
}

// Options configures a [Manager].
type Options struct {
	Providers present.Providers
	Owner     present.Owner
	// ReadOnly refuses whatever would change something.
	ReadOnly bool
	// Dir is the current folder, Folders further ones in which template folders
	// are looked for; absolute paths.
	Dir     string
	Folders []string
	// Home is written as ~ in front of paths; "" is not.
	Home string
	// Targets are the providers that a template can be written for, the usual one first.
	Targets []string
	// Setting looks up a setting such as ACR_NAMESPACE, "" if it is not set; nil is none.
	Setting func(name string) string
	// Base is the image that a provider's templates are built on, "" for the usual one; nil is none.
	Base func(provider string) string
	// CheckIn is the provider in which templates are run, nil if there is none.
	CheckIn client.Provider
	// Python checks commands.py; "" leaves it unchecked.
	Python string
	// Engine makes the client of the Docker engine; nil is none.
	Engine func() (deploy.Engine, error)
	// Native makes the native API of Express. Without its keys the error is E1001.
	Native func(region string) (Native, error)
	// Editor is the command line of the user's editor.
	Editor string

	// Check, Deploy and Capture do the work; nil is check.Run, deploy.Run and capture.Run.
	Check   func(ctx context.Context, o check.Options) (check.Result, error)
	Deploy  func(ctx context.Context, o deploy.Options) (deploy.Result, error)
	Capture func(ctx context.Context, p client.Provider, sb client.Sandbox, o capture.Options) (capture.Found, error)
	// RunEditor opens a file in place of Editor; nil runs Editor.
	RunEditor func(path string, done func(err error) tea.Msg) tea.Cmd
	// NoWatch leaves folders unwatched; ctrl+r looks again.
	NoWatch bool
}

func (o *Options) setting(name string) string {
	if o.Setting == nil {
		return ""
	}
	return o.Setting(name)
}

// target is what a folder is linted and built for.
func (o *Options) target(provider string) tpl.Target {
	t := tpl.NewTarget(provider, o.setting("ABX_SANDBOX_REGION"), o.setting)
	if o.Base != nil {
		t.Base = o.Base(provider)
	}
	return t
}

func (o *Options) lint(provider string) tpl.LintOptions {
	return tpl.LintOptions{Target: o.target(provider), Python: o.Python}
}
