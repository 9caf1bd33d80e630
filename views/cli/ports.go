package cli

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

func (c *cli) portsCmd() *cobra.Command {
	return &cobra.Command{
		Use: "ports SANDBOX", Short: "List the TCP ports that something inside listens on",
		Args: argCount(1, 1, "ports needs a sandbox"),
		RunE: c.run(func(ctx context.Context, args []string) error { return c.ports(ctx, args[0]) }),
	}
}

// portJSON is one port of ports --json.
type portJSON struct {
	Port int `json:"port"`
	// Address is what it is bound to, such as 127.0.0.1 or ::.
	Address string `json:"address"`
	// URL is "" where the provider gives ports no address.
	URL string `json:"url"`
}

func (c *cli) ports(ctx context.Context, name string) error {
	sb, p, done, err := c.one(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	call, cancel := c.call(ctx)
	defer cancel()
	list, err := listening(call, p, sb.ID)
	if err != nil {
		return err
	}
	urls, _ := client.Find[client.Ports](p)
	for i := range list {
		if urls == nil {
			break
		}
		if u, err := urls.PortURL(sb.ID, list[i].Port); err == nil {
			list[i].URL = u
		}
	}
	if c.flags.JSON {
		return c.printJSON(list)
	}
	if len(list) == 0 {
		c.say("nothing listens")
		return nil
	}
	rows := [][]string{{"PORT", "ADDRESS", "URL"}}
	for _, l := range list {
		rows = append(rows, []string{strconv.Itoa(l.Port), l.Address, orDash(present.Clean(l.URL))})
	}
	if err := printTable(c.Out, []bool{true, false, false}, rows); err != nil {
		return err
	}
	if _, ok := client.Find[client.PortDialer](p); ok {
		c.say("reach one with: abxdash forward %s PORT", present.Clean(name))
	}
	return nil
}

// listening reads the kernel's tables inside, which needs no program but cat.
func listening(ctx context.Context, p client.Provider, id client.ID) ([]portJSON, error) {
	out, err := client.RunToEnd(ctx, p, id, client.Command{Argv: []string{"cat", "/proc/net/tcp", "/proc/net/tcp6"}})
	if err != nil {
		return nil, err
	}
	list := parseListening(string(out.Stdout))
	if len(list) == 0 && !out.Exit.OK() && len(out.Stdout) == 0 {
		return nil, &client.Error{
			Op: "list ports", Provider: p.Name(), Code: client.CodeRun,
			Message: "cannot read /proc/net/tcp inside: " + client.OneLine(string(out.Stderr), 200),
		}
	}
	return list, nil
}

// tcpListen is the state of a listening socket in the kernel's tables.
const tcpListen = "0A"

// parseListening reads the text of /proc/net/tcp and tcp6.
func parseListening(text string) []portJSON {
	out := []portJSON{}
	seen := map[portJSON]bool{}
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != tcpListen {
			continue
		}
		addr, port, ok := parseSocket(f[1])
		e := portJSON{Port: port, Address: addr}
		if !ok || seen[e] {
			continue
		}
		seen[e] = true
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b portJSON) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), strings.Compare(a.Address, b.Address))
	})
	return out
}

// parseSocket reads `0100007F:2328`: the address is in 32-bit words of the
// machine's byte order, which is little-endian wherever this runs.
func parseSocket(text string) (addr string, port int, ok bool) {
	a, p, found := strings.Cut(text, ":")
	n, err := strconv.ParseUint(p, 16, 16)
	raw, herr := hex.DecodeString(a)
	if !found || err != nil || herr != nil || len(raw) != 4 && len(raw) != 16 || n == 0 {
		return "", 0, false
	}
	for i := 0; i < len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	ip, _ := netip.AddrFromSlice(raw)
	return ip.Unmap().String(), int(n), true
}

func (c *cli) urlCmd() *cobra.Command {
	return &cobra.Command{
		Use: "url SANDBOX PORT", Short: "Print the address of a port",
		Args: argCount(2, 2, "url needs a sandbox and a port"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			port, err := parsePort(args[1])
			if err != nil {
				return err
			}
			return c.url(ctx, args[0], port)
		}),
	}
}

func parsePort(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, client.Usagef("read the port", "%q is not a port, 1 to 65535", client.OneLine(text, 20))
	}
	return int(n), nil
}

// portURL is the address of a port; name is how the user called the sandbox.
func portURL(p client.Provider, sb client.Sandbox, name string, port int) (string, error) {
	urls, err := offered[client.Ports](p, client.CapPorts)
	var u string
	if err == nil {
		u, err = urls.PortURL(sb.ID, port)
	}
	if err == nil {
		return u, nil
	}
	if _, ok := client.Find[client.PortDialer](p); ok {
		return "", &client.Error{
			Op: "port URL", Provider: p.Name(), Code: client.CodeUnsupported, Kind: client.ErrUnsupported,
			Message: "ports of this provider have no address of their own",
			Hint:    fmt.Sprintf("abxdash forward %s %d", present.Clean(name), port),
		}
	}
	return "", err
}

func (c *cli) url(ctx context.Context, name string, port int) error {
	sb, p, done, err := c.one(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	u, err := portURL(p, sb, name, port)
	if err != nil {
		return err
	}
	if c.flags.JSON {
		return c.printJSON(map[string]string{"url": u})
	}
	_, err = fmt.Fprintln(c.Out, present.Clean(u))
	return err
}
