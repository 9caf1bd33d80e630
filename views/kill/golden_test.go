package kill

import (
	"testing"

	"abxdash/client"
	"abxdash/ui/uitest"
	"abxdash/views/present"
)

func TestGoldenSheet(t *testing.T) {
	safe := box("i7fpt03zurabcdefghcde", "db-fixture")
	safe.Metadata[client.MetaProtect] = "true"
	lost := box("i4dct03zurabcdefghxyz", "")
	lost.Metadata = nil
	for _, th := range uitest.Themes() {
		s := newScene(t, Options{}, safe, lost, box("i1aaa03zurabcdefgh001", "web-agent-3"), box("i1aaa03zurabcdefgh002", "构建机器人一号"))
		s.Env.Theme = th
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
		s.Press("j", "space")
		uitest.Golden(t, "sheet-100x20-"+th.Name, s.Dump(100, 20))
		if th.Name == "dark" {
			uitest.Golden(t, "sheet-60x16", s.Dump(60, 16))
		}
	}
}
