package templates

import (
	"bytes"
	"errors"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"abxdash/client"
)

// maxDockerfile bounds a Dockerfile.
const maxDockerfile = 1 << 20

// Dockerfile is what a lint learnt about one.
type Dockerfile struct {
	// From is the image under the final stage, its arguments filled in.
	From string `json:"from"`
	// Exposed lists the ports of the final stage.
	Exposed []int `json:"exposed,omitempty"`
	// Start is the final stage's CMD, or ENTRYPOINT, as written; "" if there is none.
	Start string `json:"start,omitempty"`
}

// LintDockerfile parses a Dockerfile and applies the rules of the target.
// hasCommands says whether the folder has a commands.py.
func LintDockerfile(file string, data []byte, target Target, hasCommands bool) (Dockerfile, Problems) {
	l := &dockerLint{src: newSource(file, data), target: target, args: map[string]string{}, stages: map[string]*stage{}}
	if len(data) > maxDockerfile {
		return Dockerfile{}, Problems{l.src.at(SeverityError, "too-large", 0, 0, "the file is over %d KiB", maxDockerfile>>10)}
	}
	nodes, bad := parseDockerfile(l.src, data)
	if bad != nil {
		return Dockerfile{}, Problems{*bad}
	}
	for _, n := range nodes {
		l.instruction(n)
	}
	l.finish(hasCommands)
	out := Dockerfile{}
	if l.now != nil {
		out = Dockerfile{From: l.now.root().from, Exposed: l.now.ports()}
		if s := l.now.start(); s != nil {
			out.Start = strings.TrimSpace(s.Original)
		}
	}
	return out, l.ps.sorted()
}

// parseDockerfile calls the parser; nothing that a file holds may end the program.
func parseDockerfile(src source, data []byte) (nodes []*parser.Node, bad *Problem) {
	defer func() {
		if v := recover(); v != nil {
			p := src.at(SeverityError, "syntax", 0, 0, "the file cannot be read as a Dockerfile: %v", v)
			nodes, bad = nil, &p
		}
	}()
	res, err := parser.Parse(bytes.NewReader(data))
	if err == nil {
		return res.AST.Children, nil
	}
	line := 0
	var at *parser.LocationError
	if errors.As(err, &at) && len(at.Locations) > 0 && len(at.Locations[0]) > 0 {
		line = at.Locations[0][0].Start.Line
	}
	p := src.at(SeverityError, "syntax", line, 0, "%s", err)
	return nil, &p
}

// stage is one FROM and what follows.
type stage struct {
	from  string
	base  *stage // the stage it builds on, nil for an image
	line  int
	words []*parser.Node
	dir   string
	env   map[string]string
	cmd   *parser.Node
	entry *parser.Node
	expos []int
	// placed are the destinations of files named commands.py.
	placed []string
}

func (s *stage) root() *stage {
	for s.base != nil {
		s = s.base
	}
	return s
}

func (s *stage) ports() []int {
	var out []int
	for ; s != nil; s = s.base {
		out = append(out, s.expos...)
	}
	return out
}

// start is what the image runs: its own, else that of the stage below.
func (s *stage) start() *parser.Node {
	for ; s != nil; s = s.base {
		if s.cmd != nil {
			return s.cmd
		}
		if s.entry != nil {
			return s.entry
		}
	}
	return nil
}

type dockerLint struct {
	src    source
	target Target
	ps     Problems
	// args are the ARGs before the first FROM.
	args   map[string]string
	stages map[string]*stage
	now    *stage
	seen   int
}

func (l *dockerLint) report(sev Severity, rule string, n *parser.Node, format string, args ...any) *Problem {
	l.ps = append(l.ps, l.src.at(sev, rule, n.StartLine, 1, format, args...))
	return &l.ps[len(l.ps)-1]
}

// words are an instruction's arguments.
func words(n *parser.Node) []string {
	var out []string
	for w := n.Next; w != nil; w = w.Next {
		out = append(out, w.Value)
	}
	return out
}

func (l *dockerLint) instruction(n *parser.Node) {
	name := strings.ToUpper(n.Value)
	l.secrets(n, name)
	switch {
	case name == "FROM":
		l.from(n)
		return
	case name == "ARG" && l.now == nil:
		for _, w := range words(n) {
			k, v, _ := strings.Cut(w, "=")
			l.args[k] = expand(strings.Trim(v, `"'`), l.args)
		}
		return
	case l.now == nil:
		l.report(SeverityError, "no-from", n, "%s stands before the first FROM", name)
		return
	}
	s := l.now
	switch name {
	case "CMD":
		s.cmd = n
	case "ENTRYPOINT":
		s.entry = n
	case "WORKDIR":
		for _, w := range words(n) {
			w = expand(w, s.env)
			if path.IsAbs(w) {
				s.dir = path.Clean(w)
			} else {
				s.dir = path.Join(s.dir, w)
			}
		}
	case "EXPOSE":
		l.expose(n)
	case "COPY", "ADD":
		l.copy(n)
	case "ENV", "ARG":
		l.env(n, name)
	case "RUN":
		l.run(n)
	case "LABEL", "USER", "VOLUME", "SHELL", "STOPSIGNAL", "HEALTHCHECK", "ONBUILD", "MAINTAINER":
	default:
		l.report(SeverityError, "instruction", n, "there is no instruction %s", client.OneLine(name, 30))
	}
}

