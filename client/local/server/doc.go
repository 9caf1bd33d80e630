// Package server is the local sandbox server: E2B's control plane
// (e2b-protocol §2, §3) and its data plane (§6) for sandboxes on this machine,
// on one unix socket.
//
// A [Server] holds sandboxes that an [Isolator] starts, ends each one at the
// end of its lifetime, and ends itself when it has held none for a while.
// Requests that carry routing headers or a `<port>-<id>` host are passed to the
// sandbox's agent byte for byte; all others are control calls. Only processes
// of the same user are served (the socket's peer credentials decide).
//
// Each run of the server owns one instance folder (see [NewInstance]). A second
// small process, the janitor, waits for the server to end and removes what a
// killed server could not.
//
// # Beyond the protocol
//
//   - Sandboxes bear `isolation`; create and connect answer with all that a list has.
//   - POST /v2/sandboxes and /v2/sandboxes/{id}/connect exist beside the first
//     version: always secure, 300 s when no timeout is named.
//   - Control answers bear [HeaderVersion] and [HeaderProtocol]; a request with
//     [HeaderHold] announces a create. [PathStatus], [PathStop] and
//     [PathCancelBuild] are ours.
//   - CONNECT with the routing headers gives a raw connection to a port inside.
//   - [HeaderFolders] on a create names folders of the host to show or copy.
//   - `cpuCount` and `memoryMB` in a create, or [MetaCPUs] and [MetaMemoryMB] in its
//     metadata, bound a sandbox.
//   - What the server cannot do is refused (400, 501), never ignored: volumes, a
//     pause without memory, images as a base of templates.
//
// # Templates
//
// A template is a saved home with an environment, a working directory, folders
// outside the home ([Spec].Places) and a start command. It comes from a snapshot or from a
// build (e2b-protocol §12), whose steps run in a sandbox that is not to be seen.
// docs/compat.md says what a step can do here.
//
// # Pause, snapshots, logs, metrics
//
// A paused sandbox keeps its processes in memory, and its lifetime stands still.
// A snapshot is a copy of the home folder, taken while the programs stand still,
// and is a template from then on; it is kept below [Options].Store until it is
// deleted. The log of a sandbox holds what the server did with it and the
// processes its agent started, the newest thousand entries; nothing of it is
// written to disk. Metrics are kept at five seconds for an hour and at a minute
// for a day.
//
// # The front
//
// A [Front] answers on a TCP port for programs that do not know the socket. It
// asks for what the socket's permissions otherwise give; see there.
package server
