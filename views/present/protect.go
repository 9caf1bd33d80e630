package present

import (
	"maps"
	"slices"
	"strings"

	"abxdash/client"
)

const protectFile = "protected.json"

// Protected is the list of sandboxes that the user set apart on this machine,
// for providers whose metadata cannot be changed. It belongs to the program's
// loop; the zero value protects nothing.
type Protected struct {
	keys   map[Key]bool
	folder Folder
}

// LoadProtected reads the list that folder remembers.
func LoadProtected(f Folder) (*Protected, error) {
	names, err := Load[[]string](f, protectFile)
	p := &Protected{keys: map[Key]bool{}, folder: f}
	for _, n := range names {
		if k, ok := ParseKey(n); ok {
			p.keys[k] = true
		}
	}
	return p, err
}

// Has reports whether k is on the list.
func (p *Protected) Has(k Key) bool { return p != nil && p.keys[k] }

// Of reports whether s must not be killed in bulk, by its own tag or by the list.
func (p *Protected) Of(s client.Sandbox) bool { return client.Protected(s) || p.Has(KeyOf(s)) }

// Set changes the list and returns what saves it, to be run outside of the loop.
func (p *Protected) Set(k Key, on bool) (save func() error) {
	if p.keys == nil {
		p.keys = map[Key]bool{}
	}
	if on {
		p.keys[k] = true
	} else {
		delete(p.keys, k)
	}
	names := make([]string, 0, len(p.keys))
	for k := range maps.Keys(p.keys) {
		names = append(names, k.String())
	}
	slices.SortFunc(names, strings.Compare)
	f := p.folder
	return func() error { return Save(f, protectFile, names) }
}
