// Package expresstest plays Express for tests: the control plane, the edge with
// one host per port, and behind it real agents that start processes on this
// machine (without isolation: for tests only), a made-up code interpreter and a
// made-up agent-sandbox-server.
//
// It is written from the wire reference (alicloud-express, e2b-protocol), and
// its own tests replay the reference's transcripts against it byte by byte, so
// that client and fake cannot agree on a wrong wire. [Switches] vary what the
// reference leaves open.
package expresstest
