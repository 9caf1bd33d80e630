package files

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A lexer library was measured to cost every start of the program, and of every
// sandbox, more than ten milliseconds for its tables. What a preview needs is
// comments, strings, numbers and keywords; a table of a few words for each
// language does that.

// language says how a text is coloured.
type language struct {
	// line begin comments that go to the end of the line; open and close enclose them.
	line        []string
	open, close string
	// quotes are the characters that enclose strings; long those that do over lines.
	quotes string
	long   []string
	words  map[string]bool
	// markup colours whole lines by how they begin.
	markup bool
}

// Colours of the sixteen that every terminal has and the user's palette decides.
const (
	colComment = "\x1b[2m"
	colString  = "\x1b[32m"
	colNumber  = "\x1b[36m"
	colWord    = "\x1b[34m"
	colHead    = "\x1b[1m"
	colOff     = "\x1b[0m"
)

func words(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}

// languageOf chooses by the file's name and, for scripts, its first line.
func languageOf(name, first string) (language, bool) {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	switch base := strings.ToLower(name); {
	case base == "dockerfile" || strings.HasPrefix(base, "dockerfile."):
		return language{line: []string{"#"}, quotes: `"'`, words: words("FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL AS")}, true
	case base == "makefile":
		ext = "sh"
	case ext == "" && strings.HasPrefix(first, "#!"):
		for _, s := range []string{"python", "node", "ruby", "sh"} {
			if strings.Contains(first, s) {
				ext = map[string]string{"python": "py", "node": "js", "ruby": "rb", "sh": "sh"}[s]
				break
			}
		}
	}
	return languageOfExt(ext)
}

func languageOfExt(ext string) (language, bool) {
	c := language{line: []string{"//"}, open: "/*", close: "*/", quotes: `"'`}
	hash := language{line: []string{"#"}, quotes: `"'`}
	switch ext {
	case "py", "pyi":
		hash.long = []string{`"""`, `'''`}
		hash.words = words("and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False match case self")
		return hash, true
	case "rb":
		hash.words = words("begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require")
		return hash, true
	case "sh", "bash", "zsh", "profile", "bashrc", "mk":
		hash.words = words("if then else elif fi for in do done while until case esac function return exit export local readonly set unset shift source eval exec trap")
		return hash, true
	case "yaml", "yml", "toml", "ini", "conf", "cfg", "env", "properties":
		hash.line = []string{"#", ";"}
		hash.words = words("true false null yes no on off")
		return hash, true
	case "go":
		c.long = []string{"`"}
		c.words = words("break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false")
		return c, true
	case "js", "jsx", "ts", "tsx", "mjs", "cjs":
		c.long = []string{"`"}
		c.words = words("async await break case catch class const continue debugger default delete do else export extends finally for from function if import in instanceof interface let new null of return static super switch this throw true false try type typeof undefined var void while yield")
		return c, true
	case "rs":
		c.quotes = `"`
		c.words = words("as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true false type unsafe use where while")
		return c, true
	case "c", "h", "cc", "cpp", "hpp", "java", "kt", "cs", "swift", "php", "scala", "proto":
		c.words = words("auto bool boolean break byte case catch char class const continue default delete do double else enum extends extern false final float for func fun goto if implements import include int interface let long message namespace new null nullptr package private protected public return short signed sizeof static struct super switch this throw throws true try typedef union unsigned using val var virtual void volatile while")
		return c, true
	case "json", "jsonl", "ndjson":
		return language{quotes: `"`, words: words("true false null")}, true
	case "css", "scss", "less":
		return language{open: "/*", close: "*/", quotes: `"'`, words: words("important auto none inherit initial")}, true
	case "sql":
		return language{line: []string{"--"}, open: "/*", close: "*/", quotes: `"'`, words: words("select from where and or not insert into values update set delete create table index drop alter join left right inner outer on group by order having limit as distinct union null primary key SELECT FROM WHERE AND OR NOT INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX DROP ALTER JOIN LEFT RIGHT INNER OUTER ON GROUP BY ORDER HAVING LIMIT AS DISTINCT UNION NULL PRIMARY KEY")}, true
	case "lua":
		return language{line: []string{"--"}, quotes: `"'`, words: words("and break do else elseif end false for function if in local nil not or repeat return then true until while")}, true
	case "html", "xml", "svg", "vue":
		return language{open: "<!--", close: "-->", quotes: `"`}, true
	case "md", "markdown", "rst":
		return language{markup: true}, true
	case "diff", "patch":
		return language{markup: true}, true
	}
	return language{}, false
}

