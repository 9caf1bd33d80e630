// Package isolate starts one sandbox as a process tree of this very binary and
// ends it so that nothing is left.
//
// Three levels exist beside `container` (see below). `namespace` (Linux) is a set of kernel namespaces with a
// private root; `process+landlock` (Linux) is a supervisor whose programs write
// only in their home; `process` is the same without that limit. [Launcher.Probe]
// finds out by trying which one the machine has, and [Describe] says what it is worth.
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
// to be told not to; so do programs for another architecture (32-bit ones
// on a 64-bit kernel), whose system calls the filter does not know. The home's path on the host shows in /proc/self/mountinfo.
// Supplementary groups of an ordinary user stay, because they cannot be dropped
// without privileges; nothing but /usr is there for them to open.
//
// At level `process` the supervisor takes the part of PID 1 and starts commands
// itself. no_new_privs is set there too, so sudo does not work and no descendant
// can put itself out of reach of the kill. With Landlock the supervisor confines
// itself, agent included, and starts again: what it may read is the home and
// the system's folders, and TMPDIR is in the home. Root's sandboxes of these levels
// have root's other rights; they must be asked for.
//
// # Spare
//
// After [Launcher.KeepSpare] one PID 1 waits, with namespaces, groups, abxdash-spawn
// and most of its root, to be told which sandbox it is. It runs no command before.
// Until then its mounts follow the host's where those are shared; what it took into
// its root is private from the start, and compared with the host's when it is used.
//
// # System calls
//
// At level `namespace` the commands do not get the calls that make or enter
// namespaces, mount, load code into the kernel or reach large rarely used parts of
// it (seccomp_linux.go has the list); clone3 and io_uring do not exist for them.
// ptrace stays, so that debuggers work: it reaches the sandbox's commands only.
//
// # Cgroups
//
// Where this process may make cgroups (version 2, version 1 or both beside each
// other), each sandbox has some: for pausing, limits, metrics and as a second way to
// end everything. [Means] says what is in use. The starter of commands is in
// the commands' group of version 2: the kernel lets no process start another one
// into a group as a child of a third. It is frozen along with them and counts for
// their limits with up to 16 threads and a few MiB; PID 1 asks nothing of it while
// paused. Groups of a launcher that died are removed by the next one, by
// [KillByIdentity] and by [SweepGroups]. Without a cgroup: pausing by
// signals, RLIMIT_NPROC and RLIMIT_DATA at level `namespace`, no limit of CPU
// time, and metrics from /proc. With one, /proc/self/cgroup shows its path on the
// host where the mount option nsdelegate is set.
//
// # Containers
//
// [Containers] starts sandboxes of level `container` with a Docker engine. Init is
// the same program, bind-mounted, and is PID 1 of the container; it starts the commands
// itself, as its own user, and keeps them out of it by not being dumpable. They
// can lower its resource limits and send it signals, none of which ends it. It gets
// by a socket what it inherits at the other levels (container_parts_linux.go). The
// engine freezes, limits and removes; a SIGKILL to PID 1 ends everything without it.
//
// # Network
//
// With [NetworkProxy] programs that know proxies reach what [Egress] lists, by
// HTTP and CONNECT. Names are looked up outside and the address that was checked is
// the one that is dialled. [Sandbox.SetEgress] replaces the rules; what is connected
// stays so. There is no other DNS and no UDP. The proxy itself
// uses no proxy of the host's.
//
// # Mounted folders
//
// [Mount] shows a folder of the host, without set-user-id and devices, and then no
// command can make a set-user-id file anywhere. mounts_linux.go says who owns what.
// Sockets in such a folder can be connected to by whoever may on the host.
//
// Config.Places are folders outside the home that are the sandbox's own, such as
// /app. They are mounts of folders in the home ([PlacesDir]), so that whoever copies
// the home has them, too, and belong to the commands.
//
// # How it ends
//
// `namespace`: the kernel kills every member when PID 1 dies; it dies by
// [Sandbox.Kill], with the launcher's thread (parent-death signal), and when the
// pipe that the launcher holds is closed. `process`: the supervisor adopts
// orphans and stops, then kills, its descendants until wait says there are none;
// it does so on [Sandbox.Kill], on SIGTERM and when the pipe closes. If the
// supervisor itself is killed, background daemons can survive, unless there is a
// cgroup of version 2, which ends them.
//
// The configuration travels over that pipe, never in argv or the environment.
package isolate
