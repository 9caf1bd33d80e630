package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"abxdash/client"
	"abxdash/client/sdk"
	"abxdash/views/present"
)

const (
	// mcpOutput bounds each stream of a command, mcpRead a file, in bytes, where
	// the agent says nothing: they fill its memory.
	mcpOutput = 64 << 10
	mcpRead   = 256 << 10
	// mcpMost bounds what an agent may ask for.
	mcpMost = 8 << 20
	// mcpTimeout ends a command or code where the agent says nothing.
	mcpTimeout = 60 * time.Second
)

// mcpNone are the arguments of a tool without any.
type mcpNone struct{}

// mcpOne are the arguments of a tool about one sandbox.
type mcpOne struct {
	Sandbox string `json:"sandbox" jsonschema:"id, unique prefix of an id, or name of the sandbox"`
}

// mcpList is the answer of list_sandboxes.
type mcpList struct {
	Sandboxes []present.SandboxJSON `json:"sandboxes"`
	// Failed are providers that could not be asked.
	Failed []string `json:"failed"`
}

func (m *mcpServer) list(ctx context.Context, _ mcpNone) (mcpList, error) {
	ctx, cancel := m.c.listCall(ctx, len(m.s.Providers))
	defer cancel()
	out := mcpList{Sandboxes: []present.SandboxJSON{}, Failed: []string{}}
	var failed error
	for _, l := range present.Gather(ctx, m.s.Providers, client.Query{}) {
		if l.Err != nil {
			failed = l.Err
			out.Failed = append(out.Failed, present.Clean(l.Provider)+": "+toolError(l.Err))
			continue
		}
		for _, row := range m.c.rows(l.Page, present.Filter{}) {
			out.Sandboxes = append(out.Sandboxes, present.JSON(row.Sandbox, row.Stray))
		}
	}
	if len(out.Failed) == len(m.s.Providers) {
		return out, failed
	}
	return out, nil
}

func (m *mcpServer) info(ctx context.Context, in mcpOne) (present.SandboxJSON, error) {
	sb, p, err := m.c.find(ctx, m.s, in.Sandbox)
	if err != nil {
		return present.JSON(sb, nil), err
	}
	call, cancel := m.c.call(ctx)
	defer cancel()
	full, err := p.Sandboxes().Get(call, sb.ID)
	full.Provider = p.Name()
	return present.JSON(full, nil), err
}

// mcpCreate are the arguments of create_sandbox.
type mcpCreate struct {
	Name     string            `json:"name,omitempty" jsonschema:"a name to find it by"`
	Template string            `json:"template,omitempty" jsonschema:"template; default is the provider's"`
	Provider string            `json:"provider,omitempty" jsonschema:"provider; default is the configured one"`
	Lifetime int               `json:"lifetime_s,omitempty" jsonschema:"lifetime in seconds from now"`
	Internet *bool             `json:"internet,omitempty" jsonschema:"internet access; default is the provider's"`
	Env      map[string]string `json:"env,omitempty" jsonschema:"environment variables of its commands"`
}

func (m *mcpServer) create(ctx context.Context, in mcpCreate) (present.SandboxJSON, error) {
	const op = "create sandbox"
	none := present.JSON(client.Sandbox{}, nil)
	p, err := creator(m.s)
	if in.Provider != "" {
		p, err = m.s.Providers.Get(in.Provider), nil
		if p == nil {
			err = client.Usagef(op, "there is no provider %q", client.OneLine(in.Provider, 40))
		}
	}
	if err != nil {
		return none, err
	}
	spec := client.CreateSpec{
		Template: in.Template, Lifetime: time.Duration(in.Lifetime) * time.Second, Env: in.Env, Internet: in.Internet,
		Metadata: m.c.Owner.Tags("mcp", in.Name, nil),
	}
	if in.Lifetime < 0 {
		return none, client.Usagef(op, "lifetime_s must be positive")
	}
	if spec.Lifetime == 0 {
		spec.Lifetime = m.f.lifetime
	}
	if spec.Template == "" {
		spec.Template = m.f.template
	}
	call, cancel := m.c.call(ctx)
	defer cancel()
	sb, err := p.Sandboxes().Create(call, spec)
	if err != nil {
		return none, err
	}
	sb.Provider = p.Name()
	m.mu.Lock()
	m.made = append(m.made, sb)
	m.mu.Unlock()
	return present.JSON(sb, nil), nil
}

