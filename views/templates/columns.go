package templates

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	tpl "abxdash/templates"
	"abxdash/theme"
	"abxdash/ui/lang"
	"abxdash/ui/table"
	"abxdash/views/present"
)

// Keys of the columns that templates are sorted by.
const (
	colName     = "name"
	colProvider = "provider"
	colState    = "state"
	colUsed     = "used"
	colAge      = "age"
)

func (s *Screen) newTable() *table.Table[*row] {
	tr := s.env.Lang
	cell := func(text func(r *row) string, st func(t *theme.Theme, r *row) uv.Style) func(*row, int) []table.Span {
		return func(r *row, _ int) []table.Span {
			style := s.env.Theme.Text.Normal
			if st != nil {
				style = st(s.env.Theme, r)
			}
			return []table.Span{{Text: text(r), Style: style}}
		}
	}
	dim := func(t *theme.Theme, _ *row) uv.Style { return t.Text.Dim }
	byText := func(text func(r *row) string) func(a, b *row) int {
		return func(a, b *row) int { return strings.Compare(strings.ToLower(text(a)), strings.ToLower(text(b))) }
	}
	provider := func(r *row) string { return present.Clean(r.src.name) }
	return table.New(table.Config[*row]{
		ID: func(r *row) string { return r.id() },
		Kind: func(r *row) table.RowKind {
			if r.src.err != nil {
				return table.RowStale
			}
			return table.RowNormal
		},
		Empty: s.emptyText(), EmptyFiltered: tr.T("Nothing matches the filter."),
		Columns: []table.Column[*row]{
			{Key: colName, Title: tr.T("NAME"), Min: 14, Max: 40, Weight: 4, ElideMiddle: true, Cell: cell((*row).label, nil), Compare: byText((*row).label)},
			{Key: "tags", Title: tr.T("ALSO"), Min: 8, Max: 28, Weight: 2, Priority: 7, Cell: cell(aliases, dim)},
			{Key: "id", Title: tr.T("ID"), Min: 12, Max: 24, Weight: 1, Priority: 9, ElideMiddle: true, Cell: cell(func(r *row) string { return present.Clean(r.info.ID) }, dim)},
			{Key: colProvider, Title: tr.T("PROVIDER"), Min: 8, Max: 20, Weight: 1, Priority: 3, Cell: cell(provider, nil), Compare: byText(provider)},
			{Key: "builds", Title: tr.T("BUILDS"), Min: 6, Priority: 6, Align: table.Right, Cell: cell(builds, nil)},
			{Key: "size", Title: tr.T("CPU/MEM"), Min: 8, Max: 10, Priority: 5, Align: table.Right, Cell: cell(size, nil)},
			{Key: colUsed, Title: tr.T("USED BY"), Min: 7, Priority: 2, Align: table.Right, Cell: cell(used, nil), Compare: func(a, b *row) int { return cmp.Compare(len(a.used), len(b.used)) }},
			{Key: colState, Title: tr.T("STATUS"), Min: 10, Max: 14, Priority: 1, Cell: s.stateCell, Compare: func(a, b *row) int { return strings.Compare(a.info.State, b.info.State) }},
			{Key: colAge, Title: tr.T("AGE"), Min: 5, Priority: 4, Align: table.Right, Cell: cell(s.age, nil), Compare: func(a, b *row) int { return b.info.CreatedAt.Compare(a.info.CreatedAt) }},
		},
	})
}

func (s *Screen) emptyText() string {
	if !s.anyTemplates() {
		return s.env.Lang.T("No provider here has templates.")
	}
	return s.env.Lang.T("No templates yet.")
}

// aliases are the names after the first; clean.
func aliases(r *row) string {
	if len(r.info.Names) < 2 {
		return ""
	}
	return present.Clean(strings.Join(r.info.Names[1:], " "))
}

func builds(r *row) string {
	if r.info.Builds <= 0 {
		return present.TTLUnset
	}
	return strconv.FormatInt(r.info.Builds, 10)
}

func size(r *row) string {
	if r.info.CPU <= 0 && r.info.MemoryMB <= 0 {
		return present.TTLUnset
	}
	return present.CPU(r.info.CPU) + "/" + present.Memory(r.info.MemoryMB)
}

// used is how many live sandboxes are of the template, "?" before they were listed.
func used(r *row) string {
	if !r.usedKnown {
		return "?"
	}
	return strconv.Itoa(len(r.used))
}

func (s *Screen) age(r *row) string { return present.Age(r.info.CreatedAt, s.env.Now()) }

func (s *Screen) stateCell(r *row, _ int) []table.Span {
	return stateSpans(s.env.Theme, s.env.Lang, r.info.State)
}

// stateSpans shows a build's state as a symbol and a word.
func stateSpans(t *theme.Theme, tr *lang.Catalog, state string) []table.Span {
	word := strings.ToLower(present.CleanMax(state, 20))
	if word == "" {
		word = "?"
	}
	if word == "waiting" {
		word = "pending"
	}
	st := t.State(word)
	return []table.Span{{Text: st.Symbol + " " + tr.Word(word), Style: st.Style}}
}

