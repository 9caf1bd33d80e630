package templates

import (
	"context"
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	tpl "abxdash/templates"
	"abxdash/templates/deploy"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/draw"
	"abxdash/ui/form"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// Keys of the fields of a build or deploy.
const (
	fieldTarget    = "target"
	fieldAlias     = "alias"
	fieldTags      = "tags"
	fieldRegistry  = "registry"
	fieldNamespace = "namespace"
	fieldUser      = "user"
	fieldPassword  = "password"
	fieldImage     = "image"
	fieldNoCache   = "nocache"
	fieldBuild     = "build"
)

// deployForm asks for what a build or a deploy needs.
type deployForm struct {
	m         *Manager
	env       ui.Env
	dir       string
	target    string
	name      string
	buildOnly bool
	form      *form.Form
	// busy is set while it is found out how the template is made.
	busy bool
	err  error
}

var (
	_ ui.Overlay  = (*deployForm)(nil)
	_ ui.Capturer = (*deployForm)(nil)
)

func newDeployForm(m *Manager, dir, target, name string, buildOnly bool) *deployForm {
	return &deployForm{m: m, dir: dir, target: target, name: name, buildOnly: buildOnly}
}

// Init implements ui.Overlay.
func (d *deployForm) Init(env ui.Env) tea.Cmd {
	d.env = env
	tr := env.Lang
	noCache := form.Field{Key: fieldNoCache, Label: tr.T("No cache"), Kind: form.Check, Help: tr.T("build every step again")}
	if d.buildOnly {
		d.form = form.New(env.Keys, nil,
			form.Field{Key: fieldTarget, Label: tr.T("For"), Kind: form.Choice, Options: d.m.opt.Targets, Value: d.target, Help: tr.T("the provider whose rules hold; nothing is sent to it")}, noCache)
		d.form.Lang = tr
		return nil
	}
	d.form = form.New(
		env.Keys, nil,
		form.Field{Key: fieldTarget, Label: tr.T("Provider"), Kind: form.Choice, Options: d.m.opt.Targets, Value: d.target},
		form.Field{Key: fieldAlias, Label: tr.T("Name there"), Placeholder: orDash(present.Clean(d.name)), Help: tr.T("empty is template.yaml's; one that exists gets another build")},
		form.Field{Key: fieldTags, Label: tr.T("Tags"), Placeholder: "v2, stable", Help: tr.T("tags of the template at the provider, with commas"), Validate: checkTags},
		form.Field{Key: fieldBuild, Label: tr.T("Build"), Kind: form.Choice, Options: buildModes(), OptionHelp: func(mode string) string { return tr.Word(buildHelp(mode)) }},
		form.Field{Key: fieldRegistry, Label: tr.T("Registry"), Placeholder: tr.T("the region's personal one"), Help: tr.T("host that the image is pushed to")},
		form.Field{Key: fieldNamespace, Label: tr.T("Namespace"), Value: d.m.opt.setting("ACR_NAMESPACE"), Help: tr.T("in the registry; ACR_NAMESPACE is its default")},
		form.Field{Key: fieldUser, Label: tr.T("User"), Value: d.m.opt.setting("ABX_REGISTRY_USERNAME"), Placeholder: tr.T("none, or a temporary login"), Help: tr.T("of the registry; with an access key pair Alibaba's is asked for one")},
		form.Field{Key: fieldPassword, Label: tr.T("Password"), Kind: form.Secret, Placeholder: "ABX_REGISTRY_PASSWORD", Help: tr.T("is kept nowhere; empty takes ABX_REGISTRY_PASSWORD")},
		form.Field{Key: fieldImage, Label: tr.T("Image"), Placeholder: tr.T("built from the folder"), Help: tr.T("one that is pushed already; nothing is built then")},
		noCache,
	)
	d.form.Lang = tr
	return nil
}

func buildModes() []string {
	return []string{string(deploy.BuildAuto), string(deploy.BuildDocker), string(deploy.BuildPlatform)}
}

func buildHelp(mode string) string {
	switch deploy.BuildMode(mode) {
	case deploy.BuildDocker:
		return lang.Mark("with the Docker engine here")
	case deploy.BuildPlatform:
		return lang.Mark("the platform takes the Dockerfile's steps")
	}
	return lang.Mark("Docker, else the platform's steps")
}

func checkTags(text string) error {
	for _, t := range splitTags(text) {
		if err := checkTag(t); err != nil {
			return err
		}
	}
	return nil
}

func splitTags(text string) []string {
	var out []string
	for t := range strings.SplitSeq(text, ",") {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t)
		}
	}
	return out
}