// highlight colours lines that are safe already: no escape may be left in them.
func highlight(lines []string, l language) []string {
	out := make([]string, len(lines))
	if l.markup {
		fenced := false
		for i, s := range lines {
			out[i], fenced = markup(s, fenced)
		}
		return out
	}
	p := painter{lang: l}
	for i, s := range lines {
		out[i] = p.line(s)
	}
	return out
}

// markup colours a line of Markdown or of a patch.
func markup(s string, fenced bool) (string, bool) {
	switch {
	case strings.HasPrefix(s, "```"):
		return colComment + s + colOff, !fenced
	case fenced || strings.HasPrefix(s, "+"):
		return colString + s + colOff, fenced
	case strings.HasPrefix(s, "#") || strings.HasPrefix(s, "diff ") || strings.HasPrefix(s, "@@"):
		return colHead + s + colOff, fenced
	case strings.HasPrefix(s, "-- ") || strings.HasPrefix(s, "--- "), strings.HasPrefix(s, "> "):
		return colComment + s + colOff, fenced
	}
	return s, fenced
}

// painter keeps what goes on over line ends.
type painter struct {
	lang language
	// until ends the comment or the string that is open, "" for none.
	until string
	color string
}

// maxPaint is the longest line that is coloured, in bytes.
const maxPaint = 2000

func (p *painter) line(s string) string {
	if len(s) > maxPaint {
		return s
	}
	var b strings.Builder
	for s != "" {
		var n int
		var col string
		if p.until != "" {
			n, col = p.rest(s)
		} else {
			n, col = p.token(s)
		}
		if col != "" {
			b.WriteString(col)
			b.WriteString(s[:n])
			b.WriteString(colOff)
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// rest is the part of s that belongs to what is open.
func (p *painter) rest(s string) (int, string) {
	col := p.color
	if i := strings.Index(s, p.until); i >= 0 {
		n := i + len(p.until)
		p.until = ""
		return n, col
	}
	return len(s), col
}

// token is the length and the colour of what s begins with.
func (p *painter) token(s string) (int, string) {
	l := &p.lang
	for _, c := range l.line {
		if strings.HasPrefix(s, c) {
			return len(s), colComment
		}
	}
	if l.open != "" && strings.HasPrefix(s, l.open) {
		p.until, p.color = l.close, colComment
		return len(l.open), colComment
	}
	for _, q := range l.long {
		if strings.HasPrefix(s, q) {
			p.until, p.color = q, colString
			return len(q), colString
		}
	}
	if strings.IndexByte(l.quotes, s[0]) >= 0 {
		return quoted(s), colString
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r >= '0' && r <= '9':
		return wordLen(s), colNumber
	case r == '_' || unicode.IsLetter(r):
		n := wordLen(s)
		if l.words[s[:n]] {
			return n, colWord
		}
		return n, ""
	}
	return size, ""
}

// quoted is the length of the string that s begins with, to the end of the line if it is open.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return len(s)
}

// wordLen is the length of the letters, digits and joining marks that s begins with.
func wordLen(s string) int {
	for i, r := range s {
		if r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return i
		}
		if r == '.' && (s[0] < '0' || s[0] > '9') {
			return i
		}
	}
	return len(s)
}
