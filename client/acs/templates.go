package acs

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"abxdash/client"
)

// Template is a template as the native API shows it.
type Template struct {
	ID     string `json:"templateID"`
	Name   string `json:"name"`
	TeamID string `json:"teamID"`
	// Status.State is pending, building, ready, error, or a word not known yet.
	Status TemplateStatus `json:"status"`
}

// TemplateStatus is how far the build is. Reason is untrusted text.
type TemplateStatus struct {
	State  string `json:"state"`
	Reason struct {
		Message string `json:"message"`
	} `json:"reason"`
	FinishedAt string `json:"finishedAt"`
}

// TemplateSpec is the body of CreateTemplate (alicloud-express §9.1). The server
// refuses unknown fields and nulls, so what is unset is left out.
type TemplateSpec struct {
	Name          string        `json:"name"`
	TeamID        string        `json:"teamID,omitempty"`
	RuntimeConfig RuntimeConfig `json:"runtimeConfig"`
	BuildConfig   *BuildConfig  `json:"buildConfig,omitempty"`
	ResourceTags  []ResourceTag `json:"resourceTags,omitempty"`
}

// RuntimeConfig is the size and network of a template's sandboxes. CPU is vCPUs,
// sizes are MB.
type RuntimeConfig struct {
	CPU            int           `json:"cpu,omitempty"`
	MemorySize     int           `json:"memorySize,omitempty"`
	DiskSize       int           `json:"diskSize,omitempty"`
	InternetAccess *bool         `json:"internetAccess,omitempty"`
	VPCConfig      *VPCConfig    `json:"vpcConfig,omitempty"`
	SandboxConfig  SandboxConfig `json:"sandboxConfig"`
}

// VPCConfig is a private network.
type VPCConfig struct {
	VPCID           string   `json:"vpcId"`
	VSwitchIDs      []string `json:"vSwitchIds,omitempty"`
	SecurityGroupID string   `json:"securityGroupId,omitempty"`
}

// SandboxConfig is the image and its generation (1 or 2).
type SandboxConfig struct {
	Image         string          `json:"image"`
	Generation    int             `json:"generation,omitempty"`
	RegistryType  string          `json:"registryType,omitempty"`
	ACRInstanceID string          `json:"acrInstanceId,omitempty"`
	Registry      *RegistryConfig `json:"registryConfig,omitempty"`
	StartCommand  string          `json:"startCommand,omitempty"`
	ReadyCommand  string          `json:"readyCommand,omitempty"`
}

// RegistryConfig is how an image is pulled. It holds a password.
type RegistryConfig struct {
	Auth    *RegistryAuth    `json:"authConfig,omitempty"`
	Network *RegistryNetwork `json:"networkConfig,omitempty"`
}

// RegistryAuth is a login; it prints without its password.
type RegistryAuth struct {
	UserName string `json:"userName"`
	Password string `json:"password"`
}

// String shows no password.
func (a RegistryAuth) String() string { return "login of " + client.OneLine(a.UserName, 60) }

// GoString is String, for %#v.
func (a RegistryAuth) GoString() string { return a.String() }

// RegistryNetwork is the private network that a registry is reached over.
type RegistryNetwork struct {
	VPCID           string `json:"vpcId"`
	VSwitchID       string `json:"vSwitchId,omitempty"`
	SecurityGroupID string `json:"securityGroupId,omitempty"`
}

// BuildConfig is how an image is prepared (generation 1).
type BuildConfig struct {
	Copy       *CopyConfig `json:"copy,omitempty"`
	EnvdInject *Switch     `json:"envdInject,omitempty"`
}

// CopyConfig copies the image to another registry first.
type CopyConfig struct {
	Enabled       bool            `json:"enabled"`
	Image         string          `json:"image,omitempty"`
	RegistryType  string          `json:"registryType,omitempty"`
	ACRInstanceID string          `json:"acrInstanceId,omitempty"`
	Registry      *RegistryConfig `json:"registryConfig,omitempty"`
}

// Switch is on or off.
type Switch struct {
	Enabled bool `json:"enabled"`
}

// ResourceTag is a tag of the cloud's own kind.
type ResourceTag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// CreateTemplate makes a template, which starts its first build, and returns its
// id. A name that is taken is ErrConflict.
func (c *Client) CreateTemplate(ctx context.Context, spec TemplateSpec) (string, error) {
	const op = "create template"
	if spec.Name == "" || spec.RuntimeConfig.SandboxConfig.Image == "" {
		return "", client.Usagef(op, "a template needs a name and an image")
	}
	if c.version == LegacyVersion && spec.TeamID == "" {
		return "", client.Usagef(op, "the older API needs a team")
	}
	var out struct {
		TemplateID string `json:"templateID"`
	}
	if err := c.call(ctx, op, "CreateTemplate", http.MethodPost, "/templates", nil, spec, &out); err != nil {
		return "", err
	}
	if out.TemplateID == "" {
		return "", &client.Error{Op: op, Code: client.CodeBadAnswer, Message: "the answer holds no template id"}
	}
	return out.TemplateID, nil
}

// Templates lists the templates of a team; "" is the default team.
func (c *Client) Templates(ctx context.Context, teamID string) ([]Template, error) {
	var all []Template
	err := c.tokened(ctx, team(teamID), func(q url.Values) (string, error) {
		var out struct {
			Templates []Template `json:"templates"`
			NextToken string     `json:"nextToken"`
		}
		err := c.call(ctx, "list templates", "ListTemplates", http.MethodGet, "/templates", q, nil, &out)
		all = append(all, out.Templates...)
		return out.NextToken, err
	})
	return all, err
}

// Template gets one template; its build is followed by asking every 5 s.
func (c *Client) Template(ctx context.Context, id, teamID string) (Template, error) {
	const op = "get template"
	if id == "" {
		return Template{}, client.Usagef(op, "no template given")
	}
	// The fields come bare or inside "template".
	var raw struct {
		Template json.RawMessage `json:"template"`
	}
	var whole json.RawMessage
	if err := c.call(ctx, op, "GetTemplate", http.MethodGet, "/templates/"+encode(id), team(teamID), nil, &whole); err != nil {
		return Template{}, err
	}
	if json.Unmarshal(whole, &raw) == nil && len(raw.Template) > 0 {
		whole = raw.Template
	}
	var t Template
	if json.Unmarshal(whole, &t) != nil || t.ID == "" {
		return Template{}, &client.Error{Op: op, Code: client.CodeBadAnswer, Message: "the answer is no template"}
	}
	return t, nil
}

// DeleteTemplate deletes a template in any state.
func (c *Client) DeleteTemplate(ctx context.Context, id, teamID string) error {
	const op = "delete template"
	if id == "" {
		return client.Usagef(op, "no template given")
	}
	return c.call(ctx, op, "DeleteTemplate", http.MethodDelete, "/templates/"+encode(id), team(teamID), nil, nil)
}

func team(id string) url.Values {
	if id == "" {
		return nil
	}
	return url.Values{"teamID": {id}}
}
