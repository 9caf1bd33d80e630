package term

import (
	"image/color"

	"github.com/charmbracelet/x/ansi"
)

// Color is the colour of a cell: the terminal's default (zero value), one of
// 256 palette entries, or 24-bit.
type Color uint32

const (
	colorIndexed Color = 1 << 24
	colorRGB     Color = 2 << 24
	colorKind    Color = 0xff << 24
)

// Indexed is palette entry i.
func Indexed(i uint8) Color { return colorIndexed | Color(i) }

// RGB is a 24-bit colour.
func RGB(r, g, b uint8) Color {
	return colorRGB | Color(r)<<16 | Color(g)<<8 | Color(b)
}

// IsDefault reports whether c is the terminal's default colour.
func (c Color) IsDefault() bool { return c&colorKind == 0 }

// Index returns the palette entry, if c is one.
func (c Color) Index() (uint8, bool) { return uint8(c), c&colorKind == colorIndexed }

// Components returns red, green and blue, if c is a 24-bit colour.
func (c Color) Components() (r, g, b uint8, ok bool) {
	return uint8(c >> 16), uint8(c >> 8), uint8(c), c&colorKind == colorRGB
}

// Std converts c for drawing; the default colour is nil.
func (c Color) Std() color.Color {
	if i, ok := c.Index(); ok {
		if i < 16 {
			return ansi.BasicColor(i)
		}
		return ansi.IndexedColor(i)
	}
	if r, g, b, ok := c.Components(); ok {
		return color.RGBA{R: r, G: g, B: b, A: 0xff}
	}
	return nil
}

// Attr is a set of text attributes.
type Attr uint16

// Text attributes.
const (
	AttrBold Attr = 1 << iota
	AttrFaint
	AttrItalic
	AttrBlink
	AttrRapidBlink
	AttrReverse
	AttrConceal
	AttrStrike
	AttrOverline
	// AttrProtected is DECSCA: the cell survives selective erase.
	AttrProtected
)

// Underline is the shape of an underline (SGR 4:n).
type Underline uint8

// Underline shapes.
const (
	UnderlineNone Underline = iota
	UnderlineSingle
	UnderlineDouble
	UnderlineCurly
	UnderlineDotted
	UnderlineDashed
)

// Style is how a cell looks. Styles are interned; a cell holds a StyleID.
type Style struct {
	Fg, Bg, UnderlineColor Color
	Attrs                  Attr
	Underline              Underline
	// Link is the hyperlink of the cell, 0 for none; see View.Link.
	Link LinkID
}

// StyleID names an interned Style of one Terminal. 0 is the zero Style.
type StyleID uint16

// LinkID names a hyperlink of one Terminal. 0 is none.
type LinkID uint16

// Cell is one position of the grid. A wide character has Width 2 and is
// followed by a cell of Width 0.
type Cell struct {
	// R is the character; 0 was never written or was erased, below 0 is a
	// cluster, see View.Content.
	R     rune
	Style StyleID
	Width uint8
	flags uint8
}

// flagPad marks the blank left at the end of a row because a wide character
// did not fit; it is dropped when the row is joined with the next one again.
const flagPad = 1

// blank is an erased cell.
func blank(s StyleID) Cell { return Cell{Style: s, Width: 1} }

// Mark is a shell integration mark of a row (OSC 133).
type Mark uint8

// Marks.
const (
	MarkNone Mark = iota
	// MarkPrompt is where a prompt starts (A).
	MarkPrompt
	// MarkInput is where what the user types starts (B).
	MarkInput
	// MarkOutput is where the output of a command starts (C).
	MarkOutput
	// MarkDone is where a command ended (D).
	MarkDone
)

type row struct {
	cells []Cell
	// stamp is the version of the terminal that last changed the row.
	stamp uint64
	// wrapped means that the text goes on in the next row.
	wrapped bool
	mark    Mark
}

// asciiChars holds the one-byte characters, so that drawing them does not allocate.
const asciiChars = " \x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f" +
	"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f" +
	" !\"#$%&'()*+,-./0123456789:;<=>?" +
	"@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_" +
	"`abcdefghijklmnopqrstuvwxyz{|}~\x7f"
