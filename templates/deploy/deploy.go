package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"abxdash/client"
	"abxdash/client/docker"
	"abxdash/templates"
)

// Step is one step of a deploy; each can be the first of a retry.
type Step string

// Steps in their order.
const (
	StepLint   Step = "lint"
	StepLogin  Step = "login"
	StepBuild  Step = "build"
	StepPush   Step = "push"
	StepCreate Step = "create"
	StepReady  Step = "ready"
)

// Steps lists all steps in order.
func Steps() []Step { return []Step{StepLint, StepLogin, StepBuild, StepPush, StepCreate, StepReady} }

const (
	// pollPace and patience are the vendor's own (templates-and-abx §5).
	pollPace = 5 * time.Second
	patience = 15 * time.Minute
	// drainCalls bounds how often the log is asked for after the end.
	drainCalls = 50
)

// Engine builds and pushes images.
type Engine interface {
	Ping(ctx context.Context) error
	Build(ctx context.Context, b docker.Build, say func(docker.Event)) (string, error)
	Push(ctx context.Context, ref string, login docker.Login, say func(docker.Event)) (string, error)
}

// Options describe a deploy.
type Options struct {
	Dir  string
	Lint templates.LintOptions
	// Image is pushed already: nothing is built. "" builds.
	Image string
	Place Place
	// Login is nil if nobody has to log in; Ask gets one when it is nil.
	Login *client.RegistryLogin
	Ask   func(ctx context.Context) (client.RegistryLogin, error)
	// Alias is the template's name at the provider, "" for template.yaml's.
	Alias string
	Tags  []string
	// Wheel is a flag's, WheelSetting a setting's wheel file.
	Wheel, WheelSetting string
	// CPU, MemoryMB and Generation win over template.yaml; 0 leaves it.
	CPU                  float64
	MemoryMB, Generation int
	// StartCommand and ReadyCommand are nil for the target's own.
	StartCommand, ReadyCommand *string
	NoCache                    bool
	// Build says what the image is made with; "" is BuildAuto.
	Build BuildMode
	// Steps tells that Maker takes build steps; StepsWhy says why not, "" for a
	// general reason. A Maker that is a provider is asked for its capabilities
	// when neither is set.
	Steps    bool
	StepsWhy string
	// Engine is asked for only when something is built or pushed.
	Engine func() (Engine, error)
	// Maker creates the template; nil ends after the push.
	Maker client.TemplateMaker
	// From is the first step of a retry; earlier ones have been done. "" is all.
	From Step
	// Last is the last step; "" is all.
	Last Step
	// Resume is the build to follow when From is StepReady.
	Resume client.TemplateBuild
	// Poll and Patience are 0 for the defaults.
	Poll, Patience time.Duration
	// Say is told what happens.
	Say func(Event)
}

// Event is something that happened. Text is one clean line.
type Event struct {
	Step Step
	Text string
	// Docker is set for what the engine says.
	Docker *docker.Event
}

// Done is one step that was taken.
type Done struct {
	Step Step        `json:"step"`
	OK   bool        `json:"ok"`
	MS   int64       `json:"ms"`
	Err  string      `json:"error,omitempty"`
	Code client.Code `json:"code,omitempty"`
}

// Result is what a deploy came to.
type Result struct {
	OK   bool   `json:"ok"`
	Name string `json:"name"`
	// Build is what the image was made with: docker, platform, or image when it
	// was there already.
	Build BuildMode `json:"build,omitempty"`
	// Image is the name it was pushed under, Digest the registry's answer. For
	// a platform build it is the image that the steps begin with.
	Image  string `json:"image"`
	Digest string `json:"digest,omitempty"`
	// Wheel says where the server package comes from.
	Wheel      string           `json:"wheel,omitempty"`
	TemplateID string           `json:"template_id,omitempty"`
	BuildID    string           `json:"build_id,omitempty"`
	Updated    bool             `json:"updated"`
	State      string           `json:"state,omitempty"`
	Steps      []Done           `json:"steps"`
	Lint       templates.Report `json:"lint"`
	// ServeByHand tells that the platform took no start command: the server on
	// port 9000 has to be started in each sandbox, see check.Serve.
	ServeByHand bool `json:"serve_by_hand,omitempty"`
	// Cancelled tells that the provider's build was ended together with the deploy.
	Cancelled bool `json:"cancelled,omitempty"`
	// Hint is what to do next after a failure.
	Hint string `json:"hint,omitempty"`
}

