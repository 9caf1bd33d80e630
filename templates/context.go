package templates

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"abxdash/client"
)

const (
	// MaxContext is the largest build context that is taken, in bytes; 1 GiB and more is refused.
	MaxContext = 1<<30 - 1
	// bigContext is from where on a context is remarked upon.
	bigContext = 100 << 20
	// maxEntries bounds how many files a context may have.
	maxEntries = 200_000
	// maxPeek is how much of a file is read in search of secrets.
	maxPeek = 64 << 10
	// biggest is how many files are named when a context is too large.
	biggest = 5
)

// ContextEntry is one file, directory or link of a build context.
type ContextEntry struct {
	// Path is relative to the folder, with slashes.
	Path string
	Mode fs.FileMode
	Size int64
	// Link is what a link says; links are sent as links.
	Link string
}

// BuildContext is what a build of a folder would send.
type BuildContext struct {
	// Dir is the folder.
	Dir     string
	Entries []ContextEntry
	// Size is that of all regular files together, in bytes.
	Size int64
	// Secrets lists files that look like they hold a secret.
	Secrets []string
	// Wheels lists wheels of the server package at the top of the folder.
	Wheels []string
	// Dockerfile is the name of the Dockerfile, "" if there is none.
	Dockerfile string
}

// Biggest returns the largest regular files, largest first.
func (c BuildContext) Biggest(n int) []ContextEntry {
	var files []ContextEntry
	for _, e := range c.Entries {
		if e.Mode.IsRegular() {
			files = append(files, e)
		}
	}
	slices.SortStableFunc(files, func(a, b ContextEntry) int { return cmp.Compare(b.Size, a.Size) })
	return files[:min(n, len(files))]
}

// ScanContext lists what a build of dir would send: everything that
// .dockerignore does not exclude. Links are not followed; sockets, pipes and
// devices are left out with a remark; the folder's own .env is never part of it.
func ScanContext(dir, dockerfile string) (BuildContext, Problems, error) {
	root, err := OpenFolder(dir)
	if err != nil {
		return BuildContext{}, nil, err
	}
	defer root.Close()
	s := &scan{root: root, out: BuildContext{Dir: dir}}
	if _, err := root.Stat(dockerfile); err == nil {
		s.out.Dockerfile = dockerfile
	}
	if s.readIgnore(dockerfile); s.ps.Failed() {
		return s.out, s.ps, nil
	}
	err = fs.WalkDir(root.FS(), ".", s.visit)
	if err != nil {
		return s.out, s.ps, &client.Error{Op: "read the template folder", Code: client.CodeFiles, Err: err}
	}
	s.judge()
	return s.out, s.ps, nil
}

type scan struct {
	root  *os.Root
	out   BuildContext
	ps    Problems
	match *patternmatcher.PatternMatcher
}

func (s *scan) report(sev Severity, rule, file, format string, args ...any) *Problem {
	s.ps = append(s.ps, source{file: client.OneLine(file, maxExcerpt)}.at(sev, rule, 0, 0, format, args...))
	return &s.ps[len(s.ps)-1]
}

// readIgnore reads <Dockerfile>.dockerignore, else .dockerignore.
func (s *scan) readIgnore(dockerfile string) {
	for _, name := range []string{dockerfile + FileIgnore, FileIgnore} {
		data, err := ReadSmall(s.root, name, maxYAML)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			s.report(SeverityError, "ignore", name, "cannot be read: %s", err)
			return
		}
		list, err := ignorefile.ReadAll(bytes.NewReader(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))))
		if err == nil {
			// The builder needs both whatever the patterns say (TPL-07).
			s.match, err = patternmatcher.New(append(list, "!"+dockerfile, "!"+FileIgnore, "!"+name))
		}
		if err != nil {
			s.report(SeverityError, "ignore", name, "%s", err)
		}
		return
	}
}

// ReadSmall reads a file of at most limit bytes; only regular files, and links to them inside the folder.
func ReadSmall(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is over %d KiB", name, limit>>10)
	}
	return data, err
}

// ignored reports whether .dockerignore excludes name, and whether a whole
// directory can be skipped for it.
func (s *scan) ignored(name string, dir bool) (skip, prune bool) {
	if s.match == nil {
		return false, false
	}
	out, err := s.match.MatchesOrParentMatches(filepath.FromSlash(name))
	if err != nil || !out {
		return false, false
	}
	if !dir || !s.match.Exclusions() {
		return true, true
	}
	// Something below may be taken in again.
	for _, p := range s.match.Patterns() {
		if p.Exclusion() && strings.HasPrefix(filepath.ToSlash(p.String())+"/", name+"/") || p.Exclusion() && strings.ContainsAny(p.String(), "*?[") {
			return true, false
		}
	}
	return true, true
}

