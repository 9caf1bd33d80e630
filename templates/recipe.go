package templates

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"

	"abxdash/client"
)

// BuildStep is one instruction of a Dockerfile as a step that platforms take
// (e2b-protocol §12.1).
type BuildStep struct {
	// Type is one of client.StepCopy and its like, Args as they go over the wire.
	Type string   `json:"type"`
	Args []string `json:"args"`
	// Line is where the Dockerfile says it, 0 for what is added.
	Line int `json:"line,omitempty"`
}

// Recipe is a Dockerfile in the form that platforms build without Docker.
type Recipe struct {
	// From is the image that the steps begin with.
	From  string
	Steps []BuildStep
	// Start and Ready are shell commands, "" if the file starts nothing.
	Start, Ready string
}

const (
	// defaultUser and defaultHome end a recipe that names none (e2b-protocol §12.7).
	defaultUser = "user"
	defaultHome = "/home/user"
	// readySleep is how long a start command is given that nobody can ask (§12.7).
	readySleep = "sleep 20"
)

// readyServer succeeds once the server of named commands takes connections. It
// needs only python3, which that server needs too.
func readyServer() string {
	return fmt.Sprintf(`python3 -c "import socket; socket.create_connection(('127.0.0.1', %d), 1)"`, ServerPort)
}

// ReadRecipe turns a Dockerfile into steps (e2b-protocol §12.7). What steps
// cannot say is an error with its line; what they need not say is only
// remarked upon.
func ReadRecipe(file string, data []byte) (Recipe, Problems) {
	r := &recipeReader{src: newSource(file, data), args: map[string]string{}, vars: map[string]string{}}
	if len(data) > maxDockerfile {
		return Recipe{}, Problems{r.src.at(SeverityError, "too-large", 0, 0, "the file is over %d KiB", maxDockerfile>>10)}
	}
	nodes, bad := parseDockerfile(r.src, data)
	if bad != nil {
		return Recipe{}, Problems{*bad}
	}
	for _, n := range nodes {
		r.instruction(n)
	}
	r.finish()
	return r.out, r.ps.sorted()
}

type recipeReader struct {
	src source
	ps  Problems
	out Recipe
	// args are the ARGs before FROM, vars what ENV and ARG set after it.
	args, vars map[string]string
	from       *parser.Node
	cmd, entry *parser.Node
	user, dir  bool
}

// refuse notes what steps cannot express.
func (r *recipeReader) refuse(n *parser.Node, format string, args ...any) {
	p := r.src.at(SeverityError, "no-step", n.StartLine, 1, format, args...)
	p.Hint = "write it another way, or build the image with Docker: --build docker"
	if kind := SecretText(n.Original); kind != "" {
		p = p.secret()
	}
	r.ps = append(r.ps, p)
}

func (r *recipeReader) remark(n *parser.Node, format string, args ...any) {
	r.ps = append(r.ps, r.src.at(SeverityInfo, "no-step", n.StartLine, 1, format, args...))
}

func (r *recipeReader) step(n *parser.Node, kind string, args ...string) {
	r.out.Steps = append(r.out.Steps, BuildStep{Type: kind, Args: args, Line: n.StartLine})
}

func (r *recipeReader) instruction(n *parser.Node) {
	name := strings.ToUpper(n.Value)
	switch {
	case name == "FROM":
		r.fromImage(n)
		return
	case name == "ARG" && r.from == nil:
		for _, w := range words(n) {
			k, v, _ := strings.Cut(w, "=")
			r.args[k] = expand(strings.Trim(v, `"'`), r.args)
		}
		return
	case r.from == nil:
		r.refuse(n, "%s stands before the first FROM", client.OneLine(name, 30))
		return
	}
	switch name {
	case "RUN":
		r.run(n)
	case "COPY", "ADD":
		r.copy(n, name)
	case "ENV":
		r.env(n)
	case "ARG":
		r.arg(n)
	case "WORKDIR":
		r.workdir(n)
	case "USER":
		r.userName(n)
	case "CMD":
		r.cmd = n
	case "ENTRYPOINT":
		r.entry = n
	case "EXPOSE", "LABEL", "MAINTAINER":
	case "VOLUME", "STOPSIGNAL", "HEALTHCHECK":
		r.remark(n, "%s means nothing to a sandbox and is left out", name)
	case "SHELL":
		r.refuse(n, "SHELL: steps always run in bash")
	default:
		r.refuse(n, "%s cannot be said in a step", client.OneLine(name, 30))
	}
}

