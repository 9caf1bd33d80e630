// Package client is what the rest of abxdash, and any other Go program, needs
// from a sandbox provider: plain domain types, a [Provider] made of small
// capability interfaces, and one typed [Error] with stable codes.
//
// Every provider lives in a sub-package (client/e2b speaks the E2B dialect,
// client/local is this machine, client/fake is in memory) and keeps its wire
// types to itself. Nothing here imports terminal code.
package client
