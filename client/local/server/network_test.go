package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEgressOf(t *testing.T) {
	on, off := true, false
	for name, c := range map[string]struct {
		rules    networkJSON
		internet *bool
		want     Egress
	}{
		"nothing said":     {networkJSON{}, nil, Egress{Allow: []string{"*"}}},
		"off":              {networkJSON{}, &off, Egress{}},
		"off but one":      {networkJSON{AllowOut: []string{"a.example:443"}}, &off, Egress{Allow: []string{"a.example:443"}}},
		"all denied":       {networkJSON{AllowOut: []string{"*.b.example", "192.0.2.0/24"}, DenyOut: []string{"0.0.0.0/0"}}, &on, Egress{Allow: []string{"*.b.example", "192.0.2.0/24"}}},
		"some denied":      {networkJSON{DenyOut: []string{"192.0.2.0/24"}}, &on, Egress{Allow: []string{"*"}, Deny: []string{"192.0.2.0/24"}}},
		"allowed wins":     {networkJSON{AllowOut: []string{"0.0.0.0/0"}, DenyOut: []string{"0.0.0.0/0"}}, nil, Egress{Allow: []string{"*"}}},
		"allowed and more": {networkJSON{AllowOut: []string{"10.0.0.1"}}, &on, Egress{Allow: []string{"10.0.0.1", "*"}}},
	} {
		if d := cmp.Diff(c.want, egressOf(&c.rules, c.internet)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// ruledIsolator makes fakes whose rules can be replaced if they start with some.
type ruledIsolator struct {
	*fakeIsolator
	rules Egress
}

func (f *ruledIsolator) Start(ctx context.Context, s Spec) (Instance, error) {
	in, err := f.fakeIsolator.Start(ctx, s)
	if fake, ok := in.(*fakeInstance); ok {
		return &ruledInstance{fake, f}, err
	}
	return in, err
}

type ruledInstance struct {
	*fakeInstance
	made *ruledIsolator
}

func (i *ruledInstance) SetEgress(e Egress) error { i.made.rules = e; return nil }

func TestNetworkRules(t *testing.T) {
	iso := &fakeIsolator{}
	ruled := &ruledIsolator{fakeIsolator: iso}
	r := newRigWith(t, ruled, "")
	sb := r.create(`{"templateID":"base","timeout":60,"network":{"allowOut":["a.example"],"denyOut":["0.0.0.0/0"],"maskRequestHost":"own.example:${PORT}"}}`)
	if got := iso.specs[0]; got.Network != NetworkProxy || !cmp.Equal(got.Egress, Egress{Allow: []string{"a.example"}}) {
		t.Errorf("%+v", got)
	}
	path := "/sandboxes/" + sb.SandboxID
	d := decode[detailJSON](t, r.want(200, "GET", path, "").body)
	if d.AllowInternetAccess || d.Network == nil || !cmp.Equal(d.Network.AllowOut, []string{"a.example"}) {
		t.Errorf("%+v", d)
	}
	r.want(204, "PUT", path+"/network", `{"denyOut":["192.0.2.0/24"]}`)
	if !cmp.Equal(ruled.rules, Egress{Allow: []string{"*"}, Deny: []string{"192.0.2.0/24"}}) {
		t.Errorf("%+v", ruled.rules)
	}
	d = decode[detailJSON](t, r.want(200, "GET", path, "").body)
	if !d.AllowInternetAccess || len(d.Network.AllowOut) != 0 || !cmp.Equal(d.Network.DenyOut, []string{"192.0.2.0/24"}) {
		t.Errorf("%+v", d)
	}
	// A copy has the rules of now.
	r.want(201, "POST", path+"/fork", `{"count":1}`)
	if got := iso.specs[1]; got.Network != NetworkProxy || !cmp.Equal(got.Egress, ruled.rules) {
		t.Errorf("forked: %+v", got)
	}
	open := r.create(`{"templateID":"base","timeout":60,"network":{"allowOut":["a.example"],"denyOut":["0.0.0.0/0"]}}`)
	r.want(204, "PUT", "/sandboxes/"+open.SandboxID+"/network", `{"allow_internet_access":false}`)
	r.want(201, "POST", "/sandboxes/"+open.SandboxID+"/fork", `{"count":1}`)
	if got := iso.specs[3]; !cmp.Equal(got.Egress, ruled.rules) || len(got.Egress.Allow) != 0 {
		t.Errorf("forked after the rules were taken back: %+v", got)
	}
	host := r.create(`{"templateID":"base","timeout":60,"allow_internet_access":true}`)
	r.want(204, "PUT", "/sandboxes/"+host.SandboxID+"/network", `{"allow_internet_access":true}`)
	r.want(409, "PUT", "/sandboxes/"+host.SandboxID+"/network", `{"denyOut":["0.0.0.0/0"]}`)
}

// Behind a front the internet is reached by a proxy, unless the host's is asked for.
func TestFrontNetwork(t *testing.T) {
	iso := &fakeIsolator{}
	r := newRig(t, iso)
	srv := newFront(t, r)
	for i, c := range []struct{ more, want string }{
		{``, NetworkProxy},
		{`,"allow_internet_access":false`, NetworkOff},
		{`,"allow_internet_access":true`, NetworkProxy},
		{`,"allow_internet_access":true,"metadata":{"abxdash.network":"host"}`, NetworkHost},
	} {
		rep := ask(t, srv, "POST", "/sandboxes", `{"templateID":"base","timeout":60`+c.more+`}`, "", "X-Api-Key", frontKey)
		if rep.status != 201 || iso.specs[i].Network != c.want {
			t.Errorf("%s: %d %s", c.more, rep.status, iso.specs[i].Network)
		}
	}
	rep := ask(t, srv, "POST", "/sandboxes", `{"templateID":"base","metadata":{"abxdash.network":"else"}}`, "", "X-Api-Key", frontKey)
	if rep.status != 400 {
		t.Errorf("%+v", rep)
	}
}

// A sandbox closed to the public shows its ports to whoever has the token, and the
// token does not reach what listens there.
func TestTrafficToken(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.Header.Write(w)
		_, _ = w.Write([]byte("host " + r.Host))
	}))
	defer page.Close()
	port := page.URL[strings.LastIndexByte(page.URL, ':')+1:]
	iso := &fakeIsolator{}
	r := newRig(t, iso)
	srv := newFront(t, r)
	rep := ask(t, srv, "POST", "/sandboxes", `{"templateID":"base","timeout":60,"network":{"allowPublicTraffic":false,"maskRequestHost":"m.example:${PORT}"}}`, "", "X-Api-Key", frontKey)
	sb := decode[sandboxJSON](t, rep.body)
	if rep.status != 201 || len(sb.TrafficToken) < 40 {
		t.Fatalf("%+v", rep)
	}
	label := port + "-" + sb.SandboxID + ".localhost"
	get := func(path string, header ...string) reply {
		srv.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		return ask(t, srv, "GET", path, "", label, header...)
	}
	for _, bad := range [][]string{nil, {"E2B-Traffic-Access-Token", "x"}, {"Cookie", "abx-traffic=x"}} {
		if rep := get("/", bad...); rep.status != 403 {
			t.Errorf("%v: %+v", bad, rep)
		}
	}
	if rep := get("/?abx_traffic_token=x"); rep.status != 403 {
		t.Errorf("%+v", rep)
	}
	rep = get("/", "E2B-Traffic-Access-Token", sb.TrafficToken)
	if rep.status != 200 || strings.Contains(rep.body, sb.TrafficToken) || !strings.Contains(rep.body, "host m.example:"+port) {
		t.Errorf("%+v", rep)
	}
	rep = get("//evil.example/p?a=1&abx_traffic_token=" + sb.TrafficToken)
	if rep.status != 303 || rep.header.Get("Location") != "/evil.example/p?a=1" {
		t.Fatalf("%+v", rep)
	}
	cookie, _, _ := strings.Cut(rep.header.Get("Set-Cookie"), ";")
	rep = get("/", "Cookie", "a=b; "+cookie+"; c=d")
	if rep.status != 200 || strings.Contains(rep.body, sb.TrafficToken) || !strings.Contains(rep.body, "Cookie: a=b; c=d") {
		t.Errorf("%+v", rep)
	}
	// The owner's own socket needs none.
	if rep := r.do("GET", "/", "", "E2b-Sandbox-Id", sb.SandboxID, "E2b-Sandbox-Port", port); rep.status != 200 {
		t.Errorf("%+v", rep)
	}
}

