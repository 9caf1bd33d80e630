package templates

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

const (
	// maxYAML bounds template.yaml; real ones have under 2 KiB.
	maxYAML = 1 << 20
	// maxNodes bounds what aliases may expand to.
	maxNodes = 10_000
	maxDepth = 64
)

// Parse reads template.yaml and reports everything that is wrong with its form
// and types at once. The template is nil only if the file cannot be read as a
// mapping at all. file is the name shown in problems.
func Parse(file string, data []byte) (*Template, Problems) {
	data, ps := decodeText(file, data)
	if ps.Failed() {
		return nil, ps
	}
	src := newSource(file, data)
	doc, bad := parseYAML(src, data)
	if len(bad) > 0 {
		return nil, append(ps, bad...)
	}
	root := doc.Content[0]
	d := &decoder{t: &Template{src: src, doc: doc, root: root, pos: map[string]place{}, present: map[string]place{}}, src: src, ps: ps}
	d.walk(root, 0)
	if d.tooBig {
		return nil, d.ps.sorted()
	}
	d.fields(root)
	return d.t, d.ps.sorted()
}

// decodeText checks the encoding: template.yaml is UTF-8.
func decodeText(file string, data []byte) ([]byte, Problems) {
	whole := source{file: file}
	one := func(p Problem) ([]byte, Problems) { return nil, Problems{p} }
	switch {
	case len(data) > maxYAML:
		return one(whole.at(SeverityError, "too-large", 0, 0, "the file is over %d KiB", maxYAML>>10))
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return one(whole.at(SeverityError, "encoding", 1, 1, "the file is UTF-16").hint("save it as UTF-8"))
	}
	var ps Problems
	if rest, ok := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); ok {
		data = rest
		ps = append(ps, whole.at(SeverityWarning, "encoding", 1, 1, "the file starts with a byte order mark").hint("save it as UTF-8 without one"))
	}
	line, col := 1, 1
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return one(whole.at(SeverityError, "encoding", line, col, "byte %#02x is not UTF-8", data[i]).hint("save the file as UTF-8"))
		case r == 0:
			return one(whole.at(SeverityError, "encoding", line, col, "a NUL byte").hint("save the file as UTF-8 text"))
		case r == '\n':
			line, col = line+1, 0
		}
		col++
		i += n
	}
	return data, ps
}

// parseYAML parses one document whose root is a mapping.
func parseYAML(src source, data []byte) (doc *yaml.Node, ps Problems) {
	defer func() {
		if v := recover(); v != nil {
			doc, ps = nil, Problems{src.at(SeverityError, "syntax", 0, 0, "the file cannot be read as YAML: %v", v)}
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	doc = new(yaml.Node)
	switch err := dec.Decode(doc); {
	case errors.Is(err, io.EOF), err == nil && len(doc.Content) == 0:
		return nil, Problems{src.at(SeverityError, "empty", 1, 0, "the file is empty").hint("it needs at least: name: my-template")}
	case err != nil:
		return nil, syntaxProblems(src, err)
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		what := kindName(root)
		if root.ShortTag() == "!!null" {
			what = "nothing"
		}
		return nil, Problems{src.at(SeverityError, "type", root.Line, root.Column, "the file must hold keys and values, not %s", what).hint("it needs at least: name: my-template")}
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntaxProblems(src, err)
	default:
		return nil, Problems{src.at(SeverityError, "documents", second.Line, second.Column, "the file holds more than one document").hint("remove what follows ---")}
	}
	return doc, nil
}

// syntaxProblems words what the parser says. Lines indented with a tab are
// named instead, because the parser's own words lead astray (TPL-01).
func syntaxProblems(src source, err error) Problems {
	var ps Problems
	for i, line := range src.lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if tab := strings.IndexByte(indent, '\t'); tab >= 0 && strings.TrimSpace(line) != "" {
			ps = append(ps, src.at(SeverityError, "tab", i+1, tab+1, "the line is indented with a tab").hint("YAML allows only spaces here"))
		}
	}
	if len(ps) > 0 {
		return ps
	}
	var many *yaml.LoadErrors
	if errors.As(err, &many) && len(many.Errors) > 0 {
		for _, e := range many.Errors {
			ps = append(ps, src.at(SeverityError, "syntax", e.Mark.Line, e.Mark.Column, "%s", e.Message))
		}
		return ps
	}
	var one *yaml.LoadError
	if errors.As(err, &one) {
		return Problems{src.at(SeverityError, "syntax", one.Mark.Line, one.Mark.Column, "%s", one.Message)}
	}
	return Problems{src.at(SeverityError, "syntax", 0, 0, "%s", strings.TrimPrefix(err.Error(), "yaml: "))}
}

// kindName names what a node is, in people's words.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		return "an empty value"
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!bool":
		return n.Value
	}
	return fmt.Sprintf("the text %q", n.Value)
}

