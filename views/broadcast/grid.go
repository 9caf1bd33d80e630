package broadcast

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// grid shows how one command ended in each sandbox.
type grid struct {
	env     ui.Env
	run     *run
	grouped bool
	cursor  int
	top     int
}

func newGrid(r *run) *grid { return &grid{run: r} }

// group is one row: one sandbox, or several whose answers are equal.
type group struct{ jobs []*job }

// Init implements ui.Overlay.
func (g *grid) Init(env ui.Env) tea.Cmd {
	g.env = env
	return nil
}

// Keys implements ui.Overlay.
func (g *grid) Keys() []keymap.Context { return []keymap.Context{keymap.Results, keymap.Move} }

// Title implements ui.Overlay.
func (g *grid) Title() string {
	done, _ := g.run.counts()
	return g.env.Lang.T("Results %d of %d", done, len(g.run.jobs))
}

// Close implements ui.Overlay.
func (g *grid) Close() {}

// Disabled implements ui.Disabler.
func (g *grid) Disabled(a keymap.Action) string {
	if a == keymap.ResultsStop && g.run.over() {
		return g.env.Lang.T("everything has ended")
	}
	return ""
}

// Update implements ui.Overlay.
func (g *grid) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ThemeMsg:
		g.env.Theme = msg.Theme
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			g.move(-1)
		} else {
			g.move(1)
		}
	case ui.ActionMsg:
		return g.act(msg.Action)
	}
	return nil
}

func (g *grid) act(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.NavBack:
		return ui.CloseOverlay(g)
	case keymap.MenuChoose:
		if gs := g.groups(); g.cursor < len(gs) {
			return tea.Sequence(ui.CloseOverlay(g), present.OpenSandbox(gs[g.cursor].jobs[0].sb.Clone(), present.TabOutput))
		}
	case keymap.ResultsGroup:
		g.grouped, g.cursor, g.top = !g.grouped, 0, 0
	case keymap.ResultsCopy:
		return tea.Batch(tea.SetClipboard(g.text()), ui.Toast(ui.ToastOK, g.env.Lang.T("copied the results")))
	case keymap.ResultsStop:
		return ui.Cmd(stopMsg{g.run})
	case keymap.MoveUp:
		g.move(-1)
	case keymap.MoveDown:
		g.move(1)
	case keymap.MovePageUp, keymap.MoveHalfUp:
		g.move(-8)
	case keymap.MovePageDown, keymap.MoveHalfDown:
		g.move(8)
	case keymap.MoveTop:
		g.move(-len(g.run.jobs))
	case keymap.MoveBottom:
		g.move(len(g.run.jobs))
	}
	return nil
}

func (g *grid) move(n int) { g.cursor = max(0, min(g.cursor+n, len(g.groups())-1)) }

// groups are the rows: as asked for, or equal answers together, the most common first.
func (g *grid) groups() []group {
	if !g.grouped {
		out := make([]group, len(g.run.jobs))
		for i, j := range g.run.jobs {
			out[i] = group{[]*job{j}}
		}
		return out
	}
	at := map[string]int{}
	var out []group
	for _, j := range g.run.jobs {
		k := j.answer()
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, group{})
		}
		out[i].jobs = append(out[i].jobs, j)
	}
	slices.SortStableFunc(out, func(a, b group) int { return cmp.Compare(len(b.jobs), len(a.jobs)) })
	return out
}

// answer is what two sandboxes must have in common to count as equal.
func (j *job) answer() string {
	return fmt.Sprint(j.stage, j.exit, j.why, j.stdout.more, j.stderr.more, present.ErrorLine(j.err)) + "\x00" + string(j.stdout.data) + "\x00" + string(j.stderr.data)
}

// ending words how the command stands in one sandbox.
func (j *job) ending(tr *lang.Catalog) string {
	switch {
	case j.stage == waiting:
		return tr.T("waiting")
	case j.stage == running:
		return tr.T("running")
	case j.stage == skipped:
		return tr.T("not run")
	case j.err != nil:
		return tr.T("no answer")
	default:
		return j.exit.String()
	}
}

// line is the first line worth reading: why it was not run or failed, the first
// line of standard error of a failure, else the first line of output. Clean.
func (j *job) line() string {
	if j.why != "" {
		return j.why
	}
	if j.err != nil {
		return present.ErrorLine(j.err)
	}
	first, second := j.stdout.data, j.stderr.data
	if j.failed() {
		first, second = second, first
	}
	if l := firstLine(first); l != "" {
		return l
	}
	return firstLine(second)
}

func firstLine(data []byte) string {
	for l := range bytes.Lines(data) {
		if l = bytes.TrimSpace(l); len(l) > 0 {
			return present.CleanMax(string(l), 200)
		}
	}
	return ""
}

func (j *job) took(now time.Time) string {
	switch j.stage {
	case running:
		return present.Duration(now.Sub(j.began))
	case ended:
		return fmt.Sprintf("%.1fs", max(0, j.over.Sub(j.began)).Seconds())
	default:
		return ""
	}
}

// label names a row.
func (g group) label() string {
	name := present.Label(g.jobs[0].sb)
	if len(g.jobs) > 1 {
		return fmt.Sprintf("%d× %s …", len(g.jobs), name)
	}
	return name
}

// text is the grid for the clipboard: what came from sandboxes is clean in it.
func (g *grid) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "$ %s\n", present.Clean(g.run.line))
	for _, j := range g.run.jobs {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", present.KeyOf(j.sb), j.ending(g.env.Lang), j.took(g.env.Now()), j.line())
	}
	return b.String()
}

