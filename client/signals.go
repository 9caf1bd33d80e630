package client

// SignalNumber is the Linux number of a signal as Go words it ("killed"), 0 if
// unknown. Sandboxes are Linux whatever runs this.
func SignalNumber(name string) int {
	switch name {
	case "hangup":
		return 1
	case "interrupt":
		return 2
	case "quit":
		return 3
	case "illegal instruction":
		return 4
	case "trace/breakpoint trap":
		return 5
	case "aborted":
		return 6
	case "bus error":
		return 7
	case "floating point exception":
		return 8
	case "killed":
		return 9
	case "user defined signal 1":
		return 10
	case "segmentation fault":
		return 11
	case "user defined signal 2":
		return 12
	case "broken pipe":
		return 13
	case "alarm clock":
		return 14
	case "terminated":
		return 15
	}
	return 0
}
