package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	xterm "github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/templates"
	"abxdash/views/present"
)

// KeyAdmin manages the API keys of an Express account, with its access key pair.
type KeyAdmin interface {
	// Account says whose keys they are, without a secret. It makes no call.
	Account() (string, error)
	List(ctx context.Context) ([]client.APIKey, error)
	// Create gives the value this once.
	Create(ctx context.Context, name, team string) (key client.APIKey, value string, err error)
	Delete(ctx context.Context, id string) error
}

// KeyStore keeps keys on this machine, in a file of abxdash's own.
type KeyStore interface {
	// SaveKey says under which name and in which file.
	SaveKey(provider, value string) (name, file string, err error)
	// ForgetKey reports whether there was one.
	ForgetKey(provider string) (bool, error)
}

func (c *cli) keysCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "Try keys, keep them, and manage those of an Express account",
		Long: `Keys are looked for in the environment, ./.env, ~/.abx/.env, and at last among those
that keys save kept. ls, create and rm manage the API keys of an Alibaba Cloud
Express account with its access key pair (ALICLOUD_ACCESS_KEY_ID and _SECRET).`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var save bool
	var team string
	create := &cobra.Command{
		Use: "create NAME", Short: "Make an API key of the Express account",
		Long: `create makes an API key, which stays in the account until it is removed. It asks on a
terminal and needs --yes without one. The key is printed this once; with --save
it is kept on this machine instead and not printed.`,
		Args: argCount(1, 1, "keys create needs a name"),
		RunE: c.run(func(ctx context.Context, args []string) error { return c.createKey(ctx, args[0], team, save) }),
	}
	create.Flags().BoolVar(&save, "save", false, "keep the key in abxdash's own file (mode 0600)")
	create.Flags().StringVar(&team, "team", "", "id or name of the team it belongs to (default the account's)")
	cmd.AddCommand(
		&cobra.Command{
			Use: "test [PROVIDER]", Short: "Try the keys: does the provider answer?",
			Long: `test asks each provider that has a key, or the named one, for its list. It changes
nothing. A key that is refused gives exit code 3.`,
			Args: argCount(0, 1, "keys test takes one provider at most"), RunE: c.run(c.testKeys),
		},
		&cobra.Command{
			Use: "ls", Aliases: []string{"list"}, Short: "List the API keys of the Express account",
			Args: argCount(0, 0, "keys ls takes no arguments"), RunE: c.run(func(ctx context.Context, _ []string) error { return c.listKeys(ctx) }),
		},
		create,
		&cobra.Command{
			Use: "rm ID…", Aliases: []string{"delete"}, Short: "Delete API keys of the Express account",
			Args: argCount(1, -1, "keys rm needs at least one key's id"), RunE: c.run(c.removeKeys),
		},
		&cobra.Command{
			Use: "save [PROVIDER]", Short: "Keep a key on this machine",
			Long: `save reads a key from standard input, without showing it on a terminal, and keeps it
in abxdash's own file with mode 0600. A key in the environment or in a .env file
goes before it.`,
			Args: argCount(0, 1, "keys save takes one provider at most"), RunE: c.run(c.saveKey),
		},
		&cobra.Command{
			Use: "forget [PROVIDER]", Short: "Remove a key that was kept on this machine",
			Args: argCount(0, 1, "keys forget takes one provider at most"), RunE: c.run(func(_ context.Context, args []string) error { return c.forgetKey(args) }),
		},
	)
	return cmd
}

// account is the key admin; --provider may only name Express.
func (c *cli) account(op string) (KeyAdmin, error) {
	name := c.flags.Provider
	_, kind, named := strings.Cut(name, "@")
	if c.Keys == nil || name != "" && name != templates.Express && (!named || kind != templates.Express) {
		return nil, &client.Error{
			Op: op, Provider: name, Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: "only the keys of an Express account can be managed from here", Hint: "make keys on the provider's own site; abxdash keys save keeps one",
		}
	}
	return c.Keys, nil
}

// keyJSON is one key in keys --json output.
type keyJSON struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Mask   string `json:"mask"`
	Team   string `json:"team"`
	Status string `json:"status"`
	// Times are as the provider sent them, "" if unset.
	CreatedAt  string `json:"created_at"`
	ExpiresAt  string `json:"expires_at"`
	LastUsedAt string `json:"last_used_at"`
	// Key is the value, in the answer to create alone.
	Key string `json:"key,omitempty"`
	// SavedTo is the file that holds the value now.
	SavedTo string `json:"saved_to,omitempty"`
}

