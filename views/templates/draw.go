package templates

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/theme"
	"abxdash/ui/draw"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// maxNotices is how many lines about providers there are room for.
const maxNotices = 3

// Draw implements ui.Screen.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	s.sync()
	s.drawn = true
	if area.Dx() < 4 || area.Dy() < 3 {
		return nil
	}
	y := area.Min.Y
	s.drawTabs(scr, uv.Rect(area.Min.X, y, area.Dx(), 1))
	y++
	notices := s.notes()
	if area.Dy() < 14 {
		notices = notices[:min(len(notices), 1)]
	}
	for _, n := range notices {
		st := s.env.Theme.Text.Dim
		if n.bad {
			st = s.env.Theme.Text.Error
		}
		draw.Text(scr, area.Min.X+1, y, area.Dx()-1, n.text, st)
		y++
	}
	rest := uv.Rect(area.Min.X, y, area.Dx(), area.Max.Y-y)
	preview := uv.Rectangle{}
	if rest.Dy() >= 16 && s.previewed() {
		h := min(7, rest.Dy()/3)
		preview = uv.Rect(rest.Min.X, rest.Max.Y-h, rest.Dx(), h)
		rest = uv.Rect(rest.Min.X, rest.Min.Y, rest.Dx(), rest.Dy()-h)
	}
	cur := s.drawFrame(scr, rest)
	if preview.Dy() > 0 {
		s.drawPreview(scr, preview)
	}
	return cur
}

// drawTabs paints the two halves and the counts.
func (s *Screen) drawTabs(scr uv.Screen, r uv.Rectangle) {
	t := s.env.Theme
	x := r.Min.X + 1
	for i, name := range []string{s.env.Lang.T("Providers"), s.env.Lang.T("On disk")} {
		st := t.Bar.Tab
		if s.onDisk == (i == 1) {
			st = t.Bar.TabActive
		}
		x += draw.Text(scr, x, r.Min.Y, r.Max.X-x, fmt.Sprintf(" %d %s ", i+1, name), st) + 1
	}
	text := s.countText()
	if w := draw.Width(text); x+w+2 < r.Max.X {
		draw.Text(scr, r.Max.X-w-1, r.Min.Y, w, text, t.Text.Dim)
	}
}

func (s *Screen) countText() string {
	tr := s.env.Lang
	if s.onDisk {
		return tr.N(len(s.disk.folders), "%d folder", "%d folders", len(s.disk.folders))
	}
	ready, building, bad := 0, 0, 0
	for _, src := range s.m.sources {
		for _, t := range src.list {
			switch strings.ToLower(t.State) {
			case "ready":
				ready++
			case "error", "failed":
				bad++
			default:
				building++
			}
		}
	}
	out := tr.T("%d ready", ready)
	if building > 0 {
		out += "  " + tr.T("%d building", building)
	}
	if bad > 0 {
		out += "  " + tr.T("%d failed", bad)
	}
	return out
}

// notes are the lines above the table.
func (s *Screen) notes() []notice {
	if s.filterErr != "" {
		return []notice{{text: s.filterErr, bad: true}}
	}
	var out []notice
	if s.onDisk {
		for _, n := range s.disk.notes {
			out = append(out, notice{text: present.Clean(n), bad: true})
		}
		if s.disk.unwatched != nil {
			out = append(out, notice{text: s.env.Lang.T("folders are not watched: %s", present.Clean(s.disk.unwatched.Error())), bad: true})
		}
	} else {
		out = s.m.notices()
	}
	if n := len(out) - maxNotices; n > 0 {
		out = append(out[:maxNotices-1], notice{text: s.env.Lang.T("and %d more", n+1)})
	}
	return out
}

// drawFrame paints the table in its frame, the filter in its last row.
func (s *Screen) drawFrame(scr uv.Screen, r uv.Rectangle) *tea.Cursor {
	t := s.env.Theme
	in := r
	if r.Dy() >= 6 {
		in = draw.Box(scr, r, t, s.frameTitle(), t.Border.Focused, t.Border.TitleFocused)
	}
	var cur *tea.Cursor
	if s.input != nil && in.Dy() > 1 {
		cur = s.input.Draw(scr, uv.Rect(in.Min.X+1, in.Max.Y-1, in.Dx()-2, 1), t)
		in = uv.Rect(in.Min.X, in.Min.Y, in.Dx(), in.Dy()-1)
	}
	if s.onDisk {
		s.folders.Draw(scr, in, t, true)
	} else {
		s.table.Draw(scr, in, t, true)
	}
	return cur
}

