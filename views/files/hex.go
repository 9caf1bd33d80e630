package files

import (
	"fmt"
	"strings"
)

// maxHex is how much of a binary file is shown, in bytes.
const maxHex = 64 << 10

// hexLines shows bytes as offset, sixteen numbers and what they are as ASCII.
func hexLines(data []byte) []string {
	data = data[:min(len(data), maxHex)]
	out := make([]string, 0, len(data)/16+1)
	for at := 0; at < len(data); at += 16 {
		row := data[at:min(at+16, len(data))]
		var nums, text strings.Builder
		for i := range 16 {
			if i == 8 {
				nums.WriteByte(' ')
			}
			if i >= len(row) {
				nums.WriteString("   ")
				continue
			}
			fmt.Fprintf(&nums, "%02x ", row[i])
			if c := row[i]; c >= 0x20 && c < 0x7f {
				text.WriteByte(c)
			} else {
				text.WriteByte('.')
			}
		}
		out = append(out, fmt.Sprintf("%08x  %s %s", at, nums.String(), text.String()))
	}
	return out
}