func keyOf(k client.APIKey) keyJSON {
	return keyJSON{ID: k.ID, Name: k.Name, Mask: k.Mask, Team: k.Team, Status: k.Status, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt}
}

func (c *cli) listKeys(ctx context.Context) error {
	admin, err := c.account("list API keys")
	if err != nil {
		return err
	}
	call, cancel := c.call(ctx)
	defer cancel()
	list, err := admin.List(call)
	if err != nil {
		return err
	}
	if c.flags.JSON {
		out := make([]keyJSON, 0, len(list))
		for _, k := range list {
			out = append(out, keyOf(k))
		}
		return c.printJSON(out)
	}
	if len(list) == 0 {
		c.say("the account has no API key; abxdash keys create makes one")
		return nil
	}
	if c.flags.Quiet {
		for _, k := range list {
			if _, err := fmt.Fprintln(c.Out, present.Clean(k.ID)); err != nil {
				return err
			}
		}
		return nil
	}
	rows := [][]string{{"ID", "NAME", "KEY", "TEAM", "STATUS", "CREATED", "LAST USED"}}
	for _, k := range list {
		row := []string{k.ID, k.Name, k.Mask, k.Team, k.Status, k.CreatedAt, k.LastUsedAt}
		for i := range row {
			row[i] = orDash(present.CleanMax(row[i], 60))
		}
		rows = append(rows, row)
	}
	return printTable(c.Out, make([]bool, len(rows[0])), rows)
}

func (c *cli) createKey(ctx context.Context, name, team string, save bool) error {
	const op = "create API key"
	if err := c.writable(op); err != nil {
		return err
	}
	admin, err := c.account(op)
	if err != nil {
		return err
	}
	if save && c.KeyStore == nil {
		return client.Usagef(op, "keys cannot be kept here")
	}
	who, err := admin.Account()
	if err != nil {
		return err
	}
	if err := c.confirm(ctx, op, fmt.Sprintf("Make an API key named %s with %s? It stays in the account until it is removed.", present.Clean(name), present.Clean(who))); err != nil {
		return err
	}
	call, cancel := c.call(ctx)
	defer cancel()
	key, value, err := admin.Create(call, name, team)
	if err != nil {
		return err
	}
	out := keyOf(key)
	if save {
		variable, file, serr := c.KeyStore.SaveKey(c.keyProvider(nil), value)
		if serr == nil {
			out.SavedTo = file
			c.say("%s is kept in %s", variable, present.Clean(file))
		} else {
			// It is in no later answer: better on the terminal than lost.
			err = serr
		}
	}
	if out.SavedTo == "" {
		out.Key = value
	}
	if c.flags.JSON {
		return errors.Join(c.printJSON(out), err)
	}
	c.say("made the key %s (%s)", present.Clean(key.Name), orDash(present.Clean(key.ID)))
	if out.Key != "" {
		if _, werr := fmt.Fprintln(c.Out, present.Clean(out.Key)); werr != nil {
			return werr
		}
		c.say("this is the only time that it is shown; ABX_SANDBOX_API_KEY is its variable")
	}
	return err
}

func (c *cli) removeKeys(ctx context.Context, args []string) error {
	const op = "delete API key"
	if err := c.writable(op); err != nil {
		return err
	}
	admin, err := c.account(op)
	if err != nil {
		return err
	}
	if err := c.confirm(ctx, op, fmt.Sprintf("Delete %s for good? What uses %s is refused from then on.", present.Plural(len(args), "API key", "API keys"), map[bool]string{true: "it", false: "them"}[len(args) == 1])); err != nil {
		return err
	}
	for _, id := range args {
		call, cancel := c.call(ctx)
		err := admin.Delete(call, id)
		cancel()
		if err != nil {
			return err
		}
		c.say("deleted %s", present.Clean(id))
	}
	return nil
}

// keyProvider is the provider that a key is for.
func (c *cli) keyProvider(args []string) string {
	switch {
	case len(args) > 0:
		return args[0]
	case c.flags.Provider != "":
		return c.flags.Provider
	default:
		return templates.Express
	}
}

func (c *cli) saveKey(ctx context.Context, args []string) error {
	const op = "save the key"
	if err := c.writable(op); err != nil {
		return err
	}
	if c.KeyStore == nil {
		return client.Usagef(op, "keys cannot be kept here")
	}
	provider := c.keyProvider(args)
	value, err := c.readKey(ctx, op, provider)
	if err != nil {
		return err
	}
	variable, file, err := c.KeyStore.SaveKey(provider, value)
	if err != nil {
		return err
	}
	if c.flags.JSON {
		return c.printJSON(struct {
			Provider string `json:"provider"`
			Variable string `json:"variable"`
			SavedTo  string `json:"saved_to"`
		}{provider, variable, file})
	}
	c.say("%s is kept in %s; try it with: abxdash keys test %s", variable, present.Clean(file), present.Clean(provider))
	return nil
}

