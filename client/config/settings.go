package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"abxdash/client"
)

// Settings reads and changes single settings of the configuration file. A
// setting is named by its path with dots, such as theme, attention.no_bell,
// rates.providers.e2b.cpu_hour or providers.lab.api_url.
type Settings struct {
	File string
	// Check looks at what this package cannot know, such as themes and keys; nil
	// is no further check.
	Check func(Config) error
}

// Path is the configuration file.
func (s *Settings) Path() string { return s.File }

// All lists what the file sets, and the plain settings that it does not, in the
// order of the file and then of [Config].
func (s *Settings) All() ([]client.Setting, error) {
	if _, err := Read(s.File); err != nil {
		return nil, err
	}
	top, _, err := s.load()
	if err != nil {
		return nil, err
	}
	var out []client.Setting
	flatten(top, reflect.TypeFor[Config](), "", &out)
	for _, key := range plainKeys(reflect.TypeFor[Config](), "") {
		if !slices.ContainsFunc(out, func(x client.Setting) bool { return x.Key == key }) {
			out = append(out, client.Setting{Key: key})
		}
	}
	return out, nil
}

// Get is one setting. One that does not exist is E9012; one that is not set has
// an empty value.
func (s *Settings) Get(key string) (client.Setting, error) {
	steps, _, err := resolve(key)
	if err != nil {
		return client.Setting{}, err
	}
	top, _, err := s.load()
	if err != nil {
		return client.Setting{}, err
	}
	out := client.Setting{Key: key}
	for _, step := range steps {
		i := find(top, step)
		if top.Kind != yaml.MappingNode || i < 0 {
			return out, nil
		}
		top = top.Content[i+1]
	}
	out.Value, out.Set = valueOf(top), true
	return out, nil
}

// Set changes one setting, and makes the file if need be. Comments stay. Text is
// taken as it is; numbers, yes or no, durations, lists and maps are written as in
// YAML. Nothing is written unless the whole file is right afterwards.
func (s *Settings) Set(key, value string) error {
	steps, kind, err := resolve(key)
	if err != nil {
		return err
	}
	node, err := nodeOf(key, value, kind)
	if err != nil {
		return err
	}
	return s.change(func(top *yaml.Node) error {
		for _, step := range steps[:len(steps)-1] {
			top = mapAt(top, step)
		}
		last := steps[len(steps)-1]
		i := find(top, last)
		if i < 0 {
			top.Content = append(top.Content, scalar(last), node)
			return nil
		}
		old := top.Content[i+1]
		node.HeadComment, node.LineComment, node.FootComment = old.HeadComment, old.LineComment, old.FootComment
		top.Content[i+1] = node
		return nil
	})
}

// Unset takes one setting out of the file, so that its default counts. One that
// is not set is ErrNotFound.
func (s *Settings) Unset(key string) error {
	steps, _, err := resolve(key)
	if err != nil {
		return err
	}
	return s.change(func(top *yaml.Node) error {
		var above []*yaml.Node
		for _, step := range steps[:len(steps)-1] {
			i := find(top, step)
			if i < 0 || top.Content[i+1].Kind != yaml.MappingNode {
				return notSet(key)
			}
			above = append(above, top)
			top = top.Content[i+1]
		}
		i := find(top, steps[len(steps)-1])
		if i < 0 {
			return notSet(key)
		}
		top.Content = slices.Delete(top.Content, i, i+2)
		// A group that has become empty goes too, but never a provider: its entry
		// alone may be what switches it on.
		for j := len(above) - 1; j >= 0 && len(top.Content) == 0 && steps[0] != "providers"; j-- {
			i := find(above[j], steps[j])
			above[j].Content = slices.Delete(above[j].Content, i, i+2)
			top = above[j]
		}
		if n := len(above); n > 0 && steps[0] == "providers" {
			moveComment(above[n-1], steps[n-1])
		}
		return nil
	})
}

func notSet(key string) error {
	return &client.Error{Op: "change the configuration", Code: client.CodeConfig, Kind: client.ErrNotFound, Message: client.OneLine(key, 80) + " is not set"}
}

// load reads the file as nodes; top is its map.
func (s *Settings) load() (top, doc *yaml.Node, err error) {
	data, err := os.ReadFile(s.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fileError(s.File, client.OneLine(err.Error(), 200))
	}
	doc = &yaml.Node{}
	if err := yaml.Unmarshal(data, doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fileError(s.File, client.OneLine(err.Error(), 200))
	}
	if len(doc.Content) == 0 {
		// There are comments at the most, and an empty document does not keep them.
		doc = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}, HeadComment: comments(data)}
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, nil, fileError(s.File, "it is no map of settings")
	}
	return doc.Content[0], doc, nil
}

