package templates

import "strings"

// Target says for which provider a template is written; it decides the form of
// the Dockerfile (templates-and-abx §3).
type Target struct {
	// Provider is the provider's id, such as "alicloud-express".
	Provider string
	// Region and BaseTag name the Express base image; "" is the default.
	Region  string
	BaseTag string
	// Base is the base image that a plug-in's profile names; "" is the usual
	// one. Express has its own.
	Base string
}

// Express is the id of the default target.
const Express = "alicloud-express"

// Defaults of the Express base image (the seed).
const (
	DefaultRegion  = "cn-hangzhou"
	DefaultBaseTag = "v0.0.49"
	// EnvBaseTag names the variable that overrides the tag.
	EnvBaseTag = "ABX_BASE_IMAGE_TAG"
)

// OtherBase is the base image of every other provider (the seed).
const OtherBase = "python:3.12-slim"

// ServerPort is where named commands are served (agent-sandbox-server §1).
const ServerPort = 9000

// NewTarget fills in the defaults. getenv looks up the override of the tag; nil is none.
func NewTarget(provider, region string, getenv func(string) string) Target {
	t := Target{Provider: provider, Region: strings.TrimSpace(region), BaseTag: DefaultBaseTag}
	if t.Provider == "" {
		t.Provider = Express
	}
	if t.Region == "" {
		t.Region = DefaultRegion
	}
	if getenv != nil {
		if tag := strings.TrimSpace(getenv(EnvBaseTag)); tag != "" {
			t.BaseTag = tag
		}
	}
	return t
}

// IsExpress reports whether the target is Alibaba Cloud Express; a profile
// name@alicloud-express counts.
func (t Target) IsExpress() bool {
	return t.Provider == "" || t.Provider == Express || strings.HasSuffix(t.Provider, "@"+Express)
}

// BaseImage is the FROM of the target's Dockerfile.
func (t Target) BaseImage() string {
	if !t.IsExpress() {
		if t.Base != "" {
			return t.Base
		}
		return OtherBase
	}
	region, tag := t.Region, t.BaseTag
	if region == "" {
		region = DefaultRegion
	}
	if tag == "" {
		tag = DefaultBaseTag
	}
	return "fc-e2b-registry." + region + ".cr.aliyuncs.com/runtime/base:" + tag
}

// Workdir is the image's working directory for the target.
func (t Target) Workdir() string {
	if t.IsExpress() {
		return "/home/user/app"
	}
	return "/app"
}

// CommandsPath is where the target's platform looks for commands.py.
func (t Target) CommandsPath() string { return t.Workdir() + "/" + FileCommands }

// StartCommand starts the server in the image, "" where the image's CMD does.
func (t Target) StartCommand() string {
	if !t.IsExpress() {
		return ""
	}
	return "agent-sandbox-server serve --port 9000 --commands " + t.CommandsPath()
}

// reservedPorts are the platform's own: envd, the gateway, the code interpreter (the seed).
func reservedPorts() map[int]string {
	return map[int]string{49983: "the sandbox agent", 5000: "the gateway", 49999: "the code interpreter"}
}

// Reserved returns the name to use instead of a reserved one, "" if name is
// free. Case, blanks around it, a tag behind it and a team before it do not
// matter.
func Reserved(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	name, _, _ = strings.Cut(name, ":")
	switch strings.TrimSpace(name) {
	case "codex":
		return "openai-codex"
	case "openclaw":
		return "openclaw-agent"
	}
	return ""
}

// GoodName reports whether name is lower-case letters, digits and dashes, at
// most 63 of them and no dash first: the form that every provider takes
// (templates-and-abx §1).
func GoodName(name string) bool {
	if name == "" || len(name) > 63 || name[0] == '-' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
