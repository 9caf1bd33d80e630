package templates

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v4"
)

// Files of a template folder (templates-and-abx §2).
const (
	FileTemplate   = "template.yaml"
	FileDockerfile = "Dockerfile"
	FileCommands   = "commands.py"
	FileIgnore     = ".dockerignore"
)

// Capabilities that a template may declare; run_code needs "code" (templates-and-abx §1).
const (
	CapabilityShell    = "shell"
	CapabilityFiles    = "files"
	CapabilityCode     = "code"
	CapabilityTerminal = "terminal"
	CapabilityPorts    = "ports"
)

// KnownCapabilities lists what `capabilities` may hold.
func KnownCapabilities() []string {
	return []string{CapabilityShell, CapabilityFiles, CapabilityCode, CapabilityTerminal, CapabilityPorts}
}

// Template is template.yaml as it was written. Text fields keep the source
// text (`1.10` stays `1.10`); absent fields are zero.
type Template struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	User        string `json:"user,omitempty"`
	Workdir     string `json:"workdir,omitempty"`
	// Capabilities is nil when the key is absent, see [Template.Has].
	Capabilities []string `json:"capabilities"`
	Ports        []int    `json:"ports,omitempty"`
	// CPU is the number of vCPUs, MemoryMB in MiB; 0 is the provider's default (2 and 2048).
	CPU      float64 `json:"cpu,omitempty"`
	MemoryMB int     `json:"memory_mb,omitempty"`
	// Generation is the Express runtime, 1 or 2; 0 is the provider's choice.
	Generation int      `json:"generation,omitempty"`
	Author     string   `json:"author,omitempty"`
	License    string   `json:"license,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	// Env is the image's environment.
	Env map[string]string `json:"env,omitempty"`
	// CopyFiles maps a path in the folder to one in the image.
	CopyFiles map[string]string `json:"copy_files,omitempty"`
	// BaseImage is `base`, or `base.image`: used only when there is no Dockerfile.
	BaseImage string `json:"base,omitempty"`
	// Unknown lists keys that nobody knows; they are kept when the file is saved.
	Unknown []string `json:"unknown,omitempty"`

	src  source
	doc  *yaml.Node
	root *yaml.Node
	pos  map[string]place
	// present holds the top-level keys that the file has.
	present map[string]place
}

// place is a position in template.yaml, counted from 1.
type place struct{ line, column int }

// Has reports whether the template declares a capability; an absent list means
// shell, files and code (the seed).
func (t *Template) Has(capability string) bool {
	if t.Capabilities == nil {
		return slices.Contains([]string{CapabilityShell, CapabilityFiles, CapabilityCode}, capability)
	}
	return slices.Contains(t.Capabilities, capability)
}

// SetString changes or adds a top-level text value. Comments, order and
// unknown keys of the file stay.
func (t *Template) SetString(key, value string) {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: yaml.DoubleQuotedStyle}
	for i := 0; i+1 < len(t.root.Content); i += 2 {
		if t.root.Content[i].Value == key {
			node.LineComment = t.root.Content[i+1].LineComment
			t.root.Content[i+1] = node
			return
		}
	}
	t.root.Content = append(t.root.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, node)
}

// YAML is the file as it would be saved: everything that was in it, unknown
// keys and comments too.
func (t *Template) YAML() ([]byte, error) {
	var b bytes.Buffer
	d, err := yaml.NewDumper(&b, yaml.WithIndent(2))
	if err != nil {
		return nil, err
	}
	if err := d.Dump(t.doc); err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
