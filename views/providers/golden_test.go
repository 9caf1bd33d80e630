package providers

import (
	"testing"

	"abxdash/ui/uitest"
)

// The list on a good and on a failing provider, and the box for a key, in every
// window and theme.
func TestGoldenScreens(t *testing.T) {
	for _, v := range uitest.Variants() {
		s := start(t, nil)
		s.Env.Theme, s.screen.env.Theme = v.Theme, v.Theme
		uitest.Golden(t, v.Name("providers"), s.Dump(v.W, v.H))
		s.Press("j")
		uitest.Golden(t, v.Name("providers-failing"), s.Dump(v.W, v.H))
		s.Press("G", "e")
		s.Type("secret")
		uitest.Golden(t, v.Name("key"), s.Dump(v.W, v.H))
	}
}
