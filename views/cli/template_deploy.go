package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/templates"
	"abxdash/templates/deploy"
	"abxdash/views/present"
)

// deployFlags are those of build and deploy.
type deployFlags struct {
	lintFlags
	registry, namespace, repo, tag, instance string
	user                                     string
	passwordStdin                            bool
	image, wheel, build                      string
	noCache, push                            bool
	tags                                     []string
	cpu                                      float64
	memory, generation                       int
	startCmd, readyCmd                       string
	timeout                                  time.Duration
	from, until, api, team                   string
	templateID, buildID                      string
}

// image adds the flags about the image.
func (d *deployFlags) addImage(cmd *cobra.Command) {
	d.add(cmd)
	f := cmd.Flags()
	f.StringVar(&d.registry, "registry", "", "registry host (default the personal edition's of the region, with --acr-namespace)")
	f.StringVar(&d.registry, "acr-registry", "", "the same as --registry")
	f.StringVar(&d.namespace, "acr-namespace", "", "namespace in the registry (default ACR_NAMESPACE)")
	f.StringVar(&d.repo, "acr-repo", "", "repository (default the template's name)")
	f.StringVarP(&d.tag, "tag", "t", "", "image tag (default made of version and content)")
	f.StringVar(&d.wheel, "wheel", "", "wheel of agent-sandbox-server for the image (default ABX_SERVER_WHEEL, else one in the folder)")
	f.StringVar(&d.build, "build", "auto", "auto, docker or platform: what builds the image")
	f.BoolVar(&d.noCache, "no-cache", false, "build every step again")
	f.StringVar(&d.user, "acr-username", "", "user name for the registry; its password is ABX_REGISTRY_PASSWORD, or comes with --password-stdin")
	f.BoolVar(&d.passwordStdin, "password-stdin", false, "read the registry password from standard input")
	f.StringVar(&d.instance, "acree-instance-id", "", "id of the ACR Enterprise instance")
}

func (c *cli) templateBuildCmd() *cobra.Command {
	var d deployFlags
	cmd := &cobra.Command{
		Use: "build [DIR]", Short: "Build a template's image with Docker",
		Long: `build lints the folder and builds its image for linux/amd64 with the Docker engine.
With --push it pushes the image too. Nothing is written into the folder.`,
		Args: argCount(0, 1, "build takes one folder"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if err := c.writable("template build"); err != nil {
				return err
			}
			o, err := c.deployOptions(d)
			if err != nil {
				return err
			}
			if o.Build == deploy.BuildPlatform {
				e := client.Usagef("template build", "a platform builds only while it deploys")
				e.Hint = "use: abxdash template deploy --build platform"
				return e
			}
			o.Dir, o.Build, o.Last = templateDir(args), deploy.BuildDocker, deploy.StepBuild
			if d.push {
				o.Last = deploy.StepPush
				if err := c.registryLogin(&o, d, nil); err != nil {
					return err
				}
			} else if o.Place.Registry == "" && o.Place.Namespace == "" {
				o.Place.Local = true
			}
			return c.deploy(ctx, o)
		}),
	}
	d.addImage(cmd)
	cmd.Flags().BoolVar(&d.push, "push", false, "push the image")
	return cmd
}

