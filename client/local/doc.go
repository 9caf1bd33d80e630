// Package local gives real sandboxes on this machine with no account.
//
// It is a provider like any other: a client of the E2B protocol. The server it
// talks to (package server) is one detached process per user, started by the
// first Create, found through a unix socket below the user's home folder, and
// gone by itself a minute after its last sandbox. Looking (List, Get, Status)
// never starts it.
//
// main calls [Reexec] before anything else: the server, its janitor and every
// sandbox are processes of the same binary.
package local
