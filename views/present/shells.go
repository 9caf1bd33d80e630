package present

import (
	"cmp"
	"slices"
	"strings"

	"abxdash/client"
)

// shellTag begins the tag of a process that is a shell of ours.
const shellTag = "abxdash-shell:"

// ShellTag is the tag of a shell that o starts under a name, by which a later
// run finds it again.
func ShellTag(o Owner, name string) string { return shellTag + o.User + "@" + o.Host + ":" + name }

// ShellCommand is a shell on a terminal of that size with a tag. Its prompts
// are marked (OSC 133) where the shell is bash and its start files leave
// PROMPT_COMMAND alone.
func ShellCommand(size client.Size, tag string) client.Command {
	c := client.InteractiveShell(size)
	c.Tag = tag
	c.Env["PROMPT_COMMAND"] = `printf '\033]133;A\007'`
	return c
}

// FoundShell is a running shell of an earlier run.
type FoundShell struct {
	PID  int
	Name string
}

// OwnShells are the shells among processes that o started, in the order of their start.
func OwnShells(o Owner, ps []client.ProcessInfo) []FoundShell {
	prefix := ShellTag(o, "")
	var out []FoundShell
	for _, p := range ps {
		if name, ok := strings.CutPrefix(p.Tag, prefix); ok {
			out = append(out, FoundShell{PID: p.PID, Name: CleanMax(name, 40)})
		}
	}
	slices.SortFunc(out, func(a, b FoundShell) int { return cmp.Compare(a.PID, b.PID) })
	return out
}
