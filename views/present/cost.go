package present

import "abxdash/client"

// HourlyCost returns what s costs per hour in US dollars and true, or false
// when no rate is known. A sandbox on this machine costs nothing.
func HourlyCost(s client.Sandbox) (float64, bool) {
	switch s.Isolation {
	case client.IsolationProcess, client.IsolationLandlock, client.IsolationNamespace, client.IsolationContainer:
		return 0, true
	default:
		return 0, false
	}
}

// Cost words [HourlyCost]: "$0" or "—".
func Cost(s client.Sandbox) string {
	if _, ok := HourlyCost(s); ok {
		return "$0"
	}
	return TTLUnset
}
