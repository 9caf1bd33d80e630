// Package express is the provider alicloud-express: Agent Sandbox, Express
// edition, on Alibaba Cloud. It speaks the E2B dialect (client/e2b) with what
// is different there (alicloud-express §12): its own hosts and regions, a
// shortest lifetime of 60 s, pause and snapshots only where the generation or
// an allow list has them, no logs, and an older list call.
//
// Creating goes through an engine inside this process (client/engine); no other
// program and no socket takes part.
package express