func (s *Screen) frameTitle() string {
	tr := s.env.Lang
	shown, total, filter := s.table.Len(), s.table.Total(), s.filter.String()
	title := tr.T("Templates")
	if s.onDisk {
		shown, total, filter = s.folders.Len(), s.folders.Total(), s.diskFilter
		title = tr.T("Template folders")
	}
	if filter != "" {
		title += " ─ /" + present.CleanMax(filter, 60) + " ─ " + tr.T("%d of %d", shown, total)
	}
	if !s.onDisk {
		key, desc := s.table.Sort()
		arrow := s.env.Theme.Symbol.Up
		if desc {
			arrow = s.env.Theme.Symbol.Down
		}
		title += " ─ " + tr.T("sort: %s %s", tr.Word(key), arrow)
	}
	return title
}

func (s *Screen) previewed() bool {
	if s.onDisk {
		_, ok := s.folders.Cursor()
		return ok
	}
	_, ok := s.table.Cursor()
	return ok
}

// drawPreview says more about what is under the cursor.
func (s *Screen) drawPreview(scr uv.Screen, r uv.Rectangle) {
	t := s.env.Theme
	var title string
	var lines []line
	if s.onDisk {
		f, _ := s.folders.Cursor()
		title, lines = s.m.folderName(f.dir), s.folderLines(f)
	} else {
		row, _ := s.table.Cursor()
		title, lines = row.label(), s.m.factLines(t, row)
	}
	in := draw.Box(scr, r, t, title, t.Border.Normal, t.Border.Title)
	drawLines(scr, uv.Rect(in.Min.X+1, in.Min.Y, in.Dx()-2, in.Dy()), lines)
}

// line is a line of text in one style; clean.
type line struct {
	text  string
	style uv.Style
}

func drawLines(scr uv.Screen, r uv.Rectangle, lines []line) {
	for i := 0; i < r.Dy() && i < len(lines); i++ {
		draw.Text(scr, r.Min.X, r.Min.Y+i, r.Dx(), lines[i].text, lines[i].style)
	}
}

// factLines are what is known of a template.
func (m *Manager) factLines(t *theme.Theme, r *row) []line {
	i, tr := r.info, m.env.Lang
	n := t.Text.Normal
	out := []line{
		{present.Clean(r.src.name) + " / " + present.Clean(i.ID) + "   " + tr.T("names: %s", orDash(present.Clean(strings.Join(i.Names, ", ")))), n},
		{tr.T("size %s vCPU, %s, disk %s", present.CPU(i.CPU), present.Memory(i.MemoryMB), present.Memory(i.DiskMB)) + public(tr, i.Public), n},
		{
			tr.T("builds %s   created %s   updated %s   sandboxes so far %s", builds(r), m.ago(i.CreatedAt), m.ago(i.UpdatedAt),
				orDash(number(i.Spawned))), n,
		},
	}
	state := stateSpans(t, tr, i.State)[0]
	if i.Reason != "" {
		state.Text += ": " + present.CleanMax(i.Reason, 200)
	}
	out = append(out, line{state.Text, state.Style})
	switch {
	case !r.usedKnown:
		out = append(out, line{tr.T("used by: its provider has not listed any sandboxes yet"), t.Text.Dim})
	case len(r.used) == 0:
		out = append(out, line{tr.T("no live sandbox of it"), t.Text.Dim})
	default:
		var names []string
		for _, sb := range r.used[:min(len(r.used), 8)] {
			names = append(names, present.Label(sb))
		}
		if len(r.used) > len(names) {
			names = append(names, "…")
		}
		out = append(out, line{
			tr.N(len(r.used), "used by %d live sandbox: %s", "used by %d live sandboxes: %s", len(r.used), strings.Join(names, ", ")), n,
		})
	}
	return out
}

func public(tr *lang.Catalog, on bool) string {
	if on {
		return "   " + tr.T("public")
	}
	return ""
}

func number(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// folderLines are the first problems of a folder, else what it offers.
func (s *Screen) folderLines(f *folder) []line {
	t, tr := s.env.Theme, s.env.Lang
	out := []line{{s.m.path(f.dir) + "   " + tr.T("for %s", present.Clean(s.m.targetOf(f))), t.Text.Dim}}
	if f.report == nil {
		return out
	}
	for _, p := range f.report.Problems {
		out = append(out, line{present.Clean(p.String()), severityStyle(t, p.Severity)})
	}
	var names []string
	for _, c := range f.report.Commands.Commands {
		names = append(names, present.CleanMax(c.Name, 40))
	}
	if len(names) > 0 {
		out = append(out, line{tr.T("commands: %s", strings.Join(names, ", ")), t.Text.Normal})
	}
	return append(out, line{
		tr.N(f.report.ContextFiles, "a build sends %d file, %s", "a build sends %d files, %s", f.report.ContextFiles, present.Size(f.report.ContextBytes)), t.Text.Dim,
	})
}
