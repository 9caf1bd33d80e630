package present

import (
	"strings"
	"testing"

	"abxdash/client"
)

func TestRawJSON(t *testing.T) {
	for _, tt := range []struct{ raw, has, hasNot string }{
		{`{"a":{"b":[1,2]}}`, "\"a\": {\n    \"b\"", ""},
		{`{"accessToken":"s3cret","x":1}`, `"accessToken": "…",`, "s3cret"},
		{`{"apiKey":"s3cret"}`, `"apiKey": "…"`, "s3cret"},
		{`{"n":12345678901234567890123}`, "12345678901234567890123", ""},
		{`not json`, "not json", ""},
	} {
		got := RawJSON(client.Sandbox{Raw: []byte(tt.raw)})
		if !strings.Contains(got, tt.has) || tt.hasNot != "" && strings.Contains(got, tt.hasNot) {
			t.Errorf("%s became %s", tt.raw, got)
		}
	}
	if got := RawJSON(client.Sandbox{ID: "i1", Provider: "p"}); !strings.Contains(got, `"id": "i1"`) {
		t.Errorf("without the provider's own: %s", got)
	}
}
