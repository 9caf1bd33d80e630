package theme

import (
	"image/color"
	"math"
	"reflect"
	"testing"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

type variant struct {
	dark    bool
	profile colorprofile.Profile
	noColor bool
	ascii   bool
}

func variants() []variant {
	var out []variant
	for _, dark := range []bool{true, false} {
		for _, p := range []colorprofile.Profile{
			colorprofile.Unknown, colorprofile.NoTTY, colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor,
		} {
			for _, nc := range []bool{false, true} {
				for _, a := range []bool{false, true} {
					out = append(out, variant{dark: dark, profile: p, noColor: nc, ascii: a})
				}
			}
		}
	}
	return out
}

// each calls f with every style of a theme.
func each(t *Theme, f func(name string, st uv.Style)) {
	v := reflect.ValueOf(*t)
	for i := range v.NumField() {
		g := v.Field(i)
		if g.Kind() != reflect.Struct || !v.Type().Field(i).IsExported() {
			continue
		}
		for j := range g.NumField() {
			if st, ok := g.Field(j).Interface().(uv.Style); ok {
				f(v.Type().Field(i).Name+"."+g.Type().Field(j).Name, st)
			}
		}
	}
}

func TestNoColorHasNone(t *testing.T) {
	for _, v := range variants() {
		th := For(v.dark, v.profile, v.noColor, v.ascii)
		want := v.noColor || v.profile == colorprofile.NoTTY || v.profile == colorprofile.ASCII
		if th.NoColor != want {
			t.Errorf("%+v: NoColor is %v", v, th.NoColor)
		}
		if !want {
			continue
		}
		check := func(name string, st uv.Style) {
			if st.Fg != nil || st.Bg != nil || st.UnderlineColor != nil {
				t.Errorf("%s: %s has a colour", th.Name, name)
			}
		}
		each(th, check)
		for w := range th.states {
			check("state "+w, th.State(w).Style)
		}
	}
}

func TestSixteenColoursOnly(t *testing.T) {
	for _, dark := range []bool{true, false} {
		each(For(dark, colorprofile.ANSI, false, false), func(name string, st uv.Style) {
			for _, c := range []color.Color{st.Fg, st.Bg} {
				if _, ok := c.(ansi.BasicColor); c != nil && !ok {
					t.Errorf("%s: %v is not one of sixteen", name, c)
				}
			}
		})
	}
}

// What is selected can be told from what is not, in every variant.
func TestSelectionIsVisible(t *testing.T) {
	for _, v := range variants() {
		th := For(v.dark, v.profile, v.noColor, v.ascii)
		s := th.Row.Selected
		if s.Bg == nil && s.Attrs&uv.AttrReverse == 0 {
			t.Errorf("%s: the selected row has neither background nor reverse", th.Name)
		}
		if th.Symbol.Cursor == " " || th.Symbol.Cursor == "" {
			t.Errorf("%s: no cursor mark", th.Name)
		}
		if th.Row.SelectedDim == th.Row.Normal {
			t.Errorf("%s: the selected row of an unfocused table is not marked", th.Name)
		}
	}
}

// luminance and contrast follow the WCAG definition.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	lin := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(r) + 0.7152*lin(g) + 0.0722*lin(b)
}

func contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	if x < y {
		x, y = y, x
	}
	return (x + 0.05) / (y + 0.05)
}

