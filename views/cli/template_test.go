package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/client/docker"
	"abxdash/client/fake"
	"abxdash/templates/deploy"
	"abxdash/views/cli"
	"abxdash/views/present"
)

// templated is a provider with templates.
type templated struct {
	*fake.Provider
	list    []client.TemplateInfo
	tags    []client.TemplateTag
	made    []client.TemplateSpec
	deleted []string
	moved   []string
	end     string
	// steps tells that it takes build steps.
	steps bool
}

func (p *templated) Name() string { return "alicloud-express" }

func (p *templated) Capabilities() client.Capabilities {
	c := p.Provider.Capabilities()
	c.Have[client.CapTemplates], c.Have[client.CapTemplateSteps] = true, p.steps
	return c
}

func (p *templated) Templates(context.Context) ([]client.TemplateInfo, error) { return p.list, nil }

func (p *templated) Template(_ context.Context, ref string) (client.TemplateInfo, error) {
	for _, t := range p.list {
		if t.ID == ref || t.Name() == ref {
			return t, nil
		}
	}
	return client.TemplateInfo{}, &client.Error{Op: "get template", Code: client.CodeTemplateMissing, Kind: client.ErrNotFound}
}

func (p *templated) CreateTemplate(_ context.Context, s client.TemplateSpec) (client.TemplateBuild, error) {
	p.made = append(p.made, s)
	return client.TemplateBuild{TemplateID: "tpl1", BuildID: "b1"}, nil
}

func (p *templated) UpdateTemplate(ctx context.Context, ref string, s client.TemplateSpec) (client.TemplateBuild, error) {
	return p.CreateTemplate(ctx, s)
}

func (p *templated) TemplateBuild(context.Context, client.TemplateBuild, int) (client.BuildState, error) {
	return client.BuildState{State: p.end, Reason: "boom\x1b[31m"}, nil
}

func (p *templated) DeleteTemplate(_ context.Context, ref string) error {
	p.deleted = append(p.deleted, ref)
	return nil
}

func (p *templated) TemplateTags(context.Context, string) ([]client.TemplateTag, error) {
	return p.tags, nil
}

func (p *templated) AssignTags(_ context.Context, target string, tags []string) error {
	p.moved = append(p.moved, target+" "+strings.Join(tags, ","))
	return nil
}

func (p *templated) RemoveTags(_ context.Context, name string, tags []string) error {
	p.moved = append(p.moved, "-"+name+" "+strings.Join(tags, ","))
	return nil
}

// noEngine is a Docker engine that is not there, or does nothing.
type noEngine struct{ down bool }

func (e noEngine) Ping(context.Context) error {
	if e.down {
		return &client.Error{Op: "reach the Docker engine", Code: client.CodeDockerBuild, Message: "no Docker engine answers", Hint: "start Docker"}
	}
	return nil
}

func (noEngine) Build(_ context.Context, b docker.Build, _ func(docker.Event)) (string, error) {
	_, err := io.Copy(io.Discard, b.Context)
	return "sha256:1", err
}

func (noEngine) Push(context.Context, string, docker.Login, func(docker.Event)) (string, error) {
	return "sha256:2", nil
}

// templateBench runs the template commands.
type templateBench struct {
	t       *testing.T
	p       *templated
	engine  noEngine
	setting map[string]string
	opened  int
}

func newTemplateBench(t *testing.T) *templateBench {
	t.Helper()
	p := fake.New(fake.Options{})
	t.Cleanup(p.Close)
	return &templateBench{t: t, p: &templated{Provider: p, end: "ready"}, setting: map[string]string{}}
}

