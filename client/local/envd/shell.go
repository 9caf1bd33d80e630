package envd

import (
	"os"
	"path/filepath"
	"strings"
)

// SDKs give every command to this shell (e2b-protocol §9.2). Machines such as
// Alpine and NixOS do not have it there.
const (
	sdkShell   = "/bin/bash"
	plainShell = "/bin/sh"
)

// shellHere is the program to start for cmd. In place of a /bin/bash that the
// machine does not have it is the bash of the command's PATH, else /bin/sh, which
// takes the same -l, -i and -c. Every other command stays what it is.
func shellHere(cmd string, env []string, exists func(path string) bool) string {
	if cmd != sdkShell || exists(sdkShell) {
		return cmd
	}
	for _, kv := range env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if p := filepath.Join(dir, "bash"); filepath.IsAbs(dir) && exists(p) {
				return p
			}
		}
	}
	if exists(plainShell) {
		return plainShell
	}
	return cmd
}

// isProgram reports a file that somebody may execute.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
