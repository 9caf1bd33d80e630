// Package agentserver is a typed client of agent-sandbox-server, the HTTP
// service on port 9000 of a sandbox whose template has it: named commands,
// files, processes, terminals, machine facts, developer tools, a browser and
// agent sessions (reference: agent-sandbox-server).
//
// Only health and named commands are confirmed routes. Every other one is
// optional: one that a server does not offer gives an error matching
// client.ErrUnsupported (E8004), never a crash. For files, processes and
// terminals of a sandbox the provider's own calls are the better choice; this
// client is for what only the server has.
//
// All text in answers is untrusted.
package agentserver
