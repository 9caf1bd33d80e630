package client

// SilenceHinter is found on a provider whose agent is known to lose output.
type SilenceHinter interface {
	// SilenceHint is one line for people whose command wrote nothing at all, ""
	// where that means what it seems to.
	SilenceHint() string
}

// SilenceHint is what p says about a command without any output, "" if nothing.
func SilenceHint(p Provider) string {
	if h, ok := Find[SilenceHinter](p); ok {
		return h.SilenceHint()
	}
	return ""
}