// Title implements ui.Overlay.
func (d *deployForm) Title() string {
	if d.buildOnly {
		return d.env.Lang.T("Build %s", d.m.folderName(d.dir))
	}
	return d.env.Lang.T("Deploy %s", d.m.folderName(d.dir))
}

// Close implements ui.Overlay.
func (d *deployForm) Close() {}

// Keys implements ui.Overlay.
func (d *deployForm) Keys() []keymap.Context { return []keymap.Context{keymap.Form} }

// Captures implements ui.Capturer.
func (d *deployForm) Captures() bool { return true }

// Update implements ui.Overlay.
func (d *deployForm) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ThemeMsg:
		d.env.Theme = msg.Theme
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseClickMsg:
		switch d.form.Update(msg) {
		case form.Cancelled:
			return ui.CloseOverlay(d)
		case form.Changed:
			d.err = nil
		case form.Accepted:
			return d.accept()
		}
	case preparedMsg:
		if msg.form == d {
			return d.prepared(msg)
		}
	}
	return nil
}

// accept finds out how the template is made: keys are read for that, so not here.
func (d *deployForm) accept() tea.Cmd {
	if d.busy {
		return nil
	}
	d.busy = true
	v, m := d.values(), d.m
	return func() tea.Msg {
		msg := preparedMsg{form: d, values: v}
		msg.opts, msg.provider, msg.err = m.prepare(v)
		return msg
	}
}

// preparedMsg is a job that could begin, or why it cannot.
type preparedMsg struct {
	form     *deployForm
	values   deployValues
	opts     deploy.Options
	provider string
	err      error
}

// prepared begins a build, and asks before anything that costs.
func (d *deployForm) prepared(msg preparedMsg) tea.Cmd {
	d.busy = false
	if d.err = msg.err; d.err != nil {
		return nil
	}
	begin := ui.Cmd(beginMsg{dir: d.dir, provider: msg.provider, name: msg.values.alias, opts: msg.opts})
	if d.buildOnly {
		return tea.Sequence(ui.CloseOverlay(d), begin)
	}
	return tea.Sequence(ui.CloseOverlay(d), ui.OpenOverlay(dialog.Confirm(dialog.ConfirmOptions{
		Title: d.env.Lang.T("Deploy %s to %s", d.m.folderName(d.dir), present.Clean(msg.provider)),
		Lines: dialog.Plain(d.m.warning(msg)), Yes: d.env.Lang.T("deploy"), No: d.env.Lang.T("not now"), OnYes: begin,
	})))
}

// beginMsg starts a job.
type beginMsg struct {
	dir, provider, name string
	opts                deploy.Options
}

// deployValues is what the form holds.
type deployValues struct {
	dir, target string
	buildOnly   bool
	// alias is the template's name at the provider, given or template.yaml's.
	alias, given                               string
	registry, namespace, user, password, image string
	tags                                       []string
	noCache                                    bool
	build                                      deploy.BuildMode
}

func (d *deployForm) values() deployValues {
	value := func(key string) string { return strings.TrimSpace(d.form.Value(key)) }
	v := deployValues{
		dir: d.dir, target: value(fieldTarget), buildOnly: d.buildOnly, alias: value(fieldAlias), given: value(fieldAlias),
		registry: value(fieldRegistry), namespace: value(fieldNamespace), user: value(fieldUser), password: d.form.Value(fieldPassword),
		image: value(fieldImage), tags: splitTags(value(fieldTags)), noCache: d.form.On(fieldNoCache),
		build: deploy.BuildMode(value(fieldBuild)),
	}
	if v.alias == "" {
		v.alias = d.name
	}
	return v
}

