package term

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/theme"
)

// drawn draws w into a buffer of its own with a margin of one cell.
func drawn(w *Widget, width, height int) (uv.ScreenBuffer, *tea.Cursor) {
	buf := uv.NewScreenBuffer(width+2, height+2)
	c := w.Draw(buf, uv.Rect(1, 1, width, height))
	return buf, c
}

func drawnText(w *Widget, width, height int) string {
	buf, _ := drawn(w, width, height)
	var lines []string
	for y := 1; y <= height; y++ {
		var b strings.Builder
		for x := 1; x <= width; x++ {
			b.WriteString(buf.CellAt(x, y).Content)
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func TestWidgetDraws(t *testing.T) {
	x := New(10, 3, Options{})
	_, _ = x.Write([]byte("a漢e\u0301\r\n\x1b[1;3;38;5;9;44mX\x1b[4:3;58;5;2mY\x1b[m\x1b[5 q"))
	w := NewWidget(x, &theme.Theme{})
	buf, c := drawn(w, 10, 3)
	if got := drawnText(w, 10, 3); got != "a漢e\u0301\nXY" {
		t.Errorf("drawn %q", got)
	}
	cell := buf.CellAt(1, 2)
	if cell.Style.Attrs != uv.AttrBold|uv.AttrItalic || cell.Style.Fg == nil || cell.Style.Bg == nil {
		t.Errorf("style %+v", cell.Style)
	}
	if y := buf.CellAt(2, 2); y.Style.Underline != uv.UnderlineCurly || y.Style.UnderlineColor == nil {
		t.Errorf("style %+v", y.Style)
	}
	if wide := buf.CellAt(2, 1); wide.Width != 2 {
		t.Errorf("wide cell %+v", wide)
	}
	if c == nil || c.X != 3 || c.Y != 2 || c.Shape != tea.CursorBar || !c.Blink {
		t.Errorf("cursor %+v", c)
	}
	for _, p := range [][2]int{{0, 0}, {11, 1}, {5, 4}} {
		if cell := buf.CellAt(p[0], p[1]); cell.Content != " " {
			t.Errorf("painted outside of the area at %v: %q", p, cell.Content)
		}
	}
}

func TestWidgetWithoutColour(t *testing.T) {
	x := New(10, 3, Options{})
	_, _ = x.Write([]byte("\x1b[1;31;44mX"))
	buf, _ := drawn(NewWidget(x, &theme.Theme{NoColor: true}), 10, 3)
	if s := buf.CellAt(1, 1).Style; s.Fg != nil || s.Bg != nil || s.Attrs != uv.AttrBold {
		t.Errorf("style %+v", s)
	}
}

func TestWidgetCursor(t *testing.T) {
	x := New(10, 3, Options{})
	w := NewWidget(x, nil)
	if _, c := drawn(w, 10, 3); c == nil {
		t.Error("no cursor")
	}
	w.SetFocused(false)
	if _, c := drawn(w, 10, 3); c != nil {
		t.Error("cursor without focus")
	}
	w.SetFocused(true)
	_, _ = x.Write([]byte("\x1b[?25l"))
	if _, c := drawn(w, 10, 3); c != nil {
		t.Error("hidden cursor")
	}
}

func TestWidgetSmallerThanTheTerminal(t *testing.T) {
	x := New(10, 5, Options{})
	_, _ = x.Write([]byte("1\r\n2\r\n3\r\n4\r\n漢字漢字漢"))
	w := NewWidget(x, nil)
	if got := drawnText(w, 3, 2); got != "4\n漢" {
		t.Errorf("drawn %q", got)
	}
	if got := drawnText(w, 20, 9); got != "1\n2\n3\n4\n漢字漢字漢" {
		t.Errorf("drawn %q", got)
	}
	drawn(w, 0, 0)
}

func TestWidgetScrolls(t *testing.T) {
	x := New(10, 3, Options{})
	for i := range 10 {
		fmt.Fprintf(x, "line %d\r\n", i)
	}
	w := NewWidget(x, nil)
	if got := drawnText(w, 10, 3); got != "line 8\nline 9" {
		t.Errorf("live: %q", got)
	}
	if !w.Scroll(2) || w.Scrolled() != 2 {
		t.Error("did not scroll")
	}
	if got := drawnText(w, 10, 3); got != "line 6\nline 7\nline 8" {
		t.Errorf("scrolled: %q", got)
	}
	// New output does not move the view.
	_, _ = x.Write([]byte("more\r\nmore\r\n"))
	if got := drawnText(w, 10, 3); got != "line 6\nline 7\nline 8" {
		t.Errorf("after output: %q", got)
	}
	if _, c := drawn(w, 10, 3); c != nil {
		t.Error("cursor while it is below the view")
	}
	w.ScrollTop()
	if got := drawnText(w, 10, 3); got != "line 0\nline 1\nline 2" {
		t.Errorf("top: %q", got)
	}
	if w.Scroll(1) {
		t.Error("scrolled beyond the top")
	}
	w.ScrollPage(-1)
	if got := drawnText(w, 10, 3); got != "line 2\nline 3\nline 4" {
		t.Errorf("page down: %q", got)
	}
	w.ScrollBottom()
	if got := drawnText(w, 10, 3); got != "more\nmore" {
		t.Errorf("bottom: %q", got)
	}
	_, _ = x.Write([]byte("\x1b[?1049h"))
	if w.Scroll(1) {
		t.Error("the alternate screen has no scroll-back")
	}
}

func TestWidgetScrollsToPrompts(t *testing.T) {
	x := New(10, 3, Options{})
	for i := range 3 {
		fmt.Fprintf(x, "\x1b]133;A\x07$ cmd%d\r\n1\r\n2\r\n", i)
	}
	w := NewWidget(x, nil)
	if !w.ScrollPrompt(true) {
		t.Error("no prompt found")
	}
	if got := drawnText(w, 10, 3); !strings.HasPrefix(got, "$ cmd2") {
		t.Errorf("drawn %q", got)
	}
	w.ScrollPrompt(true)
	w.ScrollPrompt(true)
	if got := drawnText(w, 10, 3); !strings.HasPrefix(got, "$ cmd0") || w.ScrollPrompt(true) {
		t.Errorf("drawn %q", got)
	}
	w.ScrollPrompt(false)
	if got := drawnText(w, 10, 3); !strings.HasPrefix(got, "$ cmd1") {
		t.Errorf("drawn %q", got)
	}
	w.ScrollPrompt(false)
	w.ScrollPrompt(false)
	if w.Scrolled() != 0 {
		t.Errorf("scrolled back by %d", w.Scrolled())
	}
}

func TestWidgetFollowsChanges(t *testing.T) {
	x := New(10, 3, Options{})
	w := NewWidget(x, nil)
	steps := []struct{ in, want string }{
		{"a", "a"},
		{"\r\nb\r\nc\r\nd", "b\nc\nd"},
		{"\x1b[1;1H\x1b[L", "\nb\nc"},
		{"\x1b[?1049hALT", "ALT"},
		{"\x1b[?1049l", "\nb\nc"},
		{"\x1bc", ""},
	}
	for _, s := range steps {
		_, _ = x.Write([]byte(s.in))
		if got := drawnText(w, 10, 3); got != s.want {
			t.Errorf("after %q: %q, want %q", s.in, got, s.want)
		}
	}
	_, _ = x.Write([]byte("\x1b[31mred"))
	before, _ := drawn(w, 10, 3)
	_, _ = x.Write([]byte("\x1b]4;1;#0000ff\x07"))
	after, _ := drawn(w, 10, 3)
	if before.CellAt(1, 1).Style.Equal(&after.CellAt(1, 1).Style) {
		t.Error("a palette change was not drawn")
	}
}

func TestWidgetReverseScreen(t *testing.T) {
	x := New(10, 3, Options{})
	w := NewWidget(x, nil)
	_, _ = x.Write([]byte("a\x1b[?5h"))
	buf, _ := drawn(w, 10, 3)
	if buf.CellAt(1, 1).Style.Attrs&uv.AttrReverse == 0 {
		t.Error("not reversed")
	}
	_, _ = x.Write([]byte("\x1b[?5l"))
	buf, _ = drawn(w, 10, 3)
	if buf.CellAt(1, 1).Style.Attrs&uv.AttrReverse != 0 {
		t.Error("still reversed")
	}
}

func TestWidgetAt(t *testing.T) {
	x := New(20, 3, Options{})
	_, _ = x.Write([]byte("1\r\n2\r\n3\r\n\x1b]8;;https://example.com\x07link"))
	w := NewWidget(x, nil)
	drawn(w, 20, 3)
	if col, row, link := w.At(1, 2); col != 1 || row != 2 || link != "https://example.com" {
		t.Errorf("at %d,%d %q", col, row, link)
	}
	w.Scroll(1)
	drawn(w, 20, 3)
	if _, row, _ := w.At(0, 0); row != -1 {
		t.Errorf("row %d, want -1", row)
	}
}

// Every recording is drawn the same by a widget that saw each step and by a fresh one.
func TestWidgetCacheIsExact(t *testing.T) {
	for group, cases := range vtGroups() {
		for _, c := range cases {
			x := New(10, 5, Options{})
			w := NewWidget(x, nil)
			for i := range len(c.in) {
				_, _ = x.Write([]byte(c.in[i : i+1]))
				drawn(w, 10, 5)
			}
			x.modes.Sync = false
			cached, c1 := drawn(w, 10, 5)
			fresh, c2 := drawn(NewWidget(x, nil), 10, 5)
			if cached.Render() != fresh.Render() || (c1 == nil) != (c2 == nil) || c1 != nil && *c1 != *c2 {
				t.Errorf("%s/%s: the cached picture differs:\n%q\n%q", group, c.name, cached.Render(), fresh.Render())
			}
		}
	}
}

func BenchmarkWidget(b *testing.B) {
	x := New(200, 60, Options{})
	_, _ = x.Write(colouredLines(100))
	w := NewWidget(x, nil)
	buf := uv.NewScreenBuffer(200, 60)
	for _, bench := range []struct{ name, in string }{{"unchanged", ""}, {"one row", "\x1b[10;10Hx"}, {"scrolled", "\n"}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if bench.in != "" {
					_, _ = x.Write([]byte(bench.in))
				}
				w.Draw(buf, uv.Rect(0, 0, 200, 60))
			}
		})
	}
}
