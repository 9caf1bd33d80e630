// Package plugin is providers that are not built in: programs (kind exec, JSON
// lines on standard input and output), services (kind rest, the same messages
// over HTTP) and JavaScript run by node (kind node, treated as exec). A manifest
// describes each; installing pins it by a checksum.
package plugin
