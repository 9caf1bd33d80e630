package theme

import (
	"image/color"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// palette is the few colours a theme is made of; nil is the terminal's own.
type palette struct {
	dim, accent, accent2                color.Color
	ok, info, warn, bad                 color.Color
	border, borderFocus                 color.Color
	selFg, selBg, selDimFg, selDimBg    color.Color
	badgeFg, chipFg, chipBg, matchFg    color.Color
	matchBg, gaugeEmpty, heading, onBad color.Color
}

// For makes the theme for a terminal. dark tells its background; profile is
// how many colours it has; noColor (NO_COLOR, or asked for) leaves attributes
// only; ascii picks the symbols that every font and locale shows the same way.
func For(dark bool, profile colorprofile.Profile, noColor, ascii bool) *Theme {
	name := "light"
	if dark {
		name = "dark"
	}
	if profile == colorprofile.Unknown {
		profile = colorprofile.ANSI
	}
	var t *Theme
	switch {
	case noColor || profile <= colorprofile.ASCII:
		t = plain()
		name += "-nocolor"
	case profile <= colorprofile.ANSI:
		t = coloured(basic(dark))
		name += "-16"
	case profile == colorprofile.ANSI256:
		t = coloured(indexed(dark))
		name += "-256"
	case dark:
		t = coloured(darkPalette())
	default:
		t = coloured(lightPalette())
	}
	t.Symbol = unicodeSymbols()
	if ascii {
		t.Symbol = asciiSymbols()
		name += "-ascii"
	}
	t.Name, t.Dark = name, dark
	t.states, t.other = stateStyles(&t.Text, ascii)
	return t
}

func hex(v uint32) color.Color {
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

func darkPalette() palette {
	return palette{
		dim: hex(0x8b93a7), accent: hex(0x7aa2f7), accent2: hex(0xbb9af7),
		ok: hex(0x9ece6a), info: hex(0x7dcfff), warn: hex(0xe0af68), bad: hex(0xf7768e),
		border: hex(0x4a5068), borderFocus: hex(0x7aa2f7),
		selFg: hex(0xf0f3ff), selBg: hex(0x2f3f6b), selDimFg: nil, selDimBg: hex(0x2a2e42),
		badgeFg: hex(0x1a1b26), chipFg: hex(0xa9b1d6), chipBg: hex(0x2a2e42),
		matchFg: hex(0x1a1b26), matchBg: hex(0xe0af68),
		gaugeEmpty: hex(0x4a5068), heading: hex(0xbb9af7), onBad: hex(0x1a1b26),
	}
}

func lightPalette() palette {
	return palette{
		dim: hex(0x646a78), accent: hex(0x2555c4), accent2: hex(0x7a3fc2),
		ok: hex(0x2f7517), info: hex(0x096b91), warn: hex(0x8a5a00), bad: hex(0xb91c3a),
		border: hex(0xa9afbd), borderFocus: hex(0x2555c4),
		selFg: hex(0x0c1b3a), selBg: hex(0xcfdcfb), selDimFg: nil, selDimBg: hex(0xe4e8f1),
		badgeFg: hex(0xffffff), chipFg: hex(0x3c4352), chipBg: hex(0xe4e8f1),
		matchFg: hex(0x1a1b26), matchBg: hex(0xffd166),
		gaugeEmpty: hex(0xa9afbd), heading: hex(0x7a3fc2), onBad: hex(0xffffff),
	}
}

// indexed uses the fixed part of the 256 colours: chosen by hand, because the
// nearest neighbours of the true colours turn dark greys into blues.
func indexed(dark bool) palette {
	i := func(n uint8) color.Color { return ansi.IndexedColor(n) }
	if dark {
		return palette{
			dim: i(246), accent: i(111), accent2: i(141),
			ok: i(149), info: i(117), warn: i(179), bad: i(210),
			border: i(240), borderFocus: i(111),
			selFg: i(231), selBg: i(24), selDimBg: i(237),
			badgeFg: i(234), chipFg: i(250), chipBg: i(236),
			matchFg: i(234), matchBg: i(179),
			gaugeEmpty: i(240), heading: i(141), onBad: i(234),
		}
	}
	return palette{
		dim: i(241), accent: i(26), accent2: i(91),
		ok: i(22), info: i(24), warn: i(94), bad: i(160),
		border: i(248), borderFocus: i(26),
		selFg: i(16), selBg: i(153), selDimBg: i(254),
		badgeFg: i(231), chipFg: i(238), chipBg: i(254),
		matchFg: i(16), matchBg: i(221),
		gaugeEmpty: i(248), heading: i(91), onBad: i(231),
	}
}

// basic uses the sixteen colours that users choose themselves. Selection is
// white on blue, which every common scheme keeps readable.
func basic(dark bool) palette {
	p := palette{
		accent: ansi.Blue, accent2: ansi.Magenta,
		ok: ansi.Green, info: ansi.Blue, warn: ansi.Magenta, bad: ansi.Red,
		borderFocus: ansi.Blue,
		selFg:       ansi.BrightWhite, selBg: ansi.Blue,
		badgeFg: ansi.BrightWhite, matchFg: ansi.Black, matchBg: ansi.Yellow,
		heading: ansi.Magenta, onBad: ansi.BrightWhite,
	}
	if dark {
		p.accent, p.borderFocus, p.info, p.warn = ansi.BrightCyan, ansi.BrightCyan, ansi.BrightCyan, ansi.Yellow
		p.badgeFg = ansi.Black
	}
	return p
}

func fg(c color.Color) uv.Style { return uv.Style{Fg: c} }

func bold(c color.Color) uv.Style { return uv.Style{Fg: c, Attrs: uv.AttrBold} }

// quiet is dim text: a grey where there is one, else the faint attribute.
func (p *palette) quiet(c color.Color) uv.Style {
	if c == nil {
		return uv.Style{Attrs: uv.AttrFaint}
	}
	return uv.Style{Fg: c}
}

func coloured(p palette) *Theme {
	dim := p.quiet(p.dim)
	gone := dim
	gone.Attrs |= uv.AttrItalic
	sel := uv.Style{Fg: p.selFg, Bg: p.selBg, Attrs: uv.AttrBold}
	selDim := uv.Style{Fg: p.selDimFg, Bg: p.selDimBg}
	if p.selDimBg == nil {
		selDim = uv.Style{Underline: uv.UnderlineSingle}
	}
	link := fg(p.accent)
	link.Underline = uv.UnderlineSingle
	chip := func(c color.Color) uv.Style { return uv.Style{Fg: c, Bg: p.chipBg} }
	return &Theme{
		Text: TextStyles{
			Dim: dim, Strong: bold(nil), Title: bold(p.accent), Link: link,
			OK: fg(p.ok), Info: fg(p.info), Warn: fg(p.warn), Error: fg(p.bad),
			Placeholder: dim, Match: uv.Style{Fg: p.matchFg, Bg: p.matchBg}, Heading: bold(p.heading),
		},
		Row: RowStyles{
			Selected: sel, SelectedDim: selDim, Marked: fg(p.accent2), Tombstone: gone, Stale: dim,
			Header: dim, HeaderSorted: bold(p.accent), KeepColors: p.selDimBg != nil,
		},
		Border: BorderStyles{
			Normal: p.quiet(p.border), Focused: fg(p.borderFocus), Danger: fg(p.bad),
			Title: bold(nil), TitleFocused: bold(p.borderFocus),
		},
		Keys: KeyStyles{Key: bold(p.accent), Help: dim, Disabled: p.quiet(p.border), Reason: fg(p.warn)},
		Bar: BarStyles{
			Header: uv.Style{Fg: p.badgeFg, Bg: p.accent, Attrs: uv.AttrBold},
			Status: dim, Tab: dim,
			TabActive:   uv.Style{Fg: p.accent, Attrs: uv.AttrBold, Underline: uv.UnderlineSingle},
			TabDisabled: p.quiet(p.border),
			Chip:        chip(p.chipFg), ChipOK: chip(p.ok), ChipWarn: chip(p.warn),
			ChipError: uv.Style{Fg: p.onBad, Bg: p.bad},
			GaugeFull: fg(p.ok), GaugeEmpty: p.quiet(p.gaugeEmpty), GaugeLow: fg(p.bad),
		},
	}
}

// plain tells things apart by attributes and symbols alone.
func plain() *Theme {
	faint := uv.Style{Attrs: uv.AttrFaint}
	strong := uv.Style{Attrs: uv.AttrBold}
	reverse := uv.Style{Attrs: uv.AttrReverse}
	under := uv.Style{Underline: uv.UnderlineSingle}
	strongUnder := uv.Style{Attrs: uv.AttrBold, Underline: uv.UnderlineSingle}
	return &Theme{
		NoColor: true,
		Text: TextStyles{
			Dim: faint, Strong: strong, Title: strong, Link: under, Warn: strong, Error: strong,
			Placeholder: faint, Match: reverse, Heading: strong,
		},
		Row: RowStyles{
			Selected: reverse, SelectedDim: under, Marked: strong,
			Tombstone: uv.Style{Attrs: uv.AttrFaint | uv.AttrItalic}, Stale: faint,
			HeaderSorted: strongUnder,
		},
		Border: BorderStyles{Normal: faint, Focused: strong, Danger: strong, Title: strong, TitleFocused: strong},
		Keys:   KeyStyles{Key: strong, Disabled: faint, Reason: under},
		Bar: BarStyles{
			Header: reverse, TabActive: strongUnder, TabDisabled: faint,
			Chip: faint, ChipWarn: strong, ChipError: uv.Style{Attrs: uv.AttrBold | uv.AttrReverse},
			GaugeEmpty: faint, GaugeLow: strong,
		},
	}
}

// Over lays the visible parts of top over base: colours and underline where
// top has them, attributes of both. It is how a selected row keeps the colours of its cells.
func Over(base, top uv.Style) uv.Style {
	if top.Fg != nil {
		base.Fg = top.Fg
	}
	if top.Bg != nil {
		base.Bg = top.Bg
	}
	if top.Underline != uv.UnderlineNone {
		base.Underline = top.Underline
		base.UnderlineColor = top.UnderlineColor
	}
	base.Attrs |= top.Attrs
	return base
}
