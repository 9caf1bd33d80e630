package scaffold

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"abxdash/client"
	"abxdash/templates"
)

const otherStart = `CMD ["python3", "commands.py"]`

func dockerfile(o Options, f facts) ([]byte, error) {
	if o.Kind == FromDockerfile {
		return adapt(o)
	}
	data := struct {
		Base, Extra, Workdir, CommandsTo, Start string
	}{Base: o.Target.BaseImage(), Extra: f.extra, Workdir: o.Target.Workdir(), CommandsTo: o.Target.CommandsPath()}
	if !o.Target.IsExpress() {
		data.CommandsTo, data.Start = ".", otherStart
	}
	return fill("Dockerfile.tmpl", data)
}

// adapt makes a template's Dockerfile of another one: what the target does not
// take is left as a comment, the server is added at the end.
func adapt(o Options) ([]byte, error) {
	const op = "read the Dockerfile"
	if len(bytes.TrimSpace(o.Dockerfile)) == 0 {
		return nil, client.Usagef(op, "the Dockerfile to start from is empty")
	}
	res, err := parser.Parse(bytes.NewReader(o.Dockerfile))
	if err != nil {
		return nil, &client.Error{Op: op, Code: client.CodeTemplateParse, Message: client.OneLine(err.Error(), 200)}
	}
	text := strings.ReplaceAll(string(bytes.TrimPrefix(o.Dockerfile, []byte("\xef\xbb\xbf"))), "\r\n", "\n")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	last := -1 // the final FROM
	for i, n := range res.AST.Children {
		if strings.EqualFold(n.Value, "FROM") {
			last = i
		}
	}
	if last < 0 {
		return nil, &client.Error{Op: op, Code: client.CodeTemplateParse, Message: "it has no FROM"}
	}
	for i, n := range res.AST.Children {
		switch start := strings.EqualFold(n.Value, "CMD") || strings.EqualFold(n.Value, "ENTRYPOINT"); {
		case i == last && o.Target.IsExpress():
			comment(lines, n, "FROM "+o.Target.BaseImage()+stageName(n))
		case i > last && start:
			comment(lines, n, "")
		}
	}
	var b strings.Builder
	fmt.Fprintln(&b, strings.Join(lines, "\n"))
	tail, err := fill("Dockerfile.tmpl", struct {
		Base, Extra, Workdir, CommandsTo, Start string
	}{"-", "", o.Target.Workdir(), o.Target.CommandsPath(), ""})
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(tail), "\n")
	fmt.Fprintf(&b, "\n# The server of named commands.\nUSER root\n%s", rest)
	if !o.Target.IsExpress() {
		fmt.Fprintln(&b, otherStart)
	}
	return []byte(b.String()), nil
}

// stageName is " AS name" of a FROM that has one.
func stageName(n *parser.Node) string {
	var w []string
	for x := n.Next; x != nil; x = x.Next {
		w = append(w, x.Value)
	}
	if len(w) == 3 {
		return " AS " + w[2]
	}
	return ""
}

// comment turns the lines of an instruction into comments and puts another in its place.
func comment(lines []string, n *parser.Node, instead string) {
	for i := n.StartLine - 1; i < n.EndLine && i < len(lines); i++ {
		lines[i] = "# " + lines[i]
	}
	if instead != "" {
		lines[n.StartLine-1] += "\n" + instead
	}
}

// Lint checks what New made; it is used by its callers to show what is left to do.
func Lint(files []File, target templates.Target) templates.Problems {
	for _, f := range files {
		if f.Path == templates.FileDockerfile {
			_, ps := templates.LintDockerfile(f.Path, f.Data, target, true)
			return ps
		}
	}
	return nil
}
