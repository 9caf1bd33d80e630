package sdk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"abxdash/client"
)

// CodePort is where the code interpreter listens (e2b-protocol §11).
const CodePort = 49999

// maxLine bounds one line of an execution, in bytes; pictures come in lines.
const maxLine = 64 << 20

// CodeOptions say how code runs. The zero value is Python in its default context.
type CodeOptions struct {
	// Language is python, javascript, typescript, bash, or what else the image
	// has; "" is python. It excludes Context.
	Language string
	// Context is the id of a context made by CreateContext.
	Context string
	Env     map[string]string
	// Timeout gives up, and so interrupts the run, after that long; 0 is 60 s,
	// negative no limit.
	Timeout time.Duration
	// OnEvent is called with each event as it comes.
	OnEvent func(CodeEvent)
}

// CodeEvent is one line of an execution (e2b-protocol §11). Type is stdout,
// stderr, result, error, or a word not known yet.
type CodeEvent struct {
	Type   string
	Text   string
	Result *CodeResult
	Error  *CodeError
}

// CodeResult is a value that the code displayed. All of it is untrusted.
type CodeResult struct {
	// Main is set for the value of the last expression.
	Main bool   `json:"is_main_result"`
	Text string `json:"text"`
	HTML string `json:"html"`
	// Markdown, SVG, LaTeX and JavaScript are text.
	Markdown   string `json:"markdown"`
	SVG        string `json:"svg"`
	LaTeX      string `json:"latex"`
	JavaScript string `json:"javascript"`
	// PNG, JPEG and PDF are bytes.
	PNG  []byte `json:"png"`
	JPEG []byte `json:"jpeg"`
	PDF  []byte `json:"pdf"`
	// JSON, Data and Chart are as sent; Extra holds other media types.
	JSON  json.RawMessage            `json:"json"`
	Data  json.RawMessage            `json:"data"`
	Chart json.RawMessage            `json:"chart"`
	Extra map[string]json.RawMessage `json:"extra"`
}

// CodeError is an exception that the code raised.
type CodeError struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Traceback string `json:"traceback"`
}

// Execution is code that has run.
type Execution struct {
	// Count is the number of executions in the context.
	Count          int
	Stdout, Stderr string
	Results        []CodeResult
	// Error is nil unless the code raised something, which is no error of the call.
	Error *CodeError
}

// Text is the value of the last expression, or "".
func (e Execution) Text() string {
	for _, r := range e.Results {
		if r.Main {
			return r.Text
		}
	}
	return ""
}

// checkCode refuses code where the template or the provider has none.
func (sb *Sandbox) checkCode() error {
	if err := sb.p.Capabilities().Missing(sb.p.Name(), client.CapCode); err != nil {
		return err
	}
	if !sb.declares("code") {
		return &client.Error{
			Op: "run code", Provider: sb.p.Name(), Code: client.CodeRunCapability, Kind: client.ErrUnsupported,
			Message: "the sandbox's template does not declare the capability code",
			Hint:    "add code to its capabilities, or run the interpreter as a command",
		}
	}
	return nil
}

// RunCode runs code in the sandbox's code interpreter and waits for its end.
// Where the provider lacks the capability code it is E8004, where the template
// does it is E3004. A stream that ends without saying so is ErrStreamBroken.
func (sb *Sandbox) RunCode(ctx context.Context, code string, opts CodeOptions) (Execution, error) {
	const op = "run code"
	if err := sb.checkCode(); err != nil {
		return Execution{}, err
	}
	if opts.Context != "" && opts.Language != "" {
		return Execution{}, client.Usagef(op, "a context has a language of its own: name one of the two")
	}
	limit := opts.Timeout
	if limit == 0 {
		limit = DefaultTimeout
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errCodeTime)
		defer cancel()
	}
	body := struct {
		Code     string            `json:"code"`
		Context  string            `json:"context_id,omitempty"`
		Language string            `json:"language,omitempty"`
		Env      map[string]string `json:"env_vars,omitempty"`
	}{code, opts.Context, opts.Language, opts.Env}
	resp, err := sb.interpreter(ctx, op, http.MethodPost, "/execute", body)
	if err != nil {
		return Execution{}, sb.codeTimeout(ctx, limit, err)
	}
	defer resp.Body.Close()
	x, err := readExecution(resp.Body, opts.OnEvent)
	if err != nil {
		err = &client.Error{Op: op, Provider: sb.p.Name(), Code: client.CodeRunCode, Kind: client.ErrStreamBroken, Err: err}
		err = sb.codeTimeout(ctx, limit, err)
	}
	return x, err
}

