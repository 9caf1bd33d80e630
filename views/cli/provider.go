package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// ProviderAdmin describes, adds and removes providers.
type ProviderAdmin interface {
	// Providers makes no call; all adds the presets that wait for an entry.
	Providers(ctx context.Context, all bool) ([]client.ProviderInfo, error)
	Provider(ctx context.Context, name string) (client.ProviderInfo, error)
	// Add writes an entry and says into which file.
	Add(ctx context.Context, name string, settings map[string]string) (string, error)
	// Install asks confirm once it is known what would be installed. For a
	// built-in provider nothing is done and its description comes back.
	Install(ctx context.Context, src client.PluginSource, confirm func(client.ProviderInfo) error) (client.ProviderInfo, error)
	// Remove says what it removed.
	Remove(ctx context.Context, name string) (string, error)
	// Check asks for lists, changing nothing; "" is every configured provider.
	Check(ctx context.Context, name string) ([]client.ProviderCheck, error)
}

// ProviderJSON is the documented shape of a provider in --json output.
type ProviderJSON struct {
	Name         string          `json:"name"`
	Kind         string          `json:"kind"`
	Title        string          `json:"title"`
	BuiltIn      bool            `json:"built_in"`
	Plugin       bool            `json:"plugin"`
	Preset       bool            `json:"preset"`
	Ready        bool            `json:"ready"`
	Default      bool            `json:"default"`
	Needs        string          `json:"needs"`
	Key          string          `json:"key"`
	Address      string          `json:"address"`
	Problem      string          `json:"problem,omitempty"`
	Hint         string          `json:"hint,omitempty"`
	Capabilities map[string]bool `json:"capabilities"`
	Notes        []string        `json:"notes"`
}

func providerJSON(p client.ProviderInfo) ProviderJSON {
	j := ProviderJSON{
		Name: p.Name, Kind: p.Kind, Title: p.Title, BuiltIn: p.BuiltIn, Plugin: p.Plugin, Preset: p.Preset, Ready: p.Ready, Default: p.Default,
		Needs: p.Needs, Key: p.Key, Address: p.Address, Problem: p.Problem, Hint: p.Hint, Capabilities: map[string]bool{}, Notes: p.Notes,
	}
	for _, k := range client.AllCapabilities() {
		j.Capabilities[string(k)] = p.Capabilities.Has(k)
	}
	if j.Notes == nil {
		j.Notes = []string{}
	}
	return j
}

func (c *cli) providerCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "provider", Aliases: []string{"providers"}, Short: "Providers: what there is, what each needs, plug-ins",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return client.Usagef("provider", "there is no command provider %s", client.OneLine(args[0], 40))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.providerLs(), c.providerInfo(), c.providerAdd(), c.providerInstall(), c.providerRemove(), c.providerDoctor())
	return cmd
}

func (c *cli) providerLs() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List providers and what each needs",
		Args: argCount(0, 0, "provider ls takes no arguments"),
		RunE: c.run(func(ctx context.Context, _ []string) error {
			list, err := c.Providers.Providers(ctx, all)
			if err != nil {
				return err
			}
			return c.printProviders(list)
		}),
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also services that only wait for an entry in the configuration")
	return cmd
}

func (c *cli) printProviders(list []client.ProviderInfo) error {
	if c.flags.JSON {
		out := make([]ProviderJSON, 0, len(list))
		for _, p := range list {
			out = append(out, providerJSON(p))
		}
		return c.printJSON(out)
	}
	rows := [][]string{{"", "NAME", "STATE", "WHAT", "NEEDS"}}
	for _, p := range list {
		if c.flags.Quiet {
			if p.Ready {
				if _, err := fmt.Fprintln(c.Out, present.Clean(p.Name)); err != nil {
					return err
				}
			}
			continue
		}
		mark := ""
		if p.Default {
			mark = "*"
		}
		rows = append(rows, []string{mark, present.Clean(p.Name), providerState(p), present.CleanMax(p.Title, 56), present.CleanMax(p.Needs, 120)})
	}
	if c.flags.Quiet {
		return nil
	}
	return printTable(c.Out, make([]bool, 5), rows)
}

// providerState is one word or two about whether it can be used.
func providerState(p client.ProviderInfo) string {
	switch {
	case p.Ready:
		return "ready"
	case p.Preset:
		return "preset"
	case strings.Contains(p.Problem, "is not set"), strings.Contains(p.Problem, "no ABX_"), strings.Contains(p.Problem, "no API key"):
		return "no key"
	}
	return "not usable"
}

func (c *cli) providerInfo() *cobra.Command {
	return &cobra.Command{
		Use: "info PROVIDER", Short: "Show one provider: what it needs and what it can do",
		Args: argCount(1, 1, "provider info needs one provider"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			p, err := c.Providers.Provider(ctx, args[0])
			if err != nil {
				return err
			}
			return c.printProvider(p)
		}),
	}
}

func (c *cli) printProvider(p client.ProviderInfo) error {
	if c.flags.JSON {
		return c.printJSON(providerJSON(p))
	}
	rows := [][]string{
		{"name", present.Clean(p.Name)},
		{"kind", orDash(present.Clean(p.Kind))},
		{"what", orDash(present.Clean(p.Title))},
		{"state", providerState(p)},
		{"needs", orDash(present.Clean(p.Needs))},
		{"key", orDash(present.Clean(p.Key))},
		{"address", orDash(present.Clean(p.Address))},
	}
	if p.Problem != "" {
		rows = append(rows, []string{"problem", present.Clean(p.Problem)})
	}
	if p.Hint != "" {
		rows = append(rows, []string{"hint", present.Clean(p.Hint)})
	}
	for _, n := range p.Notes {
		rows = append(rows, []string{"note", present.Clean(n)})
	}
	for _, k := range client.AllCapabilities() {
		text := "yes"
		if !p.Capabilities.Has(k) {
			text = "no"
			if why := p.Capabilities.Why[k]; why != "" {
				text += ": " + present.Clean(why)
			}
		}
		rows = append(rows, []string{string(k), text})
	}
	return printTable(c.Out, make([]bool, 2), rows)
}

