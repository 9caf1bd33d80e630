//go:build race

package local

// raceBuild says that each process waits a second at its end, so that only the
// essential tests run more than once.
const raceBuild = true
