// Package e2b is a [client.Provider] for every service that speaks the E2B
// dialect: E2B's cloud, self-hosted ones, compatible services, and abxdash's
// own local server. Services differ only in their [Config].
//
// The control plane is plain REST (e2b-protocol §2, §3). Commands and file
// operations go to the in-sandbox agent over Connect (§8 to §10), file contents
// over HTTP (§7.4, §7.5). A command's stream carries no deadline: the agent
// would kill the command with it (§8).
package e2b
