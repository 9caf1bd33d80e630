package present

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"abxdash/client"
)

// Bounds of reading the environment.
const (
	secretsTime = 10 * time.Second
	maxEnviron  = 1 << 20
)

// secretName is what names of secrets look like.
var secretName = regexp.MustCompile(`(?i)(key|token|secret|passw|passphrase|passwd|pwd$|credential|auth|cookie|private|signature|dsn|bearer)`)

// EnvSecrets are the values in the environment of a sandbox's commands that are
// to be masked: those whose name says so, and passwords within addresses.
func EnvSecrets(ctx context.Context, p client.Provider, id client.ID) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, secretsTime)
	defer cancel()
	out, err := client.RunToEnd(ctx, p, id, client.Command{Argv: []string{"/bin/sh", "-c", "env -0 2>/dev/null || env"}, Timeout: secretsTime})
	if err != nil {
		return nil, err
	}
	if !out.Exit.OK() {
		return nil, fmt.Errorf("env: %s", out.Exit)
	}
	if len(out.Stdout) > maxEnviron {
		return nil, fmt.Errorf("the environment has more than %d bytes", maxEnviron)
	}
	return secretsIn(out.Stdout), nil
}

func secretsIn(environ []byte) []string {
	sep := []byte{0}
	if !bytes.Contains(environ, sep) {
		sep = []byte{'\n'}
	}
	var out []string
	for _, line := range bytes.Split(environ, sep) {
		name, value, ok := strings.Cut(string(line), "=")
		if !ok || value == "" {
			continue
		}
		if secretName.MatchString(name) {
			out = append(out, value)
			// A terminal shows the lines of a value apart.
			for part := range strings.SplitSeq(value, "\n") {
				out = append(out, strings.TrimSpace(part))
			}
		}
		if u, err := url.Parse(value); err == nil && u.User != nil {
			if pw, ok := u.User.Password(); ok {
				out = append(out, pw)
			}
		}
	}
	return out
}
