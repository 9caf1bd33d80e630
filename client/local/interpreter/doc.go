// Package interpreter is the code interpreter of a local sandbox: the HTTP API
// that SDKs expect on port 49999 (e2b-protocol §11). The agent serves it inside
// the sandbox when nothing else listens on that port; a kernel is a process of
// the sandbox's user, started by the first piece of code in its language.
//
// Python keeps its state between runs and gives rich results: what an object
// shows of itself (_repr_html_, _repr_png_ and the like), open matplotlib figures
// as PNG, data frames as data. `!command` and `%pip` lines run in a shell.
// JavaScript runs in Node.js's own REPL evaluation, so top-level await works.
// TypeScript needs a Node.js that strips types by itself. Bash keeps variables
// and the working directory.
//
// Differences from the service it stands in for: there are no charts as data, no
// R and no Java; a context's kernel starts when it is first used; and a run
// whose caller goes away is interrupted, then killed if it does not end.
package interpreter
