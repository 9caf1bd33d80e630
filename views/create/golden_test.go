package create

import (
	"testing"

	"abxdash/client"
	"abxdash/client/fake"
	"abxdash/ui/uitest"
	"abxdash/views/present"
)

// The short question, the whole form, and a refusal, in every window and theme.
func TestGoldenDialog(t *testing.T) {
	for _, v := range uitest.Variants() {
		s := newScene(t, Options{})
		s.Env.Theme = v.Theme
		s.Send(present.CreateRequestMsg{})
		s.Type("web")
		uitest.Golden(t, v.Name("quick"), s.Dump(v.W, v.H))
		s.Press("tab")
		uitest.Golden(t, v.Name("full"), s.Dump(v.W, v.H))
		s.local.Script(fake.OpCreate, "", fake.Step{Err: &client.Error{
			Op: "create sandbox", Provider: "local", Code: client.CodeQuota, Message: "100 of 100 sandboxes are in use",
		}})
		s.Press("enter")
		uitest.Golden(t, v.Name("refused"), s.Dump(v.W, v.H))
	}
}