// comments are the lines of a file that are comments.
func comments(data []byte) string {
	var out []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// change edits the nodes and writes the file if it is still right.
func (s *Settings) change(edit func(top *yaml.Node) error) error {
	top, doc, err := s.load()
	if err != nil {
		return err
	}
	if err := edit(top); err != nil {
		return err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err = enc.Encode(doc)
	if cerr := enc.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fileError(s.File, client.OneLine(err.Error(), 200))
	}
	if s.Check != nil {
		var c Config
		// What is no configuration at all, replace tells.
		if yaml.Unmarshal(out.Bytes(), &c) == nil {
			if err := s.Check(c); err != nil {
				return refused(err)
			}
		}
	}
	return replace(s.File, out.Bytes())
}

// refused words what a check found as the error of a change.
func refused(err error) error {
	out := &client.Error{Op: "change the configuration", Code: client.CodeConfig, Message: client.OneLine(err.Error(), 500), Err: err}
	if e := (*client.Error)(nil); errors.As(err, &e) {
		out.Message, out.Hint = e.Message, e.Hint
	}
	return out
}

// resolve splits a path into the keys of the file; kind is what it holds. Names
// within a path, such as those of providers, may hold dots themselves.
func resolve(key string) (steps []string, kind reflect.Type, err error) {
	if key != "" {
		if steps, kind := descend(reflect.TypeFor[Config](), strings.Split(key, ".")); steps != nil {
			return steps, kind, nil
		}
	}
	return nil, nil, &client.Error{
		Op: "change the configuration", Code: client.CodeConfig, Message: fmt.Sprintf("there is no setting %q", client.OneLine(key, 80)),
		Hint: "abxdash config show --all lists them",
	}
}

// descend follows a path through a type; nil is a path that leads nowhere.
func descend(t reflect.Type, path []string) ([]string, reflect.Type) {
	if len(path) == 0 {
		return []string{}, t
	}
	switch {
	case t.Kind() == reflect.Struct:
		f, ok := fieldOf(t, path[0])
		if !ok {
			return nil, nil
		}
		rest, kind := descend(f, path[1:])
		if rest == nil {
			return nil, nil
		}
		return append([]string{path[0]}, rest...), kind
	case t.Kind() == reflect.Map:
		// The longest name that leaves the path of a setting is what is meant.
		for n := len(path) - 1; n > 0; n-- {
			if rest, kind := descend(t.Elem(), path[n:]); rest != nil && path[0] != "" {
				return append([]string{strings.Join(path[:n], ".")}, rest...), kind
			}
		}
		if name := strings.Join(path, "."); name != "" {
			return []string{name}, t.Elem()
		}
	}
	return nil, nil
}

// fieldOf is the type of a field by its name in the file.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("yaml") == name && name != "" {
			return f.Type, true
		}
	}
	return nil, false
}

// plainKeys are the paths of all settings that are no lists or maps.
func plainKeys(t reflect.Type, prefix string) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := prefix + f.Tag.Get("yaml")
		switch f.Type.Kind() {
		case reflect.Struct:
			out = append(out, plainKeys(f.Type, key+".")...)
		case reflect.Map:
		default:
			out = append(out, key)
		}
	}
	return out
}

// nodeOf words a value for the kind of its setting.
func nodeOf(key, value string, kind reflect.Type) (*yaml.Node, error) {
	if kind.Kind() == reflect.String || kind == reflect.TypeFor[client.Duration]() {
		return scalar(value), nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(value), &doc); err != nil || len(doc.Content) != 1 {
		return nil, client.Usagef("change the configuration", "%s takes %s, not %q", client.OneLine(key, 80), kindWord(kind), client.OneLine(value, 60))
	}
	return doc.Content[0], nil
}

// kindWord says what a setting takes.
func kindWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list such as [a, b]"
	case reflect.Map, reflect.Struct:
		return "a map such as {name: value}"
	default:
		return "a number or duration"
	}
}

// flatten lists what is set, one setting a line; lists stay whole.
func flatten(n *yaml.Node, t reflect.Type, prefix string, out *[]client.Setting) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i].Value, n.Content[i+1]
		var kind reflect.Type
		switch t.Kind() {
		case reflect.Struct:
			kind, _ = fieldOf(t, key)
		case reflect.Map:
			kind = t.Elem()
		}
		if v.Kind == yaml.MappingNode && len(v.Content) > 0 && kind != nil && (kind.Kind() == reflect.Struct || kind.Kind() == reflect.Map) {
			flatten(v, kind, prefix+key+".", out)
			continue
		}
		*out = append(*out, client.Setting{Key: prefix + key, Value: valueOf(v), Set: true})
	}
}

// valueOf is a value on one line, with what could be a secret hidden: the file
// has no place for keys, but an address may hold a password.
func valueOf(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return hide(n.Value)
	}
	c := flowed(n)
	data, err := yaml.Marshal(c)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// flowed is a copy in one line, without comments.
func flowed(n *yaml.Node) *yaml.Node {
	c := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Style: yaml.FlowStyle}
	if n.Kind == yaml.ScalarNode {
		c.Value, c.Style = hide(n.Value), 0
	}
	for _, x := range n.Content {
		c.Content = append(c.Content, flowed(x))
	}
	return c
}

// hide takes the password out of an address.
func hide(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	return u.Redacted()
}
