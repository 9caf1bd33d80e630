package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"abxdash/client"
)

// serverConfig is what a detached server is told, over an inherited pipe.
type serverConfig struct {
	Run     string           `json:"run"`
	State   string           `json:"state"`
	Version string           `json:"version"`
	Min     client.Isolation `json:"min,omitempty"`
	Image   string           `json:"image,omitempty"`
	Idle    time.Duration    `json:"idle_ns,omitempty"`
}

// startReport is the one line in which a detached server says how its start
// went. An empty Code is success.
type startReport struct {
	Code    client.Code `json:"code,omitempty"`
	Message string      `json:"message,omitempty"`
	Hint    string      `json:"hint,omitempty"`
}

func reportOf(err error) startReport {
	if err == nil {
		return startReport{}
	}
	code := client.CodeOf(err)
	if code == client.CodeInternal {
		code = client.CodeLocalServer
	}
	return startReport{Code: code, Message: client.OneLine(err.Error(), 400), Hint: client.HintOf(err)}
}

// readReport reads the report of a server that is starting. One that ends
// without a word is an error that quotes its log.
func (p paths) readReport(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, 64<<10))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return serverError("start the local server", fmt.Sprintf("it does not answer within %s", startPatience), "its log is "+p.log, nil)
	case err != nil:
		return serverError("start the local server", "cannot read its report", "its log is "+p.log, err)
	}
	var rep startReport
	if json.Unmarshal(data, &rep) != nil {
		msg := "it ended at once"
		if line := p.lastLine(); line != "" {
			msg += "; " + line
		}
		return serverError("start the local server", msg, "its log is "+p.log, nil)
	}
	if rep.Code == "" {
		return nil
	}
	return &client.Error{
		Op: "start the local server", Provider: Name, Code: rep.Code, Kind: client.ErrUnavailable,
		Message: strings.TrimPrefix(rep.Message, "start the local server: "), Hint: rep.Hint,
	}
}

// startPatience is how long a server may take to say that it serves.
const startPatience = 30 * time.Second

// scrub keeps only the variables that the server and so its sandboxes' launcher
// need: none that could hold a key.
func scrub(env []string) []string {
	passed := []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "ABXDASH_HOME", "DOCKER_HOST"}
	out := []string{}
	for _, kv := range env {
		name, _, ok := strings.Cut(kv, "=")
		if ok && (slices.Contains(passed, name) || strings.HasPrefix(name, "XDG_")) {
			out = append(out, kv)
		}
	}
	return out
}
