// Package record writes and reads recordings of a terminal in the asciicast v2
// format: a JSON header, then one JSON array [seconds, kind, data] a line. It
// knows nothing of sandboxes or screens.
package record
