package form_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"pgregory.net/rapid"

	"abxdash/keymap"
	"abxdash/ui/form"
	"abxdash/ui/uitest"
)

func keys(u interface{ Update(tea.Msg) form.Event }, names ...string) (last form.Event) {
	for _, n := range names {
		last = u.Update(uitest.Key(n))
	}
	return last
}

func typed(u interface{ Update(tea.Msg) form.Event }, s string) {
	for _, r := range s {
		if r == ' ' {
			keys(u, "space")
			continue
		}
		keys(u, string(r))
	}
}

func newInput() *form.Input { return form.NewInput(keymap.Default(), keymap.Input, "/") }

func TestInputEditing(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(*form.Input)
		want string
	}{
		{"typing", func(in *form.Input) { typed(in, "kill it, now?") }, "kill it, now?"},
		{"keys that are bound elsewhere are text", func(in *form.Input) { typed(in, "q?:z!") }, "q?:z!"},
		{"wide", func(in *form.Input) { typed(in, "构建") }, "构建"},
		{"backspace", func(in *form.Input) { typed(in, "abc"); keys(in, "backspace") }, "ab"},
		{"inside", func(in *form.Input) { typed(in, "ac"); keys(in, "left", "b") }, "abc"},
		{"home and end", func(in *form.Input) { typed(in, "b"); keys(in, "home", "a", "end", "c") }, "abc"},
		{"word", func(in *form.Input) { typed(in, "one two"); keys(in, "ctrl+w") }, "one "},
		{"line", func(in *form.Input) { typed(in, "one two"); keys(in, "ctrl+u") }, ""},
		{"paste", func(in *form.Input) { in.Update(tea.PasteMsg{Content: "a\r\nb\tc\n"}) }, "a b c"},
		{"ctrl+v runs nothing", func(in *form.Input) { typed(in, "a"); keys(in, "ctrl+v") }, "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := newInput()
			tt.do(in)
			if in.Value() != tt.want {
				t.Errorf("%q, want %q", in.Value(), tt.want)
			}
		})
	}
}

func TestInputEvents(t *testing.T) {
	in := newInput()
	for _, tt := range []struct {
		key  string
		want form.Event
	}{{"a", form.Changed}, {"left", form.None}, {"tab", form.Complete}, {"up", form.Prev}, {"down", form.Next}, {"enter", form.Accepted}, {"esc", form.Cancelled}} {
		if got := keys(in, tt.key); got != tt.want {
			t.Errorf("%s is event %d, want %d", tt.key, got, tt.want)
		}
	}
}

func TestInputHistory(t *testing.T) {
	in := newInput()
	in.SetHistory([]string{"one", "two"})
	typed(in, "dra")
	steps := []struct{ key, want string }{{"up", "two"}, {"up", "one"}, {"up", "one"}, {"down", "two"}, {"down", "dra"}, {"down", "dra"}}
	for _, s := range steps {
		if keys(in, s.key); in.Value() != s.want {
			t.Errorf("after %s: %q, want %q", s.key, in.Value(), s.want)
		}
	}
	if got := in.Remember("two"); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("a repeated line is kept: %q", got)
	}
	if got := in.Remember("three"); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("history %q", got)
	}
}

func drawInput(in *form.Input, w int) (string, *tea.Cursor) {
	buf := uv.NewScreenBuffer(w, 1)
	cur := in.Draw(buf, uv.Rect(0, 0, w, 1), uitest.Dark())
	return strings.TrimRight(buf.String(), " "), cur
}

func TestInputDraw(t *testing.T) {
	in := newInput()
	in.Placeholder = "filter"
	if s, c := drawInput(in, 20); s != "/filter" || c.X != 1 {
		t.Errorf("empty: %q, cursor %v", s, c)
	}
	typed(in, "构ab")
	if s, c := drawInput(in, 20); s != "/构ab" || c.X != 5 {
		t.Errorf("%q, cursor %v", s, c)
	}
	in.Suggestion = "cd"
	if s, _ := drawInput(in, 20); s != "/构abcd" {
		t.Errorf("suggestion: %q", s)
	}
	in.Suggestion = ""
	in.SetValue("0123456789")
	if s, c := drawInput(in, 6); s != "/6789" || c.X != 5 {
		t.Errorf("long: %q, cursor %v", s, c)
	}
	keys(in, "home")
	if s, c := drawInput(in, 6); s != "/0123…" || c.X != 1 {
		t.Errorf("long, at the beginning: %q, cursor %v", s, c)
	}
	sec := newInput().Secret()
	typed(sec, "hunter2")
	if s, _ := drawInput(sec, 20); s != "/*******" {
		t.Errorf("a secret is shown as %q", s)
	}
	in.SetValue("a\x1b]0;x\a")
	if s, _ := drawInput(in, 20); strings.ContainsAny(s, "\x1b\a") {
		t.Errorf("controls are painted: %q", s)
	}
}