// Size implements ui.Overlay.
func (g *grid) Size(maxW, maxH int) (int, int) {
	return min(maxW, 120), min(maxH, max(16, len(g.run.jobs)+12))
}

// Draw implements ui.Overlay.
func (g *grid) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	t := g.env.Theme
	draw.Fill(scr, area, t.Text.Normal)
	in := draw.Box(scr, area, t, g.Title(), t.Border.Focused, t.Border.TitleFocused)
	if in.Dx() < 8 || in.Dy() < 3 {
		return nil
	}
	in = uv.Rect(in.Min.X+1, in.Min.Y, in.Dx()-2, in.Dy())
	draw.Text(scr, in.Min.X, in.Min.Y, in.Dx(), "$ "+present.Clean(g.run.line), t.Text.Strong)
	gs := g.groups()
	g.cursor = max(0, min(g.cursor, len(gs)-1))
	detail := 0
	if in.Dy() >= 14 {
		detail = 7
	}
	list := max(1, in.Dy()-2-detail)
	g.top = max(min(g.top, g.cursor), g.cursor-list+1)
	for y := 0; y < list && g.top+y < len(gs); y++ {
		g.drawRow(scr, uv.Rect(in.Min.X, in.Min.Y+1+y, in.Dx(), 1), gs[g.top+y], g.top+y == g.cursor)
	}
	if detail > 0 && len(gs) > 0 {
		g.drawDetail(scr, uv.Rect(in.Min.X, in.Max.Y-1-detail, in.Dx(), detail), gs[g.cursor])
	}
	g.drawKeys(scr, uv.Rect(in.Min.X, in.Max.Y-1, in.Dx(), 1))
	return nil
}

// tight is the width below which a row does not say how long it took.
const tight = 60

func (g *grid) drawRow(scr uv.Screen, r uv.Rectangle, row group, selected bool) {
	t, j := g.env.Theme, row.jobs[0]
	symbol, st := t.Symbol.OK, t.Text.OK
	switch {
	case j.stage == waiting || j.stage == running:
		symbol, st = t.Symbol.Busy, t.Text.Info
	case j.stage == skipped:
		symbol, st = t.Symbol.Info, t.Text.Dim
	case j.failed():
		symbol, st = t.Symbol.Fail, t.Text.Error
	}
	normal := t.Text.Normal
	if selected {
		st, normal = t.Row.Selected, t.Row.Selected
		draw.Fill(scr, r, t.Row.Selected)
	}
	x := r.Min.X
	cell := func(width int, text string, st uv.Style) {
		if width = min(width, r.Max.X-x); width > 0 {
			draw.Text(scr, x, r.Min.Y, width, text, st)
			x += width + 1
		}
	}
	cell(1, symbol, st)
	name := min(28, r.Dx()/3)
	cell(name, present.Elide(row.label(), name), normal)
	if r.Dx() < tight { // what it said is worth more than how long it took
		cell(8, j.ending(g.env.Lang), st)
	} else {
		cell(12, j.ending(g.env.Lang), st)
		cell(6, j.took(g.env.Now()), normal)
	}
	cell(r.Max.X-x, j.line(), normal)
}

// drawDetail shows the beginning of the output under the cursor, and for a
// group who is in it.
func (g *grid) drawDetail(scr uv.Screen, r uv.Rectangle, row group) {
	t, j := g.env.Theme, row.jobs[0]
	for x := r.Min.X; x < r.Max.X; x++ {
		draw.Text(scr, x, r.Min.Y, 1, t.Symbol.H, t.Text.Dim)
	}
	y := r.Min.Y + 1
	put := func(text string, st uv.Style) {
		for l := range strings.SplitSeq(ansi.Wrap(text, max(r.Dx(), 1), ""), "\n") {
			if y >= r.Max.Y {
				return
			}
			draw.Text(scr, r.Min.X, y, r.Dx(), l, st)
			y++
		}
	}
	if len(row.jobs) > 1 {
		labels := make([]string, len(row.jobs))
		for i, j := range row.jobs {
			labels[i] = present.Label(j.sb)
		}
		put(g.env.Lang.T("equal in %s", strings.Join(labels, ", ")), t.Text.Info)
	}
	for _, part := range []struct {
		out output
		st  uv.Style
	}{{j.stderr, t.Text.Error}, {j.stdout, t.Text.Normal}} {
		for l := range bytes.Lines(part.out.data) {
			if y >= r.Max.Y {
				return
			}
			put(present.CleanMax(strings.TrimRight(string(l), "\r\n"), 300), part.st)
		}
		if part.out.more > 0 {
			put(g.env.Lang.T("and %s more", present.Size(part.out.more)), t.Text.Dim)
		}
	}
}

func (g *grid) drawKeys(scr uv.Screen, r uv.Rectangle) {
	tr := g.env.Lang
	word := tr.T("group equal")
	if g.grouped {
		word = tr.T("list all")
	}
	key := func(a keymap.Action, what string) draw.Hint {
		return draw.Hint{Key: present.KeyIn(g.env.Keys, keymap.Results, a), What: what, Off: g.Disabled(a) != ""}
	}
	draw.Hints(scr, r, g.env.Theme, key(keymap.MenuChoose, tr.T("open")), key(keymap.ResultsGroup, word),
		key(keymap.ResultsCopy, tr.T("copy")), key(keymap.ResultsStop, tr.T("stop")), key(keymap.NavBack, tr.T("close")))
}

var (
	_ ui.Overlay  = (*grid)(nil)
	_ ui.Disabler = (*grid)(nil)
)
