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
// What follows from this: to the kernel, PID 1 and the commands are one id, so
// a command can lower PID 1's resource limits or priority and thereby end its own
// sandbox; it cannot read, trace or signal PID 1. `kill -9 -1` ends abxdash-spawn
// too, and the next command starts another one. Programs that build their own
// sandbox from user namespaces (browsers, bubblewrap, rootless containers) need
// to be told not to. The home's path on the host shows in /proc/self/mountinfo.
// Supplementary groups of an ordinary user stay, because they cannot be dropped
// without privileges; nothing but /usr is there for them to open.
//
// At level `process` the supervisor takes the part of PID 1 and starts commands
// itself. no_new_privs is set there too, so sudo does not work and no descendant
// can put itself out of reach of the kill.
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
