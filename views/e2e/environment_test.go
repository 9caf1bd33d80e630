//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"abxdash/ui/term"
)

// demo opens the demo with more environment and waits for its rows.
func demo(u *user, env ...string) *program {
	u.extra = env
	p := u.open(100, 30, "demo")
	p.until("rows", func() bool { return p.shows("nightly-eval") })
	return p
}

// coloured counts the cells that have a colour of their own.
func coloured(t *term.Terminal) (n int) {
	t.View(func(v term.View) {
		for y := range v.Rows() {
			for _, c := range v.Row(y).Cells {
				if st := v.Style(c.Style); !st.Fg.IsDefault() || !st.Bg.IsDefault() {
					n++
				}
			}
		}
	})
	return n
}

// TUI-04: without colour the cursor is still seen; a terminal that cannot move
// its cursor gets one line.
func TestE2EWithoutColour(t *testing.T) {
	u := newUser(t, os.Getuid())
	p := demo(u)
	if coloured(p.term) == 0 {
		t.Error("there are no colours without NO_COLOR: the check below sees nothing")
	}
	p.typ("q")
	p.leaves()
	p = demo(u, "NO_COLOR=1")
	if n := coloured(p.term); n != 0 || !p.shows("▌") {
		t.Errorf("NO_COLOR: %d cells have a colour; the screen shows\n%s", n, p.screen())
	}
	p.typ("q")
	p.leaves()
	for _, kind := range []string{"TERM=dumb", "TERM="} {
		u.extra = []string{kind}
		p := u.open(100, 30)
		if err := <-p.ended; err == nil {
			t.Errorf("%s: the dashboard opened", kind)
		}
		<-p.read
		if !p.shows("this terminal cannot move the cursor") || !p.shows("abxdash ls") {
			t.Errorf("%s: said\n%s", kind, p.screen())
		}
	}
}

// TUI-07: the layout does not hang on the locale. Where ambiguous characters
// are said to be wide, lines and symbols are ASCII.
func TestE2ESameInEveryLocale(t *testing.T) {
	u := newUser(t, os.Getuid())
	frame := func(env ...string) string {
		p := demo(u, env...)
		defer func() {
			p.typ("q")
			p.leaves()
		}()
		p.untilShows("isolation provider") // the box below the list
		if len(env) > 1 && strings.ContainsAny(p.screen(), "╭─│●↑▌") {
			t.Errorf("%v: the screen shows\n%s", env, p.screen())
		}
		// The edges: what is between them ages.
		var edges []string
		for _, l := range p.term.Lines() {
			if strings.ContainsAny(l, "╭╰") || strings.HasPrefix(l, "+-") {
				n := len([]rune(l))
				if len(env) > 1 { // dots are left in texts, and such a terminal gives them two cells
					n += strings.Count(l, "·")
				}
				edges = append(edges, fmt.Sprint(n))
			}
		}
		return strings.Join(edges, " ")
	}
	want := frame()
	if want != "100 100 100 100" {
		t.Errorf("the edges are %s cells long", want)
	}
	for _, env := range [][]string{{"LC_ALL=ja_JP.UTF-8"}, {"LC_ALL=C"}, {"LC_ALL=ja_JP.UTF-8", "RUNEWIDTH_EASTASIAN=1"}} {
		if got := frame(env...); got != want {
			t.Errorf("%v: the edges are %s cells long, want %s", env, got, want)
		}
	}
}
