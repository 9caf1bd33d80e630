package files

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/gif"  // decoders of what is previewed
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise

	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/theme"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// Bounds of showing an image: the size of the file in bytes, the picture in
// pixels while it is decoded, and the side of what is kept of it.
const (
	maxImage  = 8 << 20
	maxPixels = 16 << 20
	maxSide   = 400
)

// picture is an image made small enough to be kept while it is looked at.
type picture struct {
	// pix are premultiplied RGBA, row by row.
	pix  []color.RGBA
	w, h int
	// fitted is what was drawn last, by the size of the area.
	fitted       []color.RGBA
	fitW, fitH   int
	cellsX, rows int
}

// looksLikeImage tells by the first bytes what can be decoded here.
func looksLikeImage(data []byte) bool {
	for _, magic := range []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return true
		}
	}
	return false
}

// decodeImage reads an image and says what it is, such as "png 800×600". The
// error is in words that can be shown.
func decodeImage(data []byte) (p *picture, about string, err error) {
	// The file is the sandbox's: whatever a decoder makes of it must not end us.
	defer func() {
		if recover() != nil {
			p, err = nil, lang.Errorf("cannot be decoded")
		}
	}()
	cfg, kind, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, "", lang.Errorf("image that cannot be decoded")
	}
	about = fmt.Sprintf("%s %d×%d", kind, cfg.Width, cfg.Height)
	switch {
	case cfg.Width <= 0 || cfg.Height <= 0:
		return nil, about, lang.Errorf("without any pixel")
	case cfg.Width > maxPixels/cfg.Height:
		return nil, about, lang.Errorf("too large to be shown")
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, about, lang.Errorf("cannot be decoded")
	}
	w, h := fitInto(cfg.Width, cfg.Height, maxSide, maxSide)
	return shrink(img, w, h), about, nil
}

// fitInto scales a size down, never up, so that it fits and keeps its shape.
func fitInto(w, h, maxW, maxH int) (int, int) {
	if w > maxW {
		w, h = maxW, max(1, h*maxW/w)
	}
	if h > maxH {
		w, h = max(1, w*maxH/h), maxH
	}
	return w, h
}

// samples is how many pixels a side are averaged into one.
const samples = 4

// shrink averages an image down to a size.
func shrink(img image.Image, w, h int) *picture {
	b := img.Bounds()
	out := &picture{pix: make([]color.RGBA, w*h), w: w, h: h}
	for y := range h {
		for x := range w {
			out.pix[y*w+x] = average(func(px, py int) (r, g, bl, a uint32) { return img.At(b.Min.X+px, b.Min.Y+py).RGBA() },
				x*b.Dx()/w, max((x+1)*b.Dx()/w, x*b.Dx()/w+1), y*b.Dy()/h, max((y+1)*b.Dy()/h, y*b.Dy()/h+1))
		}
	}
	return out
}

// average is the mean colour of a box of pixels; at gives 16 bits a channel.
func average(at func(x, y int) (r, g, b, a uint32), x0, x1, y0, y1 int) color.RGBA {
	var r, g, b, a, n uint32
	for y := y0; y < y1; y += max(1, (y1-y0)/samples) {
		for x := x0; x < x1; x += max(1, (x1-x0)/samples) {
			pr, pg, pb, pa := at(x, y)
			r, g, b, a, n = r+pr>>8, g+pg>>8, b+pb>>8, a+pa>>8, n+1
		}
	}
	return color.RGBA{R: uint8(r / n), G: uint8(g / n), B: uint8(b / n), A: uint8(a / n)} //nolint:gosec // a mean of bytes is one
}

// fit prepares the picture for an area of cells, two pixels in each.
func (p *picture) fit(cells, rows int) {
	if p.cellsX == cells && p.rows == rows {
		return
	}
	p.cellsX, p.rows = cells, rows
	p.fitW, p.fitH = fitInto(p.w, p.h, cells, 2*rows)
	p.fitted = make([]color.RGBA, p.fitW*p.fitH)
	at := func(x, y int) (r, g, b, a uint32) {
		c := p.pix[y*p.w+x]
		return uint32(c.R) << 8, uint32(c.G) << 8, uint32(c.B) << 8, uint32(c.A) << 8
	}
	for y := range p.fitH {
		for x := range p.fitW {
			x0, y0 := x*p.w/p.fitW, y*p.h/p.fitH
			p.fitted[y*p.fitW+x] = average(at, x0, max((x+1)*p.w/p.fitW, x0+1), y0, max((y+1)*p.h/p.fitH, y0+1))
		}
	}
}

// over lays a colour on the background that themes of its kind have.
func over(c color.RGBA, dark bool) color.RGBA {
	back := uint32(0xff)
	if dark {
		back = 0
	}
	rest := back * (255 - uint32(c.A)) / 255
	add := func(v uint8) uint8 { return uint8(min(255, uint32(v)+rest)) } //nolint:gosec // bounded
	return color.RGBA{R: add(c.R), G: add(c.G), B: add(c.B), A: 255}
}

// shades are characters by how much they cover, for terminals without colour.
const shades = " .:-=+*#%@"

// draw paints the picture into the middle of an area: half a cell a pixel, or
// shades where there is no colour or no such character.
func (p *picture) draw(scr uv.Screen, area uv.Rectangle, t *theme.Theme) {
	if area.Dx() <= 0 || area.Dy() <= 0 {
		return
	}
	p.fit(area.Dx(), area.Dy())
	left := area.Min.X + (area.Dx()-p.fitW)/2
	top := area.Min.Y + (area.Dy()-(p.fitH+1)/2)/2
	plain := t.NoColor || t.Symbol.H == "-" // the ASCII symbols
	for y := 0; y < p.fitH; y += 2 {
		for x := range p.fitW {
			upper := over(p.fitted[y*p.fitW+x], t.Dark)
			lower := upper
			if y+1 < p.fitH {
				lower = over(p.fitted[(y+1)*p.fitW+x], t.Dark)
			}
			cell := uv.Cell{Content: "▀", Width: 1, Style: uv.Style{Fg: upper, Bg: lower}}
			switch {
			case plain:
				cell = uv.Cell{Content: shade(upper, lower, t.Dark), Width: 1, Style: t.Text.Normal}
			case y+1 >= p.fitH:
				cell.Style.Bg = nil
			}
			scr.SetCell(left+x, top+y/2, &cell)
		}
	}
}

// shade is the character for two pixels, one above the other.
func shade(a, b color.RGBA, dark bool) string {
	light := func(c color.RGBA) int { return (299*int(c.R) + 587*int(c.G) + 114*int(c.B)) / 1000 }
	v := (light(a) + light(b)) / 2
	if !dark {
		v = 255 - v // ink on paper
	}
	return string(shades[v*(len(shades)-1)/255])
}

// imagePreview makes the preview of an image, or says why it is shown as bytes.
func imagePreview(tr *lang.Catalog, p *preview, data []byte, cut bool) bool {
	if cut {
		p.about = tr.T("image over %s, as bytes", present.Size(maxImage))
		return false
	}
	pic, about, err := decodeImage(data)
	p.about = about
	if err != nil {
		if p.about != "" {
			p.about += ", "
		}
		p.about += tr.Err(err)
		return false
	}
	p.picture = pic
	return true
}
