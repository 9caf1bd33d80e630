package ui_test

import (
	"testing"

	"abxdash/ui"
	"abxdash/ui/uitest"
)

// The boxes of the shell over a screen, in every window and theme.
func TestGoldenBoxes(t *testing.T) {
	for name, open := range map[string]func(*desk){
		"help":    func(d *desk) { d.Keys("?") },
		"palette": func(d *desk) { d.Keys("ctrl+k"); d.Type("kill") },
		"command": func(d *desk) { d.Keys(":"); d.Type("kil") },
		"quit":    func(d *desk) { d.work.stakes = []string{"a transfer"}; d.Keys("q") },
	} {
		for _, v := range uitest.Variants() {
			d := newDesk(t, v.W, v.H, func(o *ui.Options) { *o = v.Options(*o) })
			open(d)
			uitest.Golden(t, v.Name(name), d.Dump())
		}
	}
}
