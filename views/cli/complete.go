package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// completePatience bounds the look at the list while a key is being pressed.
const completePatience = 1500 * time.Millisecond

// completions gives every command that takes sandboxes their names to complete.
func (c *cli) completions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		c.completions(cmd)
		_, words, _ := strings.Cut(cmd.Use, " ")
		if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() && strings.Contains(words, "SANDBOX") {
			cmd.ValidArgsFunction = c.completeSandboxes(words)
		}
	}
}

// completeSandboxes offers the sandboxes of all providers; a command that takes
// files gets them as the beginning of a path, beside the files of this machine.
func (c *cli) completeSandboxes(words string) cobra.CompletionFunc {
	many := strings.Contains(words, "SANDBOX…") || strings.Contains(words, "SANDBOX:")
	paths := strings.Contains(words, ":PATH") || strings.Contains(words, ":FROM")
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		if paths {
			directive = cobra.ShellCompDirectiveNoSpace
		}
		if len(args) > 0 && !many || strings.Contains(typed, ":") {
			return nil, directive
		}
		names := c.sandboxNames(cmd.Context(), typed)
		if paths {
			for i, n := range names {
				name, about, _ := strings.Cut(n, "\t")
				names[i] = cobra.CompletionWithDesc(name+":", about)
			}
		}
		if cmd.Name() == "cp" {
			directive = cobra.ShellCompDirectiveDefault | cobra.ShellCompDirectiveNoSpace
		}
		return names, directive
	}
}

// sandboxNames lists names that begin like typed, and ids where there is none,
// each with a few words. Looking starts nothing; what cannot be asked is left out.
func (c *cli) sandboxNames(ctx context.Context, typed string) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completePatience)
	defer cancel()
	s, err := c.Open(ctx, c.flags)
	if err != nil {
		return nil
	}
	if s.Close != nil {
		defer s.Close()
	}
	var out []cobra.Completion
	for _, l := range present.Gather(ctx, s.Providers, client.Query{}) {
		if l.Err != nil {
			continue
		}
		for _, sb := range l.Page.Sandboxes {
			name := sb.Name
			// A name that a shell or the list of completions would take apart is no help.
			if name == "" || present.Clean(name) != name || strings.ContainsAny(name, " \t:'\"\\$`") {
				name = string(sb.ID)
			}
			if !strings.HasPrefix(name, typed) {
				continue
			}
			out = append(out, cobra.CompletionWithDesc(name, present.Clean(l.Provider)+", "+present.StateWord(sb)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
