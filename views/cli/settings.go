package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// Settings reads and changes the configuration file.
type Settings interface {
	Path() string
	// All lists what is set, then what could be.
	All() ([]client.Setting, error)
	Get(key string) (client.Setting, error)
	Set(key, value string) error
	// Unset makes the default count; what is not set is client.ErrNotFound.
	Unset(key string) error
}

func (c *cli) configCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show and change the configuration file",
		Long: `A setting is named by its path with dots: theme, attention.no_bell,
rates.providers.e2b.cpu_hour, providers.lab.api_url, keys.ACTION. Comments of the
file stay. A change that would make the file wrong is refused and changes nothing.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var all bool
	show := &cobra.Command{
		Use: "show", Aliases: []string{"list", "ls"}, Short: "Show what is set; passwords in addresses are hidden",
		Args: argCount(0, 0, "config show takes no arguments"),
		RunE: func(*cobra.Command, []string) error { return c.showConfig(all) },
	}
	show.Flags().BoolVar(&all, "all", false, "also the settings that are not set")
	cmd.AddCommand(
		&cobra.Command{
			Use: "path", Short: "Print where the file is",
			Args: argCount(0, 0, "config path takes no arguments"),
			RunE: func(*cobra.Command, []string) error { return c.printSettingText(c.Settings.Path()) },
		},
		show,
		&cobra.Command{
			Use: "get KEY", Short: "Print one setting; one that is not set gives exit code 4",
			Args: argCount(1, 1, "config get needs a setting"), ValidArgsFunction: c.completeSettings,
			RunE: func(_ *cobra.Command, args []string) error { return c.getSetting(args[0]) },
		},
		&cobra.Command{
			Use: "set KEY VALUE", Short: "Change one setting",
			Args: argCount(2, 2, "config set needs a setting and its value"), ValidArgsFunction: c.completeSettings,
			RunE: c.run(func(_ context.Context, args []string) error {
				return c.changeSetting("set", args[0], func() error { return c.Settings.Set(args[0], args[1]) })
			}),
		},
		&cobra.Command{
			Use: "unset KEY", Short: "Take one setting out, so that its default counts",
			Args: argCount(1, 1, "config unset needs a setting"), ValidArgsFunction: c.completeSettings,
			RunE: c.run(func(_ context.Context, args []string) error {
				return c.changeSetting("unset", args[0], func() error { return c.Settings.Unset(args[0]) })
			}),
		},
	)
	return cmd
}

// settingJSON is one setting in config --json output.
type settingJSON struct {
	Key string `json:"key"`
	// Value is as YAML has it on one line, "" for one that is not set.
	Value string `json:"value"`
	Set   bool   `json:"set"`
}

func (c *cli) showConfig(all bool) error {
	list, err := c.Settings.All()
	if err != nil {
		return err
	}
	out := []settingJSON{}
	for _, s := range list {
		if s.Set || all {
			out = append(out, settingJSON(s))
		}
	}
	if c.flags.JSON {
		return c.printJSON(out)
	}
	if len(out) == 0 {
		c.say("nothing is set in %s; --all lists what could be", present.Clean(c.Settings.Path()))
		return nil
	}
	rows := make([][]string, 0, len(out))
	for _, s := range out {
		value := present.Clean(s.Value)
		if !s.Set {
			value = "(default)"
		}
		rows = append(rows, []string{present.Clean(s.Key), value})
	}
	return printTable(c.Out, []bool{false, false}, rows)
}

func (c *cli) getSetting(key string) error {
	s, err := c.Settings.Get(key)
	if err != nil {
		return err
	}
	switch {
	case c.flags.JSON:
		err = c.printJSON(settingJSON(s))
	case s.Set:
		err = c.printSettingText(s.Value)
	}
	if err == nil && !s.Set {
		return &exitError{code: ExitNotFound}
	}
	return err
}

func (c *cli) printSettingText(text string) error {
	_, err := fmt.Fprintln(c.Out, present.CleanMax(text, 1<<20))
	return err
}

func (c *cli) changeSetting(word, key string, do func() error) error {
	if err := c.writable("change the configuration"); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	c.say("%s %s in %s", word, present.Clean(key), present.Clean(c.Settings.Path()))
	return nil
}

// completeSettings offers the names of settings.
func (c *cli) completeSettings(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := c.Settings.All()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, s := range list {
		if strings.HasPrefix(s.Key, typed) {
			out = append(out, s.Key)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
