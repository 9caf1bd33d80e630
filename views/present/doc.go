// Package present holds what the screens and the commands share: how a sandbox
// is worded (columns, ages, remaining lifetimes, sizes, stray reasons, JSON),
// how a text names one (Resolve), how an error is said, and the messages by
// which one view asks another for something. It imports no other view.
//
// Everything that came from a sandbox or a provider passes [Clean] here before
// it can reach a terminal.
package present
