// Package cli holds the commands that work without the dashboard. They get
// their providers and everything else from outside as an [App], print plain
// text or the documented JSON on standard output, and say what went wrong in
// one line (and one hint) on standard error.
package cli
