//go:build linux

package deploy

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/local"
	"abxdash/templates"
)

// Without Docker and without an account: a Dockerfile becomes a template of the
// local server, sandboxes start from it, and the last good build comes back.
func TestDeployOnThisMachine(t *testing.T) {
	root, err := os.MkdirTemp("", "abxdash-deploy")
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.New(local.Config{Root: root, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := p.Stop(ctx, true); err != nil {
			t.Errorf("stop the local server: %v", err)
		}
		p.Close()
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	dir := stepFolder(t, map[string]string{"Dockerfile": "FROM python:3.12-slim\nWORKDIR /home/user/app\nENV GREETING=\"hi there\"\nCOPY src/ ./src/\nRUN echo $GREETING > greet.txt\nCMD [\"sleep\", \"600\"]\n", "src/a.txt": "a"})
	o := Options{
		Dir: dir, Lint: templates.LintOptions{Target: templates.NewTarget("local", "", nil)}, Maker: p, Poll: 20 * time.Millisecond,
		ReadyCommand: new(string),
		Engine: func() (Engine, error) {
			return nil, &client.Error{Code: client.CodeDockerBuild, Message: "there is none"}
		},
	}
	good, err := Run(t.Context(), o)
	if err != nil || !good.OK || good.State != "ready" {
		t.Fatalf("%+v, %v", good, err)
	}
	sb, err := p.Sandboxes().Create(t.Context(), client.CreateSpec{Template: "demo", Lifetime: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, p, sb.ID, `cat /home/user/app/greet.txt /home/user/app/src/a.txt; echo "$GREETING"`); got != "hi there\nahi there\n" {
		t.Errorf("the sandbox has %q", got)
	}
	if err := p.Sandboxes().Kill(t.Context(), sb.ID); err != nil {
		t.Error(err)
	}
	// Another build, and back.
	if err := os.WriteFile(dir+"/src/a.txt", []byte("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := Run(t.Context(), o); err != nil || !r.OK || r.TemplateID != good.TemplateID {
		t.Fatalf("%+v, %v", r, err)
	}
	plan, err := PlanRollback(t.Context(), p, p, "demo", "")
	if err != nil || plan.To.Tag != TagPrevious || plan.To.BuildID != good.BuildID {
		t.Fatalf("%+v, %v", plan, err)
	}
	if err := plan.Do(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	tags, err := p.TemplateTags(t.Context(), "demo")
	if err != nil || !strings.HasPrefix(tags[0].Tag+" "+tags[0].BuildID, "default "+good.BuildID) {
		t.Errorf("%+v, %v", tags, err)
	}
	// A RUN that fails is named by its line; the template stays what it was.
	if err := os.WriteFile(dir+"/Dockerfile", []byte("FROM python:3.12-slim\nRUN true\nRUN echo broken >&2; false\nCMD [\"sleep\", \"600\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	o.Say = func(e Event) { said = append(said, e.Text) }
	if _, err := Run(t.Context(), o); client.CodeOf(err) != client.CodeTemplateBuild || !strings.Contains(err.Error(), "Dockerfile:3: RUN") || !strings.Contains(strings.Join(said, "\n"), "broken") {
		t.Errorf("%v, %q", err, said)
	}
	// The default stayed the good build, so there is nothing to go back to.
	if plan, err := PlanRollback(t.Context(), p, p, "demo", ""); client.CodeOf(err) != client.CodeTemplateMissing {
		t.Errorf("%+v, %v", plan, err)
	}
	// A deploy that is cancelled ends its build, and the default stays.
	if err := os.WriteFile(dir+"/Dockerfile", []byte("FROM python:3.12-slim\nRUN echo running; sleep 1000\nCMD [\"sleep\", \"600\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Say = func(e Event) {
		if strings.HasSuffix(e.Text, "[stdout]: running") {
			cancel()
		}
	}
	cut, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || !cut.Cancelled || cut.Hint != "" {
		t.Fatalf("%+v, %v", cut, err)
	}
	state, err := p.TemplateBuild(t.Context(), client.TemplateBuild{TemplateID: cut.TemplateID, BuildID: cut.BuildID}, 0)
	if err != nil || !state.Failed() || state.Reason != "cancelled" {
		t.Errorf("%+v, %v", state, err)
	}
	if err := p.Stop(t.Context(), false); err != nil {
		t.Errorf("something still runs: %v", err)
	}
	if err := p.DeleteTemplate(t.Context(), "demo"); err != nil {
		t.Error(err)
	}
	if _, err := p.Template(t.Context(), "demo"); client.CodeOf(err) != client.CodeTemplateMissing {
		t.Errorf("got %v", err)
	}
}

func output(t *testing.T, p client.Provider, id client.ID, script string) string {
	t.Helper()
	proc, err := p.Commands().Start(t.Context(), id, client.Command{Argv: []string{"/bin/sh", "-c", script}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	out, err := client.Collect(proc)
	if err != nil || !out.Exit.OK() {
		t.Fatalf("%v %s, %v", out.Exit, out.Stderr, err)
	}
	return string(out.Stdout)
}
