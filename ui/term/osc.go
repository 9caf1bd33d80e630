package term

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of strings that a program can set.
const (
	maxTitle      = 256
	maxTitleStack = 8
	maxCwd        = 4096
	maxEvents     = 16
)

// cleanText keeps printable characters, at most n of them. Bytes that are no
// UTF-8, controls, and the marks that reorder text become nothing.
func cleanText(b []byte, n int) string {
	var out strings.Builder
	for len(b) > 0 && n > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		if r == utf8.RuneError || !unicode.IsGraphic(r) || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			continue
		}
		out.WriteRune(r)
		n--
	}
	return out.String()
}

// osc runs an operating system command.
func (t *Terminal) osc(data []byte) {
	head, rest, _ := bytes.Cut(data, []byte{';'})
	n, err := strconv.Atoi(string(head))
	if err != nil || len(head) > 4 {
		return
	}
	switch n {
	case 0, 2:
		t.title = cleanText(rest, maxTitle)
	case 1:
		t.icon = cleanText(rest, maxTitle)
	case 4:
		t.oscPalette(rest)
	case 7:
		t.oscCwd(rest)
	case 8:
		t.oscLink(rest)
	case 9:
		t.oscNotify(rest)
	case 10, 11, 12:
		t.oscDynamic(n, rest)
	case 52:
		t.oscClipboard(rest)
	case 104:
		t.oscPaletteReset(rest)
	case 110:
		t.fg = 0
		t.recolour()
	case 111:
		t.bg = 0
		t.recolour()
	case 112:
		t.cursorColor = 0
	case 133:
		t.oscMark(rest)
	}
}

// oscPalette is OSC 4: pairs of index and colour or "?".
func (t *Terminal) oscPalette(rest []byte) {
	parts := strings.Split(string(rest), ";")
	for i := 0; i+1 < len(parts); i += 2 {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 || n > 255 {
			continue
		}
		if parts[i+1] == "?" {
			r, g, b := t.rgb(Indexed(uint8(n)))
			t.reply(fmt.Sprintf("\x1b]4;%d;%s\x1b\\", n, colorSpec(r, g, b)))
			continue
		}
		if c, ok := parseColor(parts[i+1]); ok {
			if t.palette == nil {
				t.palette = map[uint8]Color{}
			}
			t.palette[uint8(n)] = c
		}
	}
	t.recolour()
}

func (t *Terminal) oscPaletteReset(rest []byte) {
	if len(rest) == 0 {
		t.palette = nil
	}
	for p := range strings.SplitSeq(string(rest), ";") {
		if n, err := strconv.Atoi(p); err == nil && n >= 0 && n < 256 {
			delete(t.palette, uint8(n))
		}
	}
	t.recolour()
}

// oscDynamic is OSC 10, 11 and 12; further parameters are for the numbers that follow.
func (t *Terminal) oscDynamic(n int, rest []byte) {
	for spec := range strings.SplitSeq(string(rest), ";") {
		set, def := &t.fg, t.opt.Foreground
		switch n {
		case 10:
		case 11:
			set, def = &t.bg, t.opt.Background
		case 12:
			set, def = &t.cursorColor, t.opt.CursorColor
		default:
			return
		}
		if spec == "?" {
			if !set.IsDefault() {
				def = *set
			}
			r, g, b := t.rgb(def)
			t.reply(fmt.Sprintf("\x1b]%d;%s\x1b\\", n, colorSpec(r, g, b)))
		} else if c, ok := parseColor(spec); ok {
			*set = c
			t.recolour()
		}
		n++
	}
}

// oscCwd is OSC 7: a file URL; only its path is kept.
func (t *Terminal) oscCwd(rest []byte) {
	if len(rest) > maxCwd {
		return
	}
	u, err := url.Parse(string(rest))
	if err != nil || u.Scheme != "file" {
		return
	}
	t.cwd = cleanText([]byte(u.Path), maxCwd)
}

