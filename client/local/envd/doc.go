// Package envd is the agent inside a local sandbox: envd's HTTP API and its two
// Connect services (e2b-protocol §7 to §10), on top of a [Spawner] that knows
// how processes are started at the isolation level in force.
//
// The agent may be PID 1 of the sandbox, where one reaper owns every exit
// status. It therefore starts processes through the Spawner only and never
// waits for one itself.
//
// # Where it differs from the reference on purpose
//
// Keepalive intervals are clamped to 1 s and up (the reference crashes on 0).
// Data before start on StreamInput is invalid_argument. Lookup by tag finds the
// most recent process of that tag, however many tags there are.
//
// Subscribers. A process with one subscriber has true back-pressure: output is
// never dropped, and the process waits as it would for a slow pipe. With
// several, each has a buffer of its own; one that has made no room for 250 ms
// while the others wait is cut off with resource_exhausted, which tells it to
// attach again. With none, output is read and thrown away.
//
// End of a process. The end event follows the last byte that the process itself
// wrote. A descendant that keeps the pipes open delays it by 250 ms at most; its
// later output is read and thrown away, so that it neither blocks nor gets
// SIGPIPE. SendSignal does not cut output short. The end is kept 30 s for Connect.
//
// Connect-Timeout-Ms on Start kills the process with its group and its session,
// also when the caller has gone; the stream ends with deadline_exceeded.
//
// Uploads go to a temporary file beside the target and are renamed, so a cut
// upload leaves nothing and a reader sees the old or the new content. A target
// that is a hard link is thereby unlinked from its twins; a symbolic link is
// followed. Targets that are not regular files are refused (400).
//
// Cross-origin requests. The reference allows every origin. This server sends
// no CORS headers: a page in a browser must not be able to drive a sandbox.
//
// A machine without /bin/bash, which SDKs ask for, runs the bash of the
// command's PATH instead, else /bin/sh.
//
// RPC responses are never compressed (the transport is local); compressed
// requests are understood. Chunks that wait for one subscriber travel as one
// event of at most 64 KiB.
//
// Watches show an upload as the create and write that it means, not as the
// rename that it is. A recursive watch tells what a new directory already held,
// so a name may be told twice. Changes that were lost are resource_exhausted:
// it ends a WatchDir stream, and is told once by GetWatcherEvents.
//
// # What the agent refuses to touch
//
// The agent has more rights than the sandbox's user, so a path is resolved once,
// without the kernel's magic links (/proc/PID/root, cwd, exe, fd), and used
// through the descriptor that was checked. Content and lists below /proc/PID are
// refused for every process, the agent's own first of all, and nothing is
// written to /proc or /sys.
package envd
