package templates

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"abxdash/client"
)

//go:embed commands_check.py
var commandsCheck string

const (
	// maxCommands bounds commands.py.
	maxCommands = 1 << 20
	// checkPatience bounds the static check; it takes about 30 ms.
	checkPatience = 30 * time.Second
	// maxCheckOutput bounds what the check may say.
	maxCheckOutput = 4 << 20
)

// Command is one named command as commands.py declares it.
type Command struct {
	Name string `json:"name"`
	// Function is the Python function's name.
	Function    string     `json:"function"`
	Description string     `json:"description,omitempty"`
	Hidden      bool       `json:"hidden,omitempty"`
	Line        int        `json:"line"`
	Args        []Argument `json:"args"`
}

// Argument is one argument of a named command.
type Argument struct {
	Name string `json:"name"`
	// Type is string, integer, float or boolean (agent-sandbox-server §5).
	Type     string `json:"type"`
	Required bool   `json:"required"`
	// Default is the JSON of the default value, nil if there is none or it is no plain value.
	Default json.RawMessage `json:"default,omitempty"`
}

// Commands is what a static check of commands.py found.
type Commands struct {
	// Checked is false when there is no python3 to check with.
	Checked bool `json:"checked"`
	// Python is the version whose grammar was used.
	Python   string    `json:"python,omitempty"`
	Commands []Command `json:"commands"`
	// Groups are the capability groups that the file turns on.
	Groups []string `json:"groups,omitempty"`
	// MainStart tells that start() is called under `if __name__ == "__main__"`.
	MainStart bool `json:"main_start"`
}

// Interpreter finds python3 for static checks, "" if there is none.
func Interpreter() string {
	path, err := exec.LookPath("python3")
	if err != nil {
		return ""
	}
	return path
}

// CheckCommands checks commands.py with the grammar of the given python3,
// without running any of it: `-I -S` leaves out the user's packages and the
// current folder. Without an interpreter it says that nothing was checked.
func CheckCommands(ctx context.Context, python, file string, data []byte, target Target) (Commands, Problems) {
	src := newSource(file, data)
	if len(data) > maxCommands {
		return Commands{}, Problems{src.at(SeverityError, "too-large", 0, 0, "the file is over %d KiB", maxCommands>>10)}
	}
	ps := secretLines(src)
	if python == "" {
		return Commands{}, append(ps, src.at(SeverityInfo, "not-checked", 0, 0, "not checked: there is no python3 on this machine").hint("install python3"))
	}
	out, err := runCheck(ctx, python, data)
	if err != nil {
		return Commands{}, append(ps, src.at(SeverityError, "not-checked", 0, 0, "the check with %s failed: %s", python, err))
	}
	for _, p := range out.Problems {
		ps = append(ps, src.at(p.Severity, p.Rule, p.Line, p.Column, "%s", p.Message).hint("%s", p.Hint))
	}
	found := Commands{Checked: true, Python: out.Python, Commands: out.Commands, Groups: out.Groups, MainStart: out.MainStart}
	if !found.MainStart && !ps.Failed() {
		sev := SeverityWarning
		if !target.IsExpress() {
			sev = SeverityError
		}
		ps = append(ps, src.at(sev, "no-start", 0, 0, "start() is not called").
			hint(`end with: if __name__ == "__main__": start(int(os.environ.get("ABX_SERVER_PORT", "9000")))`))
	}
	return found, ps.sorted()
}

// secretLines finds secrets by their looks.
func secretLines(src source) Problems {
	var ps Problems
	for i, line := range src.lines {
		if kind := SecretText(line); kind != "" {
			ps = append(ps, src.at(SeverityError, "secret", i+1, 0, "the line holds what looks like %s", kind).hint("read it from the environment").secret())
		}
	}
	return ps
}

// checkAnswer is what the script prints.
type checkAnswer struct {
	Python   string `json:"python"`
	Problems []struct {
		Severity Severity `json:"severity"`
		Rule     string   `json:"rule"`
		Line     int      `json:"line"`
		Column   int      `json:"column"`
		Message  string   `json:"message"`
		Hint     string   `json:"hint"`
	} `json:"problems"`
	Commands  []Command `json:"commands"`
	Groups    []string  `json:"groups"`
	MainStart bool      `json:"main_start"`
}

func runCheck(ctx context.Context, python string, data []byte) (checkAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-I", "-S", "-W", "ignore", "-c", commandsCheck)
	cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	// It bounds the reading of what was said after the end, too, which a busy
	// machine may put off for a while.
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdin = bytes.NewReader(data)
	out, errs := &capped{max: maxCheckOutput}, &capped{max: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, errs
	var ans checkAnswer
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ans, context.Cause(ctx)
		}
		return ans, fmt.Errorf("%w: %s", err, client.OneLine(lastLine(errs.b.String()), 200))
	}
	if err := json.Unmarshal(out.b.Bytes(), &ans); err != nil {
		return ans, fmt.Errorf("its answer cannot be read: %w", err)
	}
	return ans, nil
}

// errTooMuch ends a check that says too much.
var errTooMuch = errors.New("too much output")

// capped is a buffer that refuses to grow over max bytes.
type capped struct {
	b   bytes.Buffer
	max int
}

func (c *capped) Write(p []byte) (int, error) {
	if c.b.Len()+len(p) > c.max {
		return 0, errTooMuch
	}
	return c.b.Write(p)
}

func lastLine(s string) string {
	lines := bytes.Split(bytes.TrimSpace([]byte(s)), []byte("\n"))
	return string(lines[len(lines)-1])
}
