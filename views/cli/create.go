package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"abxdash/client"
	"abxdash/views/present"
)

func (c *cli) createCmd() *cobra.Command {
	var (
		template, name, net string
		lifetime            time.Duration
		env, metadata       []string
		folders             folderList
	)
	cmd := &cobra.Command{
		Use: "create", Short: "Create a sandbox and print its id",
		Args: argCount(0, 0, "create takes no arguments; use --name and --template"),
		RunE: c.run(func(ctx context.Context, _ []string) error {
			envs, err := pairs("env", env)
			if err != nil {
				return err
			}
			meta, err := pairs("metadata", metadata)
			if err != nil {
				return err
			}
			internet, rules, err := networkFlag(net)
			if err != nil {
				return err
			}
			if lifetime < 0 {
				return client.Usagef("create sandbox", "--lifetime must be positive")
			}
			return c.create(ctx, client.CreateSpec{
				Template: template, Lifetime: lifetime, Env: envs, Internet: internet, Network: rules, Folders: folders.list,
				Metadata: c.Owner.Tags("cli", name, meta),
			})
		}),
	}
	f := cmd.Flags()
	folderFlags(f, &folders)
	f.StringVarP(&template, "template", "t", "", "template; default is the provider's")
	f.StringVarP(&name, "name", "n", "", "a name to find it by")
	f.DurationVar(&lifetime, "lifetime", 0, "how long it lives, such as 30m (default 1h local, 5m remote)")
	f.StringArrayVarP(&env, "env", "e", nil, "environment variable KEY=VALUE; may be repeated")
	f.StringArrayVarP(&metadata, "metadata", "m", nil, "metadata KEY=VALUE; may be repeated")
	f.StringVar(&net, "net", "", "network: on, off, or allow=HOST,… for nothing but these (default is the provider's; local is off)")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name {
		case "timeout":
			name = "lifetime"
		case "network":
			name = "net"
		}
		return pflag.NormalizedName(name)
	})
	return cmd
}

// networkFlag reads --net. `host` is on: for local sandboxes that is this machine's
// own network. With a list of hosts all else is denied.
func networkFlag(text string) (internet *bool, rules *client.Network, err error) {
	on := true
	if list, ok := strings.CutPrefix(text, "allow="); ok {
		rules = &client.Network{DenyOut: []string{"0.0.0.0/0"}}
		for host := range strings.SplitSeq(list, ",") {
			if host = strings.TrimSpace(host); host != "" {
				rules.AllowOut = append(rules.AllowOut, host)
			}
		}
		if len(rules.AllowOut) == 0 {
			return nil, nil, client.Usagef("read the flags", "--net allow= names no host")
		}
		return &on, rules, nil
	}
	if text == "host" {
		return &on, nil, nil
	}
	internet, err = onOff(text)
	return internet, nil, err
}

func onOff(text string) (*bool, error) {
	var v bool
	switch text {
	case "":
		return nil, nil
	case "on":
		v = true
	case "off":
	default:
		return nil, client.Usagef("read the flags", "--net is on or off, or with create allow=HOST,…")
	}
	return &v, nil
}

// creator is the provider that create uses.
func creator(s *Session) (client.Provider, error) {
	if p := s.Providers.Get(s.Default); p != nil {
		return p, nil
	}
	return nil, client.Usagef("create sandbox", "no provider is configured that could create one")
}

func (c *cli) create(ctx context.Context, spec client.CreateSpec) error {
	if err := c.writable("create sandbox"); err != nil {
		return err
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := creator(s)
	if err != nil {
		return err
	}
	if len(spec.Folders) > 0 {
		if err := p.Capabilities().Missing(p.Name(), client.CapFolders); err != nil {
			return err
		}
	}
	callCtx, cancel := c.call(ctx)
	defer cancel()
	sb, err := p.Sandboxes().Create(callCtx, spec)
	if err != nil {
		return err
	}
	sb.Provider = p.Name()
	if c.flags.JSON {
		return c.printJSON(present.JSON(sb, nil))
	}
	if _, err := fmt.Fprintln(c.Out, present.Clean(string(sb.ID))); err != nil {
		return err
	}
	c.say("created %s on %s (%s), ends in %s", present.Label(sb), present.Clean(sb.Provider), orDash(present.Clean(string(sb.Isolation))), present.TTL(sb, c.Now()))
	return nil
}
