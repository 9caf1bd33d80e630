// Package local gives real sandboxes on this machine with no account.
//
// It is a provider like any other: a client of the E2B protocol. The server it
// talks to (package server) is one detached process per user, started by the
// first Create, found through a unix socket below the user's home folder, and
// gone by itself a minute after its last sandbox. Looking (List, Get, Status)
// never starts it.
//
// # Processes
//
// main calls [Reexec] before anything else: all of these are the same binary.
//
//	abxdash-local-server    holds the sandboxes; own session, working directory /
//	  abxdash-local-janitor   waits for the server's end, removes what a killed one left
//	  abxdash-init            one per sandbox (package isolate)
//
// # Files
//
//	<run>/server.sock       the socket, mode 0600
//	<run>/server.lock       held by the running server, names its pid
//	<run>/start.lock        held while a command starts the server
//	<run>/server.log        at most about 1 MiB, and one older file
//	<run>/listen-PORT-ca.pem  the authority of a `local listen --tls`, while it runs
//	<state>/instances/<run id>.lock, <run id>/sandboxes/<id>/{home,agent.sock,meta.json}
//	<state>/templates/<template id>/{template.json,<build id>/home}: snapshots; they stay
//
// <run> is ~/.local/state/abxdash/local whatever XDG variables say, so that cron
// and sudo find the same server; <state> follows XDG_STATE_HOME. ABXDASH_HOME
// moves both to $ABXDASH_HOME/state/local. Folders have mode 0700, and whatever
// belongs to another user is refused.
//
// # Other programs
//
// [Provider.Listen] is a front on a loopback TCP port for programs that do not
// know the socket. It holds nothing: the sandboxes are the server's, outlive it,
// and are seen by every command. It starts the server when a request needs it.
// docs/compat.md says what an SDK gets.
//
// # Versions
//
// A server with the same protocol number is used, whatever its version; the
// status carries a note. One of another version that holds nothing is replaced
// by the next Create. One with another protocol number is left alone, its
// sandboxes too, and every call says so (E9010).
package local
