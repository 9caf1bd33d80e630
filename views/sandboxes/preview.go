package sandboxes

import (
	"slices"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/ui/draw"
	"abxdash/views/present"
)

// drawPreview says more about the row under the cursor.
func (s *Screen) drawPreview(scr uv.Screen, r uv.Rectangle) {
	if r.Dy() < 3 {
		return
	}
	t := s.env.Theme
	e := s.current()
	title := s.env.Lang.T("Preview")
	if e != nil {
		title = present.Elide(present.LongLabel(e.sb), max(8, r.Dx()-8))
	}
	in := draw.Box(scr, r, t, title, t.Border.Normal, t.Border.Title)
	if e == nil || in.Dx() < 4 {
		return
	}
	for i, l := range s.previewLines(e) {
		if i >= in.Dy() {
			return
		}
		draw.Text(scr, in.Min.X+1, in.Min.Y+i, in.Dx()-2, l.text, l.style)
	}
}

type styledLine struct {
	text  string
	style uv.Style
}

// previewLines are in the order of their weight: what is cut off in a small
// pane matters least.
func (s *Screen) previewLines(e *entry) []styledLine {
	t, tr := s.env.Theme, s.env.Lang
	sb := e.sb
	now := s.at(e)
	var out []styledLine
	add := func(st uv.Style, text string) { out = append(out, styledLine{text, st}) }
	if text := s.killText(e, 100); text != "" {
		add(t.Text.Warn, text)
	}
	if len(e.stray) > 0 {
		add(t.Text.Warn, tr.T("stray: %s", strings.Join(e.stray, ", ")))
	}
	parts := []string{present.Clean(sb.Provider), present.Template(sb), tr.Word(present.StateWord(sb))}
	if sb.CPU > 0 || sb.MemoryMB > 0 {
		parts = append(parts, present.CPU(sb.CPU)+" vCPU", present.Memory(sb.MemoryMB))
	}
	if sb.Isolation != "" {
		parts = append(parts, tr.T("isolation %s", present.Clean(string(sb.Isolation))))
	}
	add(t.Text.Normal, strings.Join(parts, " / "))
	times := tr.T("up %s", present.Age(sb.StartedAt, now))
	if left, kind := present.Left(sb, now); kind == client.EndAt && left > 0 {
		times += "   " + tr.T("ends in %s at %s", present.TTL(sb, now), sb.ExpiresAt.Local().Format("15:04:05"))
	} else {
		times += "   " + tr.T("TTL %s", tr.Word(present.TTL(sb, now)))
	}
	add(t.Text.Normal, times+"   "+tr.T("owner %s", s.opt.Owner.Column(sb)))
	if text := s.costLine(e); text != "" {
		add(t.Text.Dim, text)
	}
	if meta := metaLine(sb.Metadata); meta != "" {
		add(t.Text.Dim, meta)
	}
	return out
}

// costLine words what e costs, "" where no rate is known or it is free.
func (s *Screen) costLine(e *entry) string {
	r, now := s.opt.Rates, s.at(e)
	h, ok := r.Hourly(e.sb)
	if !ok || h == 0 {
		return ""
	}
	out := present.Money(h) + "/h"
	if v, ok := r.Spent(e.sb, now); ok {
		out += "   " + s.env.Lang.T("%s so far", present.Money(v))
	}
	if v, ok := r.Projected(e.sb, now); ok {
		out += "   " + s.env.Lang.T("%s by its end", present.Money(v))
	}
	return out + "   (" + r.LabelIn(s.env.Lang) + ")"
}

// metaLine is "meta app=web run=812", our own tags left out, in the order of the keys.
func metaLine(m map[string]string) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		if k != client.MetaName && !strings.HasPrefix(k, "abxdash.") {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	var b strings.Builder
	b.WriteString("meta")
	for _, k := range keys {
		b.WriteString("  " + present.CleanMax(k, 40) + "=" + present.CleanMax(m[k], 60))
	}
	return b.String()
}