func (c *cli) providerAdd() *cobra.Command {
	return &cobra.Command{
		Use: "add NAME SETTING=VALUE…", Short: "Add a service or a profile to the configuration",
		Long: `add writes an entry into the configuration file; docs/providers.md lists the
settings. The key never goes there: it is ABX_<NAME>_API_KEY, or what key_env names.

  abxdash provider add lab type=e2b api_url=https://api.lab.example domain=lab.example
  abxdash provider add eu@alicloud-express region=ap-southeast-1`,
		Args: argCount(1, -1, "provider add needs a name and settings such as api_url=https://…"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if err := c.writable("add provider"); err != nil {
				return err
			}
			settings, err := pairs("setting", args[1:])
			if err != nil {
				return client.Usagef("add provider", "settings are SETTING=VALUE")
			}
			file, err := c.Providers.Add(ctx, args[0], settings)
			if err != nil {
				return err
			}
			c.say("added %s to %s", present.Clean(args[0]), present.Clean(file))
			p, err := c.Providers.Provider(ctx, args[0])
			if err != nil {
				return err
			}
			if !p.Ready {
				c.say("note: %s", present.Clean(p.Problem))
			}
			return nil
		}),
	}
}

func (c *cli) providerInstall() *cobra.Command {
	var src client.PluginSource
	cmd := &cobra.Command{
		Use: "install REF", Short: "Install a plug-in from a folder, an archive or a catalogue",
		Long: `REF is a folder, a .tar.gz, .tgz or .zip, "registry:<id>", or
"<owner>/awesome-providers//<id>". A plug-in is pinned by the checksum of its
files: from the catalogue, from --checksum, or not at all with --allow-unpinned.`,
		Args: argCount(1, 1, "provider install needs a folder, an archive or registry:<id>"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if err := c.writable("install provider"); err != nil {
				return err
			}
			src.Ref = args[0]
			p, err := c.Providers.Install(ctx, src, func(p client.ProviderInfo) error { return c.confirmPlugin(ctx, p) })
			if err != nil {
				return err
			}
			return c.installed(p)
		}),
	}
	cmd.Flags().StringVar(&src.Checksum, "checksum", "", "checksum that the files must have, sha256:…")
	cmd.Flags().BoolVar(&src.AllowUnpinned, "allow-unpinned", false, "install although nothing vouches for the files")
	return cmd
}

func (c *cli) confirmPlugin(ctx context.Context, p client.ProviderInfo) error {
	c.say("%s, %s", present.Clean(p.Name), present.Clean(p.Kind))
	for _, n := range p.Notes {
		c.say("  %s", present.Clean(n))
	}
	c.say("  of the environment it gets: %s", present.Clean(p.Needs))
	return c.confirm(ctx, "install provider", "It runs with your rights on this machine. Install it?")
}

// installed says what can be used now.
func (c *cli) installed(p client.ProviderInfo) error {
	if c.flags.JSON {
		return c.printJSON(providerJSON(p))
	}
	if p.BuiltIn {
		_, err := fmt.Fprintf(c.Out, "%s is built in; there is nothing to install. It needs %s.\n", present.Clean(p.Name), present.Clean(p.Needs))
		return err
	}
	_, err := fmt.Fprintf(c.Out, "installed %s; use it with --provider %s\n", present.Clean(p.Name), present.Clean(p.Name))
	if err == nil && !p.Ready && p.Problem != "" {
		c.say("note: %s", present.Clean(p.Problem))
	}
	return err
}

func (c *cli) providerRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove PROVIDER", Aliases: []string{"rm"}, Short: "Remove an entry of the configuration, or a plug-in",
		Args: argCount(1, 1, "provider remove needs one provider"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if err := c.writable("remove provider"); err != nil {
				return err
			}
			if err := c.confirm(ctx, "remove provider", "Remove "+present.Clean(args[0])+"? Its sandboxes go on."); err != nil {
				return err
			}
			what, err := c.Providers.Remove(ctx, args[0])
			if err != nil {
				return err
			}
			c.say("removed %s", present.Clean(what))
			return nil
		}),
	}
}

func (c *cli) providerDoctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor [PROVIDER]", Short: "Ask the configured providers whether they answer",
		Args: argCount(0, 1, "provider doctor takes one provider at most"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			list, err := c.Providers.Check(ctx, strings.Join(args, ""))
			if err != nil {
				return err
			}
			checks := make([]Check, 0, len(list))
			failed := false
			for _, p := range list {
				k := Check{Name: p.Name, Status: OK, Detail: p.Detail, Hint: p.Hint}
				switch {
				case p.OK:
					k.Detail += fmt.Sprintf(" (%s)", p.Took.Round(time.Millisecond))
				case p.Took == 0 && len(args) == 0: // it is not configured
					k.Status = Note
				default:
					k.Status = Fail
					failed = true
				}
				checks = append(checks, k)
			}
			if err := c.printChecks(checks); err != nil {
				return err
			}
			if failed {
				return &exitError{code: ExitError}
			}
			return nil
		}),
	}
}

// listPatience bounds a list over several providers when no --request-timeout
// was given: one that hangs must not keep the rows of the others.
const listPatience = 2500 * time.Millisecond

// listCall bounds a list over n providers.
func (c *cli) listCall(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	if c.flags.RequestTimeout > 0 || n < 2 {
		return c.call(ctx)
	}
	return context.WithTimeout(ctx, listPatience)
}