// mcpKilled is the answer of kill_sandbox.
type mcpKilled struct {
	ID string `json:"id"`
	// Result is killed or already_gone.
	Result string `json:"result"`
}

func (m *mcpServer) kill(ctx context.Context, in mcpOne) (mcpKilled, error) {
	const op = "kill sandbox"
	sb, p, err := m.c.find(ctx, m.s, in.Sandbox)
	switch {
	case errors.Is(err, client.ErrNotFound) && present.IsFullID(in.Sandbox):
		return mcpKilled{in.Sandbox, "already_gone"}, nil
	case err != nil:
		return mcpKilled{}, err
	case m.c.protected(sb):
		return mcpKilled{}, &client.Error{Op: op, Code: client.CodeReadOnly, Message: present.LongLabel(sb) + " is protected; only its owner can kill it"}
	case !m.f.killAny && !m.created(sb):
		return mcpKilled{}, &client.Error{
			Op: op, Code: client.CodeReadOnly, Message: present.LongLabel(sb) + " was not created by this server, and it may kill no other",
			Hint: "its user can start it with --allow-kill-any",
		}
	}
	res, err := m.c.killOne(ctx, p, sb)
	return mcpKilled{res.ID, res.Result}, err
}

// open makes the object of a sandbox.
func (m *mcpServer) open(ctx context.Context, name string) (*sdk.Sandbox, error) {
	sb, p, err := m.c.find(ctx, m.s, name)
	if err != nil {
		return nil, err
	}
	return sdk.Open(ctx, p, sb.ID)
}

// mcpCommand are the arguments of run_command.
type mcpCommand struct {
	Sandbox string            `json:"sandbox" jsonschema:"id, unique prefix of an id, or name of the sandbox"`
	Argv    []string          `json:"argv,omitempty" jsonschema:"the command and its arguments, run without a shell"`
	Line    string            `json:"line,omitempty" jsonschema:"a command line for the sandbox's shell, instead of argv"`
	Stdin   string            `json:"stdin,omitempty" jsonschema:"text for its standard input"`
	Cwd     string            `json:"cwd,omitempty" jsonschema:"working directory; default is the home"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"environment variables"`
	Timeout int               `json:"timeout_s,omitempty" jsonschema:"seconds after which the command is killed; default is 60"`
	Most    int               `json:"max_output,omitempty" jsonschema:"bytes that are kept of each stream; default is 65536"`
}

// mcpResult is the answer of run_command. Bytes that are no text are replaced.
type mcpResult struct {
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	ExitCode  int    `json:"exit_code"`
	TimedOut  bool   `json:"timed_out"`
	Truncated bool   `json:"truncated"`
}

func (m *mcpServer) runCommand(ctx context.Context, in mcpCommand) (mcpResult, error) {
	const op = "run command"
	argv := in.Argv
	if in.Line != "" {
		argv = client.ShellCommand(in.Line).Argv
	}
	if len(argv) == 0 || in.Line != "" && len(in.Argv) > 0 {
		return mcpResult{}, client.Usagef(op, "give either argv or line")
	}
	limit, err := seconds(op, in.Timeout)
	if err != nil {
		return mcpResult{}, err
	}
	sb, err := m.open(ctx, in.Sandbox)
	if err != nil {
		return mcpResult{}, err
	}
	defer func() { _ = sb.Close() }()
	cmd, err := sb.StartArgs(ctx, argv, sdk.RunOptions{
		Timeout: limit, Env: in.Env, Dir: in.Cwd, Stdin: strings.NewReader(in.Stdin), MaxOutput: bounded(in.Most, mcpOutput),
	})
	if err != nil {
		return mcpResult{}, err
	}
	r, err := cmd.Wait(ctx)
	if ctx.Err() != nil {
		// The agent gave it up: it must not go on unseen.
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), signalTimeout)
		defer cancel()
		err = errors.Join(err, m.end(stop, sb, cmd.PID()))
	}
	_ = cmd.Close()
	out := mcpResult{text(r.Stdout), text(r.Stderr), r.Exit.ShellCode(), r.Exit.TimedOut, r.Truncated}
	if r.Exit.TimedOut {
		return out, nil // with the output so far
	}
	return out, err
}

