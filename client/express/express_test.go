//go:build unix

package express_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"abxdash/client"
	"abxdash/client/acs"
	"abxdash/client/contract"
	"abxdash/client/credentials"
	"abxdash/client/engine"
	"abxdash/client/express"
	"abxdash/client/express/expresstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newProvider makes a provider of a fake server.
func newProvider(t *testing.T, sw expresstest.Switches, change ...func(*express.Config)) (*express.Provider, *expresstest.Server) {
	t.Helper()
	s := expresstest.New(t, sw)
	hc, err := engine.NewHTTPClient(engine.Net{DialContext: s.Dial})
	if err != nil {
		t.Fatal(err)
	}
	cfg := express.Config{
		APIKey: expresstest.Key, APIURL: "http://api." + expresstest.Domain, AllowHTTP: true, HTTPClient: hc,
		Generation: sw.Generation, Pause: sw.Pause, Snapshots: sw.Snapshots, Metrics: sw.Metrics,
	}
	for _, fn := range change {
		fn(&cfg)
	}
	p, err := express.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, s
}

func ctx(t *testing.T) context.Context {
	t.Helper()
	c, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return c
}

func create(t *testing.T, p client.Provider) client.Sandbox {
	t.Helper()
	sb, err := p.Sandboxes().Create(ctx(t), client.CreateSpec{Template: "base", Lifetime: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return sb
}

// The suite over the fake, once per way of speaking and generation.
func TestContract(t *testing.T) {
	for name, sw := range map[string]expresstest.Switches{
		"generation 1": {MinLifetime: time.Second},
		"generation 2": {MinLifetime: time.Second, Generation: 2, Extra: true},
	} {
		t.Run(name, func(t *testing.T) {
			contract.Run(t, func(t *testing.T) contract.Setup {
				p, _ := newProvider(t, sw, func(c *express.Config) {
					c.MinLifetime = time.Second
					c.Protobuf = sw.Generation == 2
				})
				return contract.Setup{Provider: p}
			})
		})
	}
}

func TestAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  express.Config
		url  string
		code client.Code
	}{
		"default":     {express.Config{}, "https://9000-i1.cn-hangzhou.sandbox.aliyuncs.com", ""},
		"region":      {express.Config{Region: "cn-beijing"}, "https://9000-i1.cn-beijing.sandbox.aliyuncs.com", ""},
		"new region":  {express.Config{Region: "mars-1"}, "https://9000-i1.mars-1.sandbox.aliyuncs.com", ""},
		"legacy":      {express.Config{Legacy: true}, "https://9000-i1.cn-hangzhou.e2b.fc.aliyuncs.com", ""},
		"legacy URL":  {express.Config{APIURL: "https://api.us-east-1.e2b.fc.aliyuncs.com"}, "https://9000-i1.us-east-1.e2b.fc.aliyuncs.com", ""},
		"domain":      {express.Config{Domain: "x.test"}, "https://9000-i1.x.test", ""},
		"same region": {express.Config{Region: "us-east-1", Domain: "us-east-1.sandbox.aliyuncs.com"}, "https://9000-i1.us-east-1.sandbox.aliyuncs.com", ""},
		"mismatch":    {express.Config{Region: "cn-beijing", Domain: "us-east-1.sandbox.aliyuncs.com"}, "", client.CodeRegion},
		"bad region":  {express.Config{Region: "cn_beijing/../"}, "", client.CodeRegion},
		"plain http":  {express.Config{APIURL: "http://api.x.test"}, "", client.CodeConfig},
	} {
		c.cfg.APIKey = expresstest.Key
		p, err := express.New(c.cfg)
		if c.code != "" || err != nil {
			if client.CodeOf(err) != c.code {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got, err := p.PortURL("i1", 9000); err != nil || got != c.url {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	if _, err := express.New(express.Config{}); client.CodeOf(err) != client.CodeAuthMissing || !strings.Contains(client.HintOf(err), "ABX_SANDBOX_API_KEY") {
		t.Errorf("without a key: %v", err)
	}
}

// AK/SK alone are no key: the error says how to make one, and nothing is made.
func TestAccount(t *testing.T) {
	load := func(env map[string]string) (express.Config, error) {
		set := credentials.Load(credentials.Options{LookupEnv: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
		a, err := set.Account(express.Name)
		if err != nil {
			return express.Config{}, err
		}
		return express.FromAccount(a, express.Config{Generation: 2})
	}
	cfg, err := load(map[string]string{"ABX_SANDBOX_API_KEY": "e2b_ab", "ABX_SANDBOX_REGION": "cn-shanghai", "E2B_API_KEY": "no", "SANDBOX_API_KEY": "no"})
	if err != nil || cfg.APIKey != "e2b_ab" || cfg.Region != "cn-shanghai" || cfg.Generation != 2 {
		t.Errorf("%v %v", cfg, err)
	}
	_, err = load(map[string]string{"ALICLOUD_ACCESS_KEY_ID": "AK", "ALICLOUD_ACCESS_KEY_SECRET": "SK"})
	if client.CodeOf(err) != client.CodeAuthMissing || !strings.Contains(client.HintOf(err), "make one from the pair") {
		t.Errorf("%v", err)
	}
}

// The key is found in the process, ./.env and ~/.abx/.env, and nowhere else.
func TestDefault(t *testing.T) {
	home := t.TempDir()
	t.Chdir(t.TempDir())
	t.Setenv("HOME", home)
	for _, name := range []string{
		"ABX_SANDBOX_API_KEY", "ABX_SANDBOX_REGION", "ABX_SANDBOX_DOMAIN", "ABX_SANDBOX_API_URL", "ABX_SANDBOX_DATA_URL",
		"ALICLOUD_ACCESS_KEY_ID", "ALICLOUD_ACCESS_KEY_SECRET",
	} {
		t.Setenv(name, "")
	}
	if _, err := express.Default(); client.CodeOf(err) != client.CodeAuthMissing {
		t.Errorf("without a key: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".abx"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".abx/.env"), []byte("ABX_SANDBOX_API_KEY=e2b_0a\nABX_SANDBOX_REGION=us-east-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := express.Default()
	if err != nil || p.Region() != "us-east-1" || p.Name() != "alicloud-express" {
		t.Fatalf("%v %v", p, err)
	}
	p.Close()
}

// What the end-to-end test leaves behind is deleted, and nothing else.
func TestSweepDeletesWhatWasTagged(t *testing.T) {
	p, s := newProvider(t, expresstest.Switches{PageSize: 1})
	for _, mark := range []string{"mine", "mine", "another run", ""} {
		spec := client.CreateSpec{}
		if mark != "" {
			spec.Metadata = map[string]string{e2eTag: mark}
		}
		if _, err := p.Sandboxes().Create(ctx(t), spec); err != nil {
			t.Fatal(err)
		}
	}
	sweep(t, p, "mine")
	if s.Live() != 2 {
		t.Errorf("%d live, want 2", s.Live())
	}
}

// The key pair makes an API key when that is asked for.
func TestNative(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/pop/2026-08-20/api-keys" || !strings.Contains(r.Header.Get("Authorization"), "Credential=AK,") {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		_, _ = w.Write([]byte(`{"apiKeyID":"k","apiKeyValue":"e2b_0a"}`))
	}))
	defer srv.Close()
	env := map[string]string{"ALICLOUD_ACCESS_KEY_ID": "AK", "ALICLOUD_ACCESS_KEY_SECRET": "SK", "ABX_SANDBOX_REGION": "us-east-1"}
	a, err := credentials.Load(credentials.Options{LookupEnv: func(n string) (string, bool) { v, ok := env[n]; return v, ok }}).Account(express.Name)
	if err != nil {
		t.Fatal(err)
	}
	hc := &http.Client{Transport: &http.Transport{}}
	defer hc.CloseIdleConnections()
	api, err := express.Native(a, acs.Config{Endpoint: srv.URL, HTTPClient: hc})
	if err != nil || !strings.Contains(api.String(), "us-east-1") {
		t.Fatalf("%v %v", api, err)
	}
	if _, value, err := api.CreateAPIKey(ctx(t), "abxdash", ""); err != nil || value != "e2b_0a" {
		t.Errorf("%q %v", value, err)
	}
}

func TestCapabilities(t *testing.T) {
	for name, c := range map[string]struct {
		sw   expresstest.Switches
		have []client.Capability
		lack []client.Capability
	}{
		"generation 1":     {expresstest.Switches{Generation: 1}, []client.Capability{client.CapTransfer, client.CapCode}, []client.Capability{client.CapPause, client.CapSnapshot, client.CapMetrics, client.CapLogs}},
		"generation 2":     {expresstest.Switches{Generation: 2}, []client.Capability{client.CapPause}, []client.Capability{client.CapSnapshot, client.CapLogs}},
		"all":              {expresstest.Switches{Generation: 2, Snapshots: true, Metrics: true}, []client.Capability{client.CapSnapshot, client.CapMetrics}, []client.Capability{client.CapLogs}},
		"allowed to pause": {expresstest.Switches{Generation: 1, Pause: true}, []client.Capability{client.CapPause}, []client.Capability{client.CapSnapshot}},
	} {
		p, s := newProvider(t, c.sw)
		for _, k := range c.have {
			if !p.Capabilities().Has(k) {
				t.Errorf("%s lacks %s", name, k)
			}
		}
		for _, k := range c.lack {
			if p.Capabilities().Has(k) || p.Capabilities().Why[k] == "" {
				t.Errorf("%s has %s, or does not say why not", name, k)
			}
		}
		before := len(s.Requests(""))
		_, logErr := p.Logs(ctx(t), "i1", time.Time{}, 0)
		if client.CodeOf(logErr) != client.CodeUnsupported || len(s.Requests("")) != before {
			t.Errorf("%s: logs %v", name, logErr)
		}
	}
}

// What is refused with 403, 404, 405 or 501 is "not available for this
// sandbox"; a sandbox that is gone stays gone.
func TestPauseNotAvailable(t *testing.T) {
	for _, status := range []int{0, 403, 404, 405, 501} {
		p, s := newProvider(t, expresstest.Switches{Generation: 1, RefusedWith: status}, func(c *express.Config) { c.Pause, c.Snapshots, c.Metrics, c.Generation = true, true, true, 2 })
		sb := create(t, p)
		pauser := p.Sandboxes().(client.Pauser)
		_, shotErr := p.Snapshot(ctx(t), sb.ID, "n")
		_, metricErr := p.Metrics(ctx(t), sb.ID, time.Time{}, time.Time{})
		for what, err := range map[string]error{"pause": pauser.Pause(ctx(t), sb.ID), "snapshot": shotErr, "metrics": metricErr} {
			if client.CodeOf(err) != client.CodeUnsupported || !errors.Is(err, client.ErrUnsupported) || !strings.Contains(err.Error(), "not available for this sandbox") {
				t.Errorf("%d: %s: %v", status, what, err)
			}
		}
		if err := p.Sandboxes().Kill(ctx(t), sb.ID); err != nil {
			t.Fatal(err)
		}
		if err := pauser.Pause(ctx(t), sb.ID); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%d: pause of a killed one: %v", status, err)
		}
		_ = s
	}
	p, _ := newProvider(t, expresstest.Switches{Generation: 1})
	sb := create(t, p)
	if err := p.Sandboxes().(client.Pauser).Resume(ctx(t), sb.ID, time.Minute); client.CodeOf(err) != client.CodeUnsupported {
		t.Errorf("resume: %v", err)
	}
}

// 405 for the newer list: the older one takes its place and says what it lacks.
func TestOldList(t *testing.T) {
	for _, status := range []int{404, 405} {
		p, s := newProvider(t, expresstest.Switches{V2Status: status, Generation: 2})
		a, b := create(t, p), create(t, p)
		if err := p.Sandboxes().(client.Pauser).Pause(ctx(t), b.ID); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			page, err := client.ListAll(ctx(t), p.Sandboxes(), client.Query{})
			if err != nil || len(page.Sandboxes) != 1 || page.Sandboxes[0].ID != a.ID || !page.MayBeIncomplete || page.Note == "" {
				t.Errorf("%d: %+v %v", status, page, err)
			}
		}
		if got := len(s.Requests("/v2/sandboxes")); got != 1 {
			t.Errorf("%d: the newer list was asked %d times", status, got)
		}
	}
}

func TestUnknownFieldsAndStates(t *testing.T) {
	p, _ := newProvider(t, expresstest.Switches{Extra: true})
	sb := create(t, p)
	page, err := client.ListAll(ctx(t), p.Sandboxes(), client.Query{})
	if err != nil || len(page.Sandboxes) != 2 || page.Sandboxes[0].ID != sb.ID {
		t.Fatalf("%+v %v", page, err)
	}
	if odd := page.Sandboxes[1]; odd.State != "snapshotting" || odd.End != client.EndUnset || odd.CPU != 2 {
		t.Errorf("%+v", odd)
	}
}

// A lifetime below 60 s is raised, and the answer says so.
func TestShortLifetime(t *testing.T) {
	p, s := newProvider(t, expresstest.Switches{})
	sb, err := p.Sandboxes().Create(ctx(t), client.CreateSpec{Lifetime: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if d := sb.ExpiresAt.Sub(sb.StartedAt); d != time.Minute {
		t.Errorf("lives for %s", d)
	}
	if body := string(s.Requests("/sandboxes")[0].Body); !strings.Contains(body, `"timeout":60`) || !strings.Contains(body, `"secure":true`) {
		t.Errorf("sent %s", body)
	}
}

// What create sends, field by field (alicloud-express §5.1).
func TestCreateBody(t *testing.T) {
	p, s := newProvider(t, expresstest.Switches{Generation: 2})
	no := false
	sb, err := p.Sandboxes().Create(ctx(t), client.CreateSpec{
		Template: "base", Lifetime: 90*time.Second + 1, Env: map[string]string{"A": "1"}, Metadata: map[string]string{"k": "v"},
		Internet: &no, AutoPause: true, AutoResume: true,
		Network: &client.Network{Public: &no, AllowOut: []string{"8.8.8.8/32"}, DenyOut: []string{"0.0.0.0/0"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"templateID":"base","timeout":91,"secure":true,"autoPause":true,"autoResume":{"enabled":true},"allow_internet_access":false,` +
		`"network":{"allowPublicTraffic":false,"allowOut":["8.8.8.8/32"],"denyOut":["0.0.0.0/0"]},"metadata":{"k":"v"},"envVars":{"A":"1"}}`
	if d := cmp.Diff(want, string(s.Requests("/sandboxes")[0].Body)); d != "" {
		t.Error(d)
	}
	if strings.Contains(string(sb.Raw), s.Token(string(sb.ID))) {
		t.Error("the raw view holds the token")
	}
	for what, spec := range map[string]client.CreateSpec{
		"resume without pause": {AutoResume: true},
		"closed and insecure":  {Insecure: true, Network: &client.Network{Public: &no}},
	} {
		if _, err := p.Sandboxes().Create(ctx(t), spec); client.CodeOf(err) != client.CodeUsage {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := p.UpdateNetwork(ctx(t), sb.ID, client.NetworkUpdate{DenyOut: []string{"10.0.0.0/8"}, Internet: &no}); err != nil {
		t.Fatal(err)
	}
	if got := s.Network(string(sb.ID)); got != `{"denyOut":["10.0.0.0/8"],"allowInternetAccess":false}` {
		t.Errorf("update sent %s", got)
	}
}

func TestPorts(t *testing.T) {
	p, s := newProvider(t, expresstest.Switches{})
	no := false
	sb, err := p.Sandboxes().Create(ctx(t), client.CreateSpec{Network: &client.Network{Public: &no}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.ResolvePort(ctx(t), sb.ID, 49999)
	if err != nil || a.URL != "http://49999-"+string(sb.ID)+"."+expresstest.Domain {
		t.Fatalf("%s %v", a.URL, err)
	}
	token := s.Token(string(sb.ID))
	if a.Header.Get("X-Access-Token") != token || a.Header.Get("E2b-Traffic-Access-Token") == "" {
		t.Error("tokens are missing")
	}
	if text := fmt.Sprintf("%v %+v %#v", a, a, a); strings.Contains(text, token) {
		t.Errorf("printed with its token: %s", text)
	}
	// Looking at the sandbox must not forget the traffic token, which only
	// create and connect tell.
	if _, err := p.Sandboxes().Get(ctx(t), sb.ID); err != nil {
		t.Fatal(err)
	}
	again, err := p.ResolvePort(ctx(t), sb.ID, 49999)
	if err != nil || again.Header.Get("E2b-Traffic-Access-Token") != a.Header.Get("E2b-Traffic-Access-Token") {
		t.Errorf("%v", err)
	}
	req, _ := http.NewRequestWithContext(ctx(t), http.MethodGet, a.URL+"/health", nil)
	req.Header = a.Header
	resp, err := p.HTTPClient().Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
}

func TestSnapshots(t *testing.T) {
	p, _ := newProvider(t, expresstest.Switches{Generation: 2, Snapshots: true, PageSize: 1})
	sb := create(t, p)
	shot, err := p.Snapshot(ctx(t), sb.ID, "n1")
	if err != nil || !slices.Equal(shot.Names, []string{"core/n1:default"}) {
		t.Fatalf("%+v %v", shot, err)
	}
	if _, err := p.Snapshot(ctx(t), sb.ID, ""); err != nil {
		t.Fatal(err)
	}
	page, next, err := p.Snapshots(ctx(t), client.SnapshotQuery{Sandbox: sb.ID})
	if err != nil || len(page) != 1 || next == "" {
		t.Errorf("%+v %q %v", page, next, err)
	}
	page, next, err = p.Snapshots(ctx(t), client.SnapshotQuery{Sandbox: sb.ID, PageToken: next})
	if err != nil || len(page) != 1 || next != "" || page[0].ID != shot.ID {
		t.Errorf("%+v %q %v", page, next, err)
	}
	made, err := p.Sandboxes().Create(ctx(t), client.CreateSpec{Template: shot.ID})
	if err != nil || made.ID == sb.ID {
		t.Errorf("from a snapshot: %v", err)
	}
	if err := p.DeleteSnapshot(ctx(t), "core/n1:default"); err != nil {
		t.Error(err)
	}
	if err := p.DeleteSnapshot(ctx(t), shot.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("second delete: %v", err)
	}
}

// Creating goes through the engine: 429 is waited for and bounded, a time-out
// is never repeated, and a place that was not found is asked for again.
func TestCreateIsRepeatedSafely(t *testing.T) {
	slept := []time.Duration{}
	eng := engine.New(engine.Config{
		Tries: 3, Now: time.Now,
		Sleep: func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil },
	})
	p, s := newProvider(t, expresstest.Switches{}, func(c *express.Config) { c.Engine = eng })
	for name, c := range map[string]struct {
		fault expresstest.Fault
		calls int
		ok    bool
	}{
		"no place":     {expresstest.Fault{Status: 503, Body: `{"code":503,"message":"Failed to place sandbox","error_code":"sandbox_capacity_unavailable"}`, Times: 2}, 3, true},
		"gateway":      {expresstest.Fault{Status: 502, Body: `<html><title>Bad gateway</title>`, Header: map[string]string{"Content-Type": "text/html"}}, 1, false},
		"timed out":    {expresstest.Fault{Status: 504, Body: `{"code":504,"message":"slow"}`, Apply: true}, 1, false},
		"server error": {expresstest.Fault{Status: 500, Body: `{"code":500,"message":"broken"}`}, 1, false},
		"quota":        {expresstest.Fault{Status: 429, Body: `{"code":429,"message":"too many sandboxes"}`}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			s.ClearFaults()
			c.fault.Method, c.fault.Path = http.MethodPost, "/sandboxes"
			before := len(s.Requests("/sandboxes"))
			s.Fail(c.fault)
			_, err := p.Sandboxes().Create(ctx(t), client.CreateSpec{})
			if calls := len(s.Requests("/sandboxes")) - before; calls != c.calls || (err == nil) != c.ok {
				t.Errorf("%d calls, %v", calls, err)
			}
		})
	}
	if len(slept) != 2 {
		t.Errorf("slept %v", slept)
	}
}

func TestTemplates(t *testing.T) {
	p, _ := newProvider(t, expresstest.Switches{})
	list, err := p.Templates(ctx(t))
	if err != nil || len(list) < 2 || !slices.Contains(list[0].Names, "base") || !p.Capabilities().Has(client.CapTemplates) {
		t.Errorf("%+v %v", list, err)
	}
}

// A template of another region is the likely cause of a missing one.
func TestTemplateMissing(t *testing.T) {
	p, _ := newProvider(t, expresstest.Switches{})
	_, err := p.Sandboxes().Create(ctx(t), client.CreateSpec{Template: "nope"})
	if client.CodeOf(err) != client.CodeTemplateMissing || !strings.Contains(client.HintOf(err), "one region") {
		t.Errorf("%v", err)
	}
}
