package files

import (
	"bytes"
	be "encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/theme"
)

// halves is an image that is red above and blue below.
func halves(w, h int) image.Image {
	m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.RGBA{R: 255, A: 255}, color.RGBA{B: 255, A: 255}})
	for y := h / 2; y < h; y++ {
		for x := range w {
			m.SetColorIndex(x, y, 1)
		}
	}
	return m
}

func encoded(t *testing.T, kind string, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch kind {
	case "png":
		err = png.Encode(&b, m)
	case "jpeg":
		err = jpeg.Encode(&b, m, &jpeg.Options{Quality: 95})
	case "gif":
		err = gif.Encode(&b, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func near(c color.Color, r, g, b uint32) bool {
	if c == nil {
		return false
	}
	cr, cg, cb, _ := c.RGBA()
	d := func(a, b uint32) bool { return max(a>>8, b)-min(a>>8, b) < 24 }
	return d(cr, r) && d(cg, g) && d(cb, b)
}

func TestImagesAreShownInHalfCells(t *testing.T) {
	th := theme.For(true, colorprofile.TrueColor, false, false)
	for _, kind := range []string{"png", "jpeg", "gif"} {
		p := render(nil, client.Entry{Name: "a." + kind}, encoded(t, kind, halves(64, 64)), false)
		if p.picture == nil || p.about != kind+" 64×64" || p.hex {
			t.Fatalf("%s: %q, %+v", kind, p.about, p.picture)
		}
		buf := uv.NewScreenBuffer(40, 12)
		p.picture.draw(buf, uv.Rect(0, 0, 40, 12), th)
		// 12 rows are 24 pixels, so the picture is 24 cells wide, in the middle.
		for at, want := range map[[2]int][3]uint32{{20, 1}: {255, 0, 0}, {20, 10}: {0, 0, 255}} {
			c := buf.CellAt(at[0], at[1])
			if c.Content != "▀" || !near(c.Style.Fg, want[0], want[1], want[2]) || !near(c.Style.Bg, want[0], want[1], want[2]) {
				t.Errorf("%s at %v: %q %v %v", kind, at, c.Content, c.Style.Fg, c.Style.Bg)
			}
		}
		for _, x := range []int{7, 32} {
			if c := buf.CellAt(x, 5); c.Content == "▀" {
				t.Errorf("%s is drawn at %d", kind, x)
			}
		}
	}
}

func TestImagesWithoutColour(t *testing.T) {
	p := render(nil, client.Entry{Name: "a.png"}, encoded(t, "png", image.NewGray(image.Rect(0, 0, 8, 8))), false)
	for _, th := range []*theme.Theme{theme.For(true, colorprofile.TrueColor, true, false), theme.For(true, colorprofile.TrueColor, false, true)} {
		buf := uv.NewScreenBuffer(8, 4)
		p.picture.draw(buf, uv.Rect(0, 0, 8, 4), th)
		if c := buf.CellAt(3, 2); c.Content != " " || c.Style.Bg != nil {
			t.Errorf("black is %q on %v", c.Content, c.Style.Bg)
		}
	}
}

func TestTransparentPixelsTakeTheBackground(t *testing.T) {
	if c := over(color.RGBA{}, false); c != (color.RGBA{255, 255, 255, 255}) {
		t.Errorf("on light: %v", c)
	}
	if c := over(color.RGBA{R: 100, A: 128}, true); c != (color.RGBA{100, 0, 0, 255}) {
		t.Errorf("on dark: %v", c)
	}
}

// huge is the beginning of a PNG that says it is w×h.
func huge(w, h uint32) []byte {
	head := be.BigEndian.AppendUint32([]byte("IHDR"), w)
	head = be.BigEndian.AppendUint32(head, h)
	head = append(head, 8, 2, 0, 0, 0)
	out := be.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), 13)
	out = append(out, head...)
	return be.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(head))
}

func TestImagesThatAreNotShown(t *testing.T) {
	whole := encoded(t, "png", halves(64, 64))
	for name, c := range map[string]struct {
		data  []byte
		cut   bool
		about string
	}{
		"too many pixels":     {huge(60_000, 60_000), false, "png 60000×60000, too large to be shown"},
		"a broken one":        {whole[:len(whole)-20], false, "png 64×64, cannot be decoded"},
		"a header alone":      {append([]byte("\x89PNG\r\n\x1a\n"), 0, 0), false, "image that cannot be decoded"},
		"too long a file":     {whole, true, "image over 8.0M, as bytes"},
		"more than 2^31 wide": {huge(1<<31-1, 1<<31-1), false, "cannot"},
	} {
		p := render(nil, client.Entry{Name: "a.png"}, c.data, c.cut)
		if p.picture != nil || !strings.Contains(p.about, c.about) && !strings.Contains(p.about, "too large") || !p.hex {
			t.Errorf("%s: %q, hex %v", name, p.about, p.hex)
		}
	}
}

func TestAPictureKeptIsSmall(t *testing.T) {
	p, about, err := decodeImage(encoded(t, "png", halves(3000, 1000)))
	if err != nil || about != "png 3000×1000" || p.w != maxSide || p.h != 133 {
		t.Errorf("%q, %v, %d×%d", about, err, p.w, p.h)
	}
	if w, h := fitInto(1, 5000, 10, 20); w != 1 || h != 20 {
		t.Errorf("%d×%d", w, h)
	}
}
