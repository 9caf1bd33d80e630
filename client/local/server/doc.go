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
//     [HeaderHold] announces a create. [PathStatus] and [PathStop] are ours.
//   - CONNECT with the routing headers gives a raw connection to a port inside.
//   - What the server cannot do is refused (400, 501), never ignored: pause,
//     snapshots, network rules, volumes, templates other than `base`.
package server
