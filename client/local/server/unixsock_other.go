//go:build !linux

package server

// shortPath can only refuse here: there is no other name for a long path.
func shortPath(path string) (short string, done func(), err error) {
	if len(path) <= maxSockPath {
		return path, func() {}, nil
	}
	return "", nil, tooLong(path)
}
