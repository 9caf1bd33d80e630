package present

import (
	"bytes"
	"encoding/json"
	"strings"

	"abxdash/client"
)

// RawJSON is the provider's JSON indented, or ours if it was not kept. Values
// that look like credentials are masked, whatever the provider promised.
func RawJSON(sb client.Sandbox) string {
	data := sb.Raw
	if data == nil {
		ours, err := json.Marshal(JSON(sb, nil))
		if err != nil {
			return err.Error()
		}
		data = ours
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v json.RawMessage
	if err := dec.Decode(&v); err != nil {
		return string(data)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, v, "", "  "); err != nil {
		return string(data)
	}
	lines := strings.Split(out.String(), "\n")
	for i, l := range lines {
		lines[i] = maskLine(l)
	}
	return strings.Join(lines, "\n")
}

// maskLine masks the text after a key that names a credential. In indented JSON
// a key and its text are on one line.
func maskLine(line string) string {
	key, value, ok := strings.Cut(line, `": "`)
	if !ok || value == "" {
		return line
	}
	name := strings.ToLower(key[strings.LastIndexByte(key, '"')+1:])
	for _, word := range []string{"token", "secret", "password", "apikey", "api_key", "authorization", "credential"} {
		if strings.Contains(name, word) {
			end := `"`
			if strings.HasSuffix(value, ",") {
				end = `",`
			}
			return key + `": "…` + end
		}
	}
	return line
}
