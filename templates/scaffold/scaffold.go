package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v4"

	"abxdash/client"
	"abxdash/templates"
)

//go:embed files
var files embed.FS

// Kind is what a new template is for.
type Kind string

// Kinds of template.
const (
	Minimal Kind = "minimal"
	Python  Kind = "python"
	Node    Kind = "node"
	Browser Kind = "browser"
	Agent   Kind = "agent"
	// FromDockerfile starts from a Dockerfile that is there already.
	FromDockerfile Kind = "dockerfile"
	// FromSandbox starts from what somebody did in a running sandbox.
	FromSandbox Kind = "sandbox"
)

// Kinds lists all kinds with a line about each.
func Kinds() []struct {
	Kind Kind
	What string
} {
	return []struct {
		Kind Kind
		What string
	}{
		{Minimal, "one named command and nothing else"},
		{Python, "Python, with code and developer tools"},
		{Node, "Node.js beside Python"},
		{Browser, "a browser driven by Playwright"},
		{Agent, "an agent served by the Agents API"},
		{FromDockerfile, "an image you have a Dockerfile for"},
		{FromSandbox, "what you changed in a running sandbox"},
	}
}

// Options describe a new template.
type Options struct {
	Kind   Kind
	Name   string
	Target templates.Target
	// Description is "" for the kind's own.
	Description string
	// Capabilities is nil for the kind's own.
	Capabilities []string
	// Groups are turned on in commands.py besides the kind's own, in any case.
	Groups []string
	// CPU and MemoryMB are 0 for the provider's default.
	CPU      float64
	MemoryMB int
	// Dockerfile is the text to start from, for FromDockerfile.
	Dockerfile []byte
	// Changes are what a sandbox has, for FromSandbox.
	Changes *Changes
}

// Changes are what differs in a sandbox from the template it was made of.
type Changes struct {
	// Files are those of its home; paths are relative to it.
	Files []File
	// Python and Node are installed packages, "name==version" and "name@version".
	Python, Node []string
	// NodeFolders are folders of the home with a package.json whose packages
	// were installed.
	NodeFolders []string
}

// File is one file of a template folder.
type File struct {
	// Path is relative to the folder, with slashes.
	Path string
	Data []byte
	// Exec makes it a program.
	Exec bool
}

// facts is what differs between kinds.
type facts struct {
	description  string
	capabilities []string
	groups       []string
	// extra goes into the Dockerfile, imports and body into commands.py.
	extra, imports, body string
}

const nodeBody = `

@command("node_version", description="Say which Node.js runs here.")
def node_version() -> str:
    return subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout.strip()
`

// nodeExtra installs Node.js where the base image has none.
const nodeExtra = "RUN command -v node || (apt-get update && apt-get install -y --no-install-recommends nodejs npm && rm -rf /var/lib/apt/lists/*)\n"

const pythonBody = `

@command("add", description="Add two numbers.")
def add(a: int, b: int = 1) -> int:
    return a + b
`

func (k Kind) facts() (facts, bool) {
	f := facts{capabilities: []string{"shell", "files", "code"}}
	switch k {
	case Minimal:
		f.description = "A sandbox with one named command"
	case Python:
		f.description, f.groups, f.body = "A Python sandbox", []string{"DEV_TOOLS"}, pythonBody
	case Node:
		f.description, f.imports, f.body = "A Node.js sandbox", "import subprocess", nodeBody
		f.extra = nodeExtra
	case Browser:
		f.description, f.groups = "A sandbox with a browser", []string{"BROWSER"}
		f.extra = "RUN pip install --no-cache-dir playwright && playwright install --with-deps chromium && rm -rf /var/lib/apt/lists/*\n"
	case Agent:
		f.description, f.groups = "A sandbox that serves an agent", []string{"AGENTS"}
		f.capabilities = append(f.capabilities, "terminal")
	case FromDockerfile:
		f.description = "A sandbox of my own image"
	case FromSandbox:
		f.description = "What was made in a sandbox"
	default:
		return f, false
	}
	return f, true
}

// groupNames are the groups that are off until turned on (the seed).
func groupNames() []string { return []string{"DEV_TOOLS", "BROWSER", "AGENTS"} }

