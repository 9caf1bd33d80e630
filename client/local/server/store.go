package server

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// baseTemplate is the built-in template: the machine's own programs.
	baseTemplate = "base"
	// codeTemplate is what code interpreter SDKs ask for; here every sandbox
	// has the interpreter.
	codeTemplate = "code-interpreter-v1"
	defaultTag   = "default"
	// namespace is the local server's only team.
	namespace    = "local"
	templateFile = "template.json"
	maxRef       = 128
)

// templateRec is a template of the user's own: saved homes that sandboxes
// start with.
type templateRec struct {
	ID      string    `json:"id"`
	Alias   string    `json:"alias,omitempty"`
	Created time.Time `json:"created"`
	// Builds are in the order of their making; Tags name some of them.
	Builds []buildRec        `json:"builds"`
	Tags   map[string]string `json:"tags"`
}

type buildRec struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	// Sandbox is where a snapshot was taken.
	Sandbox string `json:"sandbox,omitempty"`
	setup
}

// setup is what a template says about the sandboxes made from it, beside their home.
type setup struct {
	Env map[string]string `json:"env,omitempty"`
	// Workdir is the default working directory as seen inside a root of its own.
	Workdir string `json:"workdir,omitempty"`
	// Places are folders outside the home, see Spec.Places.
	Places []string `json:"places,omitempty"`
	// Image is what level container runs the sandboxes in, "" for the server's own. A
	// template with one needs that level.
	Image string `json:"image,omitempty"`
	// StartCmd runs in every new sandbox; ReadyCmd succeeds once it is ready.
	StartCmd string `json:"start_cmd,omitempty"`
	ReadyCmd string `json:"ready_cmd,omitempty"`
	// CPUs and MemoryMB bound the sandboxes; 0 is no bound.
	CPUs     float64 `json:"cpus,omitempty"`
	MemoryMB int64   `json:"memory_mb,omitempty"`
}

// ref is the reference that names a build: by alias if there is one.
func (t *templateRec) ref(tag string) string { return cmp.Or(t.Alias, t.ID) + ":" + tag }

// store keeps templates in a folder of the user's, beyond the server's life:
//
//	<dir>/<template id>/template.json
//	<dir>/<template id>/<build id>/home
type store struct {
	dir string
	// remove removes a folder; nil is removeTree. left is told what of the past
	// could not be removed, which harms nothing; nil is nobody.
	remove func(dir string) error
	left   func(err error)

	mu sync.Mutex
	// made holds template ids and their records; it mirrors the folder.
	made map[string]*templateRec
	// broken are folders that could not be read.
	broken []error
}

// openStore reads what is there. A record that cannot be read is left alone
// and not shown. dir "" keeps nothing.
func openStore(dir string) *store {
	st := &store{dir: dir}
	st.read(true)
	return st
}

// read fills made from the folder. With tidy it removes what a dead server had
// not finished.
func (st *store) read(tidy bool) {
	st.made = map[string]*templateRec{}
	if st.dir == "" {
		return
	}
	dir := st.dir
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		st.broken = append(st.broken, err)
	}
	for _, e := range entries {
		if e.Name() == uploadsDir {
			continue
		}
		if strings.HasPrefix(e.Name(), tempPrefix) {
			if !tidy {
				continue
			}
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				st.broken = append(st.broken, err)
			}
			continue
		}
		t, err := st.record(e.Name())
		if err != nil {
			st.broken = append(st.broken, err)
			continue
		}
		st.made[t.ID] = t
		if tidy {
			st.tidyBuilds(t)
		}
	}
}

// record reads what describes one template.
func (st *store) record(id string) (*templateRec, error) {
	data, err := os.ReadFile(filepath.Join(st.dir, id, templateFile))
	if err != nil {
		return nil, err
	}
	var t templateRec
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, err
	}
	if t.ID != id || !validID(t.ID) || len(t.Builds) == 0 {
		return nil, fmt.Errorf("%s does not describe %s", templateFile, id)
	}
	if t.Tags == nil {
		t.Tags = map[string]string{}
	}
	return &t, nil
}