func (c *cli) templateDeployCmd() *cobra.Command {
	var d deployFlags
	cmd := &cobra.Command{
		Use: "deploy [DIR]", Short: "Build, push and create a template at its provider",
		Long: `deploy lints the folder, builds the image, pushes it, creates the template (or
updates the one of that name) and follows the provider's build until it is ready.

With an access key pair (ALICLOUD_ACCESS_KEY_ID and ALICLOUD_ACCESS_KEY_SECRET)
Express is asked natively, else over the E2B API with the API key; --api decides
otherwise.

--build auto builds the Dockerfile with Docker and pushes the image. Where the
provider builds of steps (e2b, local) and there is no registry or no Docker
engine, the Dockerfile goes there as steps, and its files are uploaded. Express
takes images only.

A step that failed can be tried again with --from, and --until ends after one:
--from push --until push pushes and does nothing else.`,
		Args: argCount(0, 1, "deploy takes one folder"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if err := c.writable("template deploy"); err != nil {
				return err
			}
			o, err := c.deployOptions(d)
			if err != nil {
				return err
			}
			o.Dir = templateDir(args)
			// What is wrong with the files is said before anything is asked or sent (TPL-05).
			if err := c.lintFirst(ctx, o); err != nil {
				return err
			}
			native, done, err := c.templateMaker(ctx, &o, d)
			if err != nil {
				return err
			}
			defer done()
			if err := c.registryLogin(&o, d, native); err != nil {
				return err
			}
			question := fmt.Sprintf("building and keeping a template at %s may cost money; deploy %s?", present.Clean(o.Lint.Target.Provider), present.Clean(o.Dir))
			if err := c.confirm(ctx, "template deploy", question); err != nil {
				return err
			}
			return c.deploy(ctx, o)
		}),
	}
	d.addImage(cmd)
	f := cmd.Flags()
	f.StringVarP(&d.alias, "alias", "a", "", "the template's name at the provider (default template.yaml's)")
	f.StringSliceVar(&d.tags, "template-tag", nil, "tag of the template at the provider; may be repeated")
	f.StringVar(&d.image, "image", "", "use this image that is pushed already; nothing is built")
	f.Float64Var(&d.cpu, "cpu", 0, "vCPUs (default template.yaml's)")
	f.IntVar(&d.memory, "memory", 0, "memory in MiB (default template.yaml's)")
	f.IntVar(&d.generation, "generation", 0, "Express runtime, 1 or 2 (default template.yaml's)")
	f.StringVar(&d.startCmd, "start-cmd", "", "command that starts the server (default the target's own)")
	f.StringVar(&d.readyCmd, "ready-cmd", "", "command that succeeds once the template is ready")
	f.DurationVar(&d.timeout, "timeout", 0, "how long the provider's build may take (default 15m)")
	f.StringVar(&d.from, "from", "", "begin with this step: login, build, push, create, ready")
	f.StringVar(&d.until, "until", "", "end after this step: login, build, push, create, ready")
	f.StringVar(&d.templateID, "template-id", "", "template to follow with --from ready")
	f.StringVar(&d.buildID, "build-id", "", "build to follow with --from ready")
	f.StringVar(&d.api, "api", "auto", "auto, native or e2b: how the template is created")
	f.StringVar(&d.team, "team-id", "", "team of the template (native API)")
	return cmd
}

// lintFirst says what is wrong with the files before anything is asked of
// anybody. How the image is built is decided later: that needs the provider.
func (c *cli) lintFirst(ctx context.Context, o deploy.Options) error {
	l := o.Lint
	l.Alias, l.Repository = o.Alias, o.Place.Repository
	r, err := templates.Lint(ctx, o.Dir, l)
	if err != nil || r.OK {
		return err
	}
	if !c.flags.JSON {
		c.say("%-6s  %s", deploy.StepLint, r.Counts())
	}
	err = r.Problems.Err("check the template")
	return c.deployed(deploy.Result{Lint: r, Steps: []deploy.Done{{
		Step: deploy.StepLint, Err: client.OneLine(err.Error(), 300), Code: client.CodeOf(err),
	}}}, err)
}

