package draw

import (
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/theme"
)

// Hint is a key and what it does. One without a key is not shown.
type Hint struct {
	Key, What string
	// Off is set for a key that does nothing now.
	Off bool
}

// hintGap is the room between two hints, in cells.
const hintGap = 3

// Hints paints hints into the last row of area, as many as fit whole: half a
// hint is none.
func Hints(scr uv.Screen, area uv.Rectangle, t *theme.Theme, hints ...Hint) {
	if area.Dy() <= 0 {
		return
	}
	x, y := area.Min.X, area.Max.Y-1
	for _, h := range hints {
		if h.Key == "" {
			continue
		}
		if x+Width(h.Key+" "+h.What) > area.Max.X {
			return
		}
		key, what := t.Keys.Key, t.Keys.Help
		if h.Off {
			key, what = t.Keys.Disabled, t.Keys.Disabled
		}
		x += Text(scr, x, y, area.Max.X-x, h.Key, key)
		x += Text(scr, x, y, area.Max.X-x, " "+h.What, what) + hintGap
	}
}
