// Package uitest helps to test what is drawn: it turns a window into text plus
// style names, compares it with a golden file, and drives a Root by hand.
package uitest

import (
	"flag"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/google/go-cmp/cmp"

	"abxdash/theme"
)

//nolint:gochecknoglobals // flags of a test binary are global
var update = flag.Bool("update", false, "write golden files instead of comparing")

// Themes that golden screens are made for.
func Themes() []*theme.Theme {
	return []*theme.Theme{Dark(), Light(), NoColor()}
}

// Dark is the theme for a dark background and all colours.
func Dark() *theme.Theme { return theme.For(true, colorprofile.TrueColor, false, false) }

// Light is the theme for a light background.
func Light() *theme.Theme { return theme.For(false, colorprofile.TrueColor, false, false) }

// NoColor is the theme without colours.
func NoColor() *theme.Theme { return theme.For(true, colorprofile.TrueColor, true, false) }

// Sizes are the window sizes of golden screens.
func Sizes() [][2]int { return [][2]int{{40, 10}, {80, 24}, {120, 40}, {200, 60}} }

// Draw calls f with an empty window and dumps what it painted.
func Draw(th *theme.Theme, w, h int, f func(scr uv.Screen, area uv.Rectangle) *tea.Cursor) string {
	buf := uv.NewScreenBuffer(w, h)
	cur := f(buf, uv.Rect(0, 0, w, h))
	return Dump(buf, th, cur)
}

// Text is the text of a window, one line for each row, trailing blanks cut.
func Text(scr uv.Screen) string {
	b := scr.Bounds()
	var out strings.Builder
	for y := b.Min.Y; y < b.Max.Y; y++ {
		out.WriteString(strings.TrimRight(row(scr, y), " "))
		out.WriteByte('\n')
	}
	return out.String()
}

func row(scr uv.Screen, y int) string {
	b := scr.Bounds()
	var out strings.Builder
	for x := b.Min.X; x < b.Max.X; x++ {
		if c := scr.CellAt(x, y); c != nil && c.Width > 0 {
			out.WriteString(c.Content)
		}
	}
	return out.String()
}

// Dump is the text of a window, then the styles that are not plain by row, as
// "from-to Name" in cells, then the cursor.
func Dump(scr uv.Screen, th *theme.Theme, cur *tea.Cursor) string {
	b := scr.Bounds()
	names := styleNames(th)
	var out strings.Builder
	fmt.Fprintf(&out, "%dx%d %s\n", b.Dx(), b.Dy(), th.Name)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		out.WriteString("|" + row(scr, y) + "|\n")
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		if s := styles(scr, y, names); s != "" {
			fmt.Fprintf(&out, "%2d:%s\n", y, s)
		}
	}
	if cur != nil {
		fmt.Fprintf(&out, "cursor %d,%d\n", cur.X, cur.Y)
	}
	return out.String()
}

func styles(scr uv.Screen, y int, names map[uv.Style]string) string {
	b := scr.Bounds()
	var out strings.Builder
	for x := b.Min.X; x < b.Max.X; {
		st := scr.CellAt(x, y).Style
		from := x
		for x < b.Max.X {
			c := scr.CellAt(x, y)
			if c.Width > 0 && c.Style != st {
				break
			}
			x++
		}
		if st != (uv.Style{}) {
			fmt.Fprintf(&out, " %d-%d %s", from, x-1, name(st, names))
		}
	}
	return out.String()
}

// styleNames maps the styles of a theme to their first name in it.
func styleNames(th *theme.Theme) map[uv.Style]string {
	out := make(map[uv.Style]string)
	v := reflect.ValueOf(*th)
	for i := range v.NumField() {
		group := v.Field(i)
		if group.Kind() != reflect.Struct || !v.Type().Field(i).IsExported() {
			continue
		}
		for j := range group.NumField() {
			if st, ok := group.Field(j).Interface().(uv.Style); ok {
				if _, has := out[st]; !has && st != (uv.Style{}) {
					out[st] = v.Type().Field(i).Name + "." + group.Type().Field(j).Name
				}
			}
		}
	}
	return out
}

func name(st uv.Style, names map[uv.Style]string) string {
	if n, ok := names[st]; ok {
		return n
	}
	s := fmt.Sprintf("{%s/%s", rgb(st.Fg), rgb(st.Bg))
	if st.Attrs != 0 {
		s += fmt.Sprintf(" attrs=%d", st.Attrs)
	}
	if st.Underline != 0 {
		s += " underlined"
	}
	return s + "}"
}

func rgb(c color.Color) string {
	if c == nil {
		return "-"
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("%02x%02x%02x", r>>8, g>>8, b>>8)
}

// Golden compares got with testdata/<name>.golden, or writes it with -update.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update to make it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}