// run is one deploy.
type run struct {
	o      Options
	r      *Result
	t      *templates.Template
	wheel  Wheel
	login  docker.Login
	engine Engine
	build  client.TemplateBuild
	// begun tells that build was started by this run.
	begun bool
	// recipe and steps are those of a platform build.
	recipe templates.Recipe
	steps  []client.TemplateStep
	// lines are where the Dockerfile has each of steps.
	lines []int
	// marked tells that the build before this one has the tag "replaced", kept
	// that it was replaced and can be rolled back to.
	marked, kept bool
}

// Run carries a deploy out. The result tells how far it came, also beside an error.
func Run(ctx context.Context, o Options) (Result, error) {
	r := Result{Steps: []Done{}}
	d := &run{o: o, r: &r, build: o.Resume}
	if d.o.Say == nil {
		d.o.Say = func(Event) {}
	}
	if p, ok := o.Maker.(client.Provider); ok && !o.Steps && o.StepsWhy == "" {
		caps := p.Capabilities()
		d.o.Steps, d.o.StepsWhy = caps.Has(client.CapTemplateSteps), caps.Why[client.CapTemplateSteps]
	}
	first := max(0, slices.Index(Steps(), o.From))
	last := slices.Index(Steps(), o.Last)
	if last < 0 {
		last = len(Steps()) - 1
	}
	// The folder is looked at whatever the first step is: it names the image.
	if err := d.step(ctx, StepLint, d.prepare); err != nil {
		return r, err
	}
	for i, s := range Steps() {
		f := map[Step]func(context.Context) error{
			StepLogin: d.logIn, StepBuild: d.buildImage, StepPush: d.push, StepCreate: d.create, StepReady: d.follow,
		}[s]
		if f == nil || i < first && s != StepLogin || i > last || !d.needed(s) || s == StepLogin && first > slices.Index(Steps(), StepCreate) {
			continue
		}
		if err := d.step(ctx, s, f); err != nil {
			d.abandon(ctx)
			d.settle(ctx)
			r.Hint = d.hint(s, err)
			return r, err
		}
	}
	d.settle(ctx)
	r.OK = true
	return r, nil
}

// needed leaves out steps that have nothing to do.
func (d *run) needed(s Step) bool {
	switch s {
	case StepBuild, StepPush:
		return d.r.Build == BuildDocker
	case StepCreate, StepReady:
		return d.o.Maker != nil
	case StepLogin:
		return d.o.Login != nil || d.o.Ask != nil
	}
	return true
}

// step takes one step and notes how it went.
func (d *run) step(ctx context.Context, s Step, f func(context.Context) error) error {
	begun := time.Now()
	err := f(ctx)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	done := Done{Step: s, OK: err == nil, MS: time.Since(begun).Milliseconds()}
	if err != nil {
		done.Err, done.Code = client.OneLine(err.Error(), 300), client.CodeOf(err)
	}
	d.r.Steps = append(d.r.Steps, done)
	return err
}

// hint says which step a retry can begin with.
func (d *run) hint(s Step, err error) string {
	if h := client.HintOf(err); h != "" {
		return h
	}
	switch {
	case d.r.Cancelled:
		return ""
	case d.build.TemplateID != "" && s == StepCreate:
		return "follow it again: " + d.followFlags()
	case s == StepPush, s == StepCreate && d.r.Build == BuildDocker:
		return "try this step again: --from " + string(s)
	case s == StepReady && client.CodeOf(err) != client.CodeTemplateBuild:
		return "follow it again: " + d.followFlags()
	case s == StepReady && d.kept:
		return "the build before it is kept: abxdash template rollback " + client.OneLine(d.r.Name, 60)
	case s == StepReady:
		return "look at it: abxdash template info " + client.OneLine(d.r.Name, 60)
	}
	return ""
}

// followFlags are those of a deploy that only follows this build.
func (d *run) followFlags() string {
	text := "--from ready --template-id " + d.r.TemplateID
	if d.r.BuildID != "" {
		text += " --build-id " + d.r.BuildID
	}
	return text
}

