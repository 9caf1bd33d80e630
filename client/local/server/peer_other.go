//go:build !linux && !darwin

package server

import (
	"errors"
	"net"
)

// PeerUID is not to be had here: there is no local server on this system.
func PeerUID(*net.UnixConn) (int, error) { return -1, errors.ErrUnsupported }