// end kills a command; one that has ended is what was wanted.
func (m *mcpServer) end(ctx context.Context, sb *sdk.Sandbox, pid int) error {
	if err := sb.SendSignal(ctx, pid, client.SIGKILL); err != nil && !errors.Is(err, client.ErrNotFound) {
		return err
	}
	return nil
}

// mcpCode are the arguments of run_code.
type mcpCode struct {
	Sandbox  string `json:"sandbox" jsonschema:"id, unique prefix of an id, or name of the sandbox"`
	Code     string `json:"code" jsonschema:"the code"`
	Language string `json:"language,omitempty" jsonschema:"python (default), javascript, bash, or what else the image has"`
	Timeout  int    `json:"timeout_s,omitempty" jsonschema:"seconds after which the code is interrupted; default is 60"`
}

// mcpExecution is the answer of run_code.
type mcpExecution struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	// Text is the value of the last expression.
	Text string `json:"text"`
	// Media names what else was displayed, such as pictures.
	Media []string `json:"media"`
	// Error is the traceback of what the code raised, "" if nothing.
	Error     string `json:"error"`
	Truncated bool   `json:"truncated"`
}

func (m *mcpServer) runCode(ctx context.Context, in mcpCode) (mcpExecution, error) {
	none := mcpExecution{Media: []string{}}
	limit, err := seconds("run code", in.Timeout)
	if err != nil {
		return none, err
	}
	sb, err := m.open(ctx, in.Sandbox)
	if err != nil {
		return none, err
	}
	defer func() { _ = sb.Close() }()
	x, err := sb.RunCode(ctx, in.Code, sdk.CodeOptions{Language: in.Language, Timeout: limit})
	if err != nil {
		return none, err
	}
	out := none
	cut := func(s string) string {
		if len(s) > mcpOutput {
			out.Truncated = true
			s = s[:mcpOutput]
		}
		return text(s)
	}
	out.Stdout, out.Stderr, out.Text = cut(x.Stdout), cut(x.Stderr), cut(x.Text())
	for _, r := range x.Results {
		out.Media = append(out.Media, mediaOf(r)...)
	}
	if x.Error != nil {
		if out.Error = cut(x.Error.Traceback); out.Error == "" {
			out.Error = cut(x.Error.Name + ": " + x.Error.Value)
		}
	}
	return out, nil
}

// mcpPath are the arguments of list_files.
type mcpPath struct {
	Sandbox string `json:"sandbox" jsonschema:"id, unique prefix of an id, or name of the sandbox"`
	Path    string `json:"path,omitempty" jsonschema:"absolute, or relative to the home; default is the home"`
}

// mcpFiles is the answer of list_files.
type mcpFiles struct {
	Files []entryJSON `json:"files"`
}

func (m *mcpServer) listFiles(ctx context.Context, in mcpPath) (mcpFiles, error) {
	sb, p, err := m.c.find(ctx, m.s, in.Sandbox)
	if err != nil {
		return mcpFiles{}, err
	}
	list, err := m.c.readDir(ctx, place{sb: sb, files: p.Files(), path: in.Path})
	return mcpFiles{entriesOf(list)}, err
}

// mcpReadFile are the arguments of read_file.
type mcpReadFile struct {
	Sandbox string `json:"sandbox" jsonschema:"id, unique prefix of an id, or name of the sandbox"`
	Path    string `json:"path" jsonschema:"absolute, or relative to the home"`
	Most    int    `json:"max_bytes,omitempty" jsonschema:"how much is read; default is 262144"`
}

