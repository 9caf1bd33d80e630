// Package doctor looks at what abxdash depends on: its configuration, the keys
// of the providers, local sandboxes, and what is beside it on this machine. It
// starts nothing and changes nothing.
package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"abxdash/client"
	"abxdash/client/config"
	"abxdash/client/credentials"
	"abxdash/client/registry"
)

// Level is how a check went.
type Level int

// Levels of a check. Note is worth knowing and no fault.
const (
	OK Level = iota
	Note
	Warn
	Fail
)

// Check is one thing that was looked at.
type Check struct {
	// Name is what was looked at, Detail what was found.
	Name   string
	Level  Level
	Detail string
	// Hint is what to do about it; may be empty.
	Hint string
	// Err is what went wrong, in place of Detail and Hint; nil if nothing did.
	Err error
}

// Options of a run.
type Options struct {
	Version string
	Folders config.Folders
	// Load reads the configuration; Keys is used where that fails.
	Load func() (registry.Options, error)
	Keys func() *credentials.Set
	Log  *slog.Logger
	// DockerSocket is where an engine is looked for, "" for the usual place.
	DockerSocket string
	// LookupEnv is os.LookupEnv; nil looks nothing up.
	LookupEnv func(name string) (string, bool)
}

// Run makes all checks, in the order in which they are read. ctx bounds the probe of local sandboxes.
func Run(ctx context.Context, o Options) []Check {
	out := []Check{{Name: "version", Detail: "abxdash " + o.Version + ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH}}
	loaded, err := o.Load()
	if err != nil {
		out = append(out, Check{Name: "configuration", Level: Fail, Err: err})
		loaded.Keys = o.Keys()
	} else {
		out = append(out, Check{Name: "configuration", Detail: o.Folders.File()})
	}
	out = append(out, Check{Name: "log", Detail: o.Folders.Log()})
	out = append(out, keys(loaded)...)
	out = append(out, localSandboxes(ctx, o, loaded.Config)...)
	return append(out, o.surroundings()...)
}

// keys says of every provider whether there is a key and where it is from.
func keys(o registry.Options) []Check {
	var out []Check
	for _, k := range registry.KeyStates(o) {
		c := Check{Name: "key of " + k.Provider, Detail: k.Source}
		switch {
		case client.CodeOf(k.Err) == client.CodeAuthMissing:
			c.Level, c.Detail = Note, k.Err.Error()
		case k.Err != nil:
			c.Level, c.Err = Fail, k.Err
		case k.Hint != "":
			c.Level, c.Hint = Warn, k.Hint
		}
		out = append(out, c)
	}
	for _, p := range o.Keys.Problems() {
		out = append(out, Check{Name: "environment file", Level: Warn, Detail: p.String()})
	}
	return out
}

// localSandboxes probes the isolation and asks for the local server without starting it.
func localSandboxes(ctx context.Context, o Options, conf config.Config) []Check {
	p, err := registry.NewLocal(conf, o.Version, o.Log)
	if err != nil {
		return []Check{{Name: "local sandboxes", Level: Note, Err: err}}
	}
	defer p.Close()
	facts := p.Doctor(ctx)
	level := Check{Name: "local sandboxes", Detail: "isolation " + string(facts.Level)}
	for _, t := range facts.Tried {
		level.Level = Warn
		level.Hint = fmt.Sprintf("no %s here: %s", t.Level, t.Reason)
	}
	if facts.ProbeErr != nil {
		level = Check{Name: "local sandboxes", Level: Fail, Err: facts.ProbeErr}
	}
	out := []Check{level, {Name: "local folders", Detail: facts.RunDir}}
	for _, text := range facts.Problems {
		out = append(out, Check{Name: "local folders", Level: Fail, Detail: text})
	}
	server := Check{Name: "local server", Detail: "not running; the first create starts it"}
	switch st := facts.Status; {
	case facts.StatusErr != nil:
		server.Level, server.Err = Fail, facts.StatusErr
	case st.Running:
		word := "sandboxes"
		if st.Sandboxes == 1 {
			word = "sandbox"
		}
		server.Detail = fmt.Sprintf("pid %d, %d %s, isolation %s", st.PID, st.Sandboxes, word, st.Isolation)
		if st.Note != "" {
			server.Level, server.Hint = Warn, st.Note
		}
	}
	return append(out, server)
}

// surroundings looks at what is beside abxdash on this machine, without touching it.
func (o Options) surroundings() []Check {
	socket := o.DockerSocket
	if socket == "" {
		socket = "/var/run/docker.sock"
	}
	docker := Check{Name: "docker", Level: Note, Detail: "no engine found at its usual socket; it is optional"}
	if info, err := os.Stat(socket); err == nil && info.Mode()&os.ModeSocket != 0 {
		docker = Check{Name: "docker", Detail: "an engine's socket is at " + socket}
	}
	out := []Check{docker}
	if engine := o.engineSocket(); engine != "" {
		out = append(out, Check{Name: "engine.sock", Level: Note, Detail: engine + " exists; it belongs to another program and is never opened"})
	}
	return out
}

// engineSocket is the shared engine's socket of other tools, "" if there is none.
func (o Options) engineSocket() string {
	var path string
	if o.LookupEnv != nil {
		path, _ = o.LookupEnv("ABX_ENGINE_SOCKET")
	}
	if path == "" && o.Folders.Home != "" {
		path = filepath.Join(o.Folders.Home, ".abx", "engine.sock")
	}
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}
