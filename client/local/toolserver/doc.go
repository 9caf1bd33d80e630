// Package toolserver is the port-9000 server of a local sandbox: the groups and
// routes of agent-sandbox-server §2 to §6, in Go. The agent serves it when
// nothing inside listens on that port, so a template's own server takes its
// place by starting.
//
// Which groups are on follows the reference: core, commands, file_ops, process,
// terminal and system are; dev_tools, browser and agents are turned on by
// ABX_SERVER_ENABLED_GROUPS in the sandbox's environment, or by a commands.py
// that enables them. A route of a group that is off answers 404 and names the
// group. With ABX_SERVER_TOKEN set, every route but health and capabilities
// wants it in X-Access-Token.
//
// Named commands come from /home/user/app/commands.py, which runs in the
// sandbox's python3: with the real agent_sandbox.server package where that is
// installed, else with the strict stand-in of commandserver, and then the
// answers say so.
//
// Agent sessions are turns of a program that ABX_AGENT_COMMAND names; see
// turn.go for what it reads and writes.
//
// What this server does with files it does below the home alone, through a
// descriptor: it has more rights than the sandbox's user. Every program is
// started as that user.
package toolserver
