package uitest

import (
	"fmt"

	"abxdash/theme"
	"abxdash/ui"
)

// Variant is one window that golden screens are made for.
type Variant struct {
	Theme *theme.Theme
	W, H  int
}

// Variants are all [Sizes] in the dark theme, and 80×24 and 120×40 in the
// others: a theme changes styles and not places, so the two usual sizes show it.
func Variants() []Variant {
	var out []Variant
	for i, th := range Themes() {
		for _, s := range Sizes() {
			if i == 0 || s[0] == 80 || s[0] == 120 {
				out = append(out, Variant{Theme: th, W: s[0], H: s[1]})
			}
		}
	}
	return out
}

// Name names the golden file of a screen, such as "help-80x24-dark".
func (v Variant) Name(screen string) string {
	return fmt.Sprintf("%s-%dx%d-%s", screen, v.W, v.H, v.Theme.Name)
}

// Options sets the theme of a driven Root.
func (v Variant) Options(o ui.Options) ui.Options {
	o.Light, o.NoColor = v.Theme.Name == Light().Name, v.Theme.Name == NoColor().Name
	return o
}
