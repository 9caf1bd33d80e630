package term

import (
	"fmt"
	"strconv"
	"strings"
)

// basicColors are xterm's first sixteen colours.
func basicColors() [16][3]uint8 {
	return [16][3]uint8{
		{0, 0, 0},
		{205, 0, 0},
		{0, 205, 0},
		{205, 205, 0},
		{0, 0, 238},
		{205, 0, 205},
		{0, 205, 205},
		{229, 229, 229},
		{127, 127, 127},
		{255, 0, 0},
		{0, 255, 0},
		{255, 255, 0},
		{92, 92, 255},
		{255, 0, 255},
		{0, 255, 255},
		{255, 255, 255},
	}
}

// rgb resolves a colour under the program's palette.
func (t *Terminal) rgb(c Color) (r, g, b uint8) {
	if i, ok := c.Index(); ok {
		if own, ok := t.palette[i]; ok {
			c = own
		} else {
			return paletteRGB(i)
		}
	}
	r, g, b, _ = c.Components()
	return r, g, b
}

func paletteRGB(i uint8) (r, g, b uint8) {
	switch {
	case i < 16:
		c := basicColors()[i]
		return c[0], c[1], c[2]
	case i < 232:
		level := func(v uint8) uint8 {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		v := i - 16
		return level(v / 36), level(v / 6 % 6), level(v % 6)
	default:
		v := 8 + 10*(i-232)
		return v, v, v
	}
}

// colorSpec is the form in which xterm answers colour queries.
func colorSpec(r, g, b uint8) string {
	return fmt.Sprintf("rgb:%02x%02x/%02x%02x/%02x%02x", r, r, g, g, b, b)
}

// parseColor reads "#rgb", "#rrggbb", "#rrrgggbbb", "#rrrrggggbbbb" and "rgb:r/g/b" with one to four digits each.
func parseColor(s string) (Color, bool) {
	var parts []string
	switch {
	case strings.HasPrefix(s, "#") && len(s)%3 == 1 && len(s) >= 4 && len(s) <= 13:
		n := (len(s) - 1) / 3
		parts = []string{s[1 : 1+n], s[1+n : 1+2*n], s[1+2*n:]}
		for i := range parts {
			// In this form short numbers are the high digits.
			parts[i] += strings.Repeat("0", max(0, 2-n))
		}
	case strings.HasPrefix(s, "rgb:"):
		parts = strings.Split(s[4:], "/")
	}
	if len(parts) != 3 {
		return 0, false
	}
	var v [3]uint8
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 16, 16)
		if err != nil || len(p) > 4 {
			return 0, false
		}
		full := uint64(1)<<(4*len(p)) - 1
		v[i] = uint8((n*255 + full/2) / full)
	}
	return RGB(v[0], v[1], v[2]), true
}

// colorText appends the SGR parameters of a colour; base is 30, 40 or 50 for the underline.
func colorText(b *strings.Builder, c Color, base int) {
	i, indexed := c.Index()
	r, g, bl, direct := c.Components()
	switch {
	case direct:
		fmt.Fprintf(b, ";%d:2::%d:%d:%d", base+8, r, g, bl)
	case indexed && base == 50 || indexed && i > 15:
		fmt.Fprintf(b, ";%d:5:%d", base+8, i)
	case indexed && i > 7:
		fmt.Fprintf(b, ";%d", base+60+int(i)-8)
	case indexed:
		fmt.Fprintf(b, ";%d", base+int(i))
	}
}

// recolour makes widgets resolve all styles again, after the palette or a default colour changed.
func (t *Terminal) recolour() { t.styles.gen++ }
