package templates

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"abxdash/client"
)

// LintOptions say for what a folder is checked.
type LintOptions struct {
	Target Target
	// Alias and Repository are those of a deploy; "" if there is none.
	Alias, Repository string
	// Python checks commands.py; "" leaves it unchecked and says so.
	Python string
	// Dockerfile is its name in the folder; "" is "Dockerfile".
	Dockerfile string
	// AllowSecrets makes secrets in the build context a warning.
	AllowSecrets bool
}

// Report is what a lint of a folder found.
type Report struct {
	Dir      string `json:"dir"`
	Target   string `json:"target"`
	OK       bool   `json:"ok"`
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
	// Template is nil if template.yaml could not be read.
	Template   *Template   `json:"template"`
	Dockerfile *Dockerfile `json:"dockerfile"`
	Commands   Commands    `json:"commands"`
	Problems   Problems    `json:"problems"`
	// ContextFiles and ContextBytes are what a build would send.
	ContextFiles int   `json:"context_files"`
	ContextBytes int64 `json:"context_bytes"`

	Context BuildContext `json:"-"`
}

// Counts words how many errors and warnings there are.
func (r Report) Counts() string {
	return plural(r.Errors, "error") + ", " + plural(r.Warnings, "warning")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// Lint checks a template folder without running or building anything. The
// error is only about the folder itself; what is wrong in it are Problems.
func Lint(ctx context.Context, dir string, o LintOptions) (Report, error) {
	if o.Dockerfile == "" {
		o.Dockerfile = FileDockerfile
	}
	r := Report{Dir: dir, Target: o.Target.Provider, Problems: Problems{}, Commands: Commands{Commands: []Command{}}}
	root, err := OpenFolder(dir)
	if err != nil {
		return r, err
	}
	defer root.Close()
	l := folderLint{root: root, o: o, r: &r}
	hasCommands := l.exists(FileCommands)
	hasDockerfile := l.exists(o.Dockerfile)
	l.template(hasDockerfile)
	if data, ok := l.read(o.Dockerfile, maxDockerfile); ok {
		d, ps := LintDockerfile(o.Dockerfile, data, o.Target, hasCommands)
		r.Dockerfile = &d
		l.add(ps)
	} else if !hasDockerfile && (r.Template == nil || r.Template.BaseImage == "") {
		l.add(Problems{source{file: o.Dockerfile}.at(SeverityWarning, "no-dockerfile", 0, 0, "there is no Dockerfile; the platform's own steps build the image, where the provider has them")})
	}
	if data, ok := l.read(FileCommands, maxCommands); ok {
		c, ps := CheckCommands(ctx, o.Python, FileCommands, data, o.Target)
		if c.Commands == nil {
			c.Commands = []Command{}
		}
		r.Commands = c
		l.add(ps)
	} else if !hasCommands {
		l.add(Problems{source{file: FileCommands}.at(SeverityWarning, "no-commands", 0, 0, "there is no commands.py; the image offers no named command")})
	}
	if err := l.context(); err != nil {
		return r, err
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	r.Problems = r.Problems.sorted()
	r.Errors, r.Warnings = r.Problems.Count(SeverityError), r.Problems.Count(SeverityWarning)
	r.OK = r.Errors == 0
	return r, nil
}

// OpenFolder opens a template folder for reading; what is not there is
// [client.ErrNotFound], with a word about making one.
func OpenFolder(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err == nil {
		return root, nil
	}
	e := &client.Error{Op: "read the template folder", Code: client.CodeFiles, Err: err}
	if errors.Is(err, fs.ErrNotExist) {
		e.Code, e.Kind = client.CodeFileNotFound, client.ErrNotFound
		e.Message = "there is no folder " + client.OneLine(dir, 120)
		e.Hint = "make one: abxdash template init " + client.OneLine(dir, 60)
	}
	return nil, e
}

type folderLint struct {
	root *os.Root
	o    LintOptions
	r    *Report
}

func (l *folderLint) add(ps Problems) { l.r.Problems = append(l.r.Problems, ps...) }

func (l *folderLint) exists(name string) bool {
	_, err := l.root.Lstat(name)
	return err == nil
}

// read gives a file of the folder; that it is not there is no problem yet.
func (l *folderLint) read(name string, limit int64) ([]byte, bool) {
	data, err := ReadSmall(l.root, name, limit)
	switch {
	case err == nil:
		return data, true
	case !l.exists(name):
		return nil, false
	}
	l.add(Problems{source{file: name}.at(SeverityError, "unreadable", 0, 0, "cannot be read: %s", err)})
	return nil, false
}

func (l *folderLint) template(hasDockerfile bool) {
	data, ok := l.read(FileTemplate, maxYAML)
	if !ok {
		if !l.exists(FileTemplate) {
			l.add(Problems{source{file: FileTemplate}.at(SeverityError, "missing", 0, 0, "the folder has no template.yaml").hint("make one: abxdash template init")})
			l.add(CheckNames(l.o.Alias, l.o.Repository))
		}
		return
	}
	t, ps := Parse(FileTemplate, data)
	l.add(ps)
	if t == nil {
		l.add(CheckNames(l.o.Alias, l.o.Repository))
		return
	}
	l.r.Template = t
	l.add(t.Check(l.o.Target, Surroundings{Dockerfile: hasDockerfile, Alias: l.o.Alias, Repository: l.o.Repository}))
}

func (l *folderLint) context() error {
	c, ps, err := ScanContext(l.r.Dir, l.o.Dockerfile)
	if err != nil {
		return err
	}
	for i := range ps {
		if ps[i].Rule == "secret-in-context" && l.o.AllowSecrets {
			ps[i].Severity = SeverityWarning
		}
	}
	l.add(ps)
	l.r.Context = c
	l.r.ContextFiles, l.r.ContextBytes = len(c.Entries), c.Size
	return nil
}
