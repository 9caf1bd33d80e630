//go:build !unix

package server

import (
	"errors"
	"os"
)

// TryLock is not offered here: there is no local server on this system.
func TryLock(string) (*os.File, bool, error) { return nil, false, errors.ErrUnsupported }
