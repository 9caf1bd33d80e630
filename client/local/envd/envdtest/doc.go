// Package envdtest starts processes for tests of the agent: with os/exec, as
// the caller, in a home of the test's own. It isolates nothing.
package envdtest
