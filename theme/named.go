package theme

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Auto is the theme that follows the terminal's background.
const Auto = "auto"

// scheme is a named palette: the colours of text, and the backgrounds of what
// is selected. Every one is readable on any common background of its kind; the
// tests measure it.
type scheme struct {
	name string
	dark bool
	// colours of text
	dim, accent, accent2, ok, info, warn, bad uint32
	// border is a line; sel, selDim and chip are backgrounds.
	border, sel, selDim, chip uint32
}

// schemes are the themes by name besides auto, dark and light.
func schemes() []scheme {
	return []scheme{
		{name: "nord", dark: true, dim: 0x9aa5b8, accent: 0x88c0d0, accent2: 0xc9a9c4, ok: 0xa3be8c, info: 0x8fbcbb, warn: 0xebcb8b, bad: 0xe58a92, border: 0x4c566a, sel: 0x3b4a63, selDim: 0x343c4a, chip: 0x2e3440},
		{name: "gruvbox-dark", dark: true, dim: 0xa89984, accent: 0x8fb5a8, accent2: 0xd79aae, ok: 0xb8bb26, info: 0x8ec07c, warn: 0xfabd2f, bad: 0xfb7a6a, border: 0x665c54, sel: 0x504030, selDim: 0x3c3836, chip: 0x32302f},
		{name: "solarized-dark", dark: true, dim: 0x93a1a1, accent: 0x5cb0ec, accent2: 0xa7abe8, ok: 0xa8b832, info: 0x45bdb0, warn: 0xd8aa2c, bad: 0xf4807c, border: 0x586e75, sel: 0x0b4a5c, selDim: 0x073642, chip: 0x073642},
		{name: "dracula", dark: true, dim: 0x9aa4c8, accent: 0xbd93f9, accent2: 0xff8fd0, ok: 0x50fa7b, info: 0x8be9fd, warn: 0xf1fa8c, bad: 0xff7f7f, border: 0x565a75, sel: 0x44475a, selDim: 0x343746, chip: 0x2c2e3a},
		{name: "contrast-dark", dark: true, dim: 0xe0e0e0, accent: 0x00ffff, accent2: 0xffa8ff, ok: 0x40ff70, info: 0x90d8ff, warn: 0xffff40, bad: 0xff9090, border: 0xc0c0c0, sel: 0x0000a0, selDim: 0x303030, chip: 0x000000},
		{name: "solarized-light", dim: 0x566a71, accent: 0x1f66a3, accent2: 0x5a47a8, ok: 0x4e6300, info: 0x17685f, warn: 0x775207, bad: 0xb52723, border: 0xa0a8a0, sel: 0xd5e3ea, selDim: 0xece6d2, chip: 0xeee8d5},
		{name: "gruvbox-light", dim: 0x665c54, accent: 0x076678, accent2: 0x8f3f71, ok: 0x555a08, info: 0x336247, warn: 0x7d4a00, bad: 0x9d0006, border: 0xa89984, sel: 0xecdcae, selDim: 0xf0e6c2, chip: 0xf0e6c2},
		{name: "contrast-light", dim: 0x303030, accent: 0x0000c8, accent2: 0x6a0098, ok: 0x004c00, info: 0x004880, warn: 0x5c3600, bad: 0x980000, border: 0x404040, sel: 0xc8dcff, selDim: 0xe6e6e6, chip: 0xffffff},
	}
}

// Names lists the themes that can be chosen.
func Names() []string {
	out := []string{Auto, "dark", "light", "mono"}
	for _, s := range schemes() {
		out = append(out, s.name)
	}
	return out
}

// Check reports a name that is no theme; "" is auto.
func Check(name string) error {
	if name == "" || slices.Contains(Names(), name) {
		return nil
	}
	return fmt.Errorf("theme is one of %s, not %q", strings.Join(Names(), ", "), name)
}

// FixedBackground tells whether a theme says itself what the background is, and which.
func FixedBackground(name string) (dark, fixed bool) {
	switch name {
	case "dark":
		return true, true
	case "light":
		return false, true
	}
	for _, s := range schemes() {
		if s.name == name {
			return s.dark, true
		}
	}
	return false, false
}

// Named makes the theme of a name for a terminal; see [For]. Unknown names are
// auto. With 256 colours the nearest ones are taken; with sixteen a scheme is
// the plain dark or light theme, whose colours are the terminal's own.
func Named(name string, dark bool, profile colorprofile.Profile, noColor, ascii bool) *Theme {
	if name == "mono" {
		return For(dark, profile, true, ascii)
	}
	if d, fixed := FixedBackground(name); fixed {
		dark = d
	}
	t := For(dark, profile, noColor, ascii)
	i := slices.IndexFunc(schemes(), func(s scheme) bool { return s.name == name })
	if i < 0 || t.NoColor {
		return t
	}
	s := schemes()[i]
	if profile < colorprofile.ANSI256 {
		return t // sixteen colours are the user's own scheme already
	}
	symbols := t.Symbol
	*t = *coloured(s.palette())
	t.Symbol = symbols
	t.Name, t.Dark = name, dark
	if ascii {
		t.Name += "-ascii"
	}
	t.states, t.other = stateStyles(&t.Text, ascii)
	return t
}

func (s scheme) palette() palette {
	p := palette{
		dim: hex(s.dim), accent: hex(s.accent), accent2: hex(s.accent2),
		ok: hex(s.ok), info: hex(s.info), warn: hex(s.warn), bad: hex(s.bad),
		border: hex(s.border), borderFocus: hex(s.accent),
		selBg: hex(s.sel), selDimBg: hex(s.selDim),
		chipFg: hex(s.dim), chipBg: hex(s.chip), gaugeEmpty: hex(s.border), heading: hex(s.accent2),
	}
	if s.dark {
		p.selFg, p.badgeFg, p.onBad = hex(0xffffff), hex(0x101010), hex(0x101010)
		p.matchFg, p.matchBg = hex(0x101010), hex(s.warn)
		return p
	}
	p.selFg, p.badgeFg, p.onBad = hex(0x000000), hex(0xffffff), hex(0xffffff)
	p.matchFg, p.matchBg = hex(0x000000), hex(0xffd166)
	return p
}
