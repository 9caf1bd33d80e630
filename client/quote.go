package client

import "strings"

// ShellQuote writes a word so that a POSIX shell reads it back as it is, without
// quotes where none are needed.
func ShellQuote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,+%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ShellJoin makes a command of a POSIX shell that runs argv.
func ShellJoin(argv []string) string {
	words := make([]string, 0, len(argv))
	for i, a := range argv {
		w := ShellQuote(a)
		// A shell takes A=b in front of a command for an assignment.
		if i == 0 && w == a && strings.Contains(a, "=") {
			w = "'" + a + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}
