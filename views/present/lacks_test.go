package present

import (
	"testing"

	"abxdash/client"
	"abxdash/client/fake"
)

func TestLacksSpeaksToPeople(t *testing.T) {
	p := fake.New(fake.Options{Name: "demo"})
	t.Cleanup(p.Close)
	for need, want := range map[client.Capability]string{
		client.CapFiles:   "",
		client.CapLogs:    "no logs with demo",
		client.CapMetrics: "no metrics: an in-memory sandbox uses nothing that could be measured",
	} {
		if got := Lacks(p, need, nil); got != want {
			t.Errorf("%s: %q, want %q", need, got, want)
		}
	}
	if w := wordOf(client.CapCommands); w != "commands" {
		t.Errorf("commands are called %q", w)
	}
	if w := wordOf("new.thing"); w != "new.thing" {
		t.Errorf("what has no word is called %q", w)
	}
}
