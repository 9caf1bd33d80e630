package lang_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// root is the module's folder, seen from this package.
const root = "../.."

// text is a text that the code asks a catalogue for.
type text struct {
	// one is the form for one thing where there are two.
	one, id string
	at      token.Position
}

// source is the parsed code of the packages that draw, without tests.
type source struct {
	set   *token.FileSet
	files map[string]*ast.File
}

// parseSource reads everything below ui and views but the commands.
func parseSource(t *testing.T) source {
	t.Helper()
	s := source{set: token.NewFileSet(), files: map[string]*ast.File{}}
	add := func(path string) {
		f, err := parser.ParseFile(s.set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		s.files[filepath.ToSlash(rel)] = f
	}
	for _, top := range []string{"ui", "views"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "cli" || d.Name() == "testdata"):
				return filepath.SkipDir
			case !d.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				add(path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// asks tells what a call asks a catalogue for, "" for any other call: T, N,
// Word, Mark or Errorf.
func asks(c *ast.CallExpr) string {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"T", "N", "Word", "Mark", "Errorf"}, sel.Sel.Name) {
		return ""
	}
	// Mark and Errorf are the package's functions, the others are methods.
	own := sel.Sel.Name == "Mark" || sel.Sel.Name == "Errorf"
	if x, ok := sel.X.(*ast.Ident); (ok && x.Name == "lang") != own {
		return ""
	}
	return sel.Sel.Name
}

// constant is the value of a string literal, or of several joined by +.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, ok := constant(e.X)
		b, ok2 := constant(e.Y)
		return a + b, ok && ok2 && e.Op == token.ADD
	}
	return "", false
}

// texts are those that the code asks for by T, N, Mark and Errorf.
func (s source) texts(t *testing.T) []text {
	t.Helper()
	var out []text
	for _, f := range s.files {
		if f.Name.Name == "lang" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at := s.set.Position(c.Pos())
			forms := 1
			switch asks(c) {
			case "N":
				forms = 3 // the number comes first
			case "T", "Mark", "Errorf":
			default:
				return true
			}
			if len(c.Args) < forms {
				return true // not ours
			}
			id, ok := constant(c.Args[forms-1])
			one := ""
			if forms == 3 {
				var ok2 bool
				one, ok2 = constant(c.Args[1])
				ok = ok && ok2
			}
			if !ok {
				t.Errorf("%s: the text must be a constant; for one that is known only at run time there is Word", at)
				return true
			}
			out = append(out, text{one: one, id: id, at: at})
			return true
		})
	}
	return out
}

// verbRE is a format verb; its second group is an explicit argument, its last the verb.
var verbRE = regexp.MustCompile(`%(?:[-+# 0]*)(?:\[(\d+)\])?(\*|\d*)(?:\.\d+)?([a-zA-Z%])`)

// verbs are the verbs of a format by the argument that they take.
func verbs(format string) map[int]string {
	out := map[int]string{}
	next := 1
	for _, m := range verbRE.FindAllStringSubmatch(format, -1) {
		if m[3] == "%" {
			continue
		}
		if m[1] != "" {
			next, _ = strconv.Atoi(m[1]) // the expression allows digits only
		}
		out[next] = m[3]
		next++
	}
	return out
}

// wordsRE finds prose: two words with a blank between them, or one that
// begins a sentence or a title.
var wordsRE = regexp.MustCompile(`[A-Za-z]{2,},? [A-Za-z]|[A-Za-z] [A-Za-z]{2,}|^[A-Z][a-z]{2,}`)

// prose reports whether a literal looks like something to read.
func prose(s string) bool { return wordsRE.MatchString(verbRE.ReplaceAllString(s, "")) }

// letters reports whether a literal has at least two letters outside its verbs.
func letters(s string) bool {
	n := 0
	for _, r := range verbRE.ReplaceAllString(s, "") {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n > 1
}

// drawn reports whether a call puts its arguments on the screen.
func drawn(c *ast.CallExpr) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		id, ok := c.Fun.(*ast.Ident)
		return ok && slices.Contains([]string{"put", "cell", "line", "say"}, id.Name)
	}
	x, _ := sel.X.(*ast.Ident)
	switch {
	case x == nil:
		return sel.Sel.Name == "hints"
	case x.Name == "draw":
		return slices.Contains([]string{"Text", "Line", "Box", "Pad"}, sel.Sel.Name)
	case x.Name == "ui":
		return sel.Sel.Name == "Toast"
	case x.Name == "dialog":
		return true
	}
	return sel.Sel.Name == "hints"
}

// shownField reports whether a field of a struct is shown to people.
func shownField(name string) bool {
	return slices.Contains([]string{
		"Title", "Text", "Label", "Hint", "Disabled", "Yes", "No", "Placeholder", "Help", "Suggestion", "Empty", "Lines",
		"name", "value", "text", "title", "help", "label",
	}, name)
}

// notShown reports whether what is inside a node never reaches the screen as
// it is: errors, patterns, the log, formats of times, comparisons.
func notShown(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.IndexExpr:
		return true
	case *ast.Field:
		return true // a tag
	case *ast.BinaryExpr:
		return n.Op == token.EQL || n.Op == token.NEQ
	case *ast.CompositeLit:
		sel, ok := n.Type.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"Error", "Command", "Check"}, sel.Sel.Name)
	case *ast.CallExpr:
		if asks(n) != "" {
			return true
		}
		sel, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			id, ok := n.Fun.(*ast.Ident)
			return ok && id.Name == "words" // those of programming languages
		}
		if slices.Contains([]string{"Usagef", "recovered", "Format", "Warn", "Fprintln", "SetHeader", "SetSort"}, sel.Sel.Name) {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		return ok && slices.Contains([]string{"errors", "regexp", "strings", "os", "exec", "http", "url", "time", "bytes"}, x.Name) ||
			sel.Sel.Name == "Errorf"
	}
	return false
}

// untranslated lists literals of a file that seem to be shown as they are.
func (s source) untranslated(f *ast.File) []text {
	var out []text
	var path []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		if notShown(n) {
			return false
		}
		path = append(path, n)
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		v, err := strconv.Unquote(lit.Value)
		if err != nil || !letters(v) {
			return true
		}
		if prose(v) || shownBy(path) {
			out = append(out, text{id: v, at: s.set.Position(lit.Pos())})
		}
		return true
	})
	return out
}

// shownBy reports whether the last node of a path is an argument of something
// that draws, a shown field, or what a Title or Disabled returns.
func shownBy(path []ast.Node) bool {
	for i := len(path) - 1; i >= 0; i-- {
		switch n := path[i].(type) {
		case *ast.CaseClause:
			return false
		case *ast.CallExpr:
			return drawn(n)
		case *ast.KeyValueExpr:
			k, ok := n.Key.(*ast.Ident)
			return ok && shownField(k.Name)
		case *ast.ReturnStmt:
			for j := i - 1; j >= 0; j-- {
				if fn, ok := path[j].(*ast.FuncDecl); ok {
					return slices.Contains([]string{"Title", "Disabled", "Status", "AtStake", "Survives", "WindowTitle"}, fn.Name.Name)
				}
			}
		}
	}
	return false
}