func (r *recipeReader) fromImage(n *parser.Node) {
	if r.from != nil {
		r.refuse(n, "a second FROM: steps build on one image only")
		return
	}
	r.from = n
	w := words(n)
	if len(w) == 0 {
		r.refuse(n, "FROM names no image")
		return
	}
	for _, f := range n.Flags {
		if platform, ok := strings.CutPrefix(f, "--platform="); ok && platform != "linux/amd64" && !strings.Contains(platform, "$") {
			r.refuse(n, "templates are built for linux/amd64, not %s", platform)
		}
	}
	if r.out.From = expand(w[0], r.args); r.out.From == "scratch" || r.out.From == "" {
		r.refuse(n, "FROM %s: steps need an image to begin with", w[0])
	}
	r.out.Steps = append(r.out.Steps, BuildStep{Type: client.StepUser, Args: []string{"root"}}, BuildStep{Type: client.StepWorkdir, Args: []string{"/"}})
}

// isJSON tells the exec form of an instruction.
func isJSON(n *parser.Node) bool { return n.Attributes["json"] }

func (r *recipeReader) run(n *parser.Node) {
	if len(n.Flags) > 0 {
		r.refuse(n, "RUN %s: steps have no mounts, networks or rights of their own", strings.Join(n.Flags, " "))
		return
	}
	w := words(n)
	if len(w) == 0 || strings.TrimSpace(w[0]) == "" {
		r.refuse(n, "RUN says no command")
		return
	}
	command := w[0]
	if isJSON(n) {
		command = client.ShellJoin(w)
	}
	if len(n.Heredocs) == 0 {
		r.step(n, client.StepRun, command)
		return
	}
	// A heredoc alone is a script; one behind a command is bash's own affair.
	if one := n.Heredocs[0]; strings.HasPrefix(strings.TrimSpace(command), "<<") && len(n.Heredocs) == 1 {
		if strings.HasPrefix(one.Content, "#!") {
			r.refuse(n, "RUN: a script for another interpreter cannot be said in a step")
			return
		}
		r.step(n, client.StepRun, one.Content)
		return
	}
	var b strings.Builder
	b.WriteString(command + "\n")
	for _, h := range n.Heredocs {
		b.WriteString(h.Content + h.Name + "\n")
	}
	r.step(n, client.StepRun, b.String())
}

// unpacked tells names of archives, which ADD unpacks.
func unpacked(name string) bool {
	return regexp.MustCompile(`(?i)\.(tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz|zst))$`).MatchString(name)
}

// remote tells sources that ADD fetches.
func remote(name string) bool {
	return regexp.MustCompile(`^(?i)([a-z][a-z0-9+.-]*://|git@)`).MatchString(name)
}

func (r *recipeReader) copy(n *parser.Node, name string) {
	if len(n.Heredocs) > 0 {
		r.refuse(n, "%s of a text inside the Dockerfile: put it into a file of the folder", name)
		return
	}
	var owner, mode string
	for _, f := range n.Flags {
		key, value, _ := strings.Cut(f, "=")
		value, ok := r.fill(n, value)
		switch {
		case !ok:
			return
		case key == "--chown":
			owner = value
		case key == "--chmod":
			mode = value
		case key == "--link":
		default:
			r.refuse(n, "%s %s: steps take files of the folder only, with --chown and --chmod", name, client.OneLine(f, 80))
			return
		}
	}
	w := words(n)
	if len(w) < 2 {
		r.refuse(n, "%s needs a source and a destination", name)
		return
	}
	dest, ok := r.fill(n, w[len(w)-1])
	if !ok {
		return
	}
	if len(w) > 2 && !strings.HasSuffix(dest, "/") {
		dest += "/"
	}
	for _, from := range w[:len(w)-1] {
		from, ok := r.fill(n, from)
		if !ok {
			return
		}
		if r.sourceAllowed(n, name, from) {
			r.step(n, client.StepCopy, path.Clean(strings.TrimPrefix(from, "/")), dest, owner, mode)
		}
	}
}

func (r *recipeReader) sourceAllowed(n *parser.Node, name, from string) bool {
	switch clean := path.Clean(strings.TrimPrefix(from, "/")); {
	case remote(from):
		r.refuse(n, "%s %s: steps fetch nothing; RUN curl does", name, client.OneLine(from, 80))
	case name == "ADD" && unpacked(from):
		r.refuse(n, "ADD %s: steps unpack nothing; COPY it and RUN tar", client.OneLine(from, 80))
	case clean == ".." || strings.HasPrefix(clean, "../"):
		r.refuse(n, "%s takes files of the template folder only, not %s", name, client.OneLine(from, 80))
	default:
		return true
	}
	return false
}

// env passes variables on; the platform fills in what is in them (§12.1).
func (r *recipeReader) env(n *parser.Node) {
	var args []string
	w := words(n)
	for i := 0; i+1 < len(w); i += 3 { // name, value, separator
		value, ok := r.value(n, w[i+1])
		if !ok {
			return
		}
		args = append(args, w[i], value)
		if strings.Contains(value, "$") {
			delete(r.vars, w[i]) // known to the platform only
		} else {
			r.vars[w[i]] = value
		}
	}
	if len(args) == 0 {
		r.refuse(n, "ENV sets nothing")
		return
	}
	r.step(n, client.StepEnv, args...)
}

