package term

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/theme"
)

// browsing is a terminal of 20×4 cells with 20 numbered lines, one of them long.
func browsing(t *testing.T) (*Terminal, *Widget) {
	t.Helper()
	x := New(20, 4, Options{})
	for i := range 20 {
		if i == 10 {
			_, _ = x.Write([]byte("\x1b]133;A\x07$ a long line that wraps over three rows, Über all\r\n"))
			continue
		}
		_, _ = fmt.Fprintf(x, "line %d 漢字\r\n", i)
	}
	_, _ = x.Write([]byte("\x1b]133;A\x07$ "))
	w := NewWidget(x, &theme.Theme{})
	drawn(w, 20, 4)
	w.Browse(true)
	return x, w
}

func TestBrowseSearch(t *testing.T) {
	_, w := browsing(t)
	w.SetQuery("LINE 3")
	if found, _ := w.FindNext(true); found {
		t.Error("capitals matched small letters")
	}
	w.SetQuery("line 3")
	if found, around := w.FindNext(true); !found || around {
		t.Fatalf("found %v, around %v", found, around)
	}
	if got := w.LineText(); got != "line 3 漢字" {
		t.Errorf("line %q", got)
	}
	if got := drawnText(w, 20, 4); !strings.Contains(got, "line 3 漢字") {
		t.Errorf("the match is not shown:\n%s", got)
	}
	if found, around := w.FindNext(true); !found || !around {
		t.Errorf("again: found %v, around %v", found, around)
	}
	// Over the border of two rows, and without regard to case beyond ASCII.
	w.SetQuery("three rows, über")
	if found, _ := w.FindNext(false); !found {
		t.Error("a match over two rows was not found")
	}
	if got := w.LineText(); got != "$ a long line that wraps over three rows, Über all" {
		t.Errorf("line %q", got)
	}
	buf, _ := drawn(w, 20, 4)
	marked := 0
	for y := 1; y <= 4; y++ {
		for x := 1; x <= 20; x++ {
			if buf.CellAt(x, y).Style.Underline == uv.UnderlineSingle {
				marked++
			}
		}
	}
	if marked != len([]rune("three rows, über")) {
		t.Errorf("%d cells are marked", marked)
	}
	w.SetQuery("nothing like it")
	if found, _ := w.FindNext(false); found {
		t.Error("found what is not there")
	}
}

func TestBrowseSelectAndCopy(t *testing.T) {
	x, w := browsing(t)
	w.SetQuery("line 18")
	w.FindNext(true)
	w.MoveCursor(5, 0)
	w.ToggleSelect(false)
	w.MoveCursor(0, 1)
	w.MoveInLine(true)
	if got := w.Text(); got != "18 漢字\nline 19 漢字" {
		t.Errorf("selected %q", got)
	}
	// The selection stays with the text while more comes in.
	_, _ = x.Write([]byte("more\r\nand more\r\n"))
	if got := w.Text(); got != "18 漢字\nline 19 漢字" {
		t.Errorf("later %q", got)
	}
	buf, _ := drawn(w, 20, 4)
	if c := buf.CellAt(1+5, 1); c.Style.Attrs&uv.AttrReverse == 0 {
		t.Errorf("the selection is not seen: %+v", c)
	}
	w.ToggleSelect(true)
	if got := w.Text(); got != "line 18 漢字\nline 19 漢字\n" {
		t.Errorf("lines %q", got)
	}
	w.ToggleSelect(true)
	if w.Selected() || w.Text() != "" {
		t.Error("the selection is not over")
	}
	// A wrapped line is one line.
	w.SetQuery("long line")
	w.FindNext(true)
	w.MoveInLine(false)
	w.ToggleSelect(false)
	w.MoveCursor(0, 2)
	w.MoveInLine(true)
	if got := w.Text(); got != "$ a long line that wraps over three rows, Über all" {
		t.Errorf("wrapped %q", got)
	}
	w.Browse(false)
	if w.Selected() || w.Scrolled() != 0 || w.Query() != "" {
		t.Error("browsing left something behind")
	}
}