// oscLink is OSC 8. The parameters are ignored but for id, which is part of the link's identity.
func (t *Terminal) oscLink(rest []byte) {
	_, target, ok := bytes.Cut(rest, []byte{';'})
	if !ok {
		return
	}
	pen := &t.scr.cur.pen
	defer t.penChanged()
	pen.Link = 0
	if len(target) == 0 || len(target) > maxLinkSize || cleanText(target, maxLinkSize) != string(target) {
		return
	}
	id, ok := t.links.intern(string(target))
	if !ok {
		t.makeRoom()
		id, _ = t.links.intern(string(target))
	}
	pen.Link = LinkID(id)
}

// oscNotify is OSC 9. Its other uses (progress, working directory: "9;4;…") are numbers first.
func (t *Terminal) oscNotify(rest []byte) {
	if t.opt.Notify == nil || len(rest) > 1 && rest[0] >= '0' && rest[0] <= '9' && rest[1] == ';' {
		return
	}
	if s := cleanText(rest, maxTitle); s != "" && len(t.events) < maxEvents {
		t.events = append(t.events, event{notify: s})
	}
}

// oscClipboard is OSC 52. Only setting is known, and only when somebody listens.
func (t *Terminal) oscClipboard(rest []byte) {
	sel, data, ok := bytes.Cut(rest, []byte{';'})
	if !ok || t.opt.Clipboard == nil || string(data) == "?" || len(t.events) >= maxEvents {
		return
	}
	raw, err := base64.StdEncoding.DecodeString(string(data))
	if err != nil {
		return
	}
	t.events = append(t.events, event{clipboard: cleanText(sel, 16), data: raw})
}

// oscMark is OSC 133, shell integration.
func (t *Terminal) oscMark(rest []byte) {
	if len(rest) == 0 {
		return
	}
	marks := map[byte]Mark{'A': MarkPrompt, 'B': MarkInput, 'C': MarkOutput, 'D': MarkDone}
	r := t.scr.rows[t.scr.cur.y]
	if m, ok := marks[rest[0]]; ok && (r.mark == MarkNone || m == MarkPrompt) {
		r.mark = m
	}
}

// dcs runs a device control string with final q: DECRQSS ($) or XTGETTCAP (+).
func (t *Terminal) dcs(inter byte, data []byte) {
	if inter == '+' {
		for name := range strings.SplitSeq(string(data), ";") {
			t.termcap(name)
		}
		return
	}
	value, ok := t.settingReport(string(data))
	if !ok {
		t.reply("\x1bP0$r\x1b\\")
		return
	}
	t.reply("\x1bP1$r" + value + string(data) + "\x1b\\")
}

// settingReport is what DECRQSS asks for, without the final characters.
func (t *Terminal) settingReport(what string) (string, bool) {
	switch what {
	case "m":
		return t.scr.cur.pen.sgrText(), true
	case "r":
		return fmt.Sprintf("%d;%d", t.top+1, t.bottom+1), true
	case "s":
		return fmt.Sprintf("%d;%d", t.left+1, t.right+1), true
	case "t":
		return strconv.Itoa(t.rows), true
	case " q":
		n := int(t.cursorShape)*2 + 2
		if t.cursorBlink {
			n--
		}
		return strconv.Itoa(n), true
	case "\"q":
		if t.scr.cur.pen.Attrs&AttrProtected != 0 {
			return "1", true
		}
		return "0", true
	case "\"p":
		return "62;1", true
	}
	return "", false
}

// termcap answers one hex-encoded capability name.
func (t *Terminal) termcap(name string) {
	known := map[string]string{"TN": "xterm-256color", "Co": "256", "colors": "256", "RGB": "8/8/8"}
	raw, err := hex.DecodeString(name)
	if v, ok := known[string(raw)]; ok && err == nil {
		t.reply("\x1bP1+r" + strings.ToUpper(name) + "=" + strings.ToUpper(hex.EncodeToString([]byte(v))) + "\x1b\\")
		return
	}
	if err != nil {
		name = ""
	}
	t.reply("\x1bP0+r" + name + "\x1b\\")
}

// CleanTitle makes a text safe to be sent as a window title: printable
// characters only, at most 256.
func CleanTitle(s string) string { return cleanText([]byte(s), maxTitle) }