// Whatever is typed at whatever width, the cursor stays inside.
func TestInputCursorStaysInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := newInput()
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			keys(in, rapid.SampledFrom([]string{"a", "构", "👍", "left", "right", "home", "end", "backspace", "delete", "ctrl+w"}).Draw(t, "key"))
			w := rapid.IntRange(0, 12).Draw(t, "width")
			buf := uv.NewScreenBuffer(20, 2)
			c := in.Draw(buf, uv.Rect(2, 1, w, 1), uitest.Dark())
			if c != nil && (c.X < 2 || c.X >= 2+w || c.Y != 1) {
				t.Fatalf("cursor at %d,%d in %d cells for %q", c.X, c.Y, w, in.Value())
			}
			if c == nil && w > 1 {
				t.Fatalf("no cursor in %d cells", w)
			}
		}
	})
}

func newForm() *form.Form {
	return form.New(keymap.Default(), []keymap.Context{keymap.Create},
		form.Field{Key: "provider", Label: "Provider", Kind: form.Choice, Options: []string{"local", "e2b", "daytona"}, OptionHelp: func(o string) string { return "help for " + o }},
		form.Field{Key: "name", Label: "Name", Placeholder: "optional", Help: "letters and dashes", Validate: func(v string) error {
			if strings.Contains(v, " ") {
				return errors.New("no blanks")
			}
			return nil
		}},
		form.Field{Key: "env", Label: "Environment", Kind: form.Area, Placeholder: "KEY=VALUE"},
		form.Field{Key: "net", Label: "Network", Kind: form.Check, Value: "true"},
		form.Field{Key: "key", Label: "Key", Kind: form.Secret},
	)
}

func TestForm(t *testing.T) {
	f := newForm()
	if f.Focused() != "provider" || f.Value("provider") != "local" || !f.On("net") {
		t.Errorf("at first: focus %q provider %q net %v", f.Focused(), f.Value("provider"), f.On("net"))
	}
	if ev := keys(f, "right"); ev != form.Changed || f.Value("provider") != "e2b" {
		t.Errorf("right: %d, provider %q", ev, f.Value("provider"))
	}
	keys(f, "left", "left")
	if f.Value("provider") != "daytona" {
		t.Errorf("choices do not go around: %q", f.Value("provider"))
	}
	keys(f, "tab")
	typed(f, "my box")
	if f.Value("name") != "my box" {
		t.Errorf("name %q: a blank is text, not a switch", f.Value("name"))
	}
	keys(f, "tab")
	typed(f, "A=1")
	keys(f, "enter")
	typed(f, "B=2")
	if f.Value("env") != "A=1\nB=2" || f.Focused() != "env" {
		t.Errorf("env %q, focus %q", f.Value("env"), f.Focused())
	}
	keys(f, "up", "end")
	typed(f, "0")
	if f.Value("env") != "A=10\nB=2" {
		t.Errorf("up leaves the area: env %q, focus %q", f.Value("env"), f.Focused())
	}
	keys(f, "down", "down", "space")
	if f.On("net") {
		t.Error("space does not switch")
	}
	if ev := keys(f, "enter"); ev != form.None || f.Focused() != "name" {
		t.Errorf("an invalid form is accepted (%d), or the focus is on %q", ev, f.Focused())
	}
	keys(f, "ctrl+u")
	typed(f, "box")
	if ev := keys(f, "ctrl+s"); ev != form.Accepted {
		t.Errorf("ctrl+s: %d", ev)
	}
	if ev := keys(f, "esc"); ev != form.Cancelled {
		t.Errorf("esc: %d", ev)
	}
	keys(f, "shift+tab")
	if f.Focused() != "provider" {
		t.Errorf("shift+tab goes to %q", f.Focused())
	}
	f.SetError("key", "refused (E1002)")
	if f.Focused() != "key" || !strings.Contains(shown(f, 60, 12), "refused (E1002)") {
		t.Errorf("the error is not shown:\n%s", shown(f, 60, 12))
	}
	f.SetOptions("provider", []string{"daytona", "x"})
	if f.Value("provider") != "daytona" {
		t.Error("new options lose the choice")
	}
	f.Update(tea.PasteMsg{Content: "secret\n"})
	if f.Value("key") != "secret" || strings.Contains(shown(f, 60, 12), "secret") {
		t.Errorf("pasted %q", f.Value("key"))
	}
}

