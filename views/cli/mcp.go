package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// mcpFlags are the flags of mcp.
type mcpFlags struct {
	killAny, killOnExit bool
	lifetime            time.Duration
	template            string
}

func (c *cli) mcpCmd() *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve sandboxes to an agent: Model Context Protocol on standard input and output",
		Long: `mcp speaks the Model Context Protocol (JSON-RPC 2.0, one message a line) on standard
input and output until its input ends. An agent's configuration starts it as
  {"command": "abxdash", "args": ["mcp"]}

Tools: list_sandboxes, sandbox_info, create_sandbox, run_command, run_code,
list_files, read_file, write_file, get_url, kill_sandbox. kill_sandbox ends only
what this server created, unless --allow-kill-any; a protected sandbox never.
With --read-only only those tools are there that change nothing.`,
		Args: argCount(0, 0, "mcp takes no arguments"),
		RunE: c.run(func(ctx context.Context, _ []string) error { return c.mcp(ctx, f) }),
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.killAny, "allow-kill-any", false, "let kill_sandbox end sandboxes that were not created here")
	fl.BoolVar(&f.killOnExit, "kill-on-exit", false, "kill what was created here when the agent has gone")
	fl.DurationVar(&f.lifetime, "lifetime", mcpLifetime, "lifetime of created sandboxes where the agent names none")
	fl.StringVarP(&f.template, "template", "t", "", "template of created sandboxes where the agent names none")
	return cmd
}

const (
	// mcpLifetime is long enough to think in between, and short enough to end.
	mcpLifetime = 30 * time.Minute
	// mcpLine bounds one message, in bytes: files come in them.
	mcpLine = 32 << 20
	// mcpKillPatience bounds the kills at the end.
	mcpKillPatience = 30 * time.Second
)

// mcpServer is one agent at the other end.
type mcpServer struct {
	c *cli
	s *Session
	f mcpFlags

	mu   sync.Mutex
	made []client.Sandbox
}

func (c *cli) mcp(ctx context.Context, f mcpFlags) error {
	if f.lifetime <= 0 {
		return client.Usagef("mcp", "--lifetime must be positive")
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	m := &mcpServer{c: c, s: s, f: f}
	if f.killOnExit {
		defer m.killMade(ctx)
	}
	in, stop := cancellable(c.In)
	if stop != nil {
		defer stop()
	}
	pipe := newMCPPipe(ctx, in, c.Out)
	err = m.server().Run(ctx, &mcp.IOTransport{Reader: pipe, Writer: pipe, MaxLineLength: mcpLine})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// killMade ends what was created and is still there.
func (m *mcpServer) killMade(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mcpKillPatience)
	defer cancel()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, sb := range m.made {
		if m.c.protected(sb) {
			m.c.say("%s is protected and stays", present.LongLabel(sb))
			continue
		}
		if _, err := m.c.killOne(ctx, m.s.Providers.Get(sb.Provider), sb); err != nil {
			m.c.complain(err)
		}
	}
}

// created reports whether a sandbox is one of ours.
func (m *mcpServer) created(sb client.Sandbox) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.made {
		if present.KeyOf(x) == present.KeyOf(sb) {
			return true
		}
	}
	return false
}

// mcpAbout is what an agent is told first.
const mcpAbout = `Sandboxes are small Linux machines that end by themselves when their lifetime is over.
Make one with create_sandbox, run commands and code in it, read and write its files, and end
it with kill_sandbox when you are done. A sandbox is named by its id or its name.`

// server makes the server with the tools that are allowed.
func (m *mcpServer) server() *mcp.Server {
	// Standard output is the protocol's; the library's remarks go nowhere.
	srv := mcp.NewServer(&mcp.Implementation{Name: "abxdash", Title: "abxdash sandboxes", Version: m.c.Version}, &mcp.ServerOptions{
		Instructions: mcpAbout, Logger: slog.New(slog.DiscardHandler), Capabilities: &mcp.ServerCapabilities{},
	})
	looks := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
	add(srv, looks, "list_sandboxes", "List the sandboxes of all configured providers.", m.list)
	add(srv, looks, "sandbox_info", "Describe one sandbox. Looking does not change its lifetime.", m.info)
	add(srv, looks, "list_files", "List a folder of a sandbox.", m.listFiles)
	add(srv, looks, "read_file", "Read a file of a sandbox, as text or, if it is none, as base64.", m.readFile)
	add(srv, looks, "get_url", "The address of a port of a sandbox, for a browser or curl.", m.url)
	if m.c.flags.ReadOnly {
		return srv
	}
	no := false
	adds := &mcp.ToolAnnotations{DestructiveHint: &no}
	changes := &mcp.ToolAnnotations{}
	add(srv, adds, "create_sandbox", "Create a sandbox. It costs money on a remote provider until it ends.", m.create)
	add(srv, changes, "run_command", "Run a command in a sandbox and wait for its end. argv runs without a shell; line runs in the sandbox's shell.", m.runCommand)
	add(srv, changes, "run_code", "Run code in a sandbox's code interpreter; what it defines lasts for the next call.", m.runCode)
	add(srv, changes, "write_file", "Write a file of a sandbox, replacing it, and make its folders.", m.writeFile)
	add(srv, changes, "kill_sandbox", "End a sandbox for good. Only those that this server created, unless it was started to allow any.", m.kill)
	return srv
}

// add is one tool. Its errors go to the agent in the words that people get.
func add[In, Out any](srv *mcp.Server, hints *mcp.ToolAnnotations, name, about string, do func(context.Context, In) (Out, error)) {
	mcp.AddTool(srv, &mcp.Tool{Name: name, Description: about, Annotations: hints},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			out, err := do(ctx, in)
			if err != nil {
				err = errors.New(toolError(err))
			}
			return nil, out, err
		})
}

func toolError(err error) string {
	text := present.ErrorLine(err)
	if h := present.Hint(err); h != "" {
		text += "; hint: " + h
	}
	return text
}
