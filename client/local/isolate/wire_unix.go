//go:build linux || darwin

package isolate

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

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
	Home     int   // the home as a tree to mount; only a spare of root's has it
	Log      int   // what becomes descriptors 1 and 2; only a spare has it
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
	// Spare asks to get ready and to wait for who the sandbox is (spare_unix.go).
	Spare bool
	// HomeDir is Home as the launcher sees it, for a spare.
	HomeDir fileID
}

// fileID tells a file from all others of the machine.
type fileID struct{ Dev, Ino uint64 }

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

// How a spare is told who it is: identityHead bytes with the length of the
// document, in network byte order, along with up to identityFDs descriptors,
// then the document. Its travelling descriptors are positions among those, from 1.
const (
	identityHead = 4
	identityFDs  = 4
)

// travelling are the descriptors that a spare gets with its identity.
func (in *inherited) travelling() []*int {
	return []*int{&in.Listener, &in.Log, &in.Egress, &in.Home}
}

// sendIdentity tells a spare who it is.
func sendIdentity(to *net.UnixConn, c initConfig, files []*os.File) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	if _, _, err := to.WriteMsgUnix(head, unix.UnixRights(fds...), nil); err != nil {
		return err
	}
	_, err = to.Write(text)
	return err
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
