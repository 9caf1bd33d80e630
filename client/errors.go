package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code is a stable error code: E1xxx authentication, E2xxx create and template
// parse, E3xxx run, E4xxx files, E5xxx network, E7xxx template build and
// deploy, E8004 capability missing, E9xxx our own. docs/errors.md lists them.
type Code string

// Codes of the Agent Sandbox family (templates-and-abx, "Error codes") and our own (E9xxx).
const (
	CodeAuth            Code = "E1000"
	CodeAuthMissing     Code = "E1001" // missing or bad key
	CodeAuthExpired     Code = "E1002"
	CodeAuthAKSK        Code = "E1003" // bad access key pair
	CodeCreate          Code = "E2000"
	CodeTemplateMissing Code = "E2001" // no such template
	CodeQuota           Code = "E2002"
	CodeRegion          Code = "E2003"
	CodeTemplateParse   Code = "E2004"
	CodeRun             Code = "E3000"
	CodeRunTimeout      Code = "E3001"
	CodeRunExit         Code = "E3002" // non-zero exit
	CodeRunCode         Code = "E3003"
	CodeRunCapability   Code = "E3004"
	CodeRunCommand      Code = "E3005" // named command unknown
	CodeRPC             Code = "E3006" // envd RPC error
	CodeFiles           Code = "E4000"
	CodeFileNotFound    Code = "E4001"
	CodeFilePermission  Code = "E4002"
	CodeNetwork         Code = "E5000"
	CodeConnect         Code = "E5001"
	CodeTemplateBuild   Code = "E7010" // the provider's build failed
	CodeTemplateTimeout Code = "E7011" // the provider's build did not end in time
	CodeDockerBuild     Code = "E7020"
	CodeDockerPush      Code = "E7021"
	CodeRegistryLogin   Code = "E7022"
	CodeUnsupported     Code = "E8004"
	CodeNotFound        Code = "E9001" // no such sandbox
	CodeUsage           Code = "E9002" // bad argument, refused before any call
	CodeConflict        Code = "E9003" // state conflict
	CodeRateLimited     Code = "E9004"
	CodeServer          Code = "E9005" // the provider failed
	CodeBadAnswer       Code = "E9006" // not the protocol: HTML, truncated, unknown
	CodeAmbiguous       Code = "E9007" // a prefix or name that fits several
	CodeLocalServer     Code = "E9010" // the local server cannot start or be reached
	CodeIsolation       Code = "E9011" // the wanted isolation level is not to be had
	CodeConfig          Code = "E9012" // configuration file or environment
	CodeReadOnly        Code = "E9013" // --read-only or a protected sandbox
	CodeTerminal        Code = "E9014" // needs a terminal
	CodeInternal        Code = "E9099"
)

// Sentinels for errors.Is. A provider's *Error carries one of them as Kind.
var (
	ErrNotFound     = errors.New("not found")
	ErrUnauthorized = errors.New("not authorized")
	ErrUnsupported  = errors.New("not supported")
	ErrRateLimited  = errors.New("rate limited")
	ErrConflict     = errors.New("state conflict")
	ErrUnavailable  = errors.New("unavailable")
	// ErrStreamBroken means a stream ended without saying how: the exit code
	// is unknown and the command may still be running.
	ErrStreamBroken = errors.New("connection lost, exit code unknown, command may still run")
)

// Error is the one error type that leaves a provider. Its text is one line,
// free of control characters and of secrets.
type Error struct {
	// Op is what was tried, e.g. "create sandbox".
	Op       string
	Provider string
	Code     Code
	// Status is the HTTP status, 0 if there was none.
	Status    int
	RequestID string
	// Message is the server's or our own wording, one line, sanitized.
	Message string
	// Hint is what the user can do next, one line, may be empty.
	Hint string
	// RetryAfter is set on a 429 or 503 that named it.
	RetryAfter time.Duration
	// Kind is one of the sentinels, or nil.
	Kind error
	// Err is the cause, or nil.
	Err error
}

// Error words it as "<op>: <message>"; the code is added by whoever prints it.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
	}
	msg := e.Message
	if msg == "" && e.Err != nil {
		msg = OneLine(e.Err.Error(), 300)
	}
	if msg == "" && e.Kind != nil {
		msg = e.Kind.Error()
	}
	if msg == "" && e.Status != 0 {
		msg = fmt.Sprintf("HTTP %d", e.Status)
	}
	if msg != "" {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(msg)
	}
	return b.String()
}

// Unwrap gives errors.Is and errors.As both the sentinel and the cause.
func (e *Error) Unwrap() []error {
	var out []error
	if e.Kind != nil {
		out = append(out, e.Kind)
	}
	if e.Err != nil {
		out = append(out, e.Err)
	}
	return out
}

// CodeOf returns err's code, or a fitting one for context and unknown errors; "" for nil.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e) && e.Code != "":
		return e.Code
	case errors.Is(err, context.DeadlineExceeded):
		return CodeRunTimeout
	case errors.Is(err, context.Canceled):
		return CodeRun
	default:
		return CodeInternal
	}
}

// HintOf returns the hint carried by err, or "".
func HintOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// RetryAfterOf returns how long a provider asked us to wait, or 0.
func RetryAfterOf(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// Usagef makes a CodeUsage error: a bad argument, refused before any call.
func Usagef(op, format string, args ...any) *Error {
	return &Error{Op: op, Code: CodeUsage, Message: fmt.Sprintf(format, args...)}
}
