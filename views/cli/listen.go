package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// ListenOptions says where `local listen` answers.
type ListenOptions struct {
	// Addr is a loopback address with a port; port 0 is a free one.
	Addr string
	TLS  bool
}

// Listening is what a program needs to reach the local server.
type Listening struct {
	URL    string `json:"url"`
	APIKey string `json:"api_key"`
	// Domain makes names of ports: <port>-<sandbox id>.<Domain>.
	Domain string `json:"domain"`
	// CAFile holds the authority of an https URL, "" for http.
	CAFile string `json:"ca_file,omitempty"`
}

// Listener is a [Local] that other programs can be let into.
type Listener interface {
	// Listen answers until ctx ends; ready is called once it does.
	Listen(ctx context.Context, o ListenOptions, ready func(Listening)) error
}

func (c *cli) listenCmd() *cobra.Command {
	var o ListenOptions
	cmd := &cobra.Command{
		Use: "listen", Short: "Let E2B SDKs and CLIs use local sandboxes, in the foreground",
		Long: `Local sandboxes on a loopback port, in the protocol of E2B, until ctrl+c. It
prints the URL, a key for this run, and the lines that an SDK wants. The
sandboxes go on when it ends; ls shows them too.

With --json the first line is {"url":…,"api_key":…,"domain":…}.`,
		Args: argCount(0, 0, "local listen takes no arguments"),
		RunE: c.run(func(ctx context.Context, _ []string) error { return c.localListen(ctx, o) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.Addr, "addr", "127.0.0.1:0", "loopback address and port; port 0 takes a free one")
	f.BoolVar(&o.TLS, "tls", false, "serve https with an authority of its own, for SDK features that insist on it")
	return cmd
}

func (c *cli) localListen(ctx context.Context, o ListenOptions) error {
	const op = "local listen"
	if err := c.writable(op); err != nil {
		return err
	}
	l, err := c.server()
	if err != nil {
		return err
	}
	li, ok := l.(Listener)
	if !ok {
		return &client.Error{Op: op, Code: client.CodeUnsupported, Kind: client.ErrUnsupported, Message: "not offered here"}
	}
	var said error
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err = li.Listen(ctx, o, func(in Listening) {
		if said = c.sayListening(in); said != nil {
			cancel(said) // nobody will learn the key
		}
	})
	if said != nil {
		return said
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// sayListening prints what to export. The names belong to the SDK that reads
// them; this program does not.
func (c *cli) sayListening(in Listening) error {
	if c.flags.JSON {
		line, err := json.Marshal(in)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.Out, "%s\n", line)
		return err
	}
	out := fmt.Sprintf(`url      %s
api key  %s

For an E2B SDK or CLI:
  export E2B_API_URL=%[1]s
  export E2B_SANDBOX_URL=%[1]s
  export E2B_API_KEY=%[2]s
  export E2B_DOMAIN=%[3]s
`, present.Clean(in.URL), in.APIKey, present.Clean(in.Domain))
	if in.CAFile != "" {
		out += "  export NODE_EXTRA_CA_CERTS=" + present.Clean(in.CAFile) + "\n" +
			"  export SSL_CERT_FILE=" + present.Clean(in.CAFile) + "\n"
	}
	if _, err := fmt.Fprint(c.Out, out); err != nil {
		return err
	}
	c.say("\na port of a sandbox: %s://PORT-SANDBOX.%s/\nctrl+c ends the listener; the sandboxes go on", scheme(in), present.Clean(in.Domain))
	return nil
}

func scheme(in Listening) string {
	if in.CAFile != "" {
		return "https"
	}
	return "http"
}
