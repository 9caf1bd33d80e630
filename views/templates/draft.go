package templates

import (
	"path/filepath"
	"strconv"
	"strings"

	tpl "abxdash/templates"
	"abxdash/templates/scaffold"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// draft is what the wizard has been told so far, as text. It is kept when the
// wizard is left.
type draft struct {
	kind string
	// from is the path of a Dockerfile, dockerfile its text once it was read.
	from       string
	dockerfile []byte
	// box is a live sandbox, provider/id, and changes what was done in it, once
	// that was looked at.
	box            string
	changes        *scaffold.Changes
	target, region string
	// capabilities and groups are nil for the kind's own.
	capabilities, groups      map[string]bool
	cpu, memory               string
	name, folder, description string
	// step is where the wizard was left.
	step int
}

// groups of the server that can be turned on (agent-sandbox-server §4).
func groupNames() []string { return []string{"dev_tools", "browser", "agents"} }

func (m *Manager) newDraft() draft {
	return draft{kind: string(scaffold.Python), target: m.opt.Targets[0], name: "my-template", folder: "my-template"}
}

// kinds are those of the scaffold that the wizard can ask for.
func kinds() []string {
	var out []string
	for _, k := range scaffold.Kinds() {
		switch k.Kind {
		case scaffold.Minimal, scaffold.Python, scaffold.Node, scaffold.Browser, scaffold.Agent, scaffold.FromDockerfile, scaffold.FromSandbox:
			out = append(out, string(k.Kind))
		}
	}
	return out
}

func kindHelp(kind string) string {
	for _, k := range scaffold.Kinds() {
		if string(k.Kind) == kind {
			return k.What
		}
	}
	return ""
}

// tplTarget is the provider that the files are for.
func (m *Manager) tplTarget(d *draft) tpl.Target {
	t := m.opt.target(d.target)
	if r := strings.TrimSpace(d.region); r != "" {
		t.Region = r
	}
	return t
}

// files makes the files of a draft. The error says what is missing.
func (m *Manager) files(d *draft) ([]scaffold.File, error) {
	cpu, err := cpuOf(d.cpu)
	if err != nil {
		return nil, err
	}
	memory, err := memoryOf(d.memory)
	if err != nil {
		return nil, err
	}
	o := scaffold.Options{
		Kind: scaffold.Kind(d.kind), Name: d.name, Target: m.tplTarget(d), Description: strings.TrimSpace(d.description), CPU: cpu, MemoryMB: memory,
	}
	if o.Kind == scaffold.FromDockerfile {
		if len(d.dockerfile) == 0 {
			return nil, lang.Errorf("the Dockerfile to start from is not read yet")
		}
		o.Dockerfile = d.dockerfile
	}
	if o.Kind == scaffold.FromSandbox {
		if d.changes == nil {
			return nil, lang.Errorf("the sandbox is looked at with the next step; it is only read")
		}
		o.Changes = d.changes
	}
	if d.capabilities != nil {
		o.Capabilities = chosen(d.capabilities, tpl.KnownCapabilities())
	}
	o.Groups = chosen(d.groups, groupNames())
	return scaffold.New(o)
}

// chosen lists what is on, in the order of names; never nil.
func chosen(on map[string]bool, names []string) []string {
	out := []string{}
	for _, n := range names {
		if on[n] {
			out = append(out, n)
		}
	}
	return out
}

func cpuOf(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v <= 0 || v > 1024 {
		return 0, lang.Errorf("a number of vCPUs such as 2 or 0.5")
	}
	return v, nil
}

func memoryOf(text string) (int, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil || v <= 0 || v > 1<<22 {
		return 0, lang.Errorf("a number of MiB such as 2048")
	}
	return v, nil
}

func nameOf(text string) error {
	if instead := tpl.Reserved(text); instead != "" {
		return lang.Errorf("reserved; use %s", instead)
	}
	if !tpl.GoodName(text) {
		return lang.Errorf("lower-case letters, digits and dashes, at most 63")
	}
	return nil
}

// dir is where the files go.
func (m *Manager) dir(d *draft) string {
	f := strings.TrimSpace(d.folder)
	if rest, ok := strings.CutPrefix(f, "~/"); ok && m.opt.Home != "" {
		return filepath.Join(m.opt.Home, filepath.FromSlash(rest))
	}
	if filepath.IsAbs(f) {
		return filepath.Clean(f)
	}
	return filepath.Join(m.opt.Dir, filepath.FromSlash(f))
}

// kindsOwn are the capabilities and groups that a kind has by itself, read from
// the files that it makes.
func (m *Manager) kindsOwn(d *draft) (capabilities, groups map[string]bool) {
	plain := draft{kind: d.kind, dockerfile: d.dockerfile, changes: d.changes, target: d.target, name: "template"}
	capabilities, groups = map[string]bool{}, map[string]bool{}
	files, err := m.files(&plain)
	if err != nil {
		files = nil
	}
	for _, f := range files {
		switch f.Path {
		case tpl.FileTemplate:
			t, _ := tpl.Parse(f.Path, f.Data)
			for _, c := range tpl.KnownCapabilities() {
				capabilities[c] = t != nil && t.Has(c)
			}
		case tpl.FileCommands:
			for _, g := range groupNames() {
				groups[g] = strings.Contains(string(f.Data), "CapabilityGroup."+strings.ToUpper(g))
			}
		}
	}
	return capabilities, groups
}

// summary words what is made.
func (d *draft) summary(tr *lang.Catalog) string {
	return tr.T("%s for %s", present.Clean(d.kind), present.Clean(d.target))
}
