package config

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"abxdash/client"
)

// AddProvider adds an entry for a provider to the file, which is made if need
// be. Comments stay. A value that looks like a list or a map is read as YAML.
// The result is checked before anything is written.
func AddProvider(path, name string, settings map[string]string) error {
	return (&Settings{File: path}).change(func(top *yaml.Node) error {
		providers := mapAt(top, "providers")
		if find(providers, name) >= 0 {
			return &client.Error{Op: "add provider", Code: client.CodeConflict, Kind: client.ErrConflict, Message: "there is an entry for " + client.OneLine(name, 60) + " already", Hint: "remove it first, or edit " + path}
		}
		var entry yaml.Node
		entry.Kind, entry.Tag = yaml.MappingNode, "!!map"
		for _, k := range slices.Sorted(maps.Keys(settings)) {
			var v yaml.Node
			if err := yaml.Unmarshal([]byte(settings[k]), &v); err != nil || len(v.Content) != 1 {
				v = yaml.Node{Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: settings[k]}}}
			}
			entry.Content = append(entry.Content, scalar(k), v.Content[0])
		}
		providers.Content = append(providers.Content, scalar(name), &entry)
		return nil
	})
}

// RemoveProvider takes an entry out of the file.
func RemoveProvider(path, name string) error {
	return (&Settings{File: path}).change(func(top *yaml.Node) error {
		providers := mapAt(top, "providers")
		i := find(providers, name)
		if i < 0 {
			return &client.Error{Op: "remove provider", Code: client.CodeNotFound, Kind: client.ErrNotFound, Message: "there is no entry for " + client.OneLine(name, 60)}
		}
		providers.Content = slices.Delete(providers.Content, i, i+2)
		moveComment(top, "providers")
		return nil
	})
}

func scalar(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

// find is the index of a key in a mapping, -1 if it is not there.
func find(m *yaml.Node, key string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// mapAt is the map under a key of a map, which is made if it is not there.
func mapAt(top *yaml.Node, key string) *yaml.Node {
	i := find(top, key)
	if i < 0 {
		top.Content = append(top.Content, scalar(key), nil)
		i = len(top.Content) - 2
	}
	if at := top.Content[i+1]; at == nil || at.Kind != yaml.MappingNode {
		top.Content[i+1] = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	return top.Content[i+1]
}

// moveComment puts the comment behind the name of a map that has become empty
// behind the map: it would part the two.
func moveComment(top *yaml.Node, key string) {
	i := find(top, key)
	name, m := top.Content[i], top.Content[i+1]
	if len(m.Content) == 0 {
		m.LineComment, name.LineComment = name.LineComment, ""
	}
}

// replace writes a file that is read back first; the old one stays if the new
// one would not be taken.
func replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fileError(path, client.OneLine(err.Error(), 200))
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".config-*.yaml")
	if err != nil {
		return fileError(path, client.OneLine(err.Error(), 200))
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // renamed, or of no use
	_, err = tmp.Write(data)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fileError(path, client.OneLine(err.Error(), 200))
	}
	if _, err := Read(tmp.Name()); err != nil {
		var e *client.Error
		if errors.As(err, &e) {
			e.Op, e.Message = "change the configuration", strings.TrimPrefix(e.Message, tmp.Name()+": ")
		}
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fileError(path, client.OneLine(err.Error(), 200))
	}
	return nil
}