// folderCell is a cell of the second half.
func (s *Screen) newFolderTable() *table.Table[*folder] {
	tr := s.env.Lang
	cell := func(f func(f *folder) (string, uv.Style)) func(*folder, int) []table.Span {
		return func(r *folder, _ int) []table.Span {
			text, st := f(r)
			return []table.Span{{Text: text, Style: st}}
		}
	}
	plain := func(text func(f *folder) string) func(*folder, int) []table.Span {
		return cell(func(f *folder) (string, uv.Style) { return text(f), s.env.Theme.Text.Normal })
	}
	dim := func(text func(f *folder) string) func(*folder, int) []table.Span {
		return cell(func(f *folder) (string, uv.Style) { return text(f), s.env.Theme.Text.Dim })
	}
	return table.New(table.Config[*folder]{
		ID:    func(f *folder) string { return f.dir },
		Empty: tr.T("No template folder here; n makes one."), EmptyFiltered: tr.T("Nothing matches the filter."),
		Columns: []table.Column[*folder]{
			{Key: "dir", Title: tr.T("FOLDER"), Min: 14, Max: 48, Weight: 4, ElideMiddle: true, Cell: plain(func(f *folder) string { return s.m.folderName(f.dir) })},
			{Key: "template", Title: tr.T("NAME"), Min: 8, Max: 24, Weight: 2, Priority: 4, Cell: plain(func(f *folder) string { return orDash(present.Clean(f.name())) })},
			{Key: "version", Title: tr.T("VERSION"), Min: 7, Max: 12, Priority: 7, Cell: dim(version)},
			{Key: "for", Title: tr.T("FOR"), Min: 16, Max: 20, Weight: 1, Priority: 3, Cell: dim(func(f *folder) string { return present.Clean(s.m.targetOf(f)) })},
			{Key: "lint", Title: tr.T("LINT"), Min: 12, Max: 22, Weight: 1, Cell: cell(s.lintWord)},
			{Key: "commands", Title: tr.T("COMMANDS"), Min: 8, Priority: 6, Align: table.Right, Cell: plain(commandCount)},
			{Key: "last", Title: tr.T("LAST"), Min: 19, Max: 34, Weight: 2, Priority: 2, Cell: cell(s.lastWord)},
			{Key: "saved", Title: tr.T("SAVED"), Min: 5, Priority: 5, Align: table.Right, Cell: plain(func(f *folder) string { return present.Age(f.changed, s.env.Now()) })},
		},
	})
}

func orDash(s string) string {
	if s == "" {
		return present.TTLUnset
	}
	return s
}

func version(f *folder) string {
	if f.report == nil || f.report.Template == nil {
		return present.TTLUnset
	}
	return orDash(present.CleanMax(f.report.Template.Version, 20))
}

func commandCount(f *folder) string {
	if f.report == nil || !f.report.Commands.Checked {
		return present.TTLUnset
	}
	return strconv.Itoa(len(f.report.Commands.Commands))
}

// lintWord says how many problems a folder has.
func (s *Screen) lintWord(f *folder) (string, uv.Style) {
	t := s.env.Theme
	switch {
	case f.err != nil:
		return t.Symbol.Fail + " " + present.CleanMax(reason(f.err), 60), t.Text.Error
	case f.report == nil:
		return t.Symbol.Busy + " " + s.env.Lang.T("linting"), t.Text.Info
	}
	return problemWord(t, s.env.Lang, f.report.Problems)
}

// problemWord sums up problems in a symbol and a word.
func problemWord(t *theme.Theme, tr *lang.Catalog, ps tpl.Problems) (string, uv.Style) {
	errs, warns := ps.Count(tpl.SeverityError), ps.Count(tpl.SeverityWarning)
	switch {
	case errs > 0:
		return t.Symbol.Fail + " " + tr.N(errs, "%d error", "%d errors", errs), t.Text.Error
	case warns > 0:
		return t.Symbol.Warn + " " + tr.N(warns, "%d warning", "%d warnings", warns), t.Text.Warn
	}
	return t.Symbol.OK + " " + tr.T("clean"), t.Text.OK
}

// lastWord is what was done with a folder last: a check, a build or a deploy.
func (s *Screen) lastWord(f *folder) (string, uv.Style) {
	t := s.env.Theme
	c, j := s.m.checks[f.dir], s.m.jobOf(f.dir)
	if j != nil && (c == nil || j.began.After(c.began)) {
		return j.verdict(t, s.env.Lang)
	}
	if c != nil {
		return c.verdict(t, s.env.Lang)
	}
	return present.TTLUnset, t.Text.Dim
}

// rawJSON is what is known of a template, indented. Its text is untrusted.
func rawJSON(info client.TemplateInfo) string {
	out, err := json.MarshalIndent(struct {
		ID       string    `json:"id"`
		Names    []string  `json:"names"`
		State    string    `json:"state"`
		Reason   string    `json:"reason,omitempty"`
		CPU      float64   `json:"cpu"`
		MemoryMB int64     `json:"memory_mb"`
		DiskMB   int64     `json:"disk_mb"`
		Public   bool      `json:"public"`
		Builds   int64     `json:"builds"`
		Spawned  int64     `json:"spawned"`
		Created  time.Time `json:"created_at"`
		Updated  time.Time `json:"updated_at"`
	}{
		info.ID, info.Names, info.State, info.Reason, info.CPU, info.MemoryMB, info.DiskMB, info.Public, info.Builds, info.Spawned,
		info.CreatedAt, info.UpdatedAt,
	}, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(out)
}
