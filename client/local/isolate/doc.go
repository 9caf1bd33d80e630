// Package isolate starts one sandbox as a process tree of this very binary and
// ends it so that nothing is left.
//
// Two levels exist. `namespace` (Linux) is a set of kernel namespaces with a
// private root; `process` is a supervisor with a private home and no boundary.
// [Launcher.Probe] finds out by trying which one the machine has.
//
// # Process tree
//
//	local server           Launcher
//	  abxdash-init         PID 1 of the sandbox: root set-up, envd agent, reaper, port relay
//	    abxdash-spawn      starts the commands; lives in a user namespace inside
//	    user processes     children of PID 1, in the namespace of abxdash-spawn
//
// PID 1 holds capabilities over the sandbox's namespaces, the commands hold
// none: they run as uid 1000 in a user namespace of their own, one for the whole
// sandbox, so that they can neither undo the mounts nor touch PID 1, but can
// trace and signal each other. No further user namespace can be made inside.
//
// At level `process` the supervisor takes the part of PID 1 and starts commands
// itself.
//
// # How it ends
//
// `namespace`: the kernel kills every member when PID 1 dies; it dies by
// [Sandbox.Kill], with the launcher's thread (parent-death signal), and when the
// pipe that the launcher holds is closed. `process`: the supervisor adopts
// orphans and stops, then kills, its descendants until wait says there are none;
// it does so on [Sandbox.Kill], on SIGTERM and when the pipe closes. If the
// supervisor itself is killed, background daemons can survive.
//
// The configuration travels over that pipe, never in argv or the environment.
package isolate