// tidyBuilds removes the builds of a template that its record does not have: one
// that was replaced and could not be removed, or whose server died before it
// noted it.
func (st *store) tidyBuilds(t *templateRec) {
	dir := filepath.Join(st.dir, t.ID)
	entries, err := os.ReadDir(dir)
	if err != nil {
		st.broken = append(st.broken, err)
	}
	for _, e := range entries {
		if !e.IsDir() || slices.ContainsFunc(t.Builds, func(b buildRec) bool { return b.ID == e.Name() }) {
			continue
		}
		if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
			st.broken = append(st.broken, err)
		}
	}
}

// tempPrefix marks a folder that is not complete yet.
const tempPrefix = ".new-"

// templateRef is a parsed template reference (e2b-protocol §1).
type templateRef struct {
	name, tag string
	// tagged is set when a tag was given.
	tagged bool
	// id is the id of a template that is new, "" for any.
	id string
	// more are further tags for a new build.
	more []string
}

func parseRef(text string) (templateRef, *apiError) {
	text = strings.ToLower(strings.TrimSpace(text))
	bad := refuse(http.StatusBadRequest, "%q is not a template reference", shorten(text))
	if len(text) > maxRef {
		return templateRef{}, bad
	}
	name, tag, tagged := strings.Cut(text, ":")
	if ns, rest, ok := strings.Cut(name, "/"); ok {
		if ns != namespace {
			return templateRef{}, refuse(http.StatusNotFound, "template %q not found: the only namespace here is %q", shorten(text), namespace)
		}
		name = rest
	}
	if !word(name, "-_") || tagged && !word(tag, "-_.") {
		return templateRef{}, bad
	}
	return templateRef{name: name, tag: cmp.Or(tag, defaultTag), tagged: tagged}, nil
}

func shorten(text string) string {
	if len(text) > 80 {
		return text[:80]
	}
	return text
}

// word reports a non-empty text of [a-z0-9] and the extra characters.
func word(text, extra string) bool { return text != "" && strings.Trim(text, idLetters+extra) == "" }

func isBase(name string) bool { return name == baseTemplate || name == codeTemplate }

// find returns a copy of the template of that id or alias.
func (st *store) find(name string) (templateRec, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	t := st.lookup(name)
	if t == nil {
		return templateRec{}, false
	}
	return t.clone(), true
}

// lookup needs mu.
func (st *store) lookup(name string) *templateRec {
	if t := st.made[name]; t != nil {
		return t
	}
	for _, t := range st.made {
		if t.Alias == name {
			return t
		}
	}
	return nil
}

func (t *templateRec) clone() templateRec {
	c := *t
	c.Builds = slices.Clone(t.Builds)
	c.Tags = maps.Clone(t.Tags)
	return c
}

