package create

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui"
	"abxdash/ui/uitest"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type scene struct {
	*viewtest.Driver
	c            *Creator
	local, cloud *fake.Provider
}

func newScene(t *testing.T, opt Options) *scene {
	t.Helper()
	clock := viewtest.NewClock()
	s := &scene{}
	wait := func(ctx context.Context, d time.Duration) error { return s.Sleep(ctx, d) }
	s.local = fake.New(fake.Options{Name: "local", Now: clock.Now, Sleep: wait})
	s.cloud = fake.New(fake.Options{Name: "cloud", Now: clock.Now, Sleep: wait})
	opt.Providers = present.Providers{s.cloud, s.local}
	opt.Owner = present.Owner{User: "anna", Host: "box"}
	if opt.Default == "" {
		opt.Default = "local"
	}
	s.c = New(opt)
	s.Driver = viewtest.NewAt(t, clock, nil, s.c)
	return s
}

// One key after n makes a local sandbox with the defaults.
func TestQuickCreateIsOneKey(t *testing.T) {
	s := newScene(t, Options{})
	s.Send(present.CreateRequestMsg{})
	frame := s.Frame(80, 24)
	for _, part := range []string{"New sandbox", "on local, default template, lives 1h", "enter create", "tab all options"} {
		if !strings.Contains(frame, part) {
			t.Errorf("no %q in\n%s", part, frame)
		}
	}
	s.Press("enter")
	all := s.local.All()
	if len(all) != 1 || len(s.cloud.All()) != 0 || s.Overlay() != nil {
		t.Fatalf("%d local, %d cloud, open %v", len(all), len(s.cloud.All()), s.Overlay() != nil)
	}
	want := map[string]string{client.MetaOwner: "anna", client.MetaHost: "box", client.MetaStarted: "dashboard"}
	if diff := cmp.Diff(want, all[0].Metadata); diff != "" {
		t.Errorf("metadata: %s", diff)
	}
	if left := all[0].ExpiresAt.Sub(s.Clock.Now()); left != time.Hour {
		t.Errorf("lives %v", left)
	}
	if !strings.HasPrefix(s.LastToast(), "created "+string(all[0].ID)+" on local, TTL 1h") {
		t.Errorf("toast %q", s.LastToast())
	}
	if m, ok := s.created(); !ok || m.Sandbox.ID != all[0].ID || m.Sandbox.Provider != "local" {
		t.Errorf("the list is told %+v", m)
	}
}

func (s *scene) created() (present.CreatedMsg, bool) {
	for _, m := range s.Messages {
		if c, ok := m.(present.CreatedMsg); ok {
			return c, true
		}
	}
	return present.CreatedMsg{}, false
}

func TestNameAndAllOptions(t *testing.T) {
	s := newScene(t, Options{})
	s.Send(present.CreateRequestMsg{})
	s.Type("web q")
	s.Press("tab")
	d := s.Overlay().(*dialog)
	if !d.full || d.form.Value(fieldName) != "web q" {
		t.Fatalf("full %v, name %q", d.full, d.form.Value(fieldName))
	}
	d.form.SetValue(fieldTemplate, "py")
	d.form.SetValue(fieldLifetime, "45m")
	d.form.SetValue(fieldNetwork, netOff)
	d.form.SetValue(fieldEnv, "A=1\n\nB=x=y ")
	d.form.SetValue(fieldMetadata, "run=812")
	s.Press("enter")
	all := s.local.All()
	if len(all) != 1 {
		t.Fatalf("%d sandboxes; the dialog shows\n%s", len(all), s.Frame(80, 30))
	}
	sb := all[0]
	if sb.Name != "web q" || sb.Template != "py" || sb.Metadata["run"] != "812" || sb.ExpiresAt.Sub(s.Clock.Now()) != 45*time.Minute {
		t.Errorf("created %+v", sb)
	}
}

func TestLifetimeFollowsTheProviderUntilTouched(t *testing.T) {
	s := newScene(t, Options{})
	s.Send(present.CreateRequestMsg{Full: true})
	d := s.Overlay().(*dialog)
	if got := d.form.Value(fieldLifetime); got != "1h" {
		t.Errorf("local lives %q", got)
	}
	d.form.Focus(fieldProvider)
	s.Press("left")
	if got := d.form.Value(fieldProvider) + " " + d.form.Value(fieldLifetime); got != "cloud 5m" {
		t.Errorf("%q", got)
	}
	d.form.SetValue(fieldLifetime, "7m")
	s.Press("right")
	if got := d.form.Value(fieldProvider) + " " + d.form.Value(fieldLifetime); got != "local 7m" {
		t.Errorf("%q", got)
	}
}

func TestErrorsStayInTheDialog(t *testing.T) {
	s := newScene(t, Options{})
	s.local.Script(fake.OpCreate, "", fake.Step{Err: &client.Error{Op: "create sandbox", Code: client.CodeQuota, Message: "100 of 100\x1b[2J in use"}})
	s.Send(present.CreateRequestMsg{})
	s.Type("web")
	s.Press("enter")
	frame := s.Frame(80, 24)
	for _, part := range []string{`create sandbox: 100 of 100\u001b[2J in use (E2002)`, "hint: kill what is no longer needed", "web"} {
		if !strings.Contains(frame, part) {
			t.Errorf("no %q in\n%s", part, frame)
		}
	}
	if len(s.Toasts) != 0 {
		t.Errorf("also said as a toast: %v", s.Toasts)
	}
	s.Press("enter")
	if all := s.local.All(); len(all) != 1 || all[0].Name != "web" {
		t.Errorf("trying again gives %v", all)
	}
}

