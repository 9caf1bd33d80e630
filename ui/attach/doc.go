// Package attach hands the real terminal to a sandbox session: bytes pass
// through untouched in both directions until the leader key and a second key
// leave. It works inside of a running Bubble Tea program ([Command]) and alone
// ([Run]).
package attach
