package keymap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	m := Default()
	list := []Context{List, Sandbox, Move, Global, Always}
	output := []Context{Output, Logs, Detail, Sandbox, Move, Global, Always}
	tests := []struct {
		name     string
		contexts []Context
		pending  []string
		key      string
		want     Action
		more, ok bool
	}{
		{"plain", list, nil, "x", SandboxKill, false, true},
		{"list beats the rest", list, nil, "n", ListNew, false, true},
		{"n is the next match where there is a search", output, nil, "n", SearchNext, false, true},
		{"t is time in the log, not extend", output, nil, "t", LogTime, false, true},
		{"w wraps in the log", output, nil, "w", ViewWrap, false, true},
		{"w is tasks in the list", list, nil, "w", AppTasks, false, true},
		{"a sequence begins", list, nil, ",", "", true, false},
		{"a sequence ends", list, []string{","}, "t", SortTTL, false, true},
		{"comma twice reverses", list, []string{","}, ",", SortReverse, false, true},
		{"no such sequence", list, []string{","}, "q", "", false, false},
		{"esc goes back and may go on", list, nil, "esc", NavBack, true, true},
		{"esc esc", list, []string{"esc"}, "esc", MarkClear, false, true},
		{"esc elsewhere", output, nil, "esc", NavBack, false, true},
		{"space", list, nil, "space", MarkToggle, false, true},
		{"leader alone", []Context{Shell}, nil, "ctrl+]", "", true, false},
		{"leader d", []Context{Shell}, []string{"ctrl+]"}, "d", ShellDetach, false, true},
		{"leader twice", []Context{Shell}, []string{"ctrl+]"}, "ctrl+]", ShellLiteral, false, true},
		{"leader x is not bound", []Context{Shell}, []string{"ctrl+]"}, "x", "", false, false},
		{"a letter in a shell", []Context{Shell}, nil, "x", "", false, false},
		{"y on the sheet", []Context{Sheet, Always}, nil, "y", SheetConfirm, false, true},
		{"enter on the sheet does nothing", []Context{Sheet, Move, Always}, nil, "enter", "", false, false},
		{"x on the sheet does nothing", []Context{Sheet, Move, Always}, nil, "x", "", false, false},
		{"enter on a question does nothing", []Context{Confirm, Always}, nil, "enter", "", false, false},
		{"undo under a box", []Context{Sheet, Always}, nil, "z", AppUndo, false, true},
		{"ctrl+k is harmless", list, nil, "ctrl+k", AppPalette, false, true},
		{"unknown key", list, nil, "ctrl+alt+f12", "", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, more, ok := m.Match(tt.contexts, tt.pending, tt.key)
			if a != tt.want || more != tt.more || ok != tt.ok {
				t.Errorf("Match(%v, %q) = %q, %v, %v; want %q, %v, %v", tt.pending, tt.key, a, more, ok, tt.want, tt.more, tt.ok)
			}
		})
	}
}

// Shadowing is on purpose where it is listed here, and a mistake elsewhere.
func TestDefaultClashes(t *testing.T) {
	var got []string
	for _, c := range Default().clashes(nil) {
		got = append(got, fmt.Sprintf("%s/%s %s over %s/%s %s", c.ctxA, c.keyA, c.a, c.ctxB, c.keyB, c.b))
	}
	slices.Sort(got)
	want := wantClashes()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("clashes of the defaults (-want +got):\n%s", d)
	}
}

func TestNothingDangerousOnCtrl(t *testing.T) {
	for _, b := range Default().All() {
		for _, k := range b.Keys {
			if b.Danger && strings.Contains(k, "ctrl") {
				t.Errorf("%s is on %s", b.Action, k)
			}
		}
	}
}