// While a create is under way more keys do nothing, and closing the dialog does not stop it.
func TestProgressAndClosing(t *testing.T) {
	s := newScene(t, Options{})
	s.local.Script(fake.OpCreate, "", fake.Step{Delay: time.Hour})
	s.Send(present.CreateRequestMsg{})
	s.Press("enter")
	s.Press("enter", "x", "enter")
	s.Tick(3)
	if frame := s.Frame(80, 24); !strings.Contains(frame, "creating 3s") {
		t.Errorf("no progress in\n%s", frame)
	}
	if n := len(s.local.CallsOf(fake.OpCreate)); n != 1 {
		t.Errorf("%d creates", n)
	}
	if got := s.c.AtStake(); len(got) != 1 {
		t.Errorf("at stake %q", got)
	}
	if s.c.Status() != "" {
		t.Errorf("status %q beside the dialog", s.c.Status())
	}
	s.Press("esc")
	if s.Overlay() != nil || !strings.HasPrefix(s.c.Status(), "creating a sandbox on local") {
		t.Errorf("open %v, status %q", s.Overlay() != nil, s.c.Status())
	}
}

// An answer that comes after the dialog was closed is a toast.
func TestLateErrorIsAToast(t *testing.T) {
	s := newScene(t, Options{})
	s.Send(present.CreateRequestMsg{})
	j := &job{}
	s.c.jobs = append(s.c.jobs, j)
	s.Send(doneMsg{job: j, err: fake.ServerError("boom")})
	if !strings.Contains(s.LastToast(), "boom (E9005)") || len(s.c.AtStake()) != 0 {
		t.Errorf("toast %q", s.LastToast())
	}
}

func TestBadInputIsRefusedBeforeAnyCall(t *testing.T) {
	s := newScene(t, Options{})
	for _, c := range []struct{ field, value, want string }{
		{fieldLifetime, "0", "at least one second"},
		{fieldLifetime, "", "a duration"},
		{fieldLifetime, "0s", "at least one second"},
		{fieldLifetime, "-5m", "at least one second"},
		{fieldLifetime, "soon", "a duration"},
		{fieldEnv, "NOEQUALS", "line 1 is not KEY=VALUE"},
		{fieldEnv, "A=1\n1B=secretvalue", "line 2"},
		{fieldEnv, "A=1\nA=2", "twice"},
		{fieldMetadata, "abxdash.user=eve", "set by abxdash itself"},
		{fieldMetadata, "=x", "line 1"},
		{fieldName, strings.Repeat("x", 65), "64"},
	} {
		s.Send(present.CreateRequestMsg{Full: true})
		d := s.Overlay().(*dialog)
		d.form.SetValue(c.field, c.value)
		s.Run(d.input(uitest.Key("enter")))
		frame := s.Frame(80, 40)
		if s.Overlay() == nil || d.busy || !strings.Contains(frame, c.want) {
			t.Errorf("%s %q: busy %v, no %q in\n%s", c.field, c.value, d.busy, c.want, frame)
		}
		s.Press("esc")
	}
	if len(s.local.Calls())+len(s.cloud.Calls()) != 0 {
		t.Error("a provider was called")
	}
	if _, err := pairs("1B=secretvalue", envKey); strings.Contains(fmt.Sprint(err), "secretvalue") {
		t.Errorf("the error repeats the value: %v", err)
	}
}

func TestSpec(t *testing.T) {
	v := values{provider: "local", lifetime: "1d", network: netOn, name: " web ", env: "A= 1 \r\nB="}
	got, err := v.spec(present.Owner{User: "u", Host: "h"})
	if err != nil {
		t.Fatal(err)
	}
	on := true
	want := client.CreateSpec{
		Lifetime: 24 * time.Hour, Env: map[string]string{"A": " 1 ", "B": ""}, Internet: &on,
		Metadata: map[string]string{client.MetaName: "web", client.MetaOwner: "u", client.MetaHost: "h", client.MetaStarted: "dashboard"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, _ := (values{lifetime: "1h", network: netDefault}).spec(present.Owner{}); got.Internet != nil {
		t.Error("the provider's own network choice is overridden")
	}
}

func TestReadOnlyRefuses(t *testing.T) {
	s := newScene(t, Options{ReadOnly: true})
	s.Send(present.CreateRequestMsg{})
	if s.Overlay() != nil || !strings.Contains(s.LastToast(), "E9013") {
		t.Errorf("toast %q", s.LastToast())
	}
}

func TestDialogAtEverySizeAndPaste(t *testing.T) {
	s := newScene(t, Options{})
	for _, full := range []bool{false, true} {
		s.Send(present.CreateRequestMsg{Full: full})
		s.Run(s.Overlay().Update(tea.PasteMsg{Content: "a\x1b[31mb\u202ec\n"}))
		for _, size := range [][2]int{{0, 0}, {1, 1}, {3, 40}, {20, 5}, {5, 20}, {40, 10}, {80, 24}, {200, 60}} {
			for _, r := range s.Frame(size[0], size[1]) {
				if r != '\n' && client.Unsafe(r) {
					t.Errorf("%v: raw %U on screen", size, r)
				}
			}
		}
		s.Press("esc")
	}
}

func FuzzPairs(f *testing.F) {
	f.Add("A=1\nB=2")
	f.Add("=\n\r\n==")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := pairs(text, envKey)
		if err != nil {
			return
		}
		for k := range got {
			if !envName.MatchString(k) {
				t.Fatalf("%q was taken as a name", k)
			}
		}
	})
}

var _ ui.Background = (*Creator)(nil)
