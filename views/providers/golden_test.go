package providers

import (
	"fmt"
	"testing"

	"abxdash/ui"
	"abxdash/ui/uitest"
)

func TestGoldenScreens(t *testing.T) {
	s := start(t, nil)
	for _, th := range uitest.Themes() {
		s.Env.Theme = th
		s.Send(ui.ThemeMsg{Theme: th})
		for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}} {
			uitest.Golden(t, fmt.Sprintf("providers-%dx%d-%s", size[0], size[1], th.Name), s.Dump(size[0], size[1]))
		}
	}
	s.Press("G", "e")
	s.Type("secret")
	uitest.Golden(t, "key-80x24", s.Dump(80, 24))
}
