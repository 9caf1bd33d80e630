package lang_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"abxdash/client"
	"abxdash/client/express"
	"abxdash/client/fake"
	"abxdash/client/opensandbox"
	"abxdash/client/services"
	"abxdash/keymap"
	"abxdash/templates/scaffold"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// runtime are the texts that catalogues are asked for by Word and that the
// code holds as data.
func runtime(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	add := func(where string, words ...string) {
		for _, w := range words {
			if w != "" {
				out[w] = where
			}
		}
	}
	for _, name := range keymap.Presets() {
		m, err := keymap.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range m.All() {
			add("keymap "+string(b.Action), b.Help, b.Short, m.Title(b.Context))
			// After the first key of a sequence those that may follow are listed.
			if b.Short == "" && slices.ContainsFunc(b.Keys, func(k string) bool { return strings.Contains(k, " ") }) {
				add("keymap "+string(b.Action), string(b.Action[strings.LastIndexByte(string(b.Action), '.')+1:]))
			}
		}
	}
	for _, k := range ui.AttentionKinds() {
		add("attention", string(k))
	}
	for _, c := range present.Columns() {
		add("column "+c.Key, c.Title, c.Key) // the key stands beside the order
	}
	for _, s := range []client.State{client.StateRunning, client.StatePaused} {
		add("state", string(s))
	}
	// Other words that providers use for states and that StrayReasons knows.
	add("state", "creating", "starting", "pending", "building", "pausing", "resuming", "stopping", "deleting", "killing", "terminating", "snapshotting")
	for _, e := range []client.Exit{{TimedOut: true}, {Signal: 9}, {Signal: 15}} {
		add("exit", e.String())
	}
	add("TTL", present.TTLExpired)
	add("tab", "Shell")
	add("capability", "run", "terminal", "files", "ports", "pause", "snapshots", "metrics", "logs", "code")
	add("network", "as the provider does")
	add("argument", "as declared")
	add("state of a template", "ready", "error", "failed", "uploaded")
	add("column of templates", "used")
	add("provider", "not configured", "nothing")
	for _, caps := range capabilities(t) {
		for _, k := range []client.Capability{client.CapPause, client.CapSnapshot, client.CapMetrics, client.CapLogs, client.CapCode, client.CapPTY, client.CapPorts} {
			add("reason of a capability", caps.Why[k])
		}
	}
	for _, k := range scaffold.Kinds() {
		add("kind "+string(k.Kind), k.What)
	}
	return out
}

// capabilities are those of the providers that come with the program; their
// reasons are shown by present.BadgeWords.
func capabilities(t *testing.T) []client.Capabilities {
	t.Helper()
	remote, err := express.New(express.Config{APIKey: "not-a-key"})
	if err != nil {
		t.Fatal(err)
	}
	made := fake.New(fake.Options{Name: "demo"})
	t.Cleanup(made.Close)
	open, err := opensandbox.New(opensandbox.Config{APIURL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(open.Close)
	out := []client.Capabilities{remote.Capabilities(), made.Capabilities(), open.Capabilities()}
	for _, s := range services.All() {
		out = append(out, s.Capabilities())
	}
	return out
}

func TestEveryTextIsTranslated(t *testing.T) {
	entries := lang.Entries(t)
	used := map[string]bool{}
	for _, x := range parseSource(t).texts(t) {
		used[x.id] = true
		other, ok := entries[x.id]
		if !ok {
			t.Errorf("%s: zh.po has no %q", x.at, x.id)
			continue
		}
		if !maps.Equal(verbs(x.id), verbs(other)) {
			t.Errorf("%s: %q and %q have not the same verbs", x.at, x.id, other)
		}
		for i, v := range verbs(x.one) {
			if verbs(x.id)[i] != v {
				t.Errorf("%s: %q and %q have not the same verbs", x.at, x.one, x.id)
			}
		}
		if edges(x.id) != edges(other) {
			t.Errorf("%s: %q and %q differ in the blanks around them", x.at, x.id, other)
		}
	}
	words := runtime(t)
	for _, w := range slices.Sorted(maps.Keys(words)) {
		used[w] = true
		if _, ok := entries[w]; !ok {
			t.Errorf("%s: zh.po has no %q", words[w], w)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		if !used[id] {
			t.Errorf("zh.po: nothing uses %q", id)
		}
	}
}

// edges are the blanks before and after a text. A full-width colon has its
// blank inside.
func edges(s string) [2]int {
	s = strings.TrimSuffix(strings.TrimSuffix(s, "："), ": ")
	s = strings.TrimSuffix(s, ":")
	return [2]int{len(s) - len(strings.TrimLeft(s, " ")), len(s) - len(strings.TrimRight(s, " "))}
}
