package client

// APIKey is one API key of an account, as its provider lists it: the value is
// not in it. All of it is untrusted text; times are RFC 3339 as sent, "" if unset.
type APIKey struct {
	ID, Name string
	// Mask is the value with its middle hidden.
	Mask         string
	Team, Status string

	CreatedAt, ExpiresAt, LastUsedAt string
}

// Setting is one setting of the configuration file.
type Setting struct {
	// Key is its path with dots, such as "attention.no_bell".
	Key string
	// Value is as YAML has it on one line, "" for one that is not set. What could
	// be a secret is hidden.
	Value string
	// Set says that the file has it.
	Set bool
}