// warning says what will happen and that it may cost.
func (m *Manager) warning(msg preparedMsg) string {
	tr, o := m.env.Lang, msg.opts
	text := tr.T("Building and keeping a template at %s may cost money.", present.Clean(msg.provider))
	if p := m.opt.CheckIn; p != nil && p.Name() == msg.provider {
		text = tr.T("It is built and kept on this machine, and costs nothing.")
	}
	text += "\n"
	if r := m.find(msg.provider, msg.values.alias); r != nil {
		text += "\n" + tr.T("%s is there already: it gets another build, and new sandboxes of it are of that one.", present.Clean(msg.values.alias))
		if n := len(r.used); n > 0 {
			text += "\n" + tr.N(n, "%d live sandbox of it go on as they are.", "%d live sandboxes of it go on as they are.", n)
		}
	}
	switch {
	case o.Image != "":
		text += "\n" + tr.T("Nothing is built: the image is %s", present.Clean(o.Image))
	case o.Build != deploy.BuildDocker && o.Steps && (o.Build == deploy.BuildPlatform || o.Place.Registry == "" && o.Place.Namespace == ""):
		text += "\n" + tr.T("The platform takes the Dockerfile's steps; no image is pushed.")
	case o.Login != nil:
		text += "\n" + tr.T("The image is pushed as %s.", present.Clean(o.Login.Username))
	case o.Ask != nil:
		text += "\n" + tr.T("A temporary login to the registry is asked for.")
	default:
		text += "\n" + tr.T("The image is pushed without a login.")
	}
	return text
}

// prepare turns the form into what a deploy takes. provider is "" for a build.
func (m *Manager) prepare(v deployValues) (o deploy.Options, provider string, err error) {
	target := m.opt.target(v.target)
	o = deploy.Options{
		Dir: v.dir, NoCache: v.noCache, Engine: m.opt.Engine, WheelSetting: m.opt.setting("ABX_SERVER_WHEEL"),
		Lint: tpl.LintOptions{Target: target, Python: m.opt.Python},
	}
	if o.Engine == nil {
		o.Engine = func() (deploy.Engine, error) {
			return nil, &client.Error{Op: "reach the Docker engine", Code: client.CodeDockerBuild, Message: "there is none"}
		}
	}
	if v.buildOnly {
		o.Last, o.Place.Local = deploy.StepBuild, true
		return o, "", nil
	}
	o.Alias, o.Tags, o.Image, o.Build = v.given, v.tags, v.image, v.build
	o.Place = deploy.Place{Registry: v.registry, Namespace: v.namespace}
	native, err := m.native(target)
	if err != nil {
		return o, "", err
	}
	if o.Login, err = m.login(v); err != nil {
		return o, "", err
	}
	aliyun := v.registry == "" || strings.HasSuffix(v.registry, ".aliyuncs.com")
	if o.Login == nil && native != nil && native.Login != nil && aliyun && o.Image == "" {
		o.Ask = func(ctx context.Context) (client.RegistryLogin, error) { return native.Login(ctx, "") }
	}
	if o.Maker, err = m.maker(target, native); err != nil {
		return o, "", err
	}
	if p := m.provider(target.Provider); native == nil && p != nil {
		missing := p.Capabilities().Missing(p.Name(), client.CapTemplateSteps)
		if o.Steps = missing == nil; missing != nil {
			o.StepsWhy = reason(missing)
		}
	}
	return o, target.Provider, nil
}

