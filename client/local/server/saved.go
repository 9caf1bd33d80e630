package server

import (
	"slices"
	"time"
)

// Saved is a template as the folder tells it while no server runs.
type Saved struct {
	ID    string
	Names []string
	// CPUs, and MemoryMB and DiskMB in MiB, are what its sandboxes can use; 0 is unknown.
	CPUs, MemoryMB, DiskMB int32
	// Created and Updated are zero for the built-in template.
	Created, Updated time.Time
	// Builds are those that are kept, newest first.
	Builds []SavedBuild
}

// SavedBuild is one build of a template. All that are kept can be started from.
type SavedBuild struct {
	ID      string
	Created time.Time
}

// SavedTemplates reads the templates kept in a store's folder, snapshots among
// them, for a time when no server runs: the built-in one, then newest first, as a
// server lists them.
func SavedTemplates(dir string) []Saved {
	st := &store{dir: dir}
	st.read(false)
	host := readHostFacts(dir)
	out := []Saved{saved(baseRec(time.Time{}), host)}
	for _, t := range st.list() {
		out = append(out, saved(t, host))
	}
	return out
}

// SavedTemplate finds one by its id or by its name, with or without a tag or the
// namespace, as a server does.
func SavedTemplate(dir, ref string) (Saved, bool) {
	r, e := parseRef(ref)
	if e != nil {
		return Saved{}, false
	}
	if isBase(r.name) {
		return saved(baseRec(time.Time{}), readHostFacts(dir)), true
	}
	st := &store{dir: dir}
	st.read(false)
	t, ok := st.find(r.name)
	if !ok {
		return Saved{}, false
	}
	return saved(t, readHostFacts(dir)), true
}

func saved(t templateRec, host hostFacts) Saved {
	last := t.Builds[len(t.Builds)-1]
	out := Saved{ID: t.ID, Names: aliases(&t), DiskMB: host.diskMB, Created: t.Created, Updated: last.Created}
	out.CPUs, out.MemoryMB = limits{last.CPUs, last.MemoryMB}.shown(host)
	for _, b := range slices.Backward(t.Builds) {
		out.Builds = append(out.Builds, SavedBuild{ID: b.ID, Created: b.Created})
	}
	return out
}