// Text has a contrast of at least 4.5 on the usual backgrounds, disabled text
// and borders less. Light terminals must stay readable.
func TestContrast(t *testing.T) {
	for _, p := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256} {
		for _, name := range Names() {
			if name == "mono" || name == Auto {
				continue
			}
			dark, _ := FixedBackground(name)
			th := Named(name, !dark, p, false, false)
			backs := []color.Color{color.Black, hex(0x1a1b26), hex(0x1e1e1e)}
			plain := hex(0xd0d0d0)
			if !dark {
				backs = []color.Color{color.White, hex(0xfdf6e3)}
				plain = color.Black
			}
			each(th, func(name string, st uv.Style) {
				need := 4.5
				switch name {
				case "Border.Normal", "Keys.Disabled", "Bar.TabDisabled", "Bar.GaugeEmpty":
					need = 1.5
				}
				text := st.Fg
				if text == nil {
					text = plain
				}
				on := backs
				if st.Bg != nil {
					on = []color.Color{st.Bg}
				}
				for _, b := range on {
					if c := contrast(text, b); c < need {
						t.Errorf("%s: %s has contrast %.2f on %v, needs %.1f", th.Name, name, c, b, need)
					}
				}
			})
			// Cells keep their colours on a selected row.
			for _, st := range []uv.Style{th.Text.OK, th.Text.Info, th.Text.Warn, th.Text.Error} {
				if c := contrast(st.Fg, th.Row.Selected.Bg); th.Row.KeepColors && c < 3 {
					t.Errorf("%s: %v has contrast %.2f on a selected row", th.Name, st.Fg, c)
				}
			}
		}
	}
}

func TestSymbolsAreOneCell(t *testing.T) {
	for _, ascii := range []bool{true, false} {
		s := For(true, colorprofile.TrueColor, false, ascii).Symbol
		v := reflect.ValueOf(s)
		check := func(name, sym string) {
			if ansi.StringWidth(sym) != 1 {
				t.Errorf("%s %q is %d cells", name, sym, ansi.StringWidth(sym))
			}
			for _, r := range sym {
				if ascii && r > 0x7e {
					t.Errorf("%s %q is not ASCII", name, sym)
				}
			}
		}
		for i := range v.NumField() {
			switch f := v.Field(i).Interface().(type) {
			case string:
				check(v.Type().Field(i).Name, f)
			case []string:
				for _, s := range f {
					check(v.Type().Field(i).Name, s)
				}
			}
		}
	}
}

func TestStates(t *testing.T) {
	for _, ascii := range []bool{true, false} {
		th := For(true, colorprofile.TrueColor, false, ascii)
		if th.State("running") == th.State("paused") || th.State("running").Symbol == th.State("failed").Symbol {
			t.Error("states look the same")
		}
		if got := th.State("hibernating-9"); got.Symbol == "" {
			t.Error("an unknown state has no symbol")
		}
	}
}

func TestOver(t *testing.T) {
	base := uv.Style{Fg: ansi.Red, Attrs: uv.AttrBold}
	got := Over(base, uv.Style{Bg: ansi.Blue, Attrs: uv.AttrItalic})
	want := uv.Style{Fg: ansi.Red, Bg: ansi.Blue, Attrs: uv.AttrBold | uv.AttrItalic}
	if got != want {
		t.Errorf("Over = %+v, want %+v", got, want)
	}
}

func TestNamedThemes(t *testing.T) {
	if n := len(Names()); n < 9 {
		t.Errorf("only %d themes", n)
	}
	seen := map[uv.Style]string{}
	for _, name := range Names() {
		if err := Check(name); err != nil {
			t.Error(err)
		}
		th := Named(name, true, colorprofile.TrueColor, false, false)
		if th.State("running").Symbol == "" || th.Symbol.Cursor == "" {
			t.Errorf("%s is not complete", name)
		}
		if name == Auto {
			continue
		}
		if other, ok := seen[th.Bar.Header]; ok {
			t.Errorf("%s looks like %s", name, other)
		}
		seen[th.Bar.Header] = name
		if nc := Named(name, true, colorprofile.TrueColor, true, true); !nc.NoColor || nc.Symbol.Cursor != ">" {
			t.Errorf("%s ignores NO_COLOR or ASCII", name)
		}
		each(Named(name, true, colorprofile.ANSI, false, false), func(part string, st uv.Style) {
			if _, ok := st.Fg.(ansi.BasicColor); st.Fg != nil && !ok {
				t.Errorf("%s: %s has more than sixteen colours", name, part)
			}
		})
	}
	if Check("pink") == nil || Check("") != nil {
		t.Error("Check")
	}
	for name, dark := range map[string]bool{"nord": true, "contrast-light": false, "dark": true, "light": false} {
		if d, fixed := FixedBackground(name); !fixed || d != dark {
			t.Errorf("%s: %v, %v", name, d, fixed)
		}
	}
}
