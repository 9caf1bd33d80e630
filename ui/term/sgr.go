package term

import "strings"

// sgrOn is the attribute that a parameter below 10 switches on, 0 for none.
func sgrOn(n int) Attr {
	switch n {
	case 1:
		return AttrBold
	case 2:
		return AttrFaint
	case 3:
		return AttrItalic
	case 5:
		return AttrBlink
	case 6:
		return AttrRapidBlink
	case 7:
		return AttrReverse
	case 8:
		return AttrConceal
	case 9:
		return AttrStrike
	}
	return 0
}

// sgrOff are the attributes that a parameter from 22 to 29 switches off.
func sgrOff(n int) Attr {
	switch n {
	case 22:
		return AttrBold | AttrFaint
	case 25:
		return AttrBlink | AttrRapidBlink
	}
	return sgrOn(n - 20)
}

// sgr is Select Graphic Rendition.
func (t *Terminal) sgr() {
	t.penChanged()
	pen := &t.scr.cur.pen
	for i := 0; i < t.nparams; i++ {
		n := t.raw(i, 0)
		sub := t.more&(1<<i) != 0
		switch {
		case n == 0:
			*pen = Style{Link: pen.Link, Attrs: pen.Attrs & AttrProtected}
		case n == 4:
			pen.Underline = UnderlineSingle
			if sub {
				i++
				if u := t.raw(i, 1); u <= int(UnderlineDashed) {
					pen.Underline = Underline(u)
				}
			}
		case n == 38 || n == 48 || n == 58:
			var c Color
			var ok bool
			if c, i, ok = t.sgrColor(i); ok {
				switch n {
				case 38:
					pen.Fg = c
				case 48:
					pen.Bg = c
				default:
					pen.UnderlineColor = c
				}
			}
		case n < 10:
			pen.Attrs |= sgrOn(n)
		case n == 21:
			pen.Underline = UnderlineDouble
		case n == 24:
			pen.Underline = UnderlineNone
		case n >= 22 && n <= 29:
			pen.Attrs &^= sgrOff(n)
		default:
			pen.simpleColor(n)
		}
		for i < maxParams && t.more&(1<<i) != 0 {
			// Subparameters that nothing asked for belong to the same item.
			i++
		}
	}
}

func (s *Style) simpleColor(n int) {
	switch {
	case n >= 30 && n < 38:
		s.Fg = Indexed(uint8(n - 30))
	case n == 39:
		s.Fg = 0
	case n >= 40 && n < 48:
		s.Bg = Indexed(uint8(n - 40))
	case n == 49:
		s.Bg = 0
	case n == 53:
		s.Attrs |= AttrOverline
	case n == 55:
		s.Attrs &^= AttrOverline
	case n == 59:
		s.UnderlineColor = 0
	case n >= 90 && n < 98:
		s.Fg = Indexed(uint8(n - 90 + 8))
	case n >= 100 && n < 108:
		s.Bg = Indexed(uint8(n - 100 + 8))
	}
}

// sgrColor reads 38, 48 or 58 at parameter i in its forms with ';' and ':' and
// returns the index of the last parameter used.
func (t *Terminal) sgrColor(i int) (Color, int, bool) {
	if t.more&(1<<i) == 0 {
		return t.sgrColorFlat(i)
	}
	end := i
	for end < t.nparams-1 && t.more&(1<<end) != 0 {
		end++
	}
	switch v := end - i; {
	case t.raw(i+1, -1) == 5 && v >= 2:
		return indexedParam(t.raw(i+2, 0), end)
	case t.raw(i+1, -1) == 2 && v == 4:
		return rgbParam(t.raw(i+2, 0), t.raw(i+3, 0), t.raw(i+4, 0), end)
	case t.raw(i+1, -1) == 2 && v >= 5:
		// With the colour space in between.
		return rgbParam(t.raw(i+3, 0), t.raw(i+4, 0), t.raw(i+5, 0), end)
	}
	return 0, end, false
}

func (t *Terminal) sgrColorFlat(i int) (Color, int, bool) {
	switch t.raw(i+1, -1) {
	case 5:
		return indexedParam(t.raw(i+2, 0), i+2)
	case 2:
		return rgbParam(t.raw(i+2, 0), t.raw(i+3, 0), t.raw(i+4, 0), i+4)
	}
	return 0, i + 1, false
}

func indexedParam(n, end int) (Color, int, bool) {
	return Indexed(uint8(n)), end, n <= 255
}

func rgbParam(r, g, b, end int) (Color, int, bool) {
	return RGB(uint8(r), uint8(g), uint8(b)), end, r <= 255 && g <= 255 && b <= 255
}

// sgrText is the parameter list that sets s from the default, as in "0;1;38:5:9".
func (s Style) sgrText() string {
	var b strings.Builder
	b.WriteByte('0')
	for n := range 10 {
		if s.Attrs&sgrOn(n) != 0 {
			b.WriteByte(';')
			b.WriteByte(byte('0' + n))
		}
	}
	if s.Underline == UnderlineSingle {
		b.WriteString(";4")
	} else if s.Underline != UnderlineNone {
		b.WriteString(";4:")
		b.WriteByte('0' + byte(s.Underline))
	}
	if s.Attrs&AttrOverline != 0 {
		b.WriteString(";53")
	}
	colorText(&b, s.Fg, 30)
	colorText(&b, s.Bg, 40)
	colorText(&b, s.UnderlineColor, 50)
	return b.String()
}