// deployOptions turns flags and settings into options.
func (c *cli) deployOptions(d deployFlags) (deploy.Options, error) {
	const op = "read the flags"
	l := d.lintFlags
	o := deploy.Options{
		Lint: c.lintOptions(l), Image: d.image, Alias: d.alias, Tags: d.tags, Wheel: d.wheel, WheelSetting: c.setting("ABX_SERVER_WHEEL"),
		Place: deploy.Place{Registry: d.registry, Namespace: d.namespace, Repository: d.repo, Tag: d.tag, Instance: d.instance},
		CPU:   d.cpu, MemoryMB: d.memory, Generation: d.generation, NoCache: d.noCache, Engine: c.Templates.Engine,
		From: deploy.Step(d.from), Resume: client.TemplateBuild{TemplateID: d.templateID, BuildID: d.buildID}, Patience: d.timeout,
	}
	if o.Place.Namespace == "" && o.Place.Registry == "" {
		o.Place.Namespace = c.setting("ACR_NAMESPACE")
	}
	if o.Engine == nil {
		o.Engine = func() (deploy.Engine, error) {
			return nil, &client.Error{Op: "reach the Docker engine", Code: client.CodeDockerBuild, Message: "there is none"}
		}
	}
	if d.startCmd != "" {
		o.StartCommand = &d.startCmd
	}
	if d.readyCmd != "" {
		o.ReadyCommand = &d.readyCmd
	}
	o.Last = deploy.Step(d.until)
	for flag, step := range map[string]deploy.Step{"--from": o.From, "--until": o.Last} {
		if step != "" && (step == deploy.StepLint || !slices.Contains(deploy.Steps(), step)) {
			return o, client.Usagef(op, "%s is login, build, push, create or ready", flag)
		}
	}
	switch o.Build = deploy.BuildMode(d.build); {
	case o.From != "" && o.Last != "" && slices.Index(deploy.Steps(), o.From) > slices.Index(deploy.Steps(), o.Last):
		return o, client.Usagef(op, "--from %s comes after --until %s", o.From, o.Last)
	case o.From == deploy.StepReady && d.templateID == "":
		return o, client.Usagef(op, "--from ready needs --template-id, and --build-id over the E2B API")
	case d.build == "dockerfile":
		o.Build = deploy.BuildDocker
	case o.Build != deploy.BuildAuto && o.Build != deploy.BuildDocker && o.Build != deploy.BuildPlatform:
		return o, client.Usagef(op, "--build is auto, docker or platform")
	}
	return o, nil
}

// registryLogin finds the login for the push: the flags', a setting's, or a
// temporary one with the access key pair.
func (c *cli) registryLogin(o *deploy.Options, d deployFlags, native *NativeTemplates) error {
	if d.passwordStdin && d.user == "" {
		return client.Usagef("read the flags", "--password-stdin needs --acr-username")
	}
	user := d.user
	if user == "" {
		user = c.setting("ABX_REGISTRY_USERNAME")
	}
	if user != "" {
		password := c.setting("ABX_REGISTRY_PASSWORD")
		if d.passwordStdin {
			text, err := io.ReadAll(io.LimitReader(c.In, 64<<10))
			if err != nil {
				return &client.Error{Op: "read the password", Code: client.CodeRegistryLogin, Err: err}
			}
			password = strings.TrimRight(string(text), "\r\n")
		}
		if password == "" {
			return &client.Error{Op: "log in to the registry", Code: client.CodeRegistryLogin, Message: "there is a user name and no password", Hint: "set ABX_REGISTRY_PASSWORD, or give --password-stdin"}
		}
		o.Login = &client.RegistryLogin{Username: user, Password: password}
		return nil
	}
	host := o.Place.Registry
	if native != nil && native.Login != nil && (host == "" || strings.HasSuffix(host, ".aliyuncs.com")) && o.Image == "" {
		o.Ask = func(ctx context.Context) (client.RegistryLogin, error) { return native.Login(ctx, d.instance) }
	}
	return nil
}

// templateMaker chooses how templates are made: natively with an access key
// pair, else over the provider's own API. The caller calls done.
func (c *cli) templateMaker(ctx context.Context, o *deploy.Options, d deployFlags) (native *NativeTemplates, done func(), err error) {
	none := func() {}
	target := o.Lint.Target
	if d.api != "auto" && d.api != "native" && d.api != "e2b" {
		return nil, none, client.Usagef("read the flags", "--api is auto, native or e2b")
	}
	if target.IsExpress() && c.Templates.Native != nil {
		n, err := c.Templates.Native(target.Region, d.team)
		switch {
		case err == nil:
			native = &n
		case d.api == "native" || client.CodeOf(err) != client.CodeAuthMissing:
			return nil, none, err
		}
	}
	if native != nil && d.api != "e2b" {
		o.Maker = native.Maker
		return native, none, nil
	}
	if d.api == "native" {
		return nil, none, client.Usagef("create the template", "only %s has a native API", templates.Express)
	}
	p, s, err := c.templateProvider(ctx, target.Provider)
	if err != nil {
		return nil, none, err
	}
	t, ok := client.Find[client.Templates](p)
	if !ok {
		s.Close()
		return nil, none, p.Capabilities().Missing(p.Name(), client.CapTemplates)
	}
	caps := p.Capabilities()
	o.Maker, o.Steps, o.StepsWhy = t, caps.Has(client.CapTemplateSteps), caps.Why[client.CapTemplateSteps]
	return native, s.Close, nil
}

