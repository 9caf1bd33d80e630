package server

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Names of steps that are no numbers (e2b-protocol §12.5).
const (
	stepBase     = "base"
	stepFinalize = "finalize"
)

// Kinds of steps (e2b-protocol §12.1).
const (
	kindCopy    = "COPY"
	kindRun     = "RUN"
	kindEnv     = "ENV"
	kindWorkdir = "WORKDIR"
	kindUser    = "USER"
)

// buildStart is the body of POST /v2/templates/{id}/builds/{build}.
type buildStart struct {
	FromImage         string      `json:"fromImage"`
	FromTemplate      string      `json:"fromTemplate"`
	FromImageRegistry *struct{}   `json:"fromImageRegistry"`
	Steps             []buildStep `json:"steps"`
	StartCmd          string      `json:"startCmd"`
	ReadyCmd          string      `json:"readyCmd"`
}

type buildStep struct {
	Type      string   `json:"type"`
	Args      []string `json:"args"`
	FilesHash string   `json:"filesHash"`
}

func (b buildStep) arg(i int) string {
	if i < len(b.Args) {
		return b.Args[i]
	}
	return ""
}

// kind is the type in its usual spelling.
func (b buildStep) kind() string {
	switch t := strings.ToUpper(b.Type); t {
	case "ADD":
		return kindCopy
	case "ARG":
		return kindEnv
	default:
		return t
	}
}

// action is a step, checked and with its paths resolved.
type action struct {
	kind string
	// title is how the log calls it.
	title string
	// line is what RUN runs, in dir with env.
	line, dir string
	env       map[string]string
	// COPY: the archive, which of its entries, and where to.
	archive string
	sources []string
	dest    string
	folder  bool // dest is a folder even if it is not there yet
	mode    string
	// warn is said once the step begins, "" nothing.
	warn string
}

// recipe is a plan for a build.
type recipe struct {
	actions []action
	// setup is what sandboxes get.
	setup setup
}

// planner turns steps into a recipe.
type planner struct {
	recipe
	// placeOf is Options.PlaceOf.
	placeOf func(string) (string, error)
	archive func(hash string) string
	// folders are places that are known to be meant as folders.
	folders map[string]bool
	dir     string
}

// stepError is a step that cannot be done.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// plan checks every step before anything runs: a template that cannot be made is
// refused at once.
func (p *planner) plan(base setup, body buildStart) (recipe, error) {
	p.setup = base
	p.setup.Env = maps.Clone(base.Env)
	if p.setup.Env == nil {
		p.setup.Env = map[string]string{}
	}
	p.setup.Places = slices.Clone(base.Places)
	p.folders = map[string]bool{}
	for _, place := range base.Places {
		p.folders[place] = true
	}
	p.dir = base.Workdir
	for i, st := range body.Steps {
		a := action{kind: st.kind(), title: st.kind() + " " + strings.Join(st.Args, " ")}
		var err error
		switch a.kind {
		case kindRun:
			err = p.run(&a, st)
		case kindCopy:
			err = p.copy(&a, st)
		case kindEnv:
			err = p.env(st)
		case kindWorkdir:
			err = p.workdir(&a, st)
		case kindUser:
			err = p.user(&a, st)
		default:
			err = fmt.Errorf("a step of type %q is not known", shorten(st.Type))
		}
		if err != nil {
			return p.recipe, &stepError{fmt.Sprint(i + 1), err}
		}
		a.env, a.dir = maps.Clone(p.setup.Env), p.dir
		p.actions = append(p.actions, a)
	}
	p.setup.Workdir = p.dir
	if body.StartCmd != "" {
		p.setup.StartCmd, p.setup.ReadyCmd = body.StartCmd, ""
	}
	if body.ReadyCmd != "" {
		p.setup.ReadyCmd = body.ReadyCmd
	}
	return p.recipe, nil
}

// noRoot is said where a step wants to be root.
const noRoot = "there is no root in a local sandbox: this runs as user"

func (p *planner) run(a *action, st buildStep) error {
	if a.line = st.arg(0); strings.TrimSpace(a.line) == "" {
		return errors.New("RUN without a command")
	}
	warn, err := checkUser(st.arg(1))
	a.warn = warn
	return err
}

// checkUser accepts the user that there is, and root with a warning.
func checkUser(name string) (warn string, err error) {
	name, _, _ = strings.Cut(name, ":")
	switch name {
	case "", "user", "1000":
		return "", nil
	case "root", "0":
		return noRoot, nil
	}
	return "", fmt.Errorf("there is no user %q: a local sandbox has one, which is called user", shorten(name))
}

func (p *planner) user(a *action, st buildStep) (err error) {
	if st.arg(0) == "" {
		return errors.New("USER without a name")
	}
	a.warn, err = checkUser(st.arg(0))
	return err
}

func (p *planner) env(st buildStep) error {
	if len(st.Args)%2 != 0 {
		return errors.New("ENV needs pairs of name and value")
	}
	for i := 0; i < len(st.Args); i += 2 {
		k, v := st.Args[i], st.Args[i+1]
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v, "\x00") {
			return fmt.Errorf("%q is not a usable variable", shorten(k))
		}
		p.setup.Env[k] = os.Expand(v, p.lookup)
	}
	return nil
}

