// Package services knows the kinds of provider that are built in, and presets
// for services that speak the E2B dialect. All of it is data: what a service
// needs, where it is, what it lacks and in which ways it differs.
package services

import (
	"maps"
	"slices"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/client/e2b"
)

// Dialect is the protocol that a service speaks.
type Dialect string

// Dialects that are built in.
const (
	E2B         Dialect = "e2b"
	OpenSandbox Dialect = "opensandbox"
	Express     Dialect = "express"
	Local       Dialect = "local"
)

// Ids of the built-in providers (product.md §3).
const (
	IDLocal       = "local"
	IDExpress     = "alicloud-express"
	IDOpenSandbox = "opensandbox"
	IDContainer   = "alicloud-container"
	IDCube        = "cubesandbox"
	IDE2B         = "e2b"
)

// Routing is how requests find a sandbox's port.
type Routing string

// Ways of routing (alicloud-container §2).
const (
	// RouteHost puts port and id into the host name.
	RouteHost Routing = "host"
	// RoutePath puts them into the path.
	RoutePath Routing = "path"
	// RouteHeader sends everything to one address; headers tell the rest.
	RouteHeader Routing = "header"
)

// Service is one kind of provider, or one preset of a service.
type Service struct {
	ID      string
	Title   string
	Dialect Dialect
	// BuiltIn marks the providers of product.md §3; the others are presets.
	BuiltIn bool
	// Needs says in one line what has to be set.
	Needs string
	// KeyOptional: the service may run without a key.
	KeyOptional bool
	// Notes are remarks for people, one line each.
	Notes []string
	// APIURL, Domain, DataURL and WebURL are patterns; {region} and {domain} are
	// filled in. Data patterns also hold {id} and {port} (see e2b.Config).
	APIURL, Domain string
	// Region is the default for {region}.
	Region string
	// Regions lists known ones, for people.
	Regions []string
	// Routing is the default one, and Path the path of RoutePath behind the
	// service's own address, such as "/kruise/{id}/{port}".
	Routing Routing
	Path    string
	// API is the path of the control plane in path routing, "" for api.<domain>.
	API string

	Template    string
	User        string
	MinLifetime time.Duration
	Bearer      bool
	Quirks      e2b.Quirks
	// Lacks says why a capability is missing.
	Lacks map[client.Capability]string
	// Unverified marks what was read but never tried.
	Unverified bool
}

// Capabilities is the static set of a service of the E2B dialect.
func (s Service) Capabilities() client.Capabilities {
	caps := e2b.AllCapabilities()
	caps.Why = map[client.Capability]string{client.CapTemplates: s.ID + " has no template calls that are known to work from here"}
	if s.ID == IDE2B {
		caps.Have[client.CapTemplates], caps.Have[client.CapTemplateSteps] = true, true
		delete(caps.Why, client.CapTemplates)
	}
	for k, why := range s.Lacks {
		delete(caps.Have, k)
		caps.Why[k] = why
	}
	return caps
}

// All lists every service: the built-in ones first, in the order of product.md §3.
func All() []Service {
	return append(builtIn(), presets()...)
}

// BuiltIn lists the six providers of product.md §3.
func BuiltIn() []Service { return builtIn() }

// Lookup finds a service by its id.
func Lookup(id string) (Service, bool) {
	for _, s := range All() {
		if s.ID == id {
			return s, true
		}
	}
	return Service{}, false
}

// Kind is the service that a configured provider is of: its type where it has
// one, else what stands behind the @ of its name, else its name, else plain E2B.
func Kind(name, kind string) (Service, bool) {
	if kind != "" {
		return Lookup(kind)
	}
	if _, after, ok := strings.Cut(name, "@"); ok {
		name = after
	}
	if s, ok := Lookup(name); ok {
		return s, true
	}
	return Lookup(IDE2B)
}

// builtIn are the six providers.
func builtIn() []Service {
	return []Service{
		{
			ID: IDExpress, Title: "Alibaba Cloud Express, the default", Dialect: Express, BuiltIn: true,
			Needs: "ABX_SANDBOX_API_KEY, or ALICLOUD_ACCESS_KEY_ID + ALICLOUD_ACCESS_KEY_SECRET to make one",
		},
		{
			ID: IDOpenSandbox, Title: "OpenSandbox server", Dialect: OpenSandbox, BuiltIn: true, KeyOptional: true,
			Needs: "OPEN_SANDBOX_DOMAIN (or ABX_OPENSANDBOX_API_URL), and OPEN_SANDBOX_API_KEY if the server has a key",
			Notes: []string{"pools of warm sandboxes and commands in the background have no abxdash command; Go programs have them (client/opensandbox: Pools, CreatePool, Background)"},
		},
		container(), cube(),
		{
			ID: IDE2B, Title: "E2B cloud or self-hosted", Dialect: E2B, BuiltIn: true, Needs: "ABX_E2B_API_KEY",
			Domain: e2b.DefaultDomain, Routing: RouteHost, Template: e2b.DefaultTemplate,
			Quirks: e2b.Quirks{TrafficToken: true},
		},
		{ID: IDLocal, Title: "this machine, no account", Dialect: Local, BuiltIn: true, Needs: "nothing (Linux; fewer guarantees on macOS, none on Windows)"},
	}
}

