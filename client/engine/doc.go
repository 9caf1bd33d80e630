// Package engine is what stands between a program and a provider's control
// plane when many calls are made at once: a bound on how many run, one place
// that waits when the provider asks for it (429, Retry-After), and the rule of
// what may be sent twice. It lives inside the process; there is no socket and
// no other program.
//
// It also makes the one HTTP transport that providers share, with proxies,
// extra certificate authorities, and redirects that never carry a key to
// another host.
package engine