func shown(f *form.Form, w, h int) string {
	buf := uv.NewScreenBuffer(w, h)
	f.Draw(buf, buf.Bounds(), uitest.Dark())
	return uitest.Text(buf)
}

func TestFormMouse(t *testing.T) {
	f := newForm()
	shown(f, 60, 12)
	f.Update(tea.MouseClickMsg{X: 20, Y: 5, Button: tea.MouseLeft})
	if f.Focused() != "net" || f.On("net") {
		t.Errorf("click: focus %q, on %v", f.Focused(), f.On("net"))
	}
}

func TestFormSizes(t *testing.T) {
	f := newForm()
	typed(f, "x")
	for w := range 30 {
		for h := range 12 {
			for range 5 {
				keys(f, "tab")
				buf := uv.NewScreenBuffer(w, h)
				c := f.Draw(buf, buf.Bounds(), uitest.Dark())
				if c != nil && (c.X >= w || c.Y >= h || c.X < 0 || c.Y < 0) {
					t.Fatalf("%dx%d: cursor at %d,%d", w, h, c.X, c.Y)
				}
			}
		}
	}
	empty := form.New(keymap.Default(), nil)
	keys(empty, "tab", "enter", "x")
	shown(empty, 10, 3)
}

func TestFormGolden(t *testing.T) {
	for _, th := range uitest.Themes() {
		f := newForm()
		keys(f, "tab")
		typed(f, "my box")
		for i, do := range []func(){func() {}, func() { keys(f, "tab") }, func() { keys(f, "shift+tab", "shift+tab") }} {
			do()
			got := uitest.Draw(th, 60, 10, func(scr uv.Screen, area uv.Rectangle) *tea.Cursor { return f.Draw(scr, area, th) })
			uitest.Golden(t, fmt.Sprintf("form-%s-%d", th.Name, i), got)
		}
	}
}

// Help is broken into lines where it does not fit, and the form keeps room for it.
func TestHelpIsWrapped(t *testing.T) {
	long := "the image that it is built on; empty takes the one that the provider recommends"
	f := form.New(keymap.Default(), nil,
		form.Field{Key: "a", Label: "Name"},
		form.Field{Key: "b", Label: "Base", Help: long},
	)
	if wide, narrow := f.Height(100), f.Height(40); wide != 3 || narrow != 5 {
		t.Errorf("%d rows in 100 columns and %d in 40, want 3 and 5", wide, narrow)
	}
	before := shown(f, 40, 5)
	keys(f, "tab")
	words := strings.Join(strings.Fields(shown(f, 40, 5)), " ")
	if strings.Contains(before, "recommends") || !strings.Contains(words, long) {
		t.Errorf("before:\n%s\nthen:\n%s", before, shown(f, 40, 5))
	}
	// In a low area the field is seen and the note takes what is left.
	if low := shown(f, 40, 2); !strings.Contains(low, "Base") || !strings.Contains(low, "the image") {
		t.Errorf("in two rows:\n%s", low)
	}
	// So is that of a choice where it would be cut beside it.
	f = form.New(keymap.Default(), nil, form.Field{Key: "c", Label: "Kind", Kind: form.Choice, Options: []string{"python"}, OptionHelp: func(string) string { return long }})
	if words := strings.Join(strings.Fields(shown(f, 40, 4)), " "); f.Height(100) != 2 || f.Height(40) != 4 || !strings.Contains(words, long) {
		t.Errorf("%d rows in 100 columns, in 40:\n%s", f.Height(100), shown(f, 40, 4))
	}
}
