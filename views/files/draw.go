package files

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/ui/draw"
	"abxdash/ui/table"
	"abxdash/views/present"
)

// layout is where the parts are. An empty rectangle is not drawn.
type layout struct{ list, preview, transfers, input uv.Rectangle }

// splitWidth is the width from which list and preview stand side by side.
const splitWidth = 70

// arrange lays the parts out; in a narrow window only the pane with the focus is shown.
func arrange(area uv.Rectangle, focus pane, transfers int, asking bool) layout {
	var l layout
	bottom := area.Max.Y
	if asking {
		rows := min(2, area.Dy())
		bottom -= rows
		l.input = uv.Rect(area.Min.X, bottom, area.Dx(), rows)
	}
	if n := min(transfers, 3, max(0, bottom-area.Min.Y-6)); n > 0 {
		bottom -= n
		l.transfers = uv.Rect(area.Min.X, bottom, area.Dx(), n)
	}
	h := bottom - area.Min.Y
	if h <= 0 {
		return l
	}
	switch {
	case area.Dx() >= splitWidth:
		w := area.Dx() / 2
		l.list = uv.Rect(area.Min.X, area.Min.Y, w, h)
		l.preview = uv.Rect(area.Min.X+w, area.Min.Y, area.Dx()-w, h)
	case focus == panePreview:
		l.preview = uv.Rect(area.Min.X, area.Min.Y, area.Dx(), h)
	default:
		l.list = uv.Rect(area.Min.X, area.Min.Y, area.Dx(), h)
	}
	return l
}

// Draw implements ui.Screen.
func (s *Screen) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	moving := s.opts.Transfers.of(present.KeyOf(s.sb))
	s.geo = arrange(area, s.focus, len(moving), s.ask != askNothing)
	s.drawList(scr, s.geo.list)
	search := s.drawPreview(scr, s.geo.preview)
	for i := range s.geo.transfers.Dy() {
		draw.Line(scr, s.geo.transfers, i, " "+moving[i].progress(s.env.Lang), s.env.Theme.Text.Info)
	}
	if s.ask == askNothing {
		return search
	}
	return s.drawInput(scr, s.geo.input)
}

func (s *Screen) drawList(scr uv.Screen, area uv.Rectangle) {
	if area.Empty() {
		return
	}
	t := s.env.Theme
	border, title := t.Border.Normal, t.Border.Title
	if s.focus == paneList {
		border, title = t.Border.Focused, t.Border.TitleFocused
	}
	in := draw.Box(scr, area, t, present.Elide(s.where(), max(4, area.Dx()-6)), border, title)
	if s.cwd == "" {
		text, st := s.env.Lang.T("reading the home folder …"), t.Text.Dim
		if s.err != nil {
			text, st = present.ErrorLine(s.err), t.Text.Error
		}
		draw.Text(scr, in.Min.X+1, in.Min.Y, in.Dx()-2, text, st)
		return
	}
	s.list.Draw(scr, in, t, s.focus == paneList)
}

// drawPreview returns the cursor of a search being typed there, or nil.
func (s *Screen) drawPreview(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	if area.Empty() {
		return nil
	}
	t := s.env.Theme
	border, title := t.Border.Normal, t.Border.Title
	if s.focus == panePreview {
		border, title = t.Border.Focused, t.Border.TitleFocused
	}
	head := s.env.Lang.T("Preview")
	if e, ok := s.list.Cursor(); ok && s.preview.path != "" {
		head = present.Clean(e.Name)
		if e.Name != ".." {
			head += "  " + present.Size(e.Size) + "  " + present.CleanMax(e.Permissions, 11)
		}
		if s.preview.hex {
			head += "  hex"
		}
		if s.preview.cut {
			head += "  " + s.env.Lang.T("beginning only")
		}
		if s.preview.about != "" {
			head += "  " + s.preview.about
		}
	}
	in := draw.Box(scr, area, t, head, border, title)
	switch {
	case s.preview.note != "":
		draw.Text(scr, in.Min.X+1, in.Min.Y, in.Dx()-2, s.env.Lang.Word(s.preview.note), t.Text.Dim)
	case s.preview.picture != nil:
		s.preview.picture.draw(scr, in, t)
	case s.view != nil:
		return s.view.Draw(scr, in, t)
	}
	return nil
}

// drawInput shows the line being typed and, below it, what is wrong with it or what it wants.
func (s *Screen) drawInput(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	if area.Empty() {
		return nil
	}
	t := s.env.Theme
	cur := s.input.Draw(scr, uv.Rect(area.Min.X, area.Min.Y, area.Dx(), 1), t)
	hint, st, tr := "", t.Text.Dim, s.env.Lang
	switch {
	case s.notice != "":
		hint, st = s.notice, t.Text.Error
	case s.ask == askDownload:
		hint = tr.T("a path on this machine, relative to %s", present.Clean(s.opts.Dir))
	case s.ask == askUpload:
		hint = tr.T("a file or a folder on this machine; tab completes")
	case s.ask == askRename || s.ask == askMkdir:
		hint = tr.T("in the sandbox, relative to %s", present.Clean(s.cwd))
	case s.ask == askSearch:
		hint = tr.T("looks in %s and below", present.Clean(s.cwd))
	case s.ask == askFilter:
		hint = tr.T("enter keeps the filter, esc drops it")
	}
	draw.Line(scr, area, 1, strings.TrimSpace(hint), st)
	return cur
}

// mouse gives clicks and the wheel to the pane under the pointer.
func (s *Screen) mouse(m tea.MouseMsg) tea.Cmd {
	at := uv.Position{X: m.Mouse().X, Y: m.Mouse().Y}
	if at.In(s.geo.preview) && s.view != nil && s.preview.note == "" {
		if _, ok := m.(tea.MouseClickMsg); ok {
			s.focus = panePreview
			return nil
		}
		s.view.Update(m)
		return nil
	}
	if !at.In(s.geo.list) || s.ask != askNothing {
		return nil
	}
	hit := s.list.Mouse(m, s.env.Now())
	if hit != table.HitNothing && hit != table.HitWheel {
		s.focus = paneList
	}
	if hit == table.HitDouble {
		return s.open()
	}
	return s.look()
}
