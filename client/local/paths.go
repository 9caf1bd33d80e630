package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"

	"abxdash/client"
)

// paths is where the local server lives. What finds the server (run) follows
// from the home folder alone, so that a cron job or a shell without XDG
// variables meets the same one (product.md §2).
type paths struct {
	run, state                        string
	socket, lock, startLock, log, old string
	// templates holds saved templates and snapshots.
	templates string
}

// resolve finds the folders without touching any.
func (c Config) resolve() (paths, error) {
	root := c.Root
	if root == "" {
		root = os.Getenv("ABXDASH_HOME")
	}
	if root != "" {
		if !filepath.IsAbs(root) {
			return paths{}, &client.Error{
				Op: "local server", Provider: Name, Code: client.CodeConfig,
				Message: fmt.Sprintf("ABXDASH_HOME must be an absolute path, not %q", client.OneLine(root, 80)),
			}
		}
		return pathsIn(filepath.Join(root, "state", "local"), ""), nil
	}
	home, err := homeDir()
	if err != nil {
		return paths{}, err
	}
	state := ""
	if x := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(x) {
		state = filepath.Join(x, "abxdash", "local")
	}
	return pathsIn(filepath.Join(home, ".local", "state", "abxdash", "local"), state), nil
}

func pathsIn(run, state string) paths {
	if state == "" {
		state = run
	}
	in := func(name string) string { return filepath.Join(run, name) }
	return paths{
		run: run, state: state,
		socket: in("server.sock"), lock: in("server.lock"), startLock: in("start.lock"),
		log: in("server.log"), old: in("server.log.old"),
		templates: filepath.Join(state, "templates"),
	}
}

// homeDir is HOME, or the account's folder where HOME is not set (cron, sudo).
func homeDir() (string, error) {
	if h := os.Getenv("HOME"); filepath.IsAbs(h) {
		return filepath.Clean(h), nil
	}
	u, err := user.Current()
	if err == nil && filepath.IsAbs(u.HomeDir) {
		return filepath.Clean(u.HomeDir), nil
	}
	return "", &client.Error{
		Op: "local server", Provider: Name, Code: client.CodeLocalServer, Err: err,
		Message: "no home folder: HOME is not set and the account has none",
		Hint:    "set HOME or ABXDASH_HOME",
	}
}

// prepare makes the folders, or says what is wrong with them.
func (p paths) prepare() error {
	for _, dir := range []string{p.run, p.state} {
		if err := privateDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// privateDir makes dir with mode 0700 and checks that it is ours alone.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return folderError(dir, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return folderError(dir, err)
	}
	if err := checkOwner(dir, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 == 0 && info.Mode().Perm()&0o700 == 0o700 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return folderError(dir, err)
	}
	return nil
}

func folderError(dir string, err error) error {
	var pe *fs.PathError
	why := err
	if errors.As(err, &pe) {
		why = pe.Err
		dir = pe.Path
	}
	return &client.Error{
		Op: "local server", Provider: Name, Code: client.CodeLocalServer, Err: err,
		Message: fmt.Sprintf("cannot use the folder %s: %v", client.OneLine(dir, 200), why),
		Hint:    "check its owner and mode, or set ABXDASH_HOME to a folder of yours",
	}
}

// checkOwner refuses what belongs to another user.
func checkOwner(path string, info fs.FileInfo) error {
	uid, ok := ownerOf(info)
	if me := os.Geteuid(); ok && uid != me {
		return &client.Error{
			Op: "local server", Provider: Name, Code: client.CodeLocalServer,
			Message: fmt.Sprintf("%s belongs to user id %d, this is user id %d", client.OneLine(path, 200), uid, me),
			Hint:    "run abxdash as its owner, or set ABXDASH_HOME to a folder of yours",
		}
	}
	return nil
}