func TestDefaultsAreComplete(t *testing.T) {
	m := Default()
	contexts := make(map[Context]bool)
	for _, in := range m.info {
		contexts[in.name] = true
	}
	commands := make(map[string]Action)
	for _, b := range m.All() {
		if b.Help == "" || !strings.HasSuffix(b.Help, ".") {
			t.Errorf("%s in %s: help %q is not a sentence", b.Action, b.Context, b.Help)
		}
		if strings.ContainsFunc(b.Help, func(r rune) bool { return r > 0x7e }) {
			t.Errorf("%s: help is not ASCII", b.Action)
		}
		if !contexts[b.Context] {
			t.Errorf("%s: context %q is not described", b.Action, b.Context)
		}
		if len(b.Keys) == 0 && b.Command == "" {
			t.Errorf("%s in %s cannot be reached", b.Action, b.Context)
		}
		for _, k := range b.Keys {
			if err := checkKey(k); err != nil {
				t.Errorf("%s: %v", b.Action, err)
			}
		}
		if b.Command != "" {
			if a, ok := commands[b.Command]; ok && a != b.Action {
				t.Errorf(":%s is both %s and %s", b.Command, a, b.Action)
			}
			commands[b.Command] = b.Action
		}
	}
}

func TestBindingsHideTakenKeys(t *testing.T) {
	m := Default()
	for _, b := range m.Bindings([]Context{Output, Logs, Detail, Sandbox, Move, Global, Always}) {
		if b.Action == SandboxExtend && len(b.Keys) > 0 {
			t.Errorf("extend is offered on %v, which is the log's", b.Keys)
		}
		if b.Action == SandboxKill && !slices.Equal(b.Keys, []string{"x"}) {
			t.Errorf("kill is offered on %v", b.Keys)
		}
		if b.Action == SandboxFiles && len(b.Keys) > 0 {
			t.Errorf("files is offered on %v", b.Keys)
		}
	}
}

func TestOverride(t *testing.T) {
	tests := []struct {
		name string
		user map[string][]string
		// errs are texts that the error has to contain; none means success.
		errs []string
		// check is a key of the list and the action it must have afterwards.
		key  string
		want Action
	}{
		{name: "nothing", key: "x", want: SandboxKill},
		{name: "another key", user: map[string][]string{"sandbox.kill": {"K"}}, key: "K", want: SandboxKill},
		{name: "the old key is free", user: map[string][]string{"sandbox.kill": {"K"}}, key: "x", want: ""},
		{name: "unbound", user: map[string][]string{"sandbox.kill": {}}, key: "x", want: ""},
		{name: "two keys", user: map[string][]string{"sandbox.kill": {"K", "x"}}, key: "x", want: SandboxKill},
		{name: "swap", user: map[string][]string{"list.new": {"S"}, "list.strays": {"n"}}, key: "n", want: ListStrays},
		{name: "in one context only", user: map[string][]string{"list:nav.back": {"b"}}, errs: []string{`no action "list:nav.back"`}},
		{name: "one context", user: map[string][]string{"logs:search.next": {"ctrl+n"}}, key: "n", want: ListNew},
		{name: "unknown action", user: map[string][]string{"sandbox.explode": {"K"}}, errs: []string{`no action "sandbox.explode"`}},
		{name: "same context", user: map[string][]string{"list.new": {"/"}}, errs: []string{`"/"`, "list.new", "list.filter"}},
		{name: "global key in the list", user: map[string][]string{"list.new": {"?"}}, errs: []string{`"?"`, "list.new", "app.help"}},
		{name: "prefix stolen", user: map[string][]string{"list.new": {","}}, errs: []string{"sort.name", `","`, "list.new"}},
		{name: "begins with a key", user: map[string][]string{"list.new": {"n n"}, "sandbox.pause": {"n"}}, errs: []string{`"n n"`, "list.new", "sandbox.pause"}},
		{name: "contexts apart", user: map[string][]string{"sheet.confirm": {"n"}}, key: "n", want: ListNew},
		{name: "not a key", user: map[string][]string{"list.new": {"Ctrl+x"}}, errs: []string{`"Ctrl"`, "list.new"}},
		{name: "no such key", user: map[string][]string{"list.new": {"hyperspace"}}, errs: []string{"hyperspace"}},
		{name: "empty key", user: map[string][]string{"list.new": {""}}, errs: []string{"space"}},
		{name: "blank", user: map[string][]string{"list.new": {" "}}, errs: []string{"space"}},
		{name: "plus is a key", user: map[string][]string{"list.new": {"ctrl++"}}, key: "ctrl++", want: ListNew},
		{name: "all mistakes are named", user: map[string][]string{"a.b": {"x"}, "list.new": {"/"}}, errs: []string{"a.b", "list.filter"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Default().Override(tt.user)
			if len(tt.errs) > 0 {
				if err == nil {
					t.Fatal("no error")
				}
				for _, s := range tt.errs {
					if !strings.Contains(err.Error(), s) {
						t.Errorf("error %q does not name %q", err, s)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if a, _, _ := m.Match([]Context{List, Sandbox, Move, Global, Always}, nil, tt.key); a != tt.want {
				t.Errorf("%q is %q, want %q", tt.key, a, tt.want)
			}
		})
	}
}

func TestOverrideLeavesTheDefaultAlone(t *testing.T) {
	m := Default()
	if _, err := m.Override(map[string][]string{"sandbox.kill": {"K"}}); err != nil {
		t.Fatal(err)
	}
	if got := m.KeysFor(SandboxKill); !slices.Equal(got, []string{"x"}) {
		t.Errorf("keys of the default map are now %v", got)
	}
}

// Every binding can be reached in its own context by pressing its keys.
func TestEveryBindingCanBePressed(t *testing.T) {
	m := Default()
	for _, b := range m.All() {
		for _, seq := range b.Keys {
			keys := strings.Split(seq, " ")
			for i := range keys {
				a, more, ok := m.Match([]Context{b.Context}, keys[:i], keys[i])
				if last := i == len(keys)-1; last && (!ok || a != b.Action) || !last && !more {
					t.Errorf("%s in %s: %q stops at %q (%q, %v, %v)", b.Action, b.Context, seq, keys[i], a, more, ok)
				}
			}
		}
	}
}

func TestMatchNeverPanics(t *testing.T) {
	m := Default()
	var all []Context
	for _, in := range m.info {
		all = append(all, in.name)
	}
	rapid.Check(t, func(t *rapid.T) {
		cs := rapid.SliceOf(rapid.SampledFrom(all)).Draw(t, "contexts")
		pending := rapid.SliceOfN(rapid.SampledFrom([]string{",", "esc", "ctrl+]", "", " "}), 0, 3).Draw(t, "pending")
		key := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"x", ",", "esc"})).Draw(t, "key")
		a, _, ok := m.Match(cs, pending, key)
		if ok != (a != "") {
			t.Fatalf("ok is %v for %q", ok, a)
		}
	})
}

