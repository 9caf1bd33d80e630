package local

import (
	"os"

	"abxdash/client/local/isolate"
)

// Names by which the binary knows, as argv[0], which part it plays.
const (
	spawnName   = "abxdash-local-start"
	serverName  = "abxdash-local-server"
	janitorName = "abxdash-local-janitor"
)

// Reexec runs the part that this process was started for: the first process
// of a sandbox, the local server, its janitor, or the step between that
// detaches the server. It returns false in an ordinary start. main and every
// TestMain of a package that starts a local server call it before anything
// else and return at once when it is true.
func Reexec() bool {
	if isolate.IsInit() {
		isolate.InitMain()
		return true
	}
	if isolate.IsContainerInit() {
		isolate.ContainerMain()
		return true
	}
	switch os.Args[0] {
	case spawnName:
		spawnMain()
	case serverName:
		serverMain()
	case janitorName:
		janitorMain()
	default:
		return false
	}
	return true
}
