package templates

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Keys of template.yaml (templates-and-abx §1).
const (
	keyCapabilities   = "capabilities"
	keyCustomCommands = "custom_commands"
	keyServer         = "server"
	keyBase           = "base"
	keyName           = "name"
)

// knownKeys are the top-level keys with a meaning.
func knownKeys() []string {
	return []string{
		keyName, "version", "description", "user", "workdir", keyCapabilities, "ports", "resources", "cpu_count", "memory_mb",
		"generation", "author", "license", "tags", "env", "copy_files", keyBase, "system_packages", "python_packages",
		"node_packages", "commands", "build", keyCustomCommands, keyServer,
	}
}

// fields decodes the top level.
func (d *decoder) fields(root *yaml.Node) {
	t := d.t
	text := map[string]*string{
		keyName: &t.Name, "version": &t.Version, "description": &t.Description, "user": &t.User, "workdir": &t.Workdir,
		"author": &t.Author, "license": &t.License,
	}
	for _, p := range pairs(root) {
		key, v := p.key.Value, p.value
		t.present[key] = place{p.key.Line, p.key.Column}
		t.pos[key] = place{v.Line, v.Column}
		if to, ok := text[key]; ok {
			*to = d.text(key, v)
			continue
		}
		switch key {
		case keyCapabilities:
			t.Capabilities = d.texts(key, v)
		case "ports":
			t.Ports = d.ports(v)
		case "resources":
			d.resources(v)
		case "cpu_count":
			t.CPU = d.number(key, v)
		case "memory_mb":
			t.MemoryMB = d.integer(key, v)
		case "generation":
			t.Generation = d.integer(key, v)
		case "tags":
			t.Tags = d.texts(key, v)
		case "env":
			t.Env = d.textMap(key, v)
		case "copy_files":
			t.CopyFiles = d.textMap(key, v)
		case keyBase:
			t.BaseImage = d.base(v)
		case "system_packages", "python_packages", "node_packages":
			d.texts(key, v)
		case "commands", "build", keyCustomCommands, keyServer:
		default:
			d.unknown(p.key)
		}
	}
}

// unknown keeps a key that nobody knows, and guesses what was meant (TPL-04).
func (d *decoder) unknown(k *yaml.Node) {
	d.t.Unknown = append(d.t.Unknown, k.Value)
	p := d.report(SeverityWarning, "unknown-key", k, "unknown key %q; it is kept and not used", k.Value)
	if near := nearest(k.Value, knownKeys()); near != "" {
		p.Hint = "did you mean " + near + "?"
	}
}

func (d *decoder) wrongType(key, want string, n *yaml.Node) {
	d.report(SeverityError, "type", n, "%s must be %s, not %s", key, want, kindName(n))
}

// text reads a text value and keeps its source text: 1.10 stays 1.10 (TPL-03).
func (d *decoder) text(key string, n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.wrongType(key, "a text", n)
		return ""
	}
	if plain(n) && ambiguous(n) {
		d.report(SeverityWarning, "quotes", n, "%s is taken as the text %q, but other programs may read it as something else", key, n.Value).Hint = `put it in quotes: "` + strings.ReplaceAll(n.Value, `"`, "") + `"`
	}
	return n.Value
}

// plain reports whether a scalar stands without quotes.
func plain(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// ambiguous reports whether some YAML reader takes the plain text for
// something else than a text: numbers, times, and the words of YAML 1.1.
func ambiguous(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!timestamp":
		return true
	}
	switch strings.ToLower(n.Value) {
	case "y", "n", "yes", "no", "on", "off", "true", "false":
		return true
	}
	return false
}

// texts reads a list of texts; an empty list is not nil.
func (d *decoder) texts(key string, n *yaml.Node) []string {
	out := []string{}
	if n.Kind != yaml.SequenceNode {
		d.wrongType(key, "a list", n)
		return out
	}
	for i, c := range n.Content {
		c = resolve(c)
		d.t.pos[key+"."+strconv.Itoa(i)] = place{c.Line, c.Column}
		out = append(out, d.text(key+" entry", c))
	}
	return out
}

func (d *decoder) ports(n *yaml.Node) []int {
	if n.Kind != yaml.SequenceNode {
		d.wrongType("ports", "a list of port numbers", n)
		return nil
	}
	var out []int
	for _, c := range n.Content {
		c = resolve(c)
		bad := len(d.ps)
		port := d.integer("port", c)
		if len(d.ps) > bad {
			continue
		}
		if port < 1 || port > 65535 {
			d.report(SeverityError, "port", c, "port %d is not in 1 to 65535", port)
			continue
		}
		d.t.pos["ports."+strconv.Itoa(len(out))] = place{c.Line, c.Column}
		out = append(out, port)
	}
	return out
}

// integer reads a whole number in decimal digits; every other spelling means
// different things to different readers.
func (d *decoder) integer(key string, n *yaml.Node) int {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" {
		d.wrongType(key, "a whole number", n)
		return 0
	}
	v, err := strconv.Atoi(n.Value)
	if err != nil || strconv.Itoa(v) != n.Value {
		d.report(SeverityError, "type", n, "%s must be written in plain decimal digits, not %s", key, n.Value)
		return 0
	}
	return v
}

func (d *decoder) number(key string, n *yaml.Node) float64 {
	if tag := n.ShortTag(); n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" {
		d.wrongType(key, "a number", n)
		return 0
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	if err != nil || v-v != 0 {
		d.report(SeverityError, "type", n, "%s must be written in plain decimal digits, not %s", key, n.Value)
		return 0
	}
	return v
}

// resources reads the size in its present and its older form.
func (d *decoder) resources(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		d.wrongType("resources", "a mapping with cpu and memory", n)
		return
	}
	for _, p := range pairs(n) {
		switch key := "resources." + p.key.Value; p.key.Value {
		case "cpu", "cpu_count":
			d.t.CPU = d.number(key, p.value)
			d.t.pos["resources.cpu"] = place{p.value.Line, p.value.Column}
		case "memory", "memory_mb":
			d.t.MemoryMB = d.integer(key, p.value)
			d.t.pos["resources.memory"] = place{p.value.Line, p.value.Column}
		default:
			q := d.report(SeverityWarning, "unknown-key", p.key, "unknown key %q; it is kept and not used", key)
			if near := nearest(p.key.Value, []string{"cpu", "memory"}); near != "" {
				q.Hint = "did you mean " + near + "?"
			}
		}
	}
}

// textMap reads a mapping of texts.
func (d *decoder) textMap(key string, n *yaml.Node) map[string]string {
	if n.Kind != yaml.MappingNode {
		d.wrongType(key, "a mapping", n)
		return nil
	}
	out := map[string]string{}
	for _, p := range pairs(n) {
		full := key + "." + p.key.Value
		d.t.pos[full] = place{p.value.Line, p.value.Column}
		out[p.key.Value] = d.text(full, p.value)
	}
	return out
}

// base is a text in old files and a mapping with `image` in new ones.
func (d *decoder) base(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		return d.text(keyBase, n)
	}
	for _, p := range pairs(n) {
		if p.key.Value == "image" {
			return d.text("base.image", p.value)
		}
	}
	return ""
}

// nearest is the candidate that is at most two changes away, "" if none is.
func nearest(word string, candidates []string) string {
	best, at := "", 3
	for _, c := range candidates {
		if n := distance(strings.ToLower(word), c); n < at && n < len(c) {
			best, at = c, n
		}
	}
	return best
}

// distance is the Levenshtein distance, cut short for long words.
func distance(a, b string) int {
	if len(a) > 40 || len(b) > 40 {
		return 40
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