func (s *scan) visit(name string, d fs.DirEntry, err error) error {
	if err != nil {
		if name == "." {
			return err
		}
		return s.unreadable(name, d, err)
	}
	if name == "." {
		return nil
	}
	skip, prune := s.ignored(name, d.IsDir())
	switch {
	case skip && d.IsDir() && prune:
		return fs.SkipDir
	case skip:
		return nil
	}
	info, err := d.Info()
	if err != nil {
		return s.unreadable(name, nil, err)
	}
	if len(s.out.Entries) >= maxEntries {
		s.report(SeverityError, "context-size", ".", "the build context has more than %d files", maxEntries).Hint = "exclude what the image does not need in .dockerignore"
		return fs.SkipAll
	}
	s.add(name, info)
	return nil
}

// unreadable notes what cannot be read and goes on without it.
func (s *scan) unreadable(name string, d fs.DirEntry, err error) error {
	s.report(SeverityError, "unreadable", name, "cannot be read: %s", err)
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (s *scan) add(name string, info fs.FileInfo) {
	e := ContextEntry{Path: name, Mode: info.Mode()}
	switch {
	case info.IsDir():
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := s.root.Readlink(name)
		if err != nil {
			s.report(SeverityWarning, "unreadable", name, "the link cannot be read")
			return
		}
		e.Link = link
		if path.IsAbs(filepath.ToSlash(link)) || strings.HasPrefix(path.Join(path.Dir(name), filepath.ToSlash(link)), "..") {
			s.report(SeverityWarning, "link-outside", name, "the link leads out of the folder; it is sent as a link, not what it leads to")
		} else if _, err := s.root.Stat(name); err != nil {
			s.report(SeverityWarning, "dangling-link", name, "the link leads nowhere")
		}
	case info.Mode().IsRegular():
		e.Size = info.Size()
		if s.secret(name, e) {
			return
		}
		s.out.Size += e.Size
		if !strings.Contains(name, "/") && IsServerWheel(name) {
			s.out.Wheels = append(s.out.Wheels, name)
		}
	default:
		s.report(SeverityInfo, "special-file", name, "%s, left out", special(info.Mode()))
		return
	}
	s.out.Entries = append(s.out.Entries, e)
}

func special(m fs.FileMode) string {
	switch {
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "a device"
}

// secret looks for secrets and reports whether the file must not be sent at
// all: the folder's .env is where keys of abxdash itself are.
func (s *scan) secret(name string, e ContextEntry) (drop bool) {
	why := SecretFile(name)
	if why == "" && mayHoldToken(name) && e.Size <= maxPeek {
		if data, err := ReadSmall(s.root, name, maxPeek); err == nil {
			why = SecretText(string(data))
		}
	}
	if why == "" {
		return false
	}
	s.out.Secrets = append(s.out.Secrets, name)
	s.report(SeverityError, "secret-in-context", name, "would be sent with the build and looks like it holds a secret (%s)", why).
		Hint = "add it to .dockerignore"
	return name == ".env"
}

// judge looks at the size of it all.
func (s *scan) judge() {
	var sev Severity
	switch {
	case s.out.Size > MaxContext:
		sev = SeverityError
	case s.out.Size > bigContext:
		sev = SeverityWarning
	default:
		return
	}
	var names []string
	for _, e := range s.out.Biggest(biggest) {
		names = append(names, fmt.Sprintf("%s (%s)", e.Path, mib(e.Size)))
	}
	what := "the build context is large: " + mib(s.out.Size)
	if sev == SeverityError {
		what = "the build context is too large: " + mib(s.out.Size) + ", the limit is 1 GiB"
	}
	s.report(sev, "context-size", ".", "%s; biggest: %s", what, strings.Join(names, ", ")).Hint = "exclude what the image does not need in .dockerignore"
}

func mib(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	}
	return fmt.Sprintf("%d MiB", (n+1<<19)>>20)
}

// IsServerWheel reports whether a file is a wheel of the server package.
func IsServerWheel(name string) bool {
	name = strings.ToLower(path.Base(name))
	return strings.HasPrefix(name, "agent_sandbox_server-") && strings.HasSuffix(name, ".whl")
}
