package templates

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/ui/draw"
	"abxdash/views/present"
)

// besideFrom is the width from which the preview stands beside the form.
const besideFrom = 96

// Draw implements ui.Screen: steps, form, preview, keys.
func (w *Wizard) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	if area.Dx() < 10 || area.Dy() < 4 {
		return nil
	}
	w.drawSteps(scr, uv.Rect(area.Min.X, area.Min.Y, area.Dx(), 1))
	rest := uv.Rect(area.Min.X, area.Min.Y+1, area.Dx(), area.Dy()-1)
	left, right := rest, uv.Rectangle{}
	switch {
	case rest.Dx() >= besideFrom:
		width := rest.Dx() * 2 / 5
		left = uv.Rect(rest.Min.X, rest.Min.Y, width, rest.Dy())
		right = uv.Rect(rest.Min.X+width, rest.Min.Y, rest.Dx()-width, rest.Dy())
	case rest.Dy() >= 14:
		h := min(w.form.Height(rest.Dx()-4)+5, rest.Dy()/2)
		left = uv.Rect(rest.Min.X, rest.Min.Y, rest.Dx(), h)
		right = uv.Rect(rest.Min.X, rest.Min.Y+h, rest.Dx(), rest.Dy()-h)
	}
	cur := w.drawForm(scr, left)
	if right.Dy() > 2 {
		w.drawPreview(scr, right)
	}
	return cur
}

func (w *Wizard) drawSteps(scr uv.Screen, r uv.Rectangle) {
	t := w.env.Theme
	x := r.Min.X + 1
	for i, name := range stepNames(w.env.Lang) {
		st := t.Bar.Tab
		switch {
		case i == w.d.step:
			st = t.Bar.TabActive
		case i > w.d.step:
			st = t.Bar.TabDisabled
		}
		if r.Dx() < 64 && i != w.d.step {
			name = ""
		}
		x += draw.Text(scr, x, r.Min.Y, r.Max.X-x, strings.TrimRight(fmt.Sprintf(" %d %s", i+1, name), " ")+" ", st) + 1
	}
}

func (w *Wizard) drawForm(scr uv.Screen, r uv.Rectangle) *tea.Cursor {
	t := w.env.Theme
	in := r
	if r.Dy() >= 6 {
		in = draw.Box(scr, r, t, stepNames(w.env.Lang)[w.d.step], t.Border.Focused, t.Border.TitleFocused)
	}
	in = uv.Rect(in.Min.X+1, in.Min.Y, max(in.Dx()-2, 0), in.Dy())
	h := min(w.form.Height(in.Dx()), max(in.Dy(), 1))
	cur := w.form.Draw(scr, uv.Rect(in.Min.X, in.Min.Y, in.Dx(), h), t)
	y := in.Min.Y + h
	say := func(text string, error bool) {
		st := t.Text.Dim
		if error {
			st = t.Text.Error
		}
		for _, l := range wrap(text, in.Dx()-2) {
			if y < in.Max.Y {
				draw.Text(scr, in.Min.X+2, y, in.Dx()-2, l, st)
				y++
			}
		}
	}
	switch {
	case w.err != nil:
		say(present.ErrorLine(w.err), true)
		if h := present.Hint(w.err); h != "" {
			say(w.env.Lang.T("hint: %s", w.env.Lang.Word(h)), false)
		}
	case w.d.step == stepName:
		say(w.env.Lang.N(len(w.files), "%d file for %s go into %s; what is there already is shown first",
			"%d files for %s go into %s; what is there already is shown first", len(w.files), present.Clean(w.d.target), w.m.path(w.m.dir(w.d))), false)
	}
	return cur
}

// wrap breaks a clean text at blanks.
func wrap(text string, width int) []string {
	var out []string
	row := ""
	for _, word := range strings.Fields(text) {
		if row != "" && draw.Width(row)+1+draw.Width(word) > width {
			out = append(out, row)
			row = ""
		}
		if row != "" {
			row += " "
		}
		row += word
	}
	if row != "" {
		out = append(out, row)
	}
	return out
}

// filesReason says why there are no files.
func (w *Wizard) filesReason() string {
	if text := reason(w.filesErr); text != w.filesErr.Error() {
		return text
	}
	return w.env.Lang.Err(w.filesErr)
}

// drawPreview shows one of the files as it would be written.
func (w *Wizard) drawPreview(scr uv.Screen, r uv.Rectangle) {
	t := w.env.Theme
	if w.filesErr != nil && w.err == nil || len(w.files) == 0 {
		in := draw.Box(scr, r, t, w.env.Lang.T("Preview"), t.Border.Normal, t.Border.Title)
		text := w.env.Lang.T("nothing to show yet")
		if w.filesErr != nil {
			text = present.Clean(w.filesReason())
		}
		draw.Text(scr, in.Min.X+1, in.Min.Y, in.Dx()-2, text, t.Text.Warn)
		return
	}
	f := w.files[min(w.shown, len(w.files)-1)]
	in := draw.Box(scr, r, t, f.Path+" ─ "+w.env.Lang.T("file %d of %d", w.shown+1, len(w.files)), t.Border.Normal, t.Border.Title)
	lines := strings.Split(strings.TrimRight(string(f.Data), "\n"), "\n")
	w.rows = in.Dy()
	w.top = max(min(w.top, len(lines)-in.Dy()), 0)
	for y := 0; y < in.Dy() && w.top+y < len(lines); y++ {
		l := strings.ReplaceAll(lines[w.top+y], "\t", "    ")
		st := t.Text.Normal
		if strings.HasPrefix(strings.TrimSpace(l), "#") {
			st = t.Text.Dim
		}
		draw.Text(scr, in.Min.X+1, in.Min.Y+y, in.Dx()-2, draw.Clean(l), st)
	}
}
