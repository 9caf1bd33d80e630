package keymap

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Map is a complete set of bindings. Apart from Replace it is read-only after it
// is made, and it may be shared.
type Map struct {
	bindings []Binding
	info     []contextInfo
	byCtx    map[Context][]int // positions in bindings
}

// Default returns the bindings that hold without any configuration.
func Default() *Map { return newMap(defaultBindings()) }

func newMap(bs []Binding) *Map {
	m := &Map{bindings: bs, info: contexts(), byCtx: make(map[Context][]int)}
	for i, b := range bs {
		m.byCtx[b.Context] = append(m.byCtx[b.Context], i)
	}
	return m
}

// with returns the map with other bindings.
func (m *Map) with(bs []Binding) *Map {
	out := newMap(bs)
	out.info = m.info
	return out
}

// Match looks for the action of a key press. contexts are most specific first;
// pending are the keys pressed before in an unfinished sequence. It reports the
// action and ok when a binding is complete, or pending=true when more keys may
// follow. The most specific whole binding wins. Where a key is both whole and
// the beginning of a longer sequence, such as "esc" and "esc esc", the action is
// reported together with more.
func (m *Map) Match(contexts []Context, pending []string, key string) (a Action, more, ok bool) {
	for _, c := range contexts {
		for _, i := range m.byCtx[c] {
			for _, seq := range m.bindings[i].Keys {
				switch whole, prefix := compare(seq, pending, key); {
				case whole && !ok:
					a, ok = m.bindings[i].Action, true
				case prefix:
					more = true
				}
			}
		}
		if ok {
			return a, more, true
		}
	}
	return "", more, false
}

// compare tells whether pending and key together are the sequence seq, or the beginning of it.
func compare(seq string, pending []string, key string) (whole, prefix bool) {
	for _, p := range pending {
		if !strings.HasPrefix(seq, p) || len(seq) <= len(p) || seq[len(p)] != ' ' {
			return false, false
		}
		seq = seq[len(p)+1:]
	}
	if seq == key {
		return true, false
	}
	return false, len(seq) > len(key) && seq[len(key)] == ' ' && strings.HasPrefix(seq, key)
}

// CaptureContexts returns those of contexts that are looked at even while a
// screen captures raw keys: the shell's, whose bindings all begin with the leader.
func (m *Map) CaptureContexts(contexts []Context) []Context {
	var out []Context
	for _, c := range contexts {
		for _, in := range m.info {
			if in.name == c && in.capture {
				out = append(out, c)
			}
		}
	}
	return out
}

// Bindings returns the bindings of contexts in order, without keys that a more
// specific context uses for something else. A binding all of whose keys are
// taken is left out, unless it has a command name. The keys are not to be changed.
func (m *Map) Bindings(contexts []Context) []Binding {
	var out []Binding
	taken := make(map[string]bool)
	for _, c := range contexts {
		var mine []string
		for _, i := range m.byCtx[c] {
			b := m.bindings[i]
			had := len(b.Keys)
			if slices.ContainsFunc(b.Keys, func(k string) bool { return taken[k] }) {
				b.Keys = slices.DeleteFunc(slices.Clone(b.Keys), func(k string) bool { return taken[k] })
			}
			mine = append(mine, b.Keys...)
			if len(b.Keys) == 0 && (had > 0 || b.Command == "") {
				continue
			}
			out = append(out, b)
		}
		for _, k := range mine {
			taken[k] = true
		}
	}
	return out
}

// Translated returns the map with its texts in another language: help, hints
// and headings, each as tr gives it. The leader in a help text is still the
// default one then, so this comes before [Map.WithLeader].
func (m *Map) Translated(tr func(string) string) *Map {
	bs := slices.Clone(m.bindings)
	for i := range bs {
		bs[i].Help = tr(bs[i].Help)
		if bs[i].Short != "" {
			bs[i].Short = tr(bs[i].Short)
		}
	}
	out := newMap(bs) // with headings of its own
	for i := range out.info {
		out.info[i].title = tr(m.info[i].title)
	}
	return out
}

