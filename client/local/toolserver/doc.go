// Package toolserver is the port-9000 server of a local sandbox: the routes of
// agent-sandbox-server §4 and §5 that a sandbox can have without an image. The
// agent serves it when nothing inside listens on that port, so a template's own
// server takes its place by starting.
//
// On: core, commands (none are named until a template's server runs), file_ops
// without search and archive, process without streams, system. Off: terminal,
// dev_tools, browser, agents; a route of a group that is off answers 404 and
// names it.
package toolserver
