package client

import "time"

// ProviderInfo describes a provider that is configured, or could be, without
// making a call. Nothing in it is secret.
type ProviderInfo struct {
	// Name is what --provider takes; Kind the built-in provider, preset or
	// plug-in behind it.
	Name, Kind, Title string
	// BuiltIn is one of the six, Plugin an installed one, Preset one that only
	// waits for an entry in the configuration.
	BuiltIn, Plugin, Preset bool
	// Ready says that it can be used; otherwise Problem and Hint say what is missing.
	Ready         bool
	Problem, Hint string
	// Needs is what it needs, in one line.
	Needs string
	// Key says where its key is from, "" if it has none. Address is where it is.
	Key, Address string
	// Default marks the one that creates when nothing else was said.
	Default      bool
	Capabilities Capabilities
	// TemplateBase is the image that templates for it are built on, "" for the usual one.
	TemplateBase string
	// Notes are further remarks, one line each.
	Notes []string
}

// AllCapabilities lists every capability there is a name for, in the order in
// which tables show them.
func AllCapabilities() []Capability {
	return []Capability{
		CapCommands, CapPTY, CapReconnect, CapFiles, CapWatch, CapTransfer, CapPorts, CapPause, CapSnapshot,
		CapMetrics, CapLogs, CapNetworkUpdate, CapCode, CapTemplates, CapFolders,
	}
}

// PluginSource is where a plug-in is installed from, and what vouches for it.
type PluginSource struct {
	// Ref is a folder, an archive, or a registry id ("registry:<id>").
	Ref string
	// Checksum is what its files must have, "sha256:…"; "" is unknown.
	Checksum      string
	AllowUnpinned bool
}

// ProviderCheck is the outcome of asking one provider for its list.
type ProviderCheck struct {
	Name string
	OK   bool
	// Detail is what came of it, Hint what to do; one clean line each.
	Detail, Hint string
	Took         time.Duration
}

// KeyTarget says where a key that is typed in would go.
type KeyTarget struct {
	// Variable is the name it is read under, File where it would be kept.
	Variable, File string
	// Address is where it would be sent, "" if that is built in; From says
	// where the address is from, "" for the configuration.
	Address, From string
	// Covered names a stronger place that holds a key already, "" if none does:
	// one that is kept in File does not count against that.
	Covered string
}
