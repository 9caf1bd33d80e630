package server

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"
)

const (
	janitorTries = 40
	janitorPause = 250 * time.Millisecond
)

// Janitor waits until life ends, that is until the server whose write end it
// is has ended in any way, and then removes what is left of the instance whose
// lock file is lockPath. After an orderly end nothing is.
func Janitor(life io.Reader, lockPath string, kill KillFunc) error {
	// The content means nothing, only the end does.
	_, _ = io.Copy(io.Discard, life)
	in := &InstanceDir{Dir: strings.TrimSuffix(lockPath, lockSuffix), LockPath: lockPath}
	if in.Dir == lockPath || filepath.Base(filepath.Dir(in.Dir)) != instancesDir {
		return errors.New("not an instance: " + lockPath)
	}
	var err error
	for range janitorTries {
		var done bool
		if done, err = in.tidy(kill); done && err == nil {
			return nil
		}
		// The kernel may still be ending a sandbox whose start the server
		// had not noted yet: its files can come back for a moment.
		time.Sleep(janitorPause)
	}
	return err
}

// tidy clears the instance if it is still there and nobody else is at it.
func (in *InstanceDir) tidy(kill KillFunc) (done bool, err error) {
	there, err := exists(in.LockPath)
	if err != nil || !there {
		return !there, err
	}
	lock, got, err := TryLock(in.LockPath)
	if err != nil || !got {
		return false, err
	}
	in.lock = lock
	return true, in.clear(kill)
}
