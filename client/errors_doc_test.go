package client_test

import (
	"os"
	"regexp"
	"testing"
)

// docs/errors.md lists exactly the codes that the program can print.
func TestEveryCodeIsDocumented(t *testing.T) {
	source, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	code := map[string]bool{}
	for _, m := range regexp.MustCompile(`Code = "(E\d{4})"`).FindAllSubmatch(source, -1) {
		code[string(m[1])] = true
	}
	if len(code) < 30 {
		t.Fatalf("only %d codes found in errors.go", len(code))
	}
	doc := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (E\d{4}) \|`).FindAllSubmatch(page, -1) {
		doc[string(m[1])] = true
	}
	for c := range code {
		if !doc[c] {
			t.Errorf("%s is not in docs/errors.md", c)
		}
	}
	for c := range doc {
		if !code[c] {
			t.Errorf("%s is in docs/errors.md but not in errors.go", c)
		}
	}
}
