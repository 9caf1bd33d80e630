//go:build linux && !amd64 && !arm64

package isolate

// There is no filter for this architecture.
const (
	filterArch     = 0
	foreignNumbers = 0
	lowHalf        = 0
)

func archRules() []rule { return nil }

func archSetIDRules() []rule { return nil }
