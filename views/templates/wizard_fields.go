package templates

import (
	"fmt"
	"strings"

	tpl "abxdash/templates"
	"abxdash/templates/scaffold"
	"abxdash/ui/form"
	"abxdash/ui/lang"
)

// fields are those of the current step.
func (w *Wizard) fields() []form.Field {
	d, tr := w.d, w.env.Lang
	switch d.step {
	case stepTarget:
		fields := []form.Field{{Key: wizTarget, Label: tr.T("Provider"), Kind: form.Choice, Options: w.m.opt.Targets, Value: d.target, Help: tr.T("decides the form of the Dockerfile")}}
		if (tpl.Target{Provider: d.target}).IsExpress() {
			fields = append(fields, form.Field{Key: wizRegion, Label: tr.T("Region"), Value: d.region, Placeholder: w.m.opt.target(d.target).Region, Help: tr.T("of the base image")})
		}
		return fields
	case stepCapabilities:
		return w.checks()
	case stepSize:
		return []form.Field{
			{Key: wizCPU, Label: tr.T("vCPUs"), Value: d.cpu, Placeholder: tr.T("the provider's default"), Validate: func(s string) error { _, err := cpuOf(s); return err }},
			{Key: wizMemory, Label: tr.T("Memory"), Value: d.memory, Placeholder: tr.T("the provider's default"), Help: tr.T("in MiB"), Validate: func(s string) error { _, err := memoryOf(s); return err }},
		}
	case stepName:
		return []form.Field{
			{Key: wizName, Label: tr.T("Name"), Value: d.name, Validate: nameOf, Help: tr.T("what sandboxes are started with")},
			{Key: wizFolder, Label: tr.T("Folder"), Value: d.folder, Help: tr.T("below the current one, or from / or ~/ on"), Validate: func(s string) error {
				if strings.TrimSpace(s) == "" {
					return lang.Errorf("a folder is needed")
				}
				return nil
			}},
			{Key: wizDescription, Label: tr.T("About"), Value: d.description, Placeholder: kindHelp(d.kind)},
		}
	}
	fields := []form.Field{{Key: wizKind, Label: tr.T("Kind"), Kind: form.Choice, Options: kinds(), Value: d.kind, OptionHelp: func(kind string) string { return tr.Word(kindHelp(kind)) }}}
	if d.kind == string(scaffold.FromDockerfile) {
		fields = append(fields, form.Field{Key: wizFrom, Label: "Dockerfile", Value: d.from, Placeholder: "./Dockerfile", Help: tr.T("the file to start from; it stays as it is")})
	}
	if d.kind == string(scaffold.FromSandbox) {
		fields = append(fields, form.Field{
			Key: wizBox, Label: tr.T("Sandbox"), Kind: form.Choice, Options: w.m.boxes(), Value: d.box, OptionHelp: w.m.boxHelp,
			Help: tr.T("what came or changed in its home since it was made, and packages"),
		})
	}
	return fields
}

// checks are the boxes of capabilities and groups, at first the kind's own.
func (w *Wizard) checks() []form.Field {
	d, tr := w.d, w.env.Lang
	capabilities, groups := w.m.kindsOwn(d)
	own := groups
	if d.capabilities != nil {
		capabilities = d.capabilities
	}
	if d.groups != nil {
		groups = d.groups
	}
	var out []form.Field
	box := func(key, name, label, help string, on bool) {
		out = append(out, form.Field{Key: key + name, Label: label, Kind: form.Check, Value: fmt.Sprint(on), Help: help})
	}
	for _, c := range tpl.KnownCapabilities() {
		box(wizCapability, c, c, tr.T("a capability that sandboxes of it have"), capabilities[c])
	}
	for _, g := range groupNames() {
		help := tr.T("a group of routes of the server, off unless it is turned on")
		if own[g] {
			help = tr.T("this kind always has it")
		}
		box(wizGroup, g, g, help, groups[g] || own[g])
	}
	return out
}

// read takes the values of the step out of the form.
func (w *Wizard) read() {
	d := w.d
	value := w.form.Value
	switch d.step {
	case stepKind:
		if k := value(wizKind); k != d.kind {
			d.kind = k
			d.capabilities, d.groups = nil, nil // those of the other kind
			w.build()
		}
		if b := value(wizBox); b != d.box && d.kind == string(scaffold.FromSandbox) {
			d.box, d.changes = b, nil
		}
		if d.from = value(wizFrom); d.kind != string(scaffold.FromDockerfile) {
			d.from = ""
		}
	case stepTarget:
		if t := value(wizTarget); t != d.target {
			d.target = t
			w.build()
		}
		d.region = value(wizRegion)
	case stepCapabilities:
		d.capabilities, d.groups = map[string]bool{}, map[string]bool{}
		for _, c := range tpl.KnownCapabilities() {
			d.capabilities[c] = w.form.On(wizCapability + c)
		}
		for _, g := range groupNames() {
			d.groups[g] = w.form.On(wizGroup + g)
		}
	case stepSize:
		d.cpu, d.memory = value(wizCPU), value(wizMemory)
	case stepName:
		follows := d.folder == d.name
		d.name, d.description = strings.TrimSpace(value(wizName)), value(wizDescription)
		if d.folder = value(wizFolder); follows && w.form.Focused() == wizName {
			d.folder = d.name
			w.form.SetValue(wizFolder, d.folder)
		}
	}
}
