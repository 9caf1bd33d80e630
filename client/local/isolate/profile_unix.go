//go:build linux || darwin

package isolate

import (
	"maps"
	"os"

	"abxdash/client/local/envd"
)

// systemProfile is where NixOS keeps the system's programs: a link into the
// store, in a folder that a sandbox has an own one of.
const systemProfile = "/run/current-system"

// withProfile adds the system's profile to the PATH of commands where there is
// one and the sandbox's creator has not set another.
func withProfile(env map[string]string) map[string]string {
	bin := systemProfile + "/sw/bin"
	if info, err := os.Stat(bin); err != nil || !info.IsDir() || env["PATH"] != "" {
		return env
	}
	out := maps.Clone(env)
	if out == nil {
		out = map[string]string{}
	}
	out["PATH"] = envd.DefaultPath + ":" + bin
	return out
}
