package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"abxdash/client"
	"abxdash/templates"
)

// BuildMode is what an image is made with.
type BuildMode string

// Build modes. BuildImage is never asked for: it is what comes of an image that
// is there already.
const (
	BuildAuto     BuildMode = "auto"
	BuildDocker   BuildMode = "docker"
	BuildPlatform BuildMode = "platform"
	BuildImage    BuildMode = "image"
)

// choose decides what the template is made of, and names the image.
func (d *run) choose(ctx context.Context) error {
	c := d.r.Lint.Context
	switch {
	case d.o.Image != "":
		d.r.Build, d.r.Image = BuildImage, d.o.Image
		return nil
	case c.Dockerfile == "":
		return d.withoutDockerfile()
	case d.o.Build == BuildPlatform && !d.o.Steps && d.t.BaseImage != "":
		// Asked not to use the Dockerfile, where the platform takes images only.
		return d.withoutDockerfile()
	}
	platform, err := d.platformBuild(ctx)
	if err != nil {
		return err
	}
	if d.wheel, err = FindWheel(d.o.Wheel, d.o.WheelSetting, c); err != nil {
		return err
	}
	d.r.Wheel = client.OneLine(d.wheel.String(), 200)
	d.say(StepLint, "%s", d.wheel)
	if platform {
		return d.readRecipe(ctx)
	}
	d.r.Build = BuildDocker
	content, err := digest(ctx, c, d.wheel)
	if err != nil {
		return err
	}
	d.r.Image, err = d.o.Place.ref(d.t.Name, d.o.Lint.Target.Region, d.t.Version, content)
	return err
}

// platformBuild decides between Docker and the platform's own steps. By itself
// it takes the steps only where a provider has them and Docker cannot do it:
// no engine answers, or the image has nowhere to go.
func (d *run) platformBuild(ctx context.Context) (bool, error) {
	switch d.o.Build {
	case BuildPlatform:
		if !d.o.Steps {
			return false, d.noSteps()
		}
		return true, nil
	case BuildDocker:
		return false, nil
	}
	if !d.o.Steps || d.o.Place.Local || d.o.From == StepPush {
		return false, nil
	}
	if d.o.Place.Registry == "" && d.o.Place.Namespace == "" {
		d.say(StepLint, "no registry is named: the platform builds the Dockerfile's steps")
		return true, nil
	}
	if d.o.From == StepCreate {
		return false, nil // the image has been pushed
	}
	_, err := d.connect(ctx)
	var ce *client.Error
	switch {
	case err == nil:
		return false, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.As(err, &ce):
		d.say(StepLint, "%s: the platform builds the Dockerfile's steps", ce.Message)
	}
	return true, nil
}

// noSteps explains the way over an image before anything is sent (TPL-06).
func (d *run) noSteps() error {
	why := d.o.StepsWhy
	if why == "" {
		why = d.o.Lint.Target.Provider + " takes no build steps, only a ready image"
	}
	return &client.Error{
		Op: "choose the build", Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: client.OneLine(why, 200),
		Hint: "start a Docker engine and use --build docker, or give --image of one that is pushed already",
	}
}

// readRecipe turns the Dockerfile into steps; what they cannot say is listed
// with the other problems.
func (d *run) readRecipe(ctx context.Context) error {
	c := d.r.Lint.Context
	data, err := readDockerfile(c)
	if err != nil {
		return err
	}
	recipe, ps := templates.ReadRecipe(c.Dockerfile, data)
	d.r.Lint.Problems = append(d.r.Lint.Problems, ps...)
	if err := ps.Err("read the Dockerfile"); err != nil {
		d.r.Lint.OK = false
		d.r.Lint.Errors += ps.Count(templates.SeverityError)
		return err
	}
	d.recipe = recipe
	if d.steps, d.lines, err = steps(ctx, recipe, c, d.wheel); err != nil {
		return err
	}
	d.onThisMachine()
	d.r.Build, d.r.Image = BuildPlatform, d.recipe.From
	d.say(StepLint, "%d steps on %s, built by the platform", len(d.steps), d.recipe.From)
	return nil
}

// thisMachine is the provider that builds on this machine's own system, without images.
const thisMachine = "local"

// onThisMachine words a recipe for the local server: whatever image it names,
// its programs are this machine's. pip is told that it may install there,
// because the user's own packages are the sandbox's alone.
func (d *run) onThisMachine() {
	if d.o.Lint.Target.Provider != thisMachine {
		return
	}
	d.say(StepLint, "this machine's own system stands for %s", d.recipe.From)
	d.recipe.From = "base"
	d.steps = append([]client.TemplateStep{{Type: client.StepEnv, Args: []string{"PIP_BREAK_SYSTEM_PACKAGES", "1"}}}, d.steps...)
	d.lines = append([]int{0}, d.lines...)
}

// platformSpec adds the steps to a spec, and the start command of the file
// where no other was given.
func (d *run) platformSpec(s *client.TemplateSpec) {
	s.Steps, s.Force = d.steps, d.o.NoCache
	s.Progress = func(text string) { d.say(StepCreate, "%s", text) }
	// The login is the push registry's; others never see it.
	if host, _, _ := strings.Cut(d.recipe.From, "/"); host != d.o.Place.host() {
		s.Registry = nil
	}
	if d.o.StartCommand == nil && d.recipe.Start != "" {
		s.StartCommand = d.recipe.Start
	}
	if d.o.ReadyCommand == nil {
		s.ReadyCommand = d.recipe.Ready
	}
}

// withoutDockerfile makes the template from its base image, or says what is missing.
func (d *run) withoutDockerfile() error {
	if d.t.BaseImage == "" {
		return &client.Error{
			Op: "choose the image", Code: client.CodeTemplateParse, Message: "there is neither a Dockerfile nor base.image in template.yaml",
			Hint: "write a Dockerfile: abxdash template init --from-dockerfile FILE, or give --image of one that is pushed already",
		}
	}
	d.o.Image, d.r.Image, d.r.Build = d.t.BaseImage, d.t.BaseImage, BuildImage
	d.say(StepLint, "the template is made from %s", d.t.BaseImage)
	return nil
}

// maxDockerfile bounds a Dockerfile that is read.
const maxDockerfile = 1 << 20

func readDockerfile(c templates.BuildContext) ([]byte, error) {
	root, err := templates.OpenFolder(c.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, err := templates.ReadSmall(root, c.Dockerfile, maxDockerfile)
	if err != nil {
		return nil, &client.Error{Op: "read the Dockerfile", Code: client.CodeFiles, Err: fmt.Errorf("%s: %w", c.Dockerfile, err)}
	}
	return data, nil
}