func (l *dockerLint) from(n *parser.Node) {
	w := words(n)
	if len(w) == 0 {
		l.report(SeverityError, "no-from", n, "FROM names no image")
		return
	}
	for _, f := range n.Flags {
		platform, ok := strings.CutPrefix(f, "--platform=")
		if ok && !strings.Contains(platform, "$") && platform != "linux/amd64" {
			l.report(SeverityWarning, "platform", n, "templates are built for linux/amd64, not %s", platform)
		}
	}
	s := &stage{from: expand(w[0], l.args), line: n.StartLine, dir: "/", env: map[string]string{}}
	if base := l.stages[strings.ToLower(s.from)]; base != nil {
		s.base, s.dir = base, base.dir
		for k, v := range base.env {
			s.env[k] = v
		}
	}
	if len(w) >= 3 && strings.EqualFold(w[1], "as") {
		l.stages[strings.ToLower(w[2])] = s
	}
	l.stages[strconv.Itoa(l.seen)] = s
	l.seen++
	s.words = append(s.words, n)
	l.now = s
}

// expand fills in $NAME, ${NAME} and ${NAME:-default}.
func expand(text string, vars map[string]string) string {
	return os.Expand(text, func(name string) string {
		key, fallback, ok := strings.Cut(name, ":-")
		if v := vars[key]; v != "" || !ok {
			return v
		}
		return fallback
	})
}

func (l *dockerLint) expose(n *parser.Node) {
	for _, w := range words(n) {
		text, _, _ := strings.Cut(expand(w, l.now.env), "/")
		low, high, isRange := strings.Cut(text, "-")
		a, err := strconv.Atoi(low)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(high)
		}
		if err != nil || a < 1 || b > 65535 || b < a {
			l.report(SeverityError, "port", n, "EXPOSE %s is not a port", w)
			continue
		}
		l.now.expos = append(l.now.expos, a)
		if b != a {
			l.now.expos = append(l.now.expos, b)
		}
		for port, owner := range reservedPorts() {
			if a > port || b < port {
				continue
			}
			sev := SeverityError
			if !l.target.IsExpress() {
				sev = SeverityWarning
			}
			l.report(sev, "reserved-port", n, "port %d belongs to %s", port, owner).Hint = "do not listen on 49983, 5000 or 49999"
		}
	}
}

// copy notes where a file named commands.py lands.
func (l *dockerLint) copy(n *parser.Node) {
	w := words(n)
	if len(w) < 2 {
		l.report(SeverityError, "syntax", n, "%s needs a source and a destination", strings.ToUpper(n.Value))
		return
	}
	for _, f := range n.Flags {
		if strings.HasPrefix(f, "--from=") {
			return
		}
	}
	dest := expand(w[len(w)-1], l.now.env)
	dir := strings.HasSuffix(dest, "/") || dest == "." || len(w) > 2
	if !path.IsAbs(dest) {
		dest = path.Join(l.now.dir, dest)
	}
	dest = path.Clean(dest)
	for _, from := range w[:len(w)-1] {
		from = path.Clean(strings.TrimPrefix(expand(from, l.now.env), "/"))
		if strings.HasPrefix(from, "..") {
			l.report(SeverityError, "outside", n, "%s takes files of the template folder only, not %s", strings.ToUpper(n.Value), from)
			continue
		}
		match, err := path.Match(path.Base(from), FileCommands)
		switch {
		case from == "." || from == "*":
			l.now.placed = append(l.now.placed, path.Join(dest, FileCommands))
		case err != nil || !match || strings.Contains(from, "/"):
		case dir || dest == l.now.dir:
			l.now.placed = append(l.now.placed, path.Join(dest, FileCommands))
		default:
			l.now.placed = append(l.now.placed, dest)
		}
	}
}

func (l *dockerLint) env(n *parser.Node, name string) {
	w := words(n)
	step := 1
	if name == "ENV" {
		step = 3 // name, value, separator
	}
	for i := 0; i < len(w); i += step {
		key, value := w[i], ""
		if name == "ENV" {
			if i+1 < len(w) {
				value = w[i+1]
			}
		} else {
			key, value, _ = strings.Cut(w[i], "=")
		}
		value = expand(strings.Trim(value, `"'`), l.now.env)
		l.now.env[key] = value
		switch {
		case strings.HasPrefix(key, "E2B_"):
			l.report(SeverityError, "foreign-variable", n, "%s: templates do not write E2B_* variables", key)
		case secretPair(key, value):
			p := l.report(SeverityError, "secret", n, "%s %s looks like a secret; it would be readable in the image", name, key)
			p.Hint = "give it when a sandbox is created: abxdash create -e " + key + "=…"
			*p = p.secret()
		}
	}
}

// secrets looks at the whole text of an instruction.
func (l *dockerLint) secrets(n *parser.Node, name string) {
	text := n.Original
	for _, h := range n.Heredocs {
		text += "\n" + h.Content
	}
	if kind := SecretText(text); kind != "" {
		p := l.report(SeverityError, "secret", n, "%s holds what looks like %s; it would be readable in the image", name, kind)
		*p = p.secret()
	}
}

func (l *dockerLint) run(n *parser.Node) {
	text := n.Original
	for _, h := range n.Heredocs {
		text += "\n" + h.Content
	}
	if !strings.Contains(text, "agent-sandbox") {
		return
	}
	for _, m := range regexp.MustCompile(`pip3?\s+install\b[^|;&\n]*`).FindAllString(text, -1) {
		for _, word := range strings.Fields(m) {
			word = strings.Trim(word, `"'\`)
			name := regexp.MustCompile(`^[A-Za-z0-9_.-]*`).FindString(word)
			switch strings.ReplaceAll(strings.ToLower(name), "_", "-") {
			case "agent-sandbox":
				l.report(SeverityError, "wrong-package", n, "agent-sandbox is an unrelated package").Hint = "the image installs agent-sandbox-server"
			case "agent-sandbox-client":
				l.report(SeverityWarning, "wrong-package", n, "agent-sandbox-client belongs to the caller's machine").Hint = "the image installs only agent-sandbox-server"
			}
		}
	}
}
