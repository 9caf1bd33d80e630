package term

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// colouredLines is what a build or a log looks like: short runs of text in many colours.
func colouredLines(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "\x1b[90m%06d\x1b[0m \x1b[1;3%dm%-5s\x1b[0m \x1b[36mservice.%d\x1b[0m handled request \x1b[32m%d\x1b[0m in \x1b[38;5;%dm%d ms\x1b[0m\r\n",
			i, i%7+1, "INFO", i%9, 200+i%5, i%256, i%97)
	}
	return b.Bytes()
}

func benchWrite(b *testing.B, data []byte) {
	b.Helper()
	t := New(200, 60, Options{})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = t.Write(data)
	}
}

func BenchmarkColouredLines(b *testing.B) { benchWrite(b, colouredLines(1000)) }

func BenchmarkPlainLines(b *testing.B) {
	benchWrite(b, []byte(strings.Repeat(strings.Repeat("plain text of a line ", 5)+"\r\n", 1000)))
}

func BenchmarkCJK(b *testing.B) {
	benchWrite(b, []byte(strings.Repeat("漢字かな混じりの文章です。とても長い一行 ", 3000)))
}

func BenchmarkEmoji(b *testing.B) {
	benchWrite(b, []byte(strings.Repeat("👩‍👩‍👧 🇩🇪 e\u0301 👍🏽 ok ", 3000)))
}

func BenchmarkTrueColour(b *testing.B) {
	var buf bytes.Buffer
	for i := range 20000 {
		fmt.Fprintf(&buf, "\x1b[38;2;%d;%d;%dm\x1b[48;2;%d;0;9m▀", i%256, i/7%256, i/3%256, i%200)
	}
	benchWrite(b, buf.Bytes())
}

func BenchmarkFullScreenEdit(b *testing.B) {
	var buf bytes.Buffer
	for i := range 5000 {
		fmt.Fprintf(&buf, "\x1b[%d;%dH\x1b[7mword\x1b[m\x1b[K\x1b[2;58r\x1b[58;1H\n\x1b[r", i%60+1, i%190+1)
	}
	benchWrite(b, buf.Bytes())
}

// A width change with a full scroll-back happens while a person drags the window.
func BenchmarkRewrap(b *testing.B) {
	t := New(200, 60, Options{})
	_, _ = t.Write(colouredLines(12000))
	b.ReportAllocs()
	cols := 200
	for b.Loop() {
		cols = 300 - cols
		t.Resize(cols, 60)
	}
}
