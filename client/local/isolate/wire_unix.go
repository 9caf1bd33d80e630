//go:build linux || darwin

package isolate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"abxdash/client"
)

// Descriptors that init inherits, beside 0 to 2.
const (
	fdConfig = 3 // its configuration, then end of file when the launcher is gone
	fdStatus = 4 // init's one answer
)

// inherited says which further descriptors init has; 0 is none.
type inherited struct {
	Listener int   // the agent's socket; absent for a probe
	Control  int   // what the launcher asks later
	Egress   int   // where the proxy's listening socket goes
	Group    int   // the v2 cgroup of the commands, as a directory
	Mounts   []int // trees of the host to mount, for root
	Tasks    []int // files of v1 cgroups that the thread which starts commands joins
}

// initConfig is what init reads from fdConfig: one JSON document.
type initConfig struct {
	Level       client.Isolation
	ID          string
	Home        string // the host's path, used at level process only
	Hostname    string
	Env         map[string]string
	AccessToken string
	Network     string
	EnvdVersion string
	Limits      Limits
	Mounts      []Mount
	Places      []string
	Workdir     string
	FDs         inherited
	// MemoryGroup says that a cgroup bounds the memory.
	MemoryGroup bool
	// Probe asks to run a command that does nothing, and to serve nothing.
	Probe bool
}

// initStatus is init's answer on fdStatus.
type initStatus struct {
	// Error is what failed, "" when the sandbox is up.
	Error string
}

func sendConfig(w io.Writer, c initConfig) error { return json.NewEncoder(w).Encode(c) }

func sendStatus(w io.Writer, s initStatus) error { return json.NewEncoder(w).Encode(s) }

// readConfig reads the configuration and leaves f at what follows it, which is
// nothing until end of file.
func readConfig(f *os.File) (initConfig, error) {
	var c initConfig
	if err := json.NewDecoder(f).Decode(&c); err != nil {
		return c, fmt.Errorf("read the configuration: %w", err)
	}
	return c, nil
}

// readStatus waits for init's answer.
func readStatus(r io.Reader) error {
	var s initStatus
	switch err := json.NewDecoder(r).Decode(&s); {
	case errors.Is(err, io.EOF):
		return errNoAnswer
	case err != nil:
		return err
	case s.Error != "":
		return errors.New(s.Error)
	}
	return nil
}

// errNoAnswer means that init ended before it was up.
var errNoAnswer = errors.New("the sandbox's first process ended at once")

// defaults fills in what the caller left out.
func (l Limits) defaults() Limits {
	if l.OpenFiles == 0 {
		l.OpenFiles = 65536
	}
	if l.Processes == 0 {
		l.Processes = 512
	}
	if l.TmpBytes == 0 {
		l.TmpBytes = 1 << 30
	}
	return l
}