func (b *templateBench) run(args ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	var out, errs bytes.Buffer
	app := &cli.App{
		In: strings.NewReader(""), Out: &out, Err: &errs, IsTerminal: func(any) bool { return false },
		Signals: func() (<-chan os.Signal, func()) { return make(chan os.Signal), func() {} },
		Open: func(context.Context, cli.Flags) (*cli.Session, error) {
			b.opened++
			return &cli.Session{Providers: present.Providers{b.p}, Default: b.p.Name()}, nil
		},
		Templates: cli.TemplateTools{
			Setting: func(name string) string { return b.setting[name] },
			Engine:  func() (deploy.Engine, error) { return b.engine, nil },
		},
	}
	code = cli.Run(b.t.Context(), app, append([]string{"template"}, args...))
	if strings.ContainsRune(out.String()+errs.String(), '\x1b') {
		b.t.Errorf("%q wrote an escape sequence", args)
	}
	return code, out.String(), errs.String()
}

func (b *templateBench) folder() string {
	b.t.Helper()
	dir := filepath.Join(b.t.TempDir(), "demo")
	if code, _, errs := b.run("init", dir, "--kind", "minimal"); code != 0 {
		b.t.Fatal(errs)
	}
	return dir
}

func TestTemplateInit(t *testing.T) {
	b := newTemplateBench(t)
	dir := filepath.Join(t.TempDir(), "My Thing")
	code, out, _ := b.run("init", dir, "--json", "--dry-run")
	if code != 0 || !strings.Contains(out, `"name": "my-thing"`) || !strings.Contains(out, `"target": "alicloud-express"`) {
		t.Errorf("%d %s", code, out)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a dry run wrote something")
	}
	b.setting["ABX_BASE_IMAGE_TAG"] = "v0.0.52"
	if code, out, errs := b.run("init", dir); code != 0 {
		t.Fatal(code, out, errs)
	}
	data, err := os.ReadFile(filepath.Join(dir, "Dockerfile"))
	if err != nil || !strings.HasPrefix(string(data), "FROM fc-e2b-registry.cn-hangzhou.cr.aliyuncs.com/runtime/base:v0.0.52\n") {
		t.Errorf("%s, %v", data, err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if code, _, errs := b.run("init", other, "--provider", "opensandbox"); code != 0 {
		t.Fatal(errs)
	}
	data, err = os.ReadFile(filepath.Join(other, "Dockerfile"))
	if err != nil || !strings.HasPrefix(string(data), "FROM python:3.12-slim\n") || !strings.HasSuffix(string(data), `CMD ["python3", "commands.py"]`+"\n") {
		t.Errorf("%s, %v", data, err)
	}
	for _, bad := range [][]string{
		{"init", dir, "--kind", "x"},
		{"init", dir, "--name", "A B"},
		{"init", dir, "--kind", "dockerfile"},
		{"init", "a", "b"},
		{"init", dir, "--group", "shell"},
		{},
	} {
		if code, _, _ := b.run(bad...); code != cli.ExitUsage {
			t.Errorf("%q: %d", bad, code)
		}
	}
	if b.opened > 0 {
		t.Error("providers were opened")
	}
}

func TestTemplateReadOnly(t *testing.T) {
	b := newTemplateBench(t)
	dir := b.folder()
	for _, args := range [][]string{
		{"init", filepath.Join(t.TempDir(), "x")},
		{"check", dir},
		{"build", dir},
		{"deploy", dir, "--yes"},
		{"rm", "x", "--yes"},
		{"rollback", "x", "--to", "y"},
		{"tags", "x", "--add", "y"},
	} {
		if code, _, errs := b.run(append(args, "--read-only")...); code != cli.ExitError || !strings.Contains(errs, "E9013") {
			t.Errorf("%q: %d %s", args, code, errs)
		}
	}
}

func TestTemplateDeploy(t *testing.T) {
	b := newTemplateBench(t)
	dir := b.folder()
	code, _, errs := b.run("deploy", dir, "--acr-namespace", "team", "--acr-registry", "127.0.0.1:1")
	if code != cli.ExitUsage || !strings.Contains(errs, "--yes") || len(b.p.made) > 0 {
		t.Errorf("without --yes: %d %s", code, errs)
	}
	code, out, errs := b.run("deploy", dir, "--acr-namespace", "team", "--acr-registry", "127.0.0.1:1", "--alias", "my-alias", "--cpu", "4", "--yes", "--json")
	if code != 0 {
		t.Fatalf("%d %s", code, errs)
	}
	var r deploy.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || !r.OK || r.TemplateID != "tpl1" || r.Name != "my-alias" {
		t.Errorf("%+v, %v", r, err)
	}
	want := []client.TemplateSpec{{
		Name: "my-alias", CPU: 4, Image: r.Image, StartCommand: "agent-sandbox-server serve --port 9000 --commands /home/user/app/commands.py",
	}}
	if diff := cmp.Diff(want, b.p.made); diff != "" {
		t.Error(diff)
	}
	b.p.end = "error"
	if code, _, errs = b.run("deploy", dir, "--image", "a/b:1", "--yes", "-q"); code != cli.ExitError || !strings.Contains(errs, "boom") || !strings.Contains(errs, "(E7010)") {
		t.Errorf("failed build: %d %s", code, errs)
	}
	b.engine.down = true
	if code, _, errs = b.run("deploy", dir, "--acr-namespace", "team", "--yes", "-q"); code != cli.ExitError || strings.Count(errs, "\n") > 3 || !strings.Contains(errs, "(E7020)") {
		t.Errorf("no engine: %d %s", code, errs)
	}
}

// Generation 1 takes no start command: the last line says what does it.
func TestTemplateServeByHand(t *testing.T) {
	b := newTemplateBench(t)
	for generation, want := range map[string]bool{"1": true, "2": false} {
		code, _, errs := b.run("deploy", b.folder(), "--image", "a/b:1", "--generation", generation, "--yes")
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		if code != 0 || strings.Contains(lines[len(lines)-1], "abxdash template serve ID") != want {
			t.Errorf("generation %s: %d %s", generation, code, errs)
		}
	}
}

// TPL-05: nothing is asked of a provider for a reserved name.
func TestTemplateReservedNames(t *testing.T) {
	b := newTemplateBench(t)
	dir := b.folder()
	for _, args := range [][]string{{"--alias", " CodeX "}, {"--acr-repo", "openclaw"}} {
		code, out, errs := b.run(append([]string{"deploy", dir, "--acr-namespace", "team", "--yes"}, args...)...)
		if code != cli.ExitError || !strings.Contains(out+errs, "reserved") {
			t.Errorf("%q: %d %s %s", args, code, out, errs)
		}
	}
	if b.opened > 0 || len(b.p.made) > 0 {
		t.Error("the provider was asked")
	}
	if code, _, errs := b.run("deploy", dir, "--acr-registry", "127.0.0.1:1", "--alias", "openai-codex", "--yes"); code != 0 {
		t.Error(errs)
	}
}

func TestTemplateLogin(t *testing.T) {
	b := newTemplateBench(t)
	dir := b.folder()
	if code, _, errs := b.run("deploy", dir, "--image", "a/b:1", "--acr-username", "ada", "--yes"); code != cli.ExitError || !strings.Contains(errs, "E7022") {
		t.Errorf("%d %s", code, errs)
	}
	b.setting["ABX_REGISTRY_PASSWORD"] = "hush-hush-hush"
	code, out, errs := b.run("deploy", dir, "--image", "a/b:1", "--acr-username", "ada", "--yes", "--json")
	if code != 0 || strings.Contains(out+errs, "hush") || b.p.made[0].Registry.Password != "hush-hush-hush" {
		t.Errorf("%d %s %s", code, out, errs)
	}
}

func TestTemplateLsInfoRm(t *testing.T) {
	b := newTemplateBench(t)
	b.p.list = []client.TemplateInfo{{ID: "tpl1", Names: []string{"de\x1bmo"}, State: "ready", CPU: 2, MemoryMB: 2048, Builds: 3}, {ID: "tpl2"}}
	if code, out, _ := b.run("ls"); code != 0 || !strings.Contains(out, "tpl1") || !strings.Contains(out, "2048") {
		t.Errorf("%d %s", code, out)
	}
	code, out, _ := b.run("ls", "--json")
	var list []map[string]any
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || len(list) != 2 || list[0]["builds"] != 3.0 {
		t.Errorf("%d %s %v", code, out, err)
	}
	b.p.Add(client.Sandbox{ID: "iaaaaaaaaaaaaaaaaaaaa", TemplateID: "tpl1"})
	if code, out, _ = b.run("info", "tpl1", "--json"); code != 0 || !strings.Contains(out, `"used_by": 1`) {
		t.Errorf("%d %s", code, out)
	}
	if code, _, errs := b.run("rm", "tpl1", "--yes"); code != cli.ExitError || !strings.Contains(errs, "used by 1 sandbox") {
		t.Errorf("in use: %d %s", code, errs)
	}
	if code, _, _ = b.run("rm", "tpl2"); code != cli.ExitUsage {
		t.Errorf("without --yes: %d", code)
	}
	if code, _, errs := b.run("rm", "tpl2", "--yes"); code != 0 || cmp.Diff([]string{"tpl2"}, b.p.deleted) != "" {
		t.Errorf("%d %s %v", code, errs, b.p.deleted)
	}
	if code, _, _ = b.run("info", "nope"); code != cli.ExitNotFound {
		t.Errorf("unknown: %d", code)
	}
}

func TestTemplateRollback(t *testing.T) {
	b := newTemplateBench(t)
	b.p.list = []client.TemplateInfo{{ID: "tpl1", Names: []string{"demo"}, History: []client.TemplateBuildInfo{{ID: "b2", State: "error"}, {ID: "b1", State: "ready"}, {ID: "b0", State: "error"}}}}
	b.p.tags = []client.TemplateTag{{Tag: "default", BuildID: "b2"}, {Tag: "v1", BuildID: "b1"}, {Tag: "v0", BuildID: "b0"}, {Tag: "same", BuildID: "b2"}}
	if code, out, _ := b.run("tags", "demo"); code != 0 || !strings.Contains(out, "v1") {
		t.Errorf("%d %s", code, out)
	}
	if code, _, errs := b.run("rollback", "demo", "--to", "v9", "--yes"); code != cli.ExitNotFound || !strings.Contains(errs, "template tags demo") {
		t.Errorf("unknown tag: %d %s", code, errs)
	}
	if code, _, errs := b.run("rollback", "demo", "--to", "v0", "--yes"); code != cli.ExitError || !strings.Contains(errs, "no good build") {
		t.Errorf("failed build: %d %s", code, errs)
	}
	// Without a terminal nothing is moved unasked, and what it would do is shown.
	if code, _, errs := b.run("rollback", "demo"); code != cli.ExitUsage || !strings.Contains(errs, "--yes") || len(b.p.moved) > 0 {
		t.Errorf("unasked: %d %s %v", code, errs, b.p.moved)
	}
	for _, args := range [][]string{{"rollback", "demo", "--yes"}, {"rollback", "demo", "--to", "v1", "--yes"}} {
		b.p.moved = nil
		code, out, errs := b.run(args...)
		if code != 0 || cmp.Diff([]string{"demo:v1 default"}, b.p.moved) != "" || !strings.Contains(out, "default (build b2, error) → v1 (build b1, ready)") {
			t.Errorf("%q: %d %s %s %v", args, code, out, errs, b.p.moved)
		}
	}
	code, out, _ := b.run("rollback", "demo", "--yes", "--json")
	var plan deploy.Rollback
	if err := json.Unmarshal([]byte(out), &plan); err != nil || code != 0 || plan.From.BuildID != "b2" || plan.To.Tag != "v1" {
		t.Errorf("%d %s", code, out)
	}
	b.p.tags = []client.TemplateTag{{Tag: "default", BuildID: "b1"}, {Tag: "v1", BuildID: "b1"}}
	b.p.moved = nil
	if code, out, _ := b.run("rollback", "demo", "--to", "v1"); code != 0 || !strings.Contains(out, "already") || len(b.p.moved) > 0 {
		t.Errorf("there already: %d %s %v", code, out, b.p.moved)
	}
}

// One step alone, and steps that make no sense.
func TestTemplateSteps(t *testing.T) {
	b := newTemplateBench(t)
	dir := b.folder()
	common := []string{"deploy", dir, "--acr-registry", "127.0.0.1:1", "--acr-namespace", "team", "--yes", "--json"}
	for _, tc := range []struct{ args, steps string }{
		{"--from push --until push", "lint push"},
		{"--from build --until push", "lint build push"},
		{"--until build", "lint build"},
		{"--from create", "lint create ready"},
		{"--from ready --template-id tpl1", "lint ready"},
	} {
		code, out, errs := b.run(append(common, strings.Fields(tc.args)...)...)
		var r deploy.Result
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
			t.Errorf("%s: %d %s", tc.args, code, errs)
		}
		var steps []string
		for _, s := range r.Steps {
			steps = append(steps, string(s.Step))
		}
		if got := strings.Join(steps, " "); got != tc.steps {
			t.Errorf("%s: %s", tc.args, got)
		}
	}
	for _, args := range []string{"--from lint", "--from nothing", "--until nothing", "--from ready --until push", "--from ready", "--build x"} {
		if code, _, _ := b.run(append(common, strings.Fields(args)...)...); code != cli.ExitUsage {
			t.Errorf("%s: %d", args, code)
		}
	}
	if code, _, errs := b.run("build", dir, "--build", "platform"); code != cli.ExitUsage || !strings.Contains(errs, "deploy --build platform") {
		t.Errorf("%d %s", code, errs)
	}
}

// TPL-06: whether steps are taken is known before anything is sent.
func TestTemplatePlatform(t *testing.T) {
	b := newTemplateBench(t)
	dir := b.folder()
	code, _, errs := b.run("deploy", dir, "--build", "platform", "--yes")
	if code != cli.ExitError || !strings.Contains(errs, "E8004") || !strings.Contains(errs, "--image") || len(b.p.made) > 0 {
		t.Errorf("%d %s", code, errs)
	}
	// The same folder for a provider that takes them; Docker is not asked.
	b.p.steps, b.engine.down = true, true
	other := filepath.Join(t.TempDir(), "other")
	if code, _, errs := b.run("init", other, "--kind", "minimal", "--provider", "e2b"); code != 0 {
		t.Fatal(errs)
	}
	code, out, errs := b.run("deploy", other, "--provider", "e2b", "--yes", "--json")
	var r deploy.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || r.Build != deploy.BuildPlatform {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	if len(b.p.made) != 1 || b.p.made[0].Image != "python:3.12-slim" || len(b.p.made[0].Steps) == 0 || b.p.made[0].StartCommand != "python3 commands.py" {
		t.Errorf("%+v", b.p.made)
	}
}

// What was done in a sandbox becomes a folder; what is left out is named.
func TestTemplateFromSandbox(t *testing.T) {
	b := newTemplateBench(t)
	for _, args := range []string{
		"--kind python --from-sandbox x", "--kind sandbox", "--in local", "--all-files", "--from-sandbox x --from-dockerfile y", "--kind dockerfile",
	} {
		if code, _, errs := b.run(append([]string{"init", filepath.Join(t.TempDir(), "x")}, strings.Fields(args)...)...); code != cli.ExitUsage {
			t.Errorf("%s: %d %s", args, code, errs)
		}
	}
	if b.opened > 0 {
		t.Error("a provider was opened")
	}
	if code, _, errs := b.run("init", filepath.Join(t.TempDir(), "x"), "--from-sandbox", "nope"); code != cli.ExitNotFound {
		t.Errorf("%d %s", code, errs)
	}
}