func (r *recipeReader) arg(n *parser.Node) {
	for _, w := range words(n) {
		key, raw, given := strings.Cut(w, "=")
		if before, ok := r.args[key]; !given && ok {
			raw = before
		}
		value, ok := r.value(n, raw)
		if !ok {
			return
		}
		r.vars[key] = value
		r.step(n, client.StepEnv, key, value)
	}
}

func (r *recipeReader) workdir(n *parser.Node) {
	w := words(n)
	if len(w) != 1 {
		r.refuse(n, "WORKDIR takes one path")
		return
	}
	if dir, ok := r.fill(n, w[0]); ok {
		r.dir = true
		r.step(n, client.StepWorkdir, dir)
	}
}

func (r *recipeReader) userName(n *parser.Node) {
	w := words(n)
	if len(w) != 1 {
		r.refuse(n, "USER takes one name")
		return
	}
	name, ok := r.fill(n, w[0])
	switch {
	case !ok:
		return
	case name == "0" || name == "0:0" || name == "root:root":
		name = "root"
	case strings.Contains(name, ":"):
		r.refuse(n, "USER %s: steps name a user without a group", client.OneLine(name, 40))
		return
	case strings.Trim(name, "0123456789") == "":
		r.refuse(n, "USER %s: steps name a user, not a number", client.OneLine(name, 40))
		return
	}
	r.user = true
	r.step(n, client.StepUser, name)
}

// variables are what a file knows, in the form that the lexer wants.
type variables map[string]string

// Get implements [shell.EnvGetter].
func (v variables) Get(name string) (string, bool) {
	s, ok := v[name]
	return s, ok
}

// Keys implements [shell.EnvGetter].
func (v variables) Keys() []string {
	var out []string
	for k := range v {
		out = append(out, k)
	}
	return out
}

// fill takes the quotes off a word and fills in its variables: the platform
// does so for ENV only. One that only the image knows cannot be filled in.
func (r *recipeReader) fill(n *parser.Node, word string) (string, bool) {
	out, missing, err := shell.NewLex('\\').ProcessWord(word, variables(r.vars))
	if err != nil {
		r.refuse(n, "%s: %s", client.OneLine(word, 80), err)
		return "", false
	}
	for name := range missing {
		r.refuse(n, "$%s is not known before the image runs", client.OneLine(name, 40))
		return "", false
	}
	return out, true
}

// value is the value of a variable: quotes off, known variables filled in,
// others left to the platform.
func (r *recipeReader) value(n *parser.Node, word string) (string, bool) {
	if strings.Contains(word, `\$`) || strings.HasPrefix(word, "'") && strings.Contains(word, "$") {
		r.refuse(n, "a $ that stands for itself cannot be said in a step")
		return "", false
	}
	lex := shell.NewLex('\\')
	lex.SkipUnsetEnv = true
	out, _, err := lex.ProcessWord(word, variables(r.vars))
	if err != nil {
		r.refuse(n, "%s: %s", client.OneLine(word, 80), err)
		return "", false
	}
	return out, true
}

// finish adds the start command, and the user and folder where the file names none.
func (r *recipeReader) finish() {
	if r.from == nil {
		r.ps = append(r.ps, r.src.at(SeverityError, "no-from", 1, 0, "the file has no FROM"))
		return
	}
	if !r.user {
		r.out.Steps = append(r.out.Steps, BuildStep{Type: client.StepUser, Args: []string{defaultUser}})
	}
	if !r.dir {
		r.out.Steps = append(r.out.Steps, BuildStep{Type: client.StepWorkdir, Args: []string{defaultHome}})
	}
	r.out.Start = startOf(r.entry, r.cmd)
	switch {
	case r.out.Start == "":
	case strings.Contains(r.out.Start, FileCommands), strings.Contains(r.out.Start, "agent-sandbox-server"):
		r.out.Ready = readyServer()
	default:
		r.out.Ready = readySleep
	}
}

// startOf joins ENTRYPOINT and CMD as Docker does: CMD is lost behind an
// ENTRYPOINT in shell form.
func startOf(entry, cmd *parser.Node) string {
	text := func(n *parser.Node) string {
		if n == nil {
			return ""
		}
		w := words(n)
		if isJSON(n) {
			return client.ShellJoin(w)
		}
		return strings.TrimSpace(strings.Join(w, " "))
	}
	if entry != nil && !isJSON(entry) || cmd == nil {
		return text(entry)
	}
	return strings.TrimSpace(text(entry) + " " + text(cmd))
}

// String words a step on one line.
func (s BuildStep) String() string { return client.OneLine(s.Type+" "+client.ShellJoin(s.Args), 200) }
