package create

import (
	"testing"

	"abxdash/ui/uitest"
	"abxdash/views/present"
)

func TestGoldenDialog(t *testing.T) {
	for _, th := range uitest.Themes() {
		s := newScene(t, Options{})
		s.Env.Theme = th
		s.Send(present.CreateRequestMsg{})
		s.Type("web")
		uitest.Golden(t, "quick-80x12-"+th.Name, s.Dump(80, 12))
		s.Press("tab")
		uitest.Golden(t, "full-80x24-"+th.Name, s.Dump(80, 24))
	}
}