// mcpContent is the answer of read_file: Text, or Base64 where it is no text.
type mcpContent struct {
	Text      string `json:"text"`
	Base64    string `json:"base64"`
	Truncated bool   `json:"truncated"`
}

func (m *mcpServer) readFile(ctx context.Context, in mcpReadFile) (mcpContent, error) {
	sb, p, err := m.c.find(ctx, m.s, in.Sandbox)
	if err != nil {
		return mcpContent{}, err
	}
	r, err := p.Files().Open(ctx, sb.ID, in.Path)
	if err != nil {
		return mcpContent{}, err
	}
	defer func() { _ = r.Close() }() // only read from
	most := bounded(in.Most, mcpRead)
	data, err := io.ReadAll(io.LimitReader(ctxReader{ctx, r}, int64(most)+1))
	if err != nil {
		return mcpContent{}, err
	}
	var out mcpContent
	if len(data) > most {
		out.Truncated, data = true, data[:most]
	}
	// A cut may split the last character; that makes it no binary.
	if whole := strings.ToValidUTF8(string(data), ""); utf8.Valid(data) || out.Truncated && len(data)-len(whole) < utf8.UTFMax {
		out.Text = whole
	} else {
		out.Base64 = base64.StdEncoding.EncodeToString(data)
	}
	return out, nil
}

// mcpWriteFile are the arguments of write_file.
type mcpWriteFile struct {
	Sandbox string `json:"sandbox" jsonschema:"id, unique prefix of an id, or name of the sandbox"`
	Path    string `json:"path" jsonschema:"absolute, or relative to the home"`
	Text    string `json:"text,omitempty" jsonschema:"the content"`
	Base64  string `json:"base64,omitempty" jsonschema:"the content in base64, instead of text"`
}

func (m *mcpServer) writeFile(ctx context.Context, in mcpWriteFile) (entryJSON, error) {
	const op = "write file"
	data := in.Text
	if in.Base64 != "" {
		raw, err := base64.StdEncoding.DecodeString(in.Base64)
		if err != nil || in.Text != "" {
			return entryJSON{}, client.Usagef(op, "give either text, or base64 that can be decoded")
		}
		data = string(raw)
	}
	sb, p, err := m.c.find(ctx, m.s, in.Sandbox)
	if err != nil {
		return entryJSON{}, err
	}
	e, err := put(ctx, place{sb: sb, files: p.Files(), path: in.Path}, strings.NewReader(data), int64(len(data)))
	return entryOf(e), err
}

// mcpPort are the arguments of get_url.
type mcpPort struct {
	Sandbox string `json:"sandbox" jsonschema:"id, unique prefix of an id, or name of the sandbox"`
	Port    int    `json:"port" jsonschema:"port that something in the sandbox listens on"`
}

// mcpURL is the answer of get_url.
type mcpURL struct {
	URL string `json:"url"`
}

func (m *mcpServer) url(ctx context.Context, in mcpPort) (mcpURL, error) {
	if in.Port < 1 || in.Port > 65535 {
		return mcpURL{}, client.Usagef("get URL", "a port is 1 to 65535")
	}
	sb, p, err := m.c.find(ctx, m.s, in.Sandbox)
	if err != nil {
		return mcpURL{}, err
	}
	u, err := portURL(p, sb, in.Sandbox, in.Port)
	return mcpURL{u}, err
}

// seconds reads a limit; 0 is the usual one.
func seconds(op string, n int) (time.Duration, error) {
	switch {
	case n < 0 || n > 24*60*60:
		return 0, client.Usagef(op, "timeout_s is 1 to 86400")
	case n == 0:
		return mcpTimeout, nil
	default:
		return time.Duration(n) * time.Second, nil
	}
}

// bounded is how many bytes are kept.
func bounded(asked, usual int) int {
	if asked <= 0 {
		return usual
	}
	return min(asked, mcpMost)
}

// text makes bytes fit for JSON.
func text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
