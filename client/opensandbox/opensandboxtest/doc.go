// Package opensandboxtest is an OpenSandbox server for tests: the lifecycle API
// and an execd whose commands are real processes of this machine. It behaves
// like the programs do, traps included; golden_test.go replays recorded
// exchanges against it. It separates nothing and is for tests only.
package opensandboxtest