// login is the registry's, nil for none.
func (m *Manager) login(v deployValues) (*client.RegistryLogin, error) {
	if v.user == "" {
		return nil, nil
	}
	password := v.password
	if password == "" {
		password = m.opt.setting("ABX_REGISTRY_PASSWORD")
	}
	if password == "" {
		return nil, &client.Error{Op: "log in to the registry", Code: client.CodeRegistryLogin, Message: "there is a user name and no password"}
	}
	return &client.RegistryLogin{Username: v.user, Password: password}, nil
}

// native is the native API of Express, nil without its keys.
func (m *Manager) native(target tpl.Target) (*Native, error) {
	if !target.IsExpress() || m.opt.Native == nil {
		return nil, nil
	}
	n, err := m.opt.Native(target.Region)
	if err == nil {
		return &n, nil
	}
	if client.CodeOf(err) == client.CodeAuthMissing {
		err = nil // then it is done with the API key
	}
	return nil, err
}

// maker is how templates of the target are made: natively, else over the
// provider's own API.
func (m *Manager) maker(target tpl.Target, native *Native) (client.TemplateMaker, error) {
	if native != nil {
		return native.Maker, nil
	}
	p := m.provider(target.Provider)
	if p == nil {
		return nil, &client.Error{
			Op: "deploy", Code: client.CodeAuthMissing, Kind: client.ErrUnauthorized,
			Message: present.Clean(target.Provider) + " is not configured", Hint: "abxdash doctor says which keys are found",
		}
	}
	if err := p.Capabilities().Missing(p.Name(), client.CapTemplates); err != nil {
		return nil, err
	}
	api, ok := client.Find[client.Templates](p)
	if !ok {
		return nil, errors.New(present.Clean(p.Name()) + " has no template calls")
	}
	return api, nil
}

// Size implements ui.Overlay.
func (d *deployForm) Size(maxW, maxH int) (w, h int) {
	w = min(maxW, 76)
	return w, min(maxH, d.form.Height(w-4)+5)
}

// Draw implements ui.Overlay.
func (d *deployForm) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := d.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, d.Title(), t.Border.Focused, t.Border.TitleFocused)
	if in.Dx() < 6 || in.Dy() < 2 {
		return nil
	}
	in = uv.Rect(in.Min.X+1, in.Min.Y, in.Dx()-2, in.Dy())
	below := 1 // the keys
	if d.err != nil {
		below = 3 // and what is wrong, with a hint
	}
	h := min(d.form.Height(in.Dx()), max(1, in.Dy()-below))
	cur := d.form.Draw(scr, uv.Rect(in.Min.X, in.Min.Y, in.Dx(), h), t)
	if d.err != nil {
		y := in.Min.Y + h
		if y < in.Max.Y-1 {
			draw.Text(scr, in.Min.X+2, y, in.Dx()-2, present.ErrorLine(d.err), t.Text.Error)
		}
		if hint := present.Hint(d.err); hint != "" && y+1 < in.Max.Y-1 {
			draw.Text(scr, in.Min.X+2, y+1, in.Dx()-2, d.env.Lang.T("hint: %s", d.env.Lang.Word(hint)), t.Text.Dim)
		}
	}
	drawHints(scr, in, d.env, [][2]string{
		{present.KeyIn(d.env.Keys, keymap.Form, keymap.FormSubmit), map[bool]string{true: d.env.Lang.T("build"), false: d.env.Lang.T("go on")}[d.buildOnly]},
		{present.KeyIn(d.env.Keys, keymap.Form, keymap.FormNext), d.env.Lang.T("next field")},
		{present.KeyIn(d.env.Keys, keymap.Form, keymap.NavBack), d.env.Lang.T("cancel")},
	})
	return cur
}

// drawHints paints keys and what they do into the last row of in.
func drawHints(scr uv.Screen, in uv.Rectangle, env ui.Env, hints [][2]string) {
	list := make([]draw.Hint, 0, len(hints))
	for _, h := range hints {
		list = append(list, draw.Hint{Key: h[0], What: h[1]})
	}
	draw.Hints(scr, uv.Rect(in.Min.X+2, in.Min.Y, in.Dx()-2, in.Dy()), env.Theme, list...)
}