// New makes the files of a template. Options that break a rule of templates
// are an error (E2004), wrong ones E9002.
func New(o Options) ([]File, error) {
	const op = "scaffold template"
	f, ok := o.Kind.facts()
	if !ok {
		e := client.Usagef(op, "there is no kind %q", client.OneLine(string(o.Kind), 30))
		e.Hint = "see them: abxdash template init --list"
		return nil, e
	}
	if err := checkName(o.Name); err != nil {
		return nil, err
	}
	for _, g := range o.Groups {
		g = strings.ToUpper(strings.TrimSpace(g))
		if !slices.Contains(groupNames(), g) {
			return nil, client.Usagef(op, "there is no group %q to turn on; there are dev_tools, browser, agents", client.OneLine(g, 30))
		}
		if !slices.Contains(f.groups, g) {
			f.groups = append(f.groups, g)
		}
	}
	if o.Description == "" {
		o.Description = f.description
	}
	if o.Capabilities == nil {
		o.Capabilities = f.capabilities
	}
	home, own, err := fromSandbox(o, &f)
	if err != nil {
		return nil, err
	}
	docker, err := dockerfile(o, f)
	if err != nil {
		return nil, err
	}
	manifest, err := manifest(o)
	if err != nil {
		return nil, err
	}
	commands, err := fill("commands.py.tmpl", struct {
		Imports, Body string
		Groups        []string
	}{f.imports, f.body, f.groups})
	if err != nil {
		return nil, err
	}
	readme, err := fill("README.md.tmpl", struct {
		Name, Description, Target string
		Express, Home             bool
	}{o.Name, o.Description, o.Target.Provider, o.Target.IsExpress(), len(home) > 0})
	if err != nil {
		return nil, err
	}
	ignore, err := files.ReadFile("files/dockerignore")
	if err != nil {
		return nil, fmt.Errorf("read the built-in files: %w", err)
	}
	test, err := files.ReadFile("files/test_commands.py")
	if err != nil {
		return nil, fmt.Errorf("read the built-in files: %w", err)
	}
	out := []File{
		{Path: templates.FileTemplate, Data: manifest},
		{Path: templates.FileDockerfile, Data: docker},
		{Path: templates.FileCommands, Data: commands},
		{Path: templates.FileIgnore, Data: ignore},
		{Path: "README.md", Data: readme},
	}
	if own != nil {
		// The sandbox had commands of its own; the test is about ours.
		out[2].Data = own
	} else {
		out = append(out, File{Path: "tests/test_commands.py", Data: test})
	}
	return append(out, home...), check(o.Target, manifest)
}

// check holds what New made against the same rules as every other template.
func check(target templates.Target, manifest []byte) error {
	t, ps := templates.Parse(templates.FileTemplate, manifest)
	if t != nil {
		ps = append(ps, t.Check(target, templates.Surroundings{Dockerfile: true})...)
	}
	return ps.Err("scaffold template")
}

func checkName(name string) error {
	const op = "scaffold template"
	if instead := templates.Reserved(name); instead != "" {
		return &client.Error{
			Op: op, Code: client.CodeTemplateParse, Message: fmt.Sprintf("the name %q is reserved by the platform", client.OneLine(strings.TrimSpace(name), 40)),
			Hint: "use " + instead,
		}
	}
	if !templates.GoodName(name) {
		return client.Usagef(op, "the name %q must be lower-case letters, digits and dashes, at most 63", client.OneLine(name, 70))
	}
	return nil
}

// NameFor makes a template's name of a folder's.
func NameFor(dir string) string {
	base := strings.ToLower(path.Base(strings.ReplaceAll(dir, `\`, "/")))
	var b strings.Builder
	for _, r := range base {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), "-")
	if len(name) > 63 {
		name = strings.Trim(name[:63], "-")
	}
	if name == "" {
		return "my-template"
	}
	return name
}

func fill(name string, data any) ([]byte, error) {
	t, err := template.ParseFS(files, "files/"+name)
	if err != nil {
		return nil, fmt.Errorf("read the built-in files: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("fill in %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// manifest is template.yaml in the seed's order.
func manifest(o Options) ([]byte, error) {
	type size struct {
		CPU    float64 `yaml:"cpu,omitempty"`
		Memory int     `yaml:"memory,omitempty"`
	}
	quoted := func(s string) yaml.Node {
		return yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	}
	m := struct {
		Name         string    `yaml:"name"`
		Version      yaml.Node `yaml:"version"`
		Description  yaml.Node `yaml:"description"`
		User         string    `yaml:"user,omitempty"`
		Workdir      string    `yaml:"workdir"`
		Capabilities []string  `yaml:"capabilities"`
		Ports        []int     `yaml:"ports"`
		Resources    size      `yaml:"resources,omitempty"`
	}{
		Name: o.Name, Version: quoted("1.0.0"), Description: quoted(o.Description), Workdir: o.Target.Workdir(),
		Capabilities: o.Capabilities, Ports: []int{templates.ServerPort}, Resources: size{o.CPU, o.MemoryMB},
	}
	if o.Target.IsExpress() {
		m.User = "user"
	}
	out, err := yaml.Dump(m, yaml.WithIndent(2), yaml.WithCompactSeqIndent(false))
	if err != nil {
		return nil, fmt.Errorf("write template.yaml: %w", err)
	}
	return out, nil
}