// All returns every binding in the order of the registry.
func (m *Map) All() []Binding { return slices.Clone(m.bindings) }

// Commands returns the bindings that have a ":" name, sorted by that name, one for each name.
func (m *Map) Commands() []Binding {
	var out []Binding
	seen := make(map[string]bool)
	for _, b := range m.bindings {
		if b.Command != "" && !seen[b.Command] {
			seen[b.Command] = true
			out = append(out, b)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Command < out[j].Command })
	return out
}

// verbs are further ":" names: the commands of the command line that mean the
// same as an action.
func verbs() map[string]string {
	return map[string]string{
		"create": "new", "info": "details", "exec": "run", "attach": "shell", "connect": "shell",
		"raw": "json", "ls": "filter", "list": "filter", "ctx": "provider", "providers": "provider", "q": "quit", "quit!": "quit", "x": "kill",
	}
}

// Verb returns the ":" name that an alias stands for, or name itself.
func Verb(name string) string {
	if v, ok := verbs()[name]; ok {
		return v
	}
	return name
}

// Replace makes m another map in place, so that everyone who holds it sees the
// new bindings. Only the program's loop may call it.
func (m *Map) Replace(by *Map) { *m = *by }

// Lookup finds the binding of a ":" name or of an alias.
func (m *Map) Lookup(command string) (Binding, bool) {
	command = Verb(command)
	for _, b := range m.bindings {
		if b.Command != "" && b.Command == command {
			return b, true
		}
	}
	return Binding{}, false
}

// Danger reports whether an action destroys something.
func (m *Map) Danger(a Action) bool {
	return slices.ContainsFunc(m.bindings, func(b Binding) bool { return b.Action == a && b.Danger })
}

// KeysFor returns all keys of an action over all contexts, without repeats.
func (m *Map) KeysFor(a Action) []string {
	var out []string
	for _, b := range m.bindings {
		if b.Action != a {
			continue
		}
		for _, k := range b.Keys {
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

// Hint returns the first key of an action as shown to people, or "".
func (m *Map) Hint(a Action) string {
	if ks := m.KeysFor(a); len(ks) > 0 {
		return Label(ks[0])
	}
	return ""
}

// HintIn returns the first key of an action in one context as shown to people, or "".
func (m *Map) HintIn(c Context, a Action) string {
	for _, i := range m.byCtx[c] {
		if b := &m.bindings[i]; b.Action == a && len(b.Keys) > 0 {
			return Label(b.Keys[0])
		}
	}
	return ""
}

// Title is the heading of a context in help.
func (m *Map) Title(c Context) string {
	for _, in := range m.info {
		if in.name == c {
			return in.title
		}
	}
	return string(c)
}

// Label writes a key as people read it: "ctrl+k" as "^k", "pgdown" as "pgdn".
func Label(key string) string {
	if len(key) == 1 {
		return key
	}
	parts := strings.Split(key, " ")
	for i, p := range parts {
		p = strings.Replace(p, "ctrl+", "^", 1)
		switch p {
		case "pgdown":
			p = "pgdn"
		case "up":
			p = "↑"
		case "down":
			p = "↓"
		case "left":
			p = "←"
		case "right":
			p = "→"
		}
		parts[i] = p
	}
	return strings.Join(parts, " ")
}

// Markdown is the table of all keys for the README.
func Markdown() string {
	m := Default()
	var b strings.Builder
	b.WriteString("| Where | Key | Meaning | `:` |\n|---|---|---|---|\n")
	for _, in := range m.info {
		for _, i := range m.byCtx[in.name] {
			bd := m.bindings[i]
			keys := make([]string, len(bd.Keys))
			for j, k := range bd.Keys {
				keys[j] = "`" + strings.ReplaceAll(k, "|", `\|`) + "`"
			}
			cmd := ""
			if bd.Command != "" {
				cmd = "`" + bd.Command + "`"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", in.title, strings.Join(keys, " "), strings.ReplaceAll(bd.Help, "|", `\|`), cmd)
		}
	}
	return b.String()
}