// maxKeyInput bounds what is read as a key.
const maxKeyInput = 16 << 10

// readKey reads a key: unseen from a terminal, else the whole input.
func (c *cli) readKey(ctx context.Context, op, provider string) (string, error) {
	if f, ok := c.In.(*os.File); ok && c.IsTerminal(c.In) {
		fmt.Fprintf(c.Err, "Key of %s (not shown): ", present.Clean(provider))
		type reply struct {
			text []byte
			err  error
		}
		before, err := xterm.GetState(f.Fd())
		if err != nil {
			return "", localError(op, err)
		}
		ch := make(chan reply, 1)
		go func() {
			text, err := xterm.ReadPassword(f.Fd())
			ch <- reply{text, err}
		}()
		defer fmt.Fprintln(c.Err)
		select {
		case r := <-ch:
			if r.err != nil {
				return "", localError(op, r.err)
			}
			return string(r.text), nil
		case <-ctx.Done():
			_ = xterm.Restore(f.Fd(), before) // the terminal shows again what is typed
			return "", ctx.Err()
		}
	}
	data, err := io.ReadAll(io.LimitReader(c.In, maxKeyInput))
	if err != nil {
		return "", localError(op, err)
	}
	return string(data), nil
}

func (c *cli) forgetKey(args []string) error {
	const op = "forget the key"
	if err := c.writable(op); err != nil {
		return err
	}
	if c.KeyStore == nil {
		return client.Usagef(op, "keys cannot be kept here")
	}
	provider := c.keyProvider(args)
	found, err := c.KeyStore.ForgetKey(provider)
	switch {
	case err != nil:
		return err
	case !found:
		return &client.Error{Op: op, Code: client.CodeConfig, Kind: client.ErrNotFound, Message: "no key of " + present.Clean(provider) + " is kept here"}
	}
	c.say("forgot the key of %s", present.Clean(provider))
	return nil
}

// keyTestJSON is one provider in keys test --json output.
type keyTestJSON struct {
	Provider string `json:"provider"`
	OK       bool   `json:"ok"`
	// Code is that of the error, "" without one.
	Code   string `json:"code"`
	Detail string `json:"detail"`
	TookMS int64  `json:"took_ms"`
}

// keyPatience bounds one try.
const keyPatience = 30 * time.Second

// testKeys asks providers for a page of their list.
func (c *cli) testKeys(ctx context.Context, args []string) error {
	if len(args) == 1 {
		c.flags.Provider = args[0]
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	out := make([]keyTestJSON, 0, len(s.Providers))
	var failed error
	for _, p := range s.Providers {
		began := c.Now()
		limit := keyPatience
		if c.flags.RequestTimeout > 0 {
			limit = c.flags.RequestTimeout
		}
		call, cancel := context.WithTimeout(ctx, limit)
		page, err := p.Sandboxes().List(call, client.Query{Limit: 1})
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t := keyTestJSON{Provider: p.Name(), OK: err == nil, TookMS: c.Now().Sub(began).Milliseconds(), Detail: "it answers"}
		switch {
		case err != nil:
			t.Code, t.Detail = string(client.CodeOf(err)), present.ErrorLine(err)
			if failed == nil {
				failed = err
			}
		case len(page.Sandboxes) == 0:
			t.Detail = "it answers, and has no sandbox"
		}
		out = append(out, t)
	}
	if c.flags.JSON {
		if err := c.printJSON(out); err != nil {
			return err
		}
	} else if err := c.printKeyTests(out); err != nil {
		return err
	}
	if failed == nil {
		return nil
	}
	if h := present.Hint(failed); h != "" {
		c.say("hint: %s", h)
	}
	return &exitError{code: exitCode(failed)}
}

func (c *cli) printKeyTests(list []keyTestJSON) error {
	rows := make([][]string, 0, len(list))
	for _, t := range list {
		word := OK
		if !t.OK {
			word = Fail
		}
		if t.OK && c.flags.Quiet {
			continue
		}
		rows = append(rows, []string{string(word), present.Clean(t.Provider), t.Detail})
	}
	return printTable(c.Out, []bool{false, false, false}, rows)
}
