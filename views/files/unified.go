package files

import (
	"strings"

	"abxdash/ui/lang"
)

// diffContext is how many equal lines are shown around a difference.
const diffContext = 3

// maxDiffCost bounds the comparison: beyond it, everything between the common
// beginning and end is shown as replaced.
const maxDiffCost = 4 << 20

// edit is one line of a comparison.
type lineEdit struct {
	op   byte // ' ', '-' or '+'
	text string
}

// unified compares two texts and words the differences as a patch does, with
// colours. The lines must be safe already.
func unified(tr *lang.Catalog, a, b []string) string {
	return wordDiff(tr, compareLines(a, b))
}

// compareLines finds a longest common subsequence between the common ends.
func compareLines(a, b []string) []lineEdit {
	var head, tail []lineEdit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, lineEdit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, lineEdit{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	out := append(head, middle(a, b)...)
	for i := len(tail) - 1; i >= 0; i-- {
		out = append(out, tail[i])
	}
	return out
}

func middle(a, b []string) []lineEdit {
	var out []lineEdit
	if len(a)*len(b) > maxDiffCost {
		for _, s := range a {
			out = append(out, lineEdit{'-', s})
		}
		for _, s := range b {
			out = append(out, lineEdit{'+', s})
		}
		return out
	}
	// length[i][j] is the longest common subsequence of a[i:] and b[j:].
	length := make([][]int32, len(a)+1)
	for i := range length {
		length[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, lineEdit{' ', a[i]})
			i, j = i+1, j+1
		case j >= len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			out = append(out, lineEdit{'-', a[i]})
			i++
		default:
			out = append(out, lineEdit{'+', b[j]})
			j++
		}
	}
	return out
}

// wordDiff leaves out equal lines that are far from any difference.
func wordDiff(tr *lang.Catalog, all []lineEdit) string {
	near := make([]bool, len(all))
	for i, e := range all {
		if e.op == ' ' {
			continue
		}
		for k := max(0, i-diffContext); k < min(len(all), i+diffContext+1); k++ {
			near[k] = true
		}
	}
	var b strings.Builder
	la, lb := 1, 1
	for i, e := range all {
		if near[i] {
			if i == 0 || !near[i-1] {
				b.WriteString(colHead + "@@ " + tr.T("line %d, line %d", la, lb) + " @@" + colOff + "\n")
			}
			switch e.op {
			case '-':
				b.WriteString("\x1b[31m-" + e.text + colOff + "\n")
			case '+':
				b.WriteString(colString + "+" + e.text + colOff + "\n")
			default:
				b.WriteString(" " + e.text + "\n")
			}
		}
		if e.op != '+' {
			la++
		}
		if e.op != '-' {
			lb++
		}
	}
	return b.String()
}

// stripColors takes our own colours out again, for the clipboard.
func stripColors(s string) string {
	return strings.NewReplacer("\x1b[31m", "", colString, "", colHead, "", colOff, "").Replace(s)
}
