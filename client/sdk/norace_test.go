//go:build unix && !race

package sdk_test

// bigOutput is how many bytes the big test moves; checkMemory says that the
// client's memory can be judged.
const (
	bigOutput   = 1 << 30
	checkMemory = true
)