// errCodeTime is the cause of an execution that took too long.
var errCodeTime = errors.New("the code took too long")

// codeTimeout says so where the code's own time was up, or ctx ended.
func (sb *Sandbox) codeTimeout(ctx context.Context, limit time.Duration, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errCodeTime):
		return &client.Error{
			Op: "run code", Provider: sb.p.Name(), Code: client.CodeRunTimeout, Err: context.DeadlineExceeded,
			Message: fmt.Sprintf("timed out after %s", limit),
		}
	case ctx.Err() != nil:
		return &client.Error{Op: "run code", Provider: sb.p.Name(), Code: client.CodeOf(ctx.Err()), Message: "cancelled", Err: context.Cause(ctx)}
	}
	return err
}

// readExecution reads the lines of an execution up to its end. Unknown kinds and
// lines that are no JSON are left out.
func readExecution(r io.Reader, seen func(CodeEvent)) (Execution, error) {
	var x Execution
	var out, errs strings.Builder
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(lines, maxLine)
		if err != nil {
			x.Stdout, x.Stderr = out.String(), errs.String()
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return x, err
		}
		var head struct {
			Type  string `json:"type"`
			Text  string `json:"text"`
			Count int    `json:"execution_count"`
		}
		if json.Unmarshal(line, &head) != nil || head.Type == "" {
			continue
		}
		ev := CodeEvent{Type: head.Type, Text: head.Text}
		switch head.Type {
		case "number_of_executions":
			x.Count = head.Count
			continue
		case "keepalive":
			continue
		case "end_of_execution":
			x.Stdout, x.Stderr = out.String(), errs.String()
			return x, nil
		case "stdout":
			out.WriteString(head.Text)
		case "stderr":
			errs.WriteString(head.Text)
		case "result":
			ev.Result = &CodeResult{}
			if json.Unmarshal(line, ev.Result) != nil {
				// One field of another type must not hide the text.
				ev.Result = &CodeResult{Text: head.Text}
			}
			x.Results = append(x.Results, *ev.Result)
		case "error":
			ev.Error = &CodeError{}
			_ = json.Unmarshal(line, ev.Error) // fields that fit are filled
			x.Error = ev.Error
		}
		if seen != nil {
			seen(ev)
		}
	}
}

// errLongLine is a line over the limit.
var errLongLine = errors.New("a line is too long")

// readLine returns a line of at most limit bytes without its end. A last line
// without one is io.EOF: it may be cut.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errLongLine
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// interpreter makes one call to the code interpreter; the answer is 200. Errors
// are plain text there (e2b-protocol §11).
func (sb *Sandbox) interpreter(ctx context.Context, op, method, path string, body any) (*http.Response, error) {
	resolve, hc, err := sb.reach()
	if err != nil {
		return nil, err
	}
	addr, err := resolve(ctx, CodePort)
	if err != nil {
		return nil, err
	}
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, client.Usagef(op, "this cannot be sent as JSON")
		}
		send = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(addr.URL, "/")+path, send)
	if err != nil {
		return nil, &client.Error{Op: op, Provider: sb.p.Name(), Code: client.CodeInternal, Message: "the address is no URL"}
	}
	for k, v := range addr.Header {
		req.Header[k] = v
	}
	if send != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := hc.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, &client.Error{Op: op, Provider: sb.p.Name(), Code: client.CodeConnect, Kind: client.ErrUnavailable, Err: err}
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 8<<10)) // what came before a break is enough
		return nil, sb.codeRefused(op, addr, resp.StatusCode, text)
	}
	return resp, nil
}

