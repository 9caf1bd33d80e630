package envd

import (
	"slices"
	"testing"
)

func TestShellHere(t *testing.T) {
	env := []string{"A=b", "PATH=/none:relative:/opt/bin:/usr/bin"}
	for _, c := range []struct {
		cmd, want string
		have      []string
	}{
		{"/bin/bash", "/bin/bash", []string{"/bin/bash", "/opt/bin/bash", "/bin/sh"}},
		{"/bin/bash", "/opt/bin/bash", []string{"/usr/bin/bash", "/opt/bin/bash", "/bin/sh"}},
		{"/bin/bash", "/bin/sh", []string{"relative/bash", "/bin/sh"}},
		{"/bin/bash", "/bin/bash", nil},
		{"bash", "bash", []string{"/bin/sh"}},
		{"/usr/bin/bash", "/usr/bin/bash", []string{"/bin/sh"}},
	} {
		if got := shellHere(c.cmd, env, func(p string) bool { return slices.Contains(c.have, p) }); got != c.want {
			t.Errorf("%s with %v: %s, want %s", c.cmd, c.have, got, c.want)
		}
	}
}
