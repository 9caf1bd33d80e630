package term

// charset is a designated character set.
type charset uint8

const (
	charsetASCII charset = iota
	charsetGraphics
	charsetUK
)

// decGraphics is what 0x5f..0x7e mean in the DEC special graphics set.
func decGraphics() [32]rune {
	return [...]rune{
		' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
		'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
	}
}

func (c charset) translate(r rune) rune {
	switch {
	case c == charsetGraphics && r >= 0x5f && r <= 0x7e:
		return decGraphics()[r-0x5f]
	case c == charsetUK && r == '#':
		return '£'
	}
	return r
}

// active is the index of the set for the next character.
func (c *cursor) active() uint8 {
	if c.shift > 0 {
		return c.shift - 1
	}
	return c.gl
}

// designate is SCS.
func (t *Terminal) designate(slot int, final byte) {
	set := charsetASCII
	switch final {
	case '0', '2':
		set = charsetGraphics
	case 'A':
		set = charsetUK
	}
	t.scr.cur.g[slot] = set
}
