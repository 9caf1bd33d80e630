package client

// Metadata keys that abxdash puts on everything it creates, so that strays can
// be told apart from work in progress. They hold no secret.
const (
	MetaName    = "name"
	MetaOwner   = "abxdash.user"
	MetaHost    = "abxdash.host"
	MetaStarted = "abxdash.started-by" // "dashboard", "cli", "try", "mcp"
	MetaProtect = "abxdash.protect"    // "true" on a protected sandbox
)

// Protected reports whether s is marked as not to be killed in bulk.
func Protected(s Sandbox) bool { return s.Metadata[MetaProtect] == "true" }