func TestFork(t *testing.T) {
	iso := &fakeIsolator{}
	r := newRig(t, iso)
	sb := r.create(`{"templateID":"base","timeout":60,"secure":true,"envVars":{"A":"1"},"metadata":{"k":"v"}}`)
	rep := r.want(201, "POST", "/sandboxes/"+sb.SandboxID+"/fork", `{"timeout":90,"count":2}`)
	list := decode[[]forkJSON](t, rep.body)
	if len(list) != 2 {
		t.Fatalf("%+v", rep)
	}
	for i, f := range list {
		if f.Error != nil || f.Sandbox.SandboxID == sb.SandboxID || f.Sandbox.EnvdAccessToken == sb.EnvdAccessToken ||
			f.Sandbox.Metadata["k"] != "v" || iso.specs[i+1].Env["A"] != "1" || iso.specs[i+1].Env["ABX_SANDBOX_ID"] != f.Sandbox.SandboxID {
			t.Errorf("%+v %+v", f, iso.specs[i+1])
		}
	}
	r.want(404, "POST", "/sandboxes/inone/fork", `{}`)
	iso.startErr = errBoom
	list = decode[[]forkJSON](t, r.want(201, "POST", "/sandboxes/"+sb.SandboxID+"/fork", ``).body)
	if len(list) != 1 || list[0].Sandbox != nil || list[0].Error.Code != 500 {
		t.Errorf("%+v", list)
	}
}

