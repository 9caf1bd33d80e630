// Package commandserver holds what serves a template's commands.py on port
// 9000 where the real agent-sandbox-server package is not installed: a strict
// stand-in for `agent_sandbox.server`, in Python, with nothing but the standard
// library.
//
// The stand-in serves health, capabilities and named commands
// (agent-sandbox-server §4, §5) and refuses what the real package refuses:
// start() at import time, names that agent_sandbox.server does not offer, the
// client's names, commands that are not at the top of the file. Wherever its
// result is shown it is called "stand-in".
package commandserver

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed all:python
var python embed.FS

// File is one file of the stand-in.
type File struct {
	// Path is relative to a folder for PYTHONPATH, with slashes.
	Path string
	Data []byte
}

// StandIn lists the stand-in's files.
func StandIn() ([]File, error) {
	var out []File
	err := fs.WalkDir(python, "python", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".py") {
			return err
		}
		data, err := python.ReadFile(name)
		out = append(out, File{strings.TrimPrefix(name, "python/"), data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the stand-in: %w", err)
	}
	return out, nil
}
