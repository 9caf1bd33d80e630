// Command abxdash is a terminal dashboard for Agent Sandbox. It lists live
// sandboxes over every provider, streams command output, browses files,
// attaches shells and kills strays safely; without an account it gives real
// local sandboxes.
package main

import (
	"os"

	"abxdash/client/local"
	"abxdash/views/app"
)

// version is set by the build (-X main.version).
var version = "dev"

func main() {
	// The same binary is the local server, its helpers and the first process of
	// every local sandbox.
	if local.Reexec() {
		return
	}
	os.Exit(app.Run(version, os.Args[1:]))
}