func TestStopNamesWhatItWouldEnd(t *testing.T) {
	r := newRig(t, &fakeIsolator{})
	a := r.create(`{"templateID":"base","timeout":60,"metadata":{"name":"web"}}`)
	for range maxNamed {
		r.create(`{"templateID":"base","timeout":60}`)
	}
	rep := r.want(409, "POST", PathStop, `{}`)
	if !strings.Contains(rep.body, "9 sandbox(es): ") || !strings.Contains(rep.body, " and 1 more") {
		t.Error(rep.body)
	}
	for _, id := range r.ids("/v2/sandboxes") {
		if id != a.SandboxID {
			r.want(204, "DELETE", "/sandboxes/"+id, "")
		}
	}
	if rep := r.want(409, "POST", PathStop, ``); !strings.Contains(rep.body, "1 sandbox(es): web ("+a.SandboxID+")") {
		t.Error(rep.body)
	}
}

func TestLimitsAreHeldOrRefused(t *testing.T) {
	iso := &fakeIsolator{}
	r := newRig(t, iso)
	r.want(400, "POST", "/sandboxes", `{"templateID":"base","cpuCount":0.5}`)
	r.want(400, "POST", "/sandboxes", `{"templateID":"base","metadata":{"abxdash.cpus":"0.5"}}`)
	for id := range iso.live {
		select {
		case <-iso.get(id).Done():
		default:
			t.Error("a refused sandbox runs")
		}
	}
	if iso.specs[0].CPUs != 0.5 || iso.specs[1].CPUs != 0.5 {
		t.Errorf("%+v", iso.specs)
	}
	cpus, memory := limits{0.5, 300}.shown(hostFacts{cpus: 8, memoryMB: 9000})
	if cpus != 1 || memory != 300 {
		t.Errorf("%d %d", cpus, memory)
	}
}
