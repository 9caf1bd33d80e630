package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"abxdash/client"
)

// Names inside the state folder. Each run of the server has one instance: a
// folder and, beside it, a lock file that the running server holds. Whoever
// gets the lock of an instance knows that its server is dead; no process id is
// needed for that.
const (
	instancesDir = "instances"
	sandboxesDir = "sandboxes"
	lockSuffix   = ".lock"
	metaFile     = "meta.json"
)

// meta is sandboxes/<id>/meta.json: what it takes to end a sandbox whose server
// is dead. It holds no secret and nothing the user typed.
type meta struct {
	ID        string           `json:"id"`
	PID       int              `json:"pid"`
	StartTime uint64           `json:"start_time"`
	Level     client.Isolation `json:"level"`
	// Boot names the boot that PID and StartTime belong to.
	Boot string `json:"boot"`
}

func writeMeta(dir string, m meta) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, metaFile), append(data, '\n'), 0o600)
}

// InstanceDir names the folder and the lock of one run of the server.
type InstanceDir struct {
	// Dir is the folder, mode 0700.
	Dir string
	// LockPath is the file beside it.
	LockPath string
	lock     *os.File
}

// NewInstance makes the folder of this run below stateDir and takes its lock.
func NewInstance(stateDir string) (*InstanceDir, error) {
	root := filepath.Join(stateDir, instancesDir)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	name := newID()
	in := &InstanceDir{Dir: filepath.Join(root, name), LockPath: filepath.Join(root, name+lockSuffix)}
	for {
		lock, got, err := TryLock(in.LockPath)
		if err != nil {
			return nil, fmt.Errorf("lock the instance folder: %w", err)
		}
		if got {
			in.lock = lock
			break
		}
		// A sweep took the file between its making and its locking.
	}
	if err := os.MkdirAll(filepath.Join(in.Dir, sandboxesDir), 0o700); err != nil {
		return nil, errors.Join(err, in.Remove())
	}
	return in, nil
}

// Remove removes the folder and the lock of a run that holds nothing any more.
func (in *InstanceDir) Remove() error {
	err := removeTree(in.Dir)
	if err == nil {
		err = os.Remove(in.LockPath)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, in.lock.Close())
}

// KillFunc ends what is left of the sandbox that the process (pid, startTime)
// held. It is success if that process is gone and left nothing.
type KillFunc func(level client.Isolation, pid int, startTime uint64) error

// Sweep removes instances of dead servers below stateDir: it ends what still
// runs, then removes the folders. Instances of live servers, and those that a
// janitor is at work on, are left alone.
func Sweep(stateDir string, kill KillFunc) error {
	root := filepath.Join(stateDir, instancesDir)
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), lockSuffix)
		if !ok {
			continue
		}
		in := &InstanceDir{Dir: filepath.Join(root, name), LockPath: filepath.Join(root, e.Name())}
		lock, got, err := TryLock(in.LockPath)
		if err != nil || !got {
			errs = append(errs, err)
			continue
		}
		in.lock = lock
		errs = append(errs, in.clear(kill))
	}
	return errors.Join(errs...)
}

// clear ends and removes everything of an instance whose lock is held. The
// lock file goes only when all else is gone, so that the next sweep tries again.
func (in *InstanceDir) clear(kill KillFunc) error {
	dirs, err := os.ReadDir(filepath.Join(in.Dir, sandboxesDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, in.lock.Close())
	}
	var errs []error
	boot := bootID()
	for _, d := range dirs {
		m, err := readMeta(filepath.Join(in.Dir, sandboxesDir, d.Name()))
		if err != nil || m.Boot != boot {
			continue // never started, or of an earlier boot: nothing runs
		}
		errs = append(errs, kill(m.Level, m.PID, m.StartTime))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, in.lock.Close())
	}
	return in.Remove()
}

func readMeta(dir string) (meta, error) {
	var m meta
	data, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, err
	}
	if m.PID <= 1 || m.StartTime == 0 {
		return m, fmt.Errorf("%s names no process", metaFile)
	}
	return m, nil
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