func TestBrowsePromptsAndEdges(t *testing.T) {
	_, w := browsing(t)
	if !w.MovePrompt(true) {
		t.Fatal("there is a prompt above")
	}
	if got := w.LineText(); !strings.HasPrefix(got, "$ a long line") {
		t.Errorf("line %q", got)
	}
	if w.MovePrompt(true) {
		t.Error("there is no prompt further up")
	}
	if !w.MovePrompt(false) || w.LineText() != "$" {
		t.Errorf("next prompt: %q", w.LineText())
	}
	w.MoveEdge(true)
	if got := w.LineText(); got != "line 0 漢字" {
		t.Errorf("top %q", got)
	}
	w.MoveCursor(-5, -5)
	w.MovePage(1)
	if got := w.LineText(); got != "line 0 漢字" {
		t.Errorf("above the top %q", got)
	}
	w.MovePage(-1)
	if got := w.LineText(); got != "line 3 漢字" {
		t.Errorf("one page down %q", got)
	}
	w.MoveEdge(false)
	if w.LineText() != "$" {
		t.Errorf("bottom %q", w.LineText())
	}
}

func TestSelectWithTheMouse(t *testing.T) {
	x := New(20, 3, Options{})
	_, _ = x.Write([]byte("one two-three four\r\nfive 漢字 six\r\nseven"))
	w := NewWidget(x, &theme.Theme{})
	drawn(w, 20, 3)
	w.SelectFrom(4, 0)
	if w.Selected() {
		t.Error("a click selects nothing")
	}
	w.SelectTo(6, 1)
	if got := w.Text(); got != "two-three four\nfive 漢" {
		t.Errorf("dragged %q", got)
	}
	w.SelectWord(6, 0)
	if got := w.Text(); got != "two-three" {
		t.Errorf("word %q", got)
	}
	w.SelectWord(3, 0)
	w.SelectWord(6, 1)
	if got := w.Text(); got != "漢字" {
		t.Errorf("word %q", got)
	}
	w.SelectLine(9, 1)
	if got := w.Text(); got != "five 漢字 six\n" {
		t.Errorf("line %q", got)
	}
	w.SelectFrom(10, 2)
	w.SelectTo(-4, -9)
	if got := w.Text(); got != "one two-three four\nfive 漢字 six\nseven" {
		t.Errorf("beyond the edge %q", got)
	}
}

func TestLinks(t *testing.T) {
	x := New(40, 6, Options{})
	_, _ = x.Write([]byte("see (https://example.com/a_(b)), or\r\n" +
		"\x1b]8;;https://hidden.example/x\x1b\\here\x1b]8;;\x1b\\ and\r\n" +
		"a very long one https://example.org/0123456789/0123456789/end.\r\n" +
		"http://user:pw@evil.example/ x"))
	w := NewWidget(x, &theme.Theme{})
	drawn(w, 40, 6)
	for _, c := range []struct {
		x, y int
		want string
	}{
		{6, 0, "https://example.com/a_(b)"},
		{1, 0, ""},
		{33, 0, ""},
		{2, 1, "https://hidden.example/x"},
		{6, 1, ""},
		{20, 2, "https://example.org/0123456789/0123456789/end"},
		{3, 3, "https://example.org/0123456789/0123456789/end"},
	} {
		if got := w.LinkAt(c.x, c.y); got != c.want {
			t.Errorf("%d,%d: %q, want %q", c.x, c.y, got, c.want)
		}
	}
	want := []string{
		"http://user:pw@evil.example/", "https://example.org/0123456789/0123456789/end",
		"https://hidden.example/x", "https://example.com/a_(b)",
	}
	if got := w.Links(); !slices.Equal(got, want) {
		t.Errorf("links %q", got)
	}
	for target, want := range map[string]bool{
		"https://example.org/x": true, "http://localhost:8080": true, "http://user:pw@evil.example/": false,
		"file:///etc/passwd": false, "javascript:alert(1)": false, "https://": false, "https://a\x1b]b": false, "x": false,
	} {
		if WebLink(target) != want {
			t.Errorf("%q: want %v", target, want)
		}
	}
}

func FuzzBrowse(f *testing.F) {
	f.Add([]byte("a\r\nb漢c\x1b[2J"), "b", 3, 1)
	f.Fuzz(func(t *testing.T, p []byte, q string, dx, dy int) {
		x := New(9, 3, Options{ScrollRows: 5})
		_, _ = x.Write(p)
		w := NewWidget(x, &theme.Theme{})
		drawn(w, 9, 3)
		w.Browse(true)
		w.SetQuery(q)
		w.MoveCursor(dx%100, dy%100)
		w.ToggleSelect(dx%2 == 0)
		w.FindNext(dy%2 == 0)
		x.Resize(1+max(dx, -dx)%30, 1+max(dy, -dy)%9)
		drawn(w, 9, 3)
		w.MoveCursor(1, 1)
		w.SelectWord(dx%20, dy%20)
		_, _, _, _ = w.Text(), w.LineText(), w.Links(), w.CursorLink()
		w.MovePrompt(true)
		drawn(w, 9, 3)
	})
}
