package lang

import "testing"

// Entries are the translations of the Chinese catalogue by their English text.
func Entries(t *testing.T) map[string]string {
	t.Helper()
	list, err := parse(chinese)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string, len(list))
	for _, e := range list {
		out[e.id] = e.text
	}
	return out
}