// decoder turns nodes into a Template.
type decoder struct {
	t      *Template
	src    source
	ps     Problems
	nodes  int
	tooBig bool
}

func (d *decoder) report(sev Severity, rule string, n *yaml.Node, format string, args ...any) *Problem {
	d.ps = append(d.ps, d.src.at(sev, rule, n.Line, n.Column, format, args...))
	return &d.ps[len(d.ps)-1]
}

// walk checks the form of every node: repeated keys, own tags, and how far
// aliases expand. It ends early when they expand too far.
func (d *decoder) walk(n *yaml.Node, depth int) {
	if d.tooBig {
		return
	}
	if d.nodes++; d.nodes > maxNodes || depth > maxDepth {
		d.tooBig = true
		d.report(SeverityError, "anchors", n, "the file expands to more than %d values or %d levels", maxNodes, maxDepth)
		return
	}
	if n.Kind == yaml.AliasNode {
		if n.Alias == nil || n.Alias == n {
			d.report(SeverityError, "anchors", n, "the alias %q leads nowhere", n.Value)
			return
		}
		d.walk(n.Alias, depth+1)
		return
	}
	if n.Style&yaml.TaggedStyle != 0 && !strings.HasPrefix(n.ShortTag(), "!!") || strings.Contains(n.ShortTag(), "python/") {
		d.report(SeverityError, "tag", n, "the tag %q means nothing here", n.ShortTag())
	}
	if n.Kind == yaml.MappingNode {
		d.repeated(n)
	}
	for _, c := range n.Content {
		d.walk(c, depth+1)
	}
}

// repeated names keys that a mapping has twice, with both lines (TPL-02).
func (d *decoder) repeated(n *yaml.Node) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			d.report(SeverityError, "type", k, "a key must be a plain word, not %s", kindName(k))
			continue
		}
		if first, ok := seen[k.Value]; ok {
			d.report(SeverityError, "duplicate-key", k, "%q is there twice, on lines %d and %d", k.Value, first, k.Line)
			continue
		}
		seen[k.Value] = k.Line
	}
}

// pair is one key with its value, aliases resolved.
type pair struct{ key, value *yaml.Node }

// pairs lists a mapping, merge keys (<<) included; what is written out wins.
func pairs(n *yaml.Node) []pair {
	var own, merged []pair
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], resolve(n.Content[i+1])
		switch {
		case k.Kind != yaml.ScalarNode, seen[k.Value]:
		case k.Value == "<<" && v.Kind == yaml.MappingNode:
			merged = append(merged, pairs(v)...)
		case k.Value == "<<" && v.Kind == yaml.SequenceNode:
			for _, m := range v.Content {
				if m = resolve(m); m.Kind == yaml.MappingNode {
					merged = append(merged, pairs(m)...)
				}
			}
		default:
			seen[k.Value] = true
			own = append(own, pair{k, v})
		}
	}
	for _, p := range merged {
		if !seen[p.key.Value] {
			seen[p.key.Value] = true
			own = append(own, p)
		}
	}
	return own
}

func resolve(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.AliasNode && n.Alias != nil && i < maxDepth; i++ {
		n = n.Alias
	}
	return n
}