func (d *run) say(s Step, format string, args ...any) {
	d.o.Say(Event{Step: s, Text: client.OneLine(fmt.Sprintf(format, args...), 300)})
}

// prepare lints the folder and names the image.
func (d *run) prepare(ctx context.Context) error {
	o := d.o.Lint
	o.Alias, o.Repository = d.o.Alias, d.o.Place.Repository
	report, err := templates.Lint(ctx, d.o.Dir, o)
	d.r.Lint = report
	if err != nil {
		return err
	}
	d.say(StepLint, "%s", report.Counts())
	if err := report.Problems.Err("check the template"); err != nil {
		return err
	}
	d.t = report.Template
	d.r.Name = d.o.Alias
	if d.r.Name == "" {
		d.r.Name = d.t.Name
	}
	return d.choose(ctx)
}

func (d *run) logIn(ctx context.Context) error {
	l := d.o.Login
	if l == nil {
		got, err := d.o.Ask(ctx)
		if err != nil {
			return err
		}
		l = &got
	}
	d.o.Login = l
	d.login = docker.Login{Username: l.Username, Password: l.Password}
	if d.r.Build != BuildDocker {
		return nil
	}
	d.say(StepLogin, "%s", d.login)
	return docker.CheckLogin(ctx, d.r.Image, d.login)
}

// connect finds the engine once.
func (d *run) connect(ctx context.Context) (Engine, error) {
	if d.engine != nil {
		return d.engine, nil
	}
	e, err := d.o.Engine()
	if err != nil {
		return nil, err
	}
	if err := e.Ping(ctx); err != nil {
		return nil, err
	}
	d.engine = e
	return e, nil
}

func (d *run) buildImage(ctx context.Context) error {
	e, err := d.connect(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pr, pw := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := archive(ctx, pw, d.r.Lint.Context, d.wheel)
		_ = pw.CloseWithError(err) // never fails
		packed <- err
	}()
	_, err = e.Build(ctx, docker.Build{
		Context: pr, Dockerfile: d.r.Lint.Context.Dockerfile, Tags: []string{d.r.Image}, Platform: "linux/amd64", NoCache: d.o.NoCache,
	}, func(ev docker.Event) { d.o.Say(Event{Step: StepBuild, Text: ev.Text, Docker: &ev}) })
	_ = pr.Close() // lets a writer that nobody read go on to its end
	perr := <-packed
	if perr != nil && !errors.Is(perr, io.ErrClosedPipe) && ctx.Err() == nil {
		return readFailed(ctx, perr)
	}
	return err
}

func (d *run) push(ctx context.Context) error {
	e, err := d.connect(ctx)
	if err != nil {
		return err
	}
	d.say(StepPush, "%s", d.r.Image)
	digest, err := e.Push(ctx, d.r.Image, d.login, func(ev docker.Event) { d.o.Say(Event{Step: StepPush, Text: ev.Text, Docker: &ev}) })
	d.r.Digest = digest
	return err
}

// spec is the template to make.
func (d *run) spec() client.TemplateSpec {
	target := d.o.Lint.Target
	s := client.TemplateSpec{
		Name: d.r.Name, Tags: d.o.Tags, CPU: d.t.CPU, MemoryMB: d.t.MemoryMB, Generation: d.t.Generation,
		Image: d.o.Place.pullRef(d.r.Image), Registry: d.o.Login, StartCommand: target.StartCommand(),
	}
	if d.o.CPU != 0 {
		s.CPU = d.o.CPU
	}
	if d.o.MemoryMB != 0 {
		s.MemoryMB = d.o.MemoryMB
	}
	if d.o.Generation != 0 {
		s.Generation = d.o.Generation
	}
	if d.o.StartCommand != nil {
		s.StartCommand = *d.o.StartCommand
	}
	if d.o.ReadyCommand != nil {
		s.ReadyCommand = *d.o.ReadyCommand
	}
	if d.r.Build == BuildPlatform {
		d.platformSpec(&s)
	}
	if target.IsExpress() {
		s.RegistryType, s.ACRInstance = d.o.Place.registryType(d.r.Image), d.o.Place.Instance
	}
	return s
}
