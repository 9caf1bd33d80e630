package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// maxSockPath is the longest socket path that every kernel we run on takes
// (108 bytes with the final NUL on Linux, 104 elsewhere).
const maxSockPath = 103

// ListenUnix listens on a socket with mode 0600 at path, however long path is.
// Closing the listener does not remove the file.
func ListenUnix(path string) (*net.UnixListener, error) {
	short, done, err := shortPath(path)
	if err != nil {
		return nil, err
	}
	defer done()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		_ = ln.Close()
		return nil, err
	}
	return ln, nil
}

// DialUnix connects to the socket at path, however long path is.
func DialUnix(ctx context.Context, path string) (*net.UnixConn, error) {
	short, done, err := shortPath(path)
	if err != nil {
		return nil, err
	}
	defer done()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", short)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("not a unix connection"), c.Close())
	}
	return u, nil
}

func tooLong(path string) error {
	return fmt.Errorf("the socket path %s is %d bytes long, at most %d are possible", path, len(path), maxSockPath)
}