// codeRefused words an answer of the interpreter, or of the edge before it.
func (sb *Sandbox) codeRefused(op string, addr client.Address, status int, text []byte) error {
	e := &client.Error{Op: op, Provider: sb.p.Name(), Code: client.CodeRunCode, Status: status}
	e.Message = strings.TrimSpace(string(text))
	var edge struct {
		Message string `json:"message"`
		Port    *int   `json:"port"`
	}
	if json.Unmarshal(text, &edge) == nil && edge.Message != "" {
		e.Message = edge.Message
	}
	for _, values := range addr.Header {
		for _, v := range values {
			if len(v) >= 12 {
				e.Message = client.Mask(e.Message, v)
			}
		}
	}
	e.Message = client.OneLine(fmt.Sprintf("HTTP %d: %s", status, e.Message), 300)
	switch status {
	case http.StatusBadGateway:
		e.Code, e.Kind = client.CodeNotFound, client.ErrNotFound
		if edge.Port != nil {
			e.Code, e.Kind = client.CodeConnect, client.ErrUnavailable
			e.Message = fmt.Sprintf("port %d has no listener: this sandbox has no code interpreter", *edge.Port)
			e.Hint = "use a template with one, such as code-interpreter-v1"
		}
	case http.StatusNotFound:
		e.Kind = client.ErrNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Kind = client.ErrUnauthorized
	case http.StatusBadRequest:
		e.Code = client.CodeUsage
	}
	return e
}

// CodeContext is a context of the interpreter: what code does there lasts.
type CodeContext struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	// Dir is the working directory.
	Dir string `json:"cwd"`
}

// CreateContext makes a context; language "" is python, dir "" the home.
func (sb *Sandbox) CreateContext(ctx context.Context, language, dir string) (CodeContext, error) {
	body := struct {
		Language string `json:"language,omitempty"`
		Dir      string `json:"cwd,omitempty"`
	}{language, dir}
	var out CodeContext
	err := sb.codeCall(ctx, "create code context", http.MethodPost, "/contexts", body, &out)
	return out, err
}

// Contexts lists the contexts.
func (sb *Sandbox) Contexts(ctx context.Context) ([]CodeContext, error) {
	var out []CodeContext
	err := sb.codeCall(ctx, "list code contexts", http.MethodGet, "/contexts", nil, &out)
	return out, err
}

// RestartContext forgets what code did in a context.
func (sb *Sandbox) RestartContext(ctx context.Context, id string) error {
	const op = "restart code context"
	if id == "" {
		return client.Usagef(op, "no context given")
	}
	return sb.codeCall(ctx, op, http.MethodPost, "/contexts/"+url.PathEscape(id)+"/restart", nil, nil)
}

// RemoveContext ends a context.
func (sb *Sandbox) RemoveContext(ctx context.Context, id string) error {
	const op = "remove code context"
	if id == "" {
		return client.Usagef(op, "no context given")
	}
	return sb.codeCall(ctx, op, http.MethodDelete, "/contexts/"+url.PathEscape(id), nil, nil)
}

// codeCall makes a bounded call and decodes its answer.
func (sb *Sandbox) codeCall(ctx context.Context, op, method, path string, body, out any) error {
	if err := sb.checkCode(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	resp, err := sb.interpreter(ctx, op, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(out); err != nil {
		return &client.Error{Op: op, Provider: sb.p.Name(), Code: client.CodeBadAnswer, Message: "the answer is not the expected JSON"}
	}
	return nil
}
