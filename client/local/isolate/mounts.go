package isolate

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"abxdash/client"
)

// ownPlaces are the folders at the top of a sandbox that hold something of the
// sandbox itself; everything below them is taken, too.
func ownPlaces() []string {
	return []string{
		"/bin", "/dev", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/proc", "/root", "/run", "/sbin", "/sys",
		"/tmp", "/usr", "/var",
	}
}

// kernelPlaces are the host's folders that are no files at all.
func kernelPlaces() []string { return []string{"/proc", "/sys", "/dev"} }

// ownRoot reports whether a sandbox at that level has a root of its own.
func ownRoot(l client.Isolation) bool {
	return l == client.IsolationNamespace || l == client.IsolationContainer
}

// below reports whether p is dir or below it.
func below(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// checkMounts makes paths absolute and refuses what must not be shown, or not
// there. The kernel decides about rights when the mount is made.
func checkMounts(cfg Config) ([]Mount, error) {
	const op = "start a local sandbox"
	if len(cfg.Mounts) == 0 {
		return nil, nil
	}
	if !ownRoot(cfg.Level) {
		return nil, client.Usagef(op, "folders can be mounted at the isolation level namespace or container only; copy them instead")
	}
	out := make([]Mount, 0, len(cfg.Mounts))
	for _, m := range cfg.Mounts {
		host, err := hostFolder(m.Host, cfg.Home)
		if err != nil {
			return nil, client.Usagef(op, "mount %s: %v", m.Host, err)
		}
		target, err := mountTarget(m.Target)
		if err != nil {
			return nil, client.Usagef(op, "mount %s: %v", m.Host, err)
		}
		for _, other := range out {
			if below(target, other.Target) || below(other.Target, target) {
				return nil, client.Usagef(op, "mount %s: %s and %s overlap", m.Host, target, other.Target)
			}
		}
		out = append(out, Mount{Host: host, Target: target, ReadOnly: m.ReadOnly})
	}
	return out, nil
}

// checkPlaces refuses what cannot be a folder of its own inside.
func checkPlaces(cfg Config) ([]string, error) {
	const op = "start a local sandbox"
	if len(cfg.Places) == 0 {
		return nil, nil
	}
	if !ownRoot(cfg.Level) {
		return nil, client.Usagef(op, "folders outside the home exist at the isolation level namespace or container only")
	}
	out := make([]string, 0, len(cfg.Places))
	for _, p := range cfg.Places {
		target, err := PlaceOf(p)
		if err != nil {
			return nil, client.Usagef(op, "%v", err)
		}
		for _, m := range cfg.Mounts {
			if below(target, m.Target) || below(m.Target, target) {
				return nil, client.Usagef(op, "%s and %s overlap", target, m.Target)
			}
		}
		if target != "" && !slices.Contains(out, target) {
			out = append(out, target)
		}
	}
	return out, nil
}

// PlaceOf is the folder, of those that [Config].Places can have, in which an
// absolute path inside lies: the one at the top, or below /opt, /srv and /mnt the one
// there. It is "" for a path in the home or in /tmp, where commands write anyway. The
// error says that the path is in a part of the machine that sandboxes only read.
func PlaceOf(p string) (string, error) {
	if !path.IsAbs(p) || strings.ContainsRune(p, 0) {
		return "", fmt.Errorf("%q is no absolute path", p)
	}
	p = path.Clean(p)
	if below(p, HomePath) || below(p, "/tmp") || below(p, "/var/tmp") {
		return "", nil
	}
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	n := 1
	switch parts[0] {
	case "opt", "srv", "mnt":
		n = 2
	}
	if len(parts) >= n {
		if target, err := mountTarget("/" + path.Join(parts[:n]...)); err == nil && parts[0] != "home" {
			return target, nil
		}
	}
	return "", fmt.Errorf("%s is not for sandboxes to write in: take a folder below %s, /opt or /srv, or a new one at the top such as /app", p, HomePath)
}

// hostFolder resolves a folder and makes sure that this process may read it.
func hostFolder(dir, home string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	host, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	f, err := os.Open(host)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", host)
	}
	if _, err := f.Readdirnames(1); os.IsPermission(err) {
		return "", err
	}
	if slices.ContainsFunc(kernelPlaces(), func(p string) bool { return below(host, p) }) {
		return "", fmt.Errorf("%s belongs to the kernel", host)
	}
	// The root too: it holds every home.
	if own, err := filepath.EvalSymlinks(home); err == nil && below(own, host) {
		return "", fmt.Errorf("%s holds the sandboxes' own files", host)
	}
	return host, nil
}

// mountTarget checks where a folder is to be seen.
func mountTarget(target string) (string, error) {
	if !path.IsAbs(target) || strings.ContainsRune(target, 0) {
		return "", fmt.Errorf("the target %q is no absolute path", target)
	}
	t := path.Clean(target)
	taken := slices.ContainsFunc(ownPlaces(), func(p string) bool { return below(t, p) })
	if taken || below(HomePath, t) || t == "/mnt" || t == "/opt" || t == "/srv" {
		return "", fmt.Errorf("the target %s is the sandbox's own; take one below %s or /mnt, or a new name at the top", t, HomePath)
	}
	return t, nil
}