// templateProvider opens one provider.
func (c *cli) templateProvider(ctx context.Context, name string) (client.Provider, *Session, error) {
	flags := c.flags
	flags.Provider = name
	s, err := (&cli{App: c.App, flags: flags}).open(ctx)
	if err != nil {
		return nil, nil, err
	}
	p, err := creator(s)
	if err == nil {
		err = p.Capabilities().Missing(p.Name(), client.CapTemplates)
	}
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return p, s, nil
}

// deploy runs and prints.
func (c *cli) deploy(ctx context.Context, o deploy.Options) error {
	o.Say = func(e deploy.Event) {
		if c.flags.JSON || e.Docker != nil && e.Docker.Kind == "progress" {
			return
		}
		text := e.Text
		if e.Docker != nil && e.Docker.Steps > 0 && !strings.HasPrefix(text, "[") {
			text = fmt.Sprintf("%d/%d %s", e.Docker.Step, e.Docker.Steps, text)
		}
		c.say("%-6s  %s", e.Step, present.CleanMax(text, 300))
	}
	r, err := deploy.Run(ctx, o)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(c.Err, "abxdash: %s\n", interrupted(r))
	}
	return c.deployed(r, err)
}

// deployed tells how a deploy ended.
func (c *cli) deployed(r deploy.Result, err error) error {
	var lint bool
	if n := len(r.Steps); n > 0 && r.Steps[n-1].Step == deploy.StepLint && !r.Steps[n-1].OK {
		lint = true
	}
	switch {
	case c.flags.JSON:
		if perr := c.printJSON(r); perr != nil {
			return perr
		}
	case lint:
		if perr := c.printProblems(r.Lint.Problems); perr != nil {
			return perr
		}
		if r.Lint.Problems.Failed() {
			// They have been listed, each with its code.
			c.say("the files need work first; nothing was built or sent")
			return &exitError{code: ExitError}
		}
	case err == nil:
		if perr := c.printDeployed(r); perr != nil {
			return perr
		}
	}
	var ce *client.Error
	if err != nil && r.Hint != "" && errors.As(err, &ce) && ce.Hint == "" {
		ce.Hint = r.Hint
	}
	return err
}

// interrupted is the line about a deploy that a signal ended: where it was, and
// what goes on without it.
func interrupted(r deploy.Result) string {
	text := "interrupted"
	if n := len(r.Steps); n > 0 {
		text += " at step " + string(r.Steps[n-1].Step)
	}
	switch {
	case r.Cancelled:
		text += "; the build was cancelled, nothing goes on"
	case r.TemplateID != "":
		text += "; the provider goes on building " + present.Clean(r.Name)
		if r.Hint != "" {
			text += "; " + present.CleanMax(r.Hint, 200)
		}
	default:
		text += "; no template was made"
	}
	return text
}

func (c *cli) printDeployed(r deploy.Result) error {
	if r.TemplateID == "" {
		_, err := fmt.Fprintln(c.Out, present.Clean(r.Image))
		return err
	}
	word := "created"
	if r.Updated {
		word = "updated"
	}
	if _, err := fmt.Fprintf(c.Out, "%s %s  %s  %s\n", word, present.Clean(r.Name), present.Clean(r.TemplateID), present.Clean(r.State)); err != nil {
		return err
	}
	c.say("next: abxdash create --template %s", present.Clean(r.Name))
	if r.ServeByHand {
		c.say("then: abxdash template serve ID, because nothing starts the server in a new sandbox of it")
	}
	return nil
}