// container is ACS/ACK Agent Sandbox: OpenKruise's E2B server (alicloud-container).
func container() Service {
	return Service{
		ID: IDContainer, Title: "Alibaba Cloud ACS/ACK Agent Sandbox, container edition", Dialect: E2B, BuiltIn: true,
		Needs:   "ABX_ALICLOUD_CONTAINER_API_KEY and ABX_ALICLOUD_CONTAINER_DOMAIN, and a template",
		Routing: RouteHost, Path: "/kruise/{id}/{port}", API: "/kruise/api",
		MinLifetime: 30 * time.Second,
		Quirks: e2b.Quirks{
			IgnoreVersion: true, TrafficToken: true, NoTemplateFilter: true, UnsetIsNever: true, KeepDomain: true,
			PauseAgainOK: true, QualifiedKeys: true,
		},
		Lacks: map[client.Capability]string{
			client.CapMetrics: "alicloud-container keeps no metrics: its server answers that path with something else",
			client.CapLogs:    "alicloud-container keeps no sandbox logs: its server answers that path with something else",
			// List and get only; made with kubectl.
			client.CapTemplates: "templates of alicloud-container are SandboxSets, made with kubectl",
		},
	}
}

// cube is CubeSandbox (cubesandbox).
func cube() Service {
	return Service{
		ID: IDCube, Title: "CubeSandbox", Dialect: E2B, BuiltIn: true, KeyOptional: true,
		Needs:  "ABX_CUBESANDBOX_API_URL, a template, and ABX_CUBESANDBOX_API_KEY if the server has a key",
		APIURL: "http://127.0.0.1:3000", Domain: "cube.app", Routing: RouteHost, Path: "/sandbox/{id}/{port}", User: "root",
		Quirks: e2b.Quirks{
			NoPaging: true, IgnoreVersion: true, TrafficToken: true, NoTemplateFilter: true, Lifecycle: true, UnsetIsNever: true,
			PauseSettles: true, BusyKill: true, RetcodeGone: true,
		},
		Lacks: map[client.Capability]string{
			client.CapMetrics:   "CubeSandbox has no metrics call",
			client.CapLogs:      "CubeSandbox's logs are placeholders or events of the machine, not of commands",
			client.CapTemplates: "templates of CubeSandbox are made from an image with its own tools",
		},
	}
}

// presets are further services of the E2B dialect (e2b-compatible-services).
func presets() []Service {
	older := map[client.Capability]string{
		client.CapSnapshot: "this service's line of the protocol predates snapshots",
		client.CapMetrics:  "not known to be offered", client.CapLogs: "not known to be offered",
		client.CapNetworkUpdate: "not known to be offered",
	}
	list := []Service{
		{
			ID: "tencent-ags", Title: "Tencent Cloud Agent Runtime", Domain: "{region}.tencentags.com",
			Region: "ap-guangzhou", Regions: []string{"ap-guangzhou"}, Needs: "a console key (ark_… or e2b_…), a region, and the name of a sandbox tool as template",
			Lacks: older,
		},
		{
			ID: "huawei-agentsphere", Title: "Huawei AgentSphere", APIURL: "https://agentsphere.{region}.myhuaweicloud.com",
			Region: "cn-southwest-2", Routing: RouteHeader, Needs: "a console key, a region, and data_url: the gateway of the template",
			Quirks: e2b.Quirks{TrafficToken: true},
			Lacks: map[client.Capability]string{
				client.CapSnapshot: "AgentSphere has no snapshots", client.CapMetrics: "AgentSphere has no metrics",
				client.CapLogs: "AgentSphere has no logs", client.CapNetworkUpdate: "AgentSphere cannot change a sandbox's network",
			},
		},
		{
			ID: "baidu-cfc", Title: "Baidu Cloud CFC sandbox", Domain: "sandbox-execute.{region}.baidubce.com",
			Region: "bj", Regions: []string{"bj", "gz", "su"}, Needs: "a key (bsx_…) and a region", Lacks: older,
		},
		{ID: "novita", Title: "Novita", Domain: "sandbox.novita.ai", Needs: "a Novita key", Lacks: older, Quirks: e2b.Quirks{V1List: true}},
		{ID: "ppio", Title: "PPIO", Domain: "sandbox.ppio.com", Needs: "a PPIO key (sk_…)", Lacks: older, Quirks: e2b.Quirks{V1List: true}},
		{
			ID: "pai-sandbox", Title: "Alibaba PAI-Sandbox", Needs: "a key and the domain from the template's page", Lacks: with(older, client.CapPTY, "PAI-Sandbox's terminals are not known to work"),
		},
		{ID: "ucloud", Title: "UCloud sandbox", Needs: "a key, api_url and domain", Lacks: older},
		{
			ID: "scitix", Title: "Scitix Agent-Sandbox", Needs: "a key (agbx_…), api_url and data_url; the template is a pool's name", Routing: RouteHeader,
			Lacks: older,
		},
	}
	for i := range list {
		s := &list[i]
		s.Dialect, s.Unverified = E2B, true
		s.Quirks.IgnoreVersion, s.Quirks.TrafficToken = true, true
		if s.Routing == "" {
			s.Routing = RouteHost
		}
	}
	return list
}

func with(m map[client.Capability]string, k client.Capability, why string) map[client.Capability]string {
	out := maps.Clone(m)
	out[k] = why
	return out
}

// IDs lists the ids of all services, built-in ones first.
func IDs() []string {
	var out []string
	for _, s := range All() {
		out = append(out, s.ID)
	}
	return out
}

// IsBuiltIn reports whether id is one of the six.
func IsBuiltIn(id string) bool {
	return slices.ContainsFunc(builtIn(), func(s Service) bool { return s.ID == id })
}
