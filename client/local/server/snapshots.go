package server

import (
	"context"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"
)

// snapshotTimeout bounds the copy of a home.
const snapshotTimeout = 10 * time.Minute

// snapshotJSON is SnapshotInfo (e2b-protocol §3.1).
type snapshotJSON struct {
	SnapshotID string   `json:"snapshotID"`
	Names      []string `json:"names"`
}

// handleSnapshot saves the home of a sandbox, which goes on. Memory and
// processes are not part of it.
func (s *Server) handleSnapshot(w http.ResponseWriter, r *http.Request, b *box) {
	body, e := readBody[struct {
		Name string `json:"name"`
	}](w, r, true)
	ref := templateRef{tag: defaultTag}
	if e == nil && body.Name != "" {
		ref, e = parseRef(body.Name)
	}
	if e == nil && isBase(ref.name) {
		e = refuse(http.StatusConflict, "the name %q is taken", ref.name)
	}
	var snap snapshotJSON
	if e == nil {
		snap, e = s.snapshot(r.Context(), b, ref)
	}
	if e != nil {
		writeError(w, e)
		return
	}
	writeJSON(w, http.StatusCreated, snap)
}

func (s *Server) snapshot(ctx context.Context, b *box, ref templateRef) (snapshotJSON, *apiError) {
	if e := b.takeTurn(ctx); e != nil {
		return snapshotJSON{}, e
	}
	defer b.endTurn()
	switch s.stateOf(b) {
	case boxRunning:
	case boxPaused:
		return snapshotJSON{}, refuse(http.StatusConflict, "sandbox %q is paused", b.id)
	default:
		return snapshotJSON{}, notFound(b)
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	build := buildRec{ID: newBuildID(), Created: s.clock.Now(), Sandbox: b.id, setup: b.req.source.setup}
	t, err := s.store.add(ref, build, func(home string) error { return s.copyStill(ctx, b, home) })
	if s.stateOf(b) == boxKilling {
		return snapshotJSON{}, notFound(b)
	}
	if err != nil {
		s.log.Error("snapshot failed", "sandbox", b.id, "err", err)
		return snapshotJSON{}, refuse(http.StatusInternalServerError, "cannot save sandbox %q: %s", b.id, err)
	}
	id := t.ref(ref.tag)
	b.logs.add(s.clock.Now(), levelInfo, "snapshot taken", map[string]string{"snapshot": id})
	s.log.Info("snapshot", "sandbox", b.id, "template", t.ID)
	return snapshotJSON{SnapshotID: id, Names: namesOf(&t, ref.tag)}, nil
}

// copyStill copies the home while the sandbox's programs stand still, so that
// the copy is of one moment.
func (s *Server) copyStill(ctx context.Context, b *box, home string) error {
	if p, ok := b.inst.(Pauser); ok {
		if err := p.Pause(ctx); err != nil {
			return err
		}
		defer func() {
			again, cancel := context.WithTimeout(context.WithoutCancel(ctx), pauseTimeout)
			defer cancel()
			if err := p.Resume(again); err != nil {
				s.log.Error("resume after a snapshot failed", "sandbox", b.id, "err", err)
			}
		}()
	}
	dst, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer dst.Close()
	return copyTree(ctx, b.home(), dst)
}

// namesOf are the names under which people know a build; a template without
// alias has none.
func namesOf(t *templateRec, tag string) []string {
	if t.Alias == "" {
		return []string{}
	}
	return []string{t.ref(tag)}
}

// handleSnapshots lists builds that came from sandboxes, newest first.
func (s *Server) handleSnapshots(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, from := pageMax, 0
	var err error
	if q.Has("limit") {
		if limit, err = strconv.Atoi(q.Get("limit")); err != nil || limit < 1 || limit > pageMax {
			writeError(w, refuse(http.StatusBadRequest, "limit must be between 1 and %d", pageMax))
			return
		}
	}
	if t := q.Get("nextToken"); t != "" {
		if from, err = strconv.Atoi(t); err != nil || from < 0 {
			writeError(w, refuse(http.StatusBadRequest, "nextToken is not valid"))
			return
		}
	}
	var name templateRef
	if n := q.Get("name"); n != "" {
		var e *apiError
		if name, e = parseRef(n); e != nil {
			writeError(w, e)
			return
		}
	}
	out := s.store.snapshots(q.Get("sandboxID"), name)
	out = out[min(from, len(out)):]
	if len(out) > limit {
		out = out[:limit]
		w.Header().Set("X-Next-Token", strconv.Itoa(from+limit))
	}
	writeJSON(w, http.StatusOK, out)
}

// snapshots lists builds that came from a sandbox, newest template first. "" and
// a zero name are any.
func (st *store) snapshots(sandbox string, name templateRef) []snapshotJSON {
	out := []snapshotJSON{}
	for _, t := range st.list() {
		if name.name != "" && name.name != t.Alias && name.name != t.ID {
			continue
		}
		for _, tag := range slices.Sorted(maps.Keys(t.Tags)) {
			from := t.build(t.Tags[tag]).Sandbox
			if from == "" || sandbox != "" && sandbox != from || name.tagged && name.tag != tag {
				continue
			}
			out = append(out, snapshotJSON{SnapshotID: t.ref(tag), Names: namesOf(&t, tag)})
		}
	}
	return out
}

// build is the record of a build, zero if there is none.
func (t *templateRec) build(id string) buildRec {
	for _, b := range t.Builds {
		if b.ID == id {
			return b
		}
	}
	return buildRec{}
}

// SavedSnapshots reads the snapshots kept in a store's folder, for a time when
// no server runs: ids and names, newest first. sandbox and name select, "" is any.
func SavedSnapshots(dir, sandbox, name string) (ids []string, names [][]string) {
	st := &store{dir: dir}
	st.read(false)
	ref, e := parseRef(name)
	if name != "" && e != nil {
		return nil, nil
	}
	for _, sn := range st.snapshots(sandbox, ref) {
		ids, names = append(ids, sn.SnapshotID), append(names, sn.Names)
	}
	return ids, names
}