// list returns copies, newest first.
func (st *store) list() []templateRec {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := make([]templateRec, 0, len(st.made))
	for _, t := range st.made {
		out = append(out, t.clone())
	}
	slices.SortFunc(out, func(a, b templateRec) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	return out
}

// home is the saved home of a build.
func (st *store) home(template, build string) string {
	return filepath.Join(st.dir, template, build, "home")
}

// add saves a new build. fill writes its home. An existing template of that
// name gets another build, and the tag moves to it.
func (st *store) add(ref templateRef, b buildRec, fill func(home string) error) (templateRec, error) {
	if st.dir == "" {
		return templateRec{}, errors.New("the local server has no folder for templates")
	}
	if err := os.MkdirAll(st.dir, 0o700); err != nil {
		return templateRec{}, err
	}
	temp, err := os.MkdirTemp(st.dir, tempPrefix)
	if err != nil {
		return templateRec{}, err
	}
	home := filepath.Join(temp, "home")
	if err = os.Mkdir(home, 0o700); err == nil {
		err = fill(home)
	}
	if err != nil {
		return templateRec{}, errors.Join(err, removeTree(temp))
	}
	t, err := st.adopt(ref, b, temp)
	if err != nil {
		return templateRec{}, errors.Join(err, removeTree(temp))
	}
	return t, nil
}

// adopt moves a finished build to its place and notes it.
func (st *store) adopt(ref templateRef, b buildRec, temp string) (templateRec, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	var t templateRec
	if old := st.lookup(ref.name); ref.name != "" && old != nil {
		t = old.clone()
	} else {
		t = templateRec{ID: cmp.Or(ref.id, newTemplateID()), Alias: ref.name, Created: b.Created, Tags: map[string]string{}}
	}
	dir := filepath.Join(st.dir, t.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return t, err
	}
	if err := os.Rename(temp, filepath.Join(dir, b.ID)); err != nil {
		return t, err
	}
	t.Builds = append(t.Builds, b)
	t.Tags[ref.tag] = b.ID
	for _, tag := range ref.more {
		t.Tags[tag] = b.ID
	}
	drop := t.prune()
	if err := st.write(&t); err != nil {
		return t, err
	}
	// The build is saved; what it replaced and could not be removed is in nobody's way.
	// The next server tries again.
	if err := st.removeBuilds(t.ID, drop); err != nil && st.left != nil {
		st.left(err)
	}
	return t, nil
}

// prune takes the builds out that no tag names any more and returns them: nothing
// could start from one again.
func (t *templateRec) prune() (drop []buildRec) {
	var keep []buildRec
	named := slices.Collect(maps.Values(t.Tags))
	for _, b := range t.Builds {
		if slices.Contains(named, b.ID) {
			keep = append(keep, b)
		} else {
			drop = append(drop, b)
		}
	}
	t.Builds = keep
	return drop
}

func (st *store) removeBuilds(template string, drop []buildRec) error {
	remove := st.remove
	if remove == nil {
		remove = removeTree
	}
	var errs []error
	for _, b := range drop {
		errs = append(errs, remove(filepath.Join(st.dir, template, b.ID)))
	}
	return errors.Join(errs...)
}

// newTemplateID makes 20 of [a-z0-9] (e2b-protocol §1).
func newTemplateID() string { return newID()[1:] }

// write notes a record on disk and, if that works, in memory. It needs mu.
func (st *store) write(t *templateRec) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(st.dir, t.ID, templateFile)
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	c := t.clone()
	st.made[t.ID] = &c
	return nil
}

// tag points tags at the build that from names.
func (st *store) tag(name, from string, tags []string) (buildID string, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	t := st.lookup(name)
	if t == nil || t.Tags[from] == "" {
		return "", fs.ErrNotExist
	}
	c := t.clone()
	for _, tag := range tags {
		c.Tags[tag] = c.Tags[from]
	}
	return c.Tags[from], st.write(&c)
}

// untag removes tags; a build that no tag names any more goes, too, and a
// template without tags goes as a whole. all means every tag.
func (st *store) untag(name string, tags []string, all bool) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	t := st.lookup(name)
	if t == nil {
		return fs.ErrNotExist
	}
	c := t.clone()
	for _, tag := range tags {
		if c.Tags[tag] == "" {
			return fs.ErrNotExist
		}
		delete(c.Tags, tag)
	}
	if all || len(c.Tags) == 0 {
		delete(st.made, t.ID)
		return errors.Join(removeTree(filepath.Join(st.dir, t.ID)), removeTree(st.uploads(t.ID)))
	}
	drop := c.prune()
	if err := st.write(&c); err != nil {
		return err
	}
	return st.removeBuilds(c.ID, drop)
}

// newBuildID makes a UUID (version 4).
func newBuildID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails on a supported system
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
