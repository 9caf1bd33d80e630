package templates

import (
	"path/filepath"
	"strings"
	"testing"

	"abxdash/client"
	"abxdash/client/fake"
)

// deployDemo opens the form of demo, fills in the registry and confirms.
func deployDemo(d *desk) {
	d.Keys("M 2")
	d.UntilShows("nested/express")
	d.Until("the lint", func() bool { return !d.Shows("linting") })
	d.Keys("j D")
	d.UntilShows("Deploy demo")
	for range 4 {
		d.Keys("tab")
	}
	d.Type("127.0.0.1:1")
	d.Keys("enter")
	d.UntilShows("may cost money")
}

func TestDeploy(t *testing.T) {
	d := sit(t, setup{})
	deployDemo(d)
	d.Keys("enter") // enter confirms nothing
	d.UntilShows("may cost money")
	d.Keys("y")
	d.UntilShows("created demo, template tpl5")
	for _, want := range []string{"✓ lint", "✓ build", "✓ push", "✓ create", "✓ ready", "layer 3 of 3", "RUN pip install", "starts a sandbox from it"} {
		d.UntilShows(want)
	}
	if txt := d.Text(); strings.Contains(txt, "\x1b") {
		t.Errorf("raw escape:\n%s", txt)
	}
	d.Keys("{")
	d.UntilShows("Log of ready")
	d.Until("one step's log", func() bool { return !d.Shows("RUN pip") && d.Shows("layer 3 of 3") })
	d.Keys("{ { {")
	d.UntilShows("Log of build")
	d.Keys("} } } }")
	d.UntilShows("Log ─")
	d.Keys("ctrl+s")
	d.Until("the saved log", func() bool {
		found, _ := filepath.Glob(filepath.Join(d.dir, "demo-*.log"))
		return len(found) == 1
	})
	d.Keys("c")
	d.UntilShows("New sandbox")
	d.Keys("esc esc")
	d.UntilShows("✓ deploy")
	d.Keys("1")
	d.Until("the new template", func() bool { return d.Shows("demo") && d.Shows("5 templates") || d.Shows("3 ready") })
}

// A step that failed is tried again alone.
func TestRetryOfTheFailedStep(t *testing.T) {
	d := sit(t, setup{})
	d.engine.fail("push", &client.Error{Op: "push", Code: client.CodeRegistryLogin, Message: "denied \x1b[2Jhere"})
	deployDemo(d)
	d.Keys("y")
	d.UntilShows("✗ push")
	d.UntilShows("(E7022)")
	d.UntilShows("tries the failed step again")
	d.engine.fail("push", nil)
	d.Keys("R")
	d.UntilShows("created demo")
	d.UntilShows("attempt 2, from push")
	if len(d.engine.builds) != 1 || len(d.engine.pushes) != 2 {
		t.Errorf("builds %v, pushes %v", d.engine.builds, d.engine.pushes)
	}
	// And one of the provider's own.
	d.Keys("esc")
	d.UntilShows("✓ deploy")
	d.cloud.Script(fake.OpTemplateBuild, "", fake.Step{Err: &client.Error{Op: "build", Code: client.CodeTemplateBuild, Message: "boom"}})
	d.Keys("D")
	d.UntilShows("Deploy demo")
	for range 4 {
		d.Keys("tab")
	}
	d.Type("127.0.0.1:1")
	d.Keys("enter")
	d.UntilShows("demo is there already: it gets another build")
	d.Keys("y")
	d.UntilShows("✗ ready")
	d.Keys("b")
	d.UntilShows("Roll back demo to")
	d.Keys("esc R")
	d.UntilShows("updated demo")
	// The build had ended in an error: following it again would only say so again.
	d.UntilShows("attempt 2, from create")
	if n := len(d.cloud.CallsOf(fake.OpTemplateUpdate)); n != 2 {
		t.Errorf("%d updates", n)
	}
}

// Cancelling asks, and leaving cancels nothing.
func TestCancelAsksAndLeavingGoesOn(t *testing.T) {
	d := sit(t, setup{})
	d.engine.hangs = true
	deployDemo(d)
	d.Keys("y")
	d.UntilShows("◐ build")
	d.UntilShows("step 2/2")
	d.Keys("esc esc")
	d.UntilShows("deploy demo: build")
	d.Keys("q")
	if d.Quit {
		t.Fatal("it quits without asking")
	}
	d.UntilShows("1 template is being built")
	d.Keys("n")
	d.Keys("M 2")
	d.UntilShows("◐ deploy: build")
	d.Keys("j D")
	d.UntilShows("it is being built already")
	d.Keys("o")
	d.UntilShows("Log ─")
	d.Keys("x")
	d.UntilShows("Cancel: deploy demo")
	d.Keys("enter n")
	d.Until("it goes on", func() bool { return !d.Shows("Cancel: deploy") && d.Shows("◐ build") })
	d.Keys("x y")
	d.UntilShows("cancelled after")
	d.UntilShows("! build")
	d.engine.mu.Lock()
	d.engine.hangs = false
	d.engine.mu.Unlock()
	d.Keys("R")
	d.UntilShows("created demo")
}

func TestBuildOnly(t *testing.T) {
	d := sit(t, setup{})
	d.Keys("M 2")
	d.UntilShows("nested/express")
	d.Keys("j b")
	d.UntilShows("Build demo")
	d.Keys("enter")
	d.UntilShows("built demo:")
	d.Keys("esc")
	d.UntilShows("✓ build")
	if len(d.engine.pushes) != 0 {
		t.Errorf("pushed %v", d.engine.pushes)
	}
}

func TestDeployWithoutAWayToSaysWhy(t *testing.T) {
	d := sit(t, setup{})
	d.Keys("M 2")
	d.UntilShows("nested/express")
	d.Keys("G D")
	d.UntilShows("Deploy nested/express")
	d.Keys("enter")
	d.UntilShows("alicloud-express is not configured (E1001)")
	d.Keys("esc")
	// A key pair that is half there is an error of its own; none at all is not.
	d.m.opt.Native = func(string) (Native, error) {
		return Native{}, &client.Error{Code: client.CodeAuthAKSK, Message: "half a pair"}
	}
	d.Keys("D")
	d.UntilShows("Deploy nested/express")
	d.Keys("enter")
	d.UntilShows("half a pair (E1003)")
	d.m.opt.Native = func(string) (Native, error) {
		return Native{Maker: d.cloud}, nil
	}
	for range 6 {
		d.Keys("tab")
	}
	d.Type("anna")
	d.Keys("enter")
	d.UntilShows("a user name and no password (E7022)")
}
