package capture

import (
	"context"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"abxdash/client"
)

const (
	// quickly bounds a command that only looks.
	quickly = 2 * time.Minute
	// maxListed bounds how many names are taken off a sandbox.
	maxListed = 100_000
	maxDepth  = 24
)

// skippedFolders are not entered: a tool fills them, or they belong to one machine.
func skippedFolders() []string {
	return []string{
		"node_modules", ".git", ".cache", ".npm", "__pycache__", ".venv", "venv", ".nvm", ".local/share", ".local/lib", ".local/state",
		".ssh", ".aws", ".gnupg", ".kube", ".docker", ".config", ".abx", ".claude", ".codex", ".vscode-server", ".pytest_cache", ".mypy_cache",
		".agent-sandbox-stand-in", ".agent-sandbox-server", ".abx-root",
	}
}

// silent are skipped folders that nobody misses: they are not named.
func silent(name string) bool {
	switch path.Base(name) {
	case ".cache", ".npm", "__pycache__", ".pytest_cache", ".mypy_cache", ".agent-sandbox-stand-in", ".agent-sandbox-server", ".abx-root":
		return true
	}
	return name == ".local/lib" || name == ".local/state"
}

// run runs a command and returns its output and whether it succeeded.
func (c *capture) run(ctx context.Context, argv ...string) (string, bool, error) {
	out, err := client.RunToEnd(ctx, c.p, c.id, client.Command{Argv: argv, Timeout: quickly})
	return string(out.Stdout), out.Exit.OK(), err
}

// list lists the home. GNU find tells the time of the last change of any kind,
// which unpacking an archive cannot set back; elsewhere folders are read one by
// one and the time of the last writing has to do.
func (c *capture) list(ctx context.Context) ([]candidate, error) {
	home, ok, err := c.run(ctx, "/bin/sh", "-c", `cd && pwd -P`)
	if err != nil {
		return nil, err
	}
	home = strings.TrimRight(home, "\n")
	if !ok || !path.IsAbs(home) {
		return nil, &client.Error{Op: "look at the sandbox", Code: client.CodeFiles, Message: "its home cannot be found"}
	}
	c.out.Home = home
	argv := []string{"find", home, "-xdev", "-mindepth", "1", "-maxdepth", strconv.Itoa(maxDepth), "-type", "d", "("}
	for i, name := range skippedFolders() {
		if i > 0 {
			argv = append(argv, "-o")
		}
		if strings.Contains(name, "/") {
			argv = append(argv, "-path", home+"/"+name)
			continue
		}
		argv = append(argv, "-name", name)
	}
	argv = append(argv, ")", "-prune", "-printf", `d %C@ 0 0 %P\0`, "-o", "!", "-type", "d", "-printf", `%y %C@ %s %m %P\0`)
	text, ok, err := c.run(ctx, argv...)
	if err != nil {
		return nil, err
	}
	// A folder that may not be read makes find fail after it has told the rest.
	if ok || strings.HasSuffix(text, "\x00") {
		found := parseFind(text)
		c.tellRest(found)
		return found.list, nil
	}
	found, err := c.walk(ctx)
	if err != nil {
		return nil, err
	}
	c.tellRest(found)
	return found.list, nil
}

// names are at most maxListed candidates.
type names struct {
	list []candidate
	// more is set when there were others.
	more bool
}

func (n *names) add(f candidate) {
	if len(n.list) >= maxListed {
		n.more = true
		return
	}
	n.list = append(n.list, f)
}

// tellRest says that not all of a very large home was looked at.
func (c *capture) tellRest(n names) {
	if n.more {
		c.leave(".", "over %d names, the rest was not looked at", maxListed)
	}
}

// parseFind reads what find wrote: kind, time, size, mode and name.
func parseFind(text string) names {
	var out names
	for line := range strings.SplitSeq(text, "\x00") {
		f := strings.SplitN(line, " ", 5)
		if len(f) != 5 || f[4] == "" {
			continue
		}
		if f[0] == "d" && silent(f[4]) {
			continue
		}
		seconds, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			continue
		}
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			continue
		}
		mode, err := strconv.ParseUint(f[3], 8, 32)
		if err != nil {
			continue
		}
		out.add(candidate{
			path: f[4], size: size, mode: fs.FileMode(mode) & fs.ModePerm, changed: time.UnixMicro(int64(seconds * 1e6)),
			dir: f[0] == "d", link: f[0] == "l", other: f[0] != "d" && f[0] != "l" && f[0] != "f",
		})
	}
	return out
}

// walk lists the home folder by folder.
func (c *capture) walk(ctx context.Context) (names, error) {
	var out names
	folders := []string{""}
	for len(folders) > 0 && !out.more {
		dir := folders[0]
		folders = folders[1:]
		entries, err := c.p.Files().ReadDir(ctx, c.id, path.Join(c.out.Home, dir))
		switch {
		case err != nil && (dir == "" || ctx.Err() != nil):
			return names{}, err
		case err != nil:
			c.leave(dir, "it could not be read")
			continue
		}
		for _, e := range entries {
			if e.Name == "" || strings.ContainsAny(e.Name, "/\x00") {
				continue
			}
			f := candidate{path: path.Join(dir, e.Name), size: e.Size, mode: fs.FileMode(e.Mode) & fs.ModePerm, changed: e.ModifiedAt}
			switch f.link = e.LinkTarget != ""; {
			case f.link:
			case e.Type == client.FileDir && skipped(f.path):
				if f.dir = true; silent(f.path) {
					continue
				}
			case e.Type == client.FileDir:
				if strings.Count(f.path, "/") < maxDepth {
					folders = append(folders, f.path)
				}
				continue
			case e.Type != client.FileRegular:
				f.other = true
			}
			out.add(f)
		}
	}
	return out, nil
}

// skipped reports whether a folder is not entered.
func skipped(name string) bool {
	for _, s := range skippedFolders() {
		if name == s || !strings.Contains(s, "/") && path.Base(name) == s {
			return true
		}
	}
	return false
}