func TestLabel(t *testing.T) {
	for key, want := range map[string]string{
		"ctrl+k": "^k", "ctrl+] d": "^] d", "pgdown": "pgdn", ", n": ", n", "up": "↑", "x": "x", "ctrl++": "^+",
	} {
		if got := Label(key); got != want {
			t.Errorf("Label(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestTabNumber(t *testing.T) {
	for a, want := range map[Action]int{Tab1: 0, Tab5: 4, Tab9: 8} {
		if n, ok := TabNumber(a); !ok || n != want {
			t.Errorf("TabNumber(%s) = %d, %v", a, n, ok)
		}
	}
	for _, a := range []Action{TabNext, TabPrev, "tab.0", "", SandboxKill} {
		if _, ok := TabNumber(a); ok {
			t.Errorf("TabNumber(%q) is a number", a)
		}
	}
}

func TestMarkdownListsEverything(t *testing.T) {
	md := Markdown()
	for _, b := range Default().All() {
		if !strings.Contains(md, b.Help) {
			t.Errorf("%s is missing", b.Action)
		}
	}
	for i, line := range strings.Split(strings.TrimSpace(md), "\n") {
		cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if cells != 5 {
			t.Errorf("line %d has %d bars: %s", i, cells, line)
		}
	}
}

func TestLookup(t *testing.T) {
	b, ok := Default().Lookup("kill")
	if !ok || b.Action != SandboxKill {
		t.Errorf("kill is %q, %v", b.Action, ok)
	}
	if _, ok := Default().Lookup(""); ok {
		t.Error("the empty name is a command")
	}
}
