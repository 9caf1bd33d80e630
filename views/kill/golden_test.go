package kill

import (
	"testing"

	"abxdash/client"
	"abxdash/ui/uitest"
	"abxdash/views/present"
)

// The sheet over a protected sandbox, one without an owner, one with a shell
// attached and one that was taken out, in every window and theme.
func TestGoldenSheet(t *testing.T) {
	safe := box("i7fpt03zurabcdefghcde", "db-fixture")
	safe.Metadata[client.MetaProtect] = "true"
	lost := box("i4dct03zurabcdefghxyz", "")
	lost.Metadata = nil
	for _, v := range uitest.Variants() {
		s := newScene(t, Options{}, safe, lost, box("i1aaa03zurabcdefgh001", "web-agent-3"), box("i1aaa03zurabcdefgh002", "构建机器人一号"))
		s.Env.Theme = v.Theme
		s.Send(present.ShellCountMsg{Key: present.Key{Provider: "fake", ID: "i1aaa03zurabcdefgh001"}, N: 1})
		msg := present.KillRequestMsg{}
		for _, sb := range s.p.All() {
			target := present.KillTarget{Sandbox: sb}
			if sb.ID == lost.ID {
				target.Stray = []string{"no owner tag"}
			}
			msg.Targets = append(msg.Targets, target)
		}
		s.Send(msg)
		uitest.Golden(t, v.Name("sheet-first"), s.Dump(v.W, v.H))
		s.Press("j", "space")
		uitest.Golden(t, v.Name("sheet"), s.Dump(v.W, v.H))
	}
}