// lookup is the value of a variable while building.
func (p *planner) lookup(name string) string {
	if v, ok := p.setup.Env[name]; ok {
		return v
	}
	return map[string]string{
		"HOME": homeInside, "USER": "user", "LOGNAME": "user",
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}[name]
}

func (p *planner) workdir(a *action, st buildStep) error {
	dir := st.arg(0)
	if dir == "" {
		return errors.New("WORKDIR without a folder")
	}
	p.dir = p.absolute(dir, "/")
	a.dest = p.dir
	// One that cannot be made may be there: that shows when the step runs.
	if place, err := p.place(p.dir); err == nil && place != "" {
		p.folders[place] = true
	}
	return nil
}

// absolute resolves a path as a step means it; otherwise is where a relative one
// starts while no WORKDIR was given.
func (p *planner) absolute(name, otherwise string) string {
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		return path.Join(homeInside, name[1:])
	case path.IsAbs(name):
		return path.Clean(name)
	case p.dir != "":
		return path.Join(p.dir, name)
	}
	return path.Join(otherwise, name)
}

// place makes sure that sandboxes of the template can write at a path.
func (p *planner) place(at string) (string, error) {
	place, err := p.placeOf(at)
	if err == nil && place != "" && !slices.Contains(p.setup.Places, place) {
		p.setup.Places = append(p.setup.Places, place)
	}
	return place, err
}

func (p *planner) copy(a *action, st buildStep) error {
	src, dest := st.arg(0), st.arg(1)
	switch {
	case src == "" || dest == "":
		return errors.New("COPY needs a source and a destination")
	case !isHash(st.FilesHash):
		return errors.New("COPY without the hash of its files")
	}
	owner, err := checkUser(st.arg(2))
	if err != nil {
		return err
	}
	if owner != "" {
		a.warn = "there is no root in a local sandbox: the files are user's"
	}
	if a.mode = st.arg(3); a.mode != "" && !regexp.MustCompile(`^[0-7]{3,4}$`).MatchString(a.mode) {
		return fmt.Errorf("the mode %q is no octal number", shorten(a.mode))
	}
	a.archive = p.archive(st.FilesHash)
	sources, dir, err := archiveSources(a.archive, src)
	if err != nil {
		return fmt.Errorf("COPY %s: %w", shorten(src), err)
	}
	a.sources, a.dest = sources, p.absolute(dest, homeInside)
	a.folder = strings.HasSuffix(dest, "/") || len(sources) > 1 || dest == "." || dest == ".."
	place, err := p.place(a.dest)
	if err != nil {
		return err
	}
	if place == "" {
		return nil
	}
	if a.dest == place && !a.folder && !dir && !p.folders[place] {
		return fmt.Errorf("a file at %s is not possible in a local sandbox, a folder is: end it with a slash", place)
	}
	p.folders[place] = true
	return nil
}

// archiveSources lists which entries of an archive a COPY means: one file or
// folder, or what a pattern fits. dir reports that the only one is a folder.
func archiveSources(file, src string) (sources []string, dir bool, err error) {
	names, dirs, err := archiveNames(file)
	if err != nil {
		return nil, false, err
	}
	want := strings.TrimPrefix(path.Clean("/"+src), "/")
	if want == "" {
		return []string{"."}, true, nil
	}
	if slices.Contains(names, want) || dirs[want] {
		return []string{want}, dirs[want], nil
	}
	fits, err := regexp.Compile(globPattern(want))
	if err != nil {
		return nil, false, errors.New("the pattern cannot be read")
	}
	for _, n := range names {
		for p := n; p != "."; p = path.Dir(p) {
			if fits.MatchString(p) && !slices.Contains(sources, p) {
				sources = append(sources, p)
			}
		}
	}
	if len(sources) == 0 {
		return nil, false, errors.New("the uploaded archive has no such file")
	}
	slices.Sort(sources)
	return sources, len(sources) == 1 && dirs[sources[0]], nil
}

// globPattern is a file pattern as a regular expression.
func globPattern(glob string) string {
	quoted := regexp.QuoteMeta(glob)
	return "^" + strings.NewReplacer(
		`\*\*/`, `(?:.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`, `\[!`, `[^`, `\[`, `[`, `\]`, `]`,
	).Replace(quoted) + "$"
}

// maxEntries bounds what one COPY may hold.
const maxEntries = 500_000

// archiveNames lists an archive's entries, and which of them, given or implied, are
// folders.
func archiveNames(file string) (names []string, dirs map[string]bool, err error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, errors.New("its files were not uploaded")
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, nil, fmt.Errorf("the uploaded archive: %w", err)
	}
	dirs = map[string]bool{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, dirs, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("the uploaded archive: %w", err)
		}
		n := path.Clean(h.Name)
		if path.IsAbs(n) || n == ".." || strings.HasPrefix(n, "../") {
			return nil, nil, errors.New("the uploaded archive leads out of its folder")
		}
		if names = append(names, n); len(names) > maxEntries {
			return nil, nil, fmt.Errorf("the uploaded archive has more than %d entries", maxEntries)
		}
		if h.Typeflag == tar.TypeDir {
			dirs[n] = true
		}
		for p := path.Dir(n); p != "."; p = path.Dir(p) {
			dirs[p] = true
		}
	}
}
