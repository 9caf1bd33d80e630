package templates

import (
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"abxdash/client"
)

// Surroundings is what the rules for template.yaml need to know besides it.
type Surroundings struct {
	// Dockerfile tells that the folder has one: then it is the image.
	Dockerfile bool
	// Alias and Repository are those of a deploy, "" if not given; the
	// repository's default is the name.
	Alias, Repository string
}

// Check applies the rules of a target to a parsed template.
func (t *Template) Check(target Target, around Surroundings) Problems {
	c := &checker{t: t}
	c.name()
	c.ps = append(c.ps, CheckNames(around.Alias, around.Repository)...)
	c.capabilities()
	c.ports(target)
	c.size()
	c.keys(around.Dockerfile)
	c.paths()
	c.secrets()
	return c.ps.sorted()
}

// CheckNames refuses reserved names given on the command line. "" is not checked.
func CheckNames(alias, repository string) Problems {
	var ps Problems
	for _, n := range []struct{ what, name string }{{"--alias", alias}, {"the image repository", repository}} {
		if instead := Reserved(n.name); instead != "" {
			ps = append(ps, Problem{
				Severity: SeverityError, Code: client.CodeTemplateParse, Rule: "reserved-name", File: FileTemplate,
				Message: client.OneLine(n.what+" "+strconv.Quote(strings.TrimSpace(n.name))+" is reserved by the platform", maxMessage),
				Hint:    "use " + instead,
			})
		}
	}
	return ps
}

type checker struct {
	t  *Template
	ps Problems
}

func (c *checker) report(sev Severity, rule, key, format string, args ...any) *Problem {
	at, ok := c.t.pos[key]
	if !ok {
		at = c.t.present[key]
	}
	c.ps = append(c.ps, c.t.src.at(sev, rule, at.line, at.column, format, args...))
	return &c.ps[len(c.ps)-1]
}

func (c *checker) has(key string) bool {
	_, ok := c.t.present[key]
	return ok
}

func (c *checker) name() {
	name := strings.TrimSpace(c.t.Name)
	switch {
	case !c.has(keyName):
		c.report(SeverityError, "name", keyName, "name is missing").Hint = "add: name: my-template"
	case name == "":
		c.report(SeverityError, "name", keyName, "name is empty")
	case Reserved(name) != "":
		c.report(SeverityError, "reserved-name", keyName, "the name %q is reserved by the platform", name).Hint = "use " + Reserved(name)
	case !GoodName(name):
		c.report(SeverityWarning, "name", keyName, "the name %q may be refused", name).Hint = "use lower-case letters, digits and dashes, at most 63"
	}
}

func (c *checker) capabilities() {
	seen := map[string]bool{}
	for i, k := range c.t.Capabilities {
		at := keyCapabilities + "." + strconv.Itoa(i)
		switch {
		case !slices.Contains(KnownCapabilities(), k):
			p := c.report(SeverityError, "capability", at, "unknown capability %q", k)
			p.Hint = "known: " + strings.Join(KnownCapabilities(), ", ")
		case seen[k]:
			c.report(SeverityWarning, "capability", at, "capability %q is there twice", k)
		}
		seen[k] = true
	}
	if c.t.Capabilities != nil && len(c.t.Capabilities) == 0 {
		c.report(SeverityWarning, "capability", keyCapabilities, "an empty list declares nothing at all").Hint = "leave the key out for shell, files and code"
	}
}

func (c *checker) ports(target Target) {
	seen := map[int]bool{}
	for i, port := range c.t.Ports {
		at := "ports." + strconv.Itoa(i)
		if owner, ok := reservedPorts()[port]; ok {
			sev := SeverityError
			if !target.IsExpress() {
				sev = SeverityWarning
			}
			c.report(sev, "reserved-port", at, "port %d belongs to %s", port, owner).Hint = "do not listen on 49983, 5000 or 49999"
		}
		if seen[port] {
			c.report(SeverityWarning, "port", at, "port %d is there twice", port)
		}
		seen[port] = true
	}
	if !seen[ServerPort] && len(c.t.Ports) > 0 {
		c.report(SeverityWarning, "port", "ports", "port 9000 is not listed; named commands are served there")
	}
}

func (c *checker) size() {
	cpu, mem, gen := c.t.CPU, c.t.MemoryMB, c.t.Generation
	at := func(old, now string) string {
		if _, ok := c.t.pos[now]; ok {
			return now
		}
		return old
	}
	if cpu != 0 && (cpu < 0 || cpu > 256) {
		c.report(SeverityError, "size", at("cpu_count", "resources.cpu"), "cpu must be more than 0 and at most 256")
	} else if cpu > 1 && int(cpu)%2 != 0 {
		c.report(SeverityWarning, "size", at("cpu_count", "resources.cpu"), "most providers take 1 or an even number of vCPUs")
	}
	switch {
	case mem != 0 && mem < 128:
		c.report(SeverityError, "size", at("memory_mb", "resources.memory"), "memory is in MiB and must be at least 128")
	case mem%2 != 0:
		c.report(SeverityWarning, "size", at("memory_mb", "resources.memory"), "most providers take an even number of MiB")
	}
	if c.has("generation") && gen != 1 && gen != 2 && gen != 0 {
		c.report(SeverityError, "generation", "generation", "generation must be 1 or 2")
	}
}

// keys explains keys that do not do what their names promise (the seed).
func (c *checker) keys(dockerfile bool) {
	if c.has(keyCustomCommands) {
		p := c.report(SeverityError, "custom-commands", keyCustomCommands, "custom_commands is refused by the client")
		p.Hint = "write a function with @command in commands.py"
	}
	if c.has(keyServer) {
		p := c.report(SeverityWarning, "server-block", keyServer, "server: is not applied by deploy")
		p.Hint = "turn groups on in commands.py: table.enable_group(CapabilityGroup.DEV_TOOLS)"
	}
	if !dockerfile {
		return
	}
	for _, key := range []string{keyBase, "system_packages", "python_packages", "node_packages", "commands"} {
		if c.has(key) {
			p := c.report(SeverityInfo, "not-a-build-input", key, "%s is not used: with a Dockerfile, that file is the image", key)
			p.Hint = "do the same in the Dockerfile"
		}
	}
}

func (c *checker) paths() {
	if w := c.t.Workdir; w != "" && !path.IsAbs(w) {
		c.report(SeverityWarning, "workdir", "workdir", "workdir %q is not an absolute path", w)
	}
	for from, to := range c.t.CopyFiles {
		if path.IsAbs(from) || strings.HasPrefix(path.Clean(from), "..") {
			c.report(SeverityError, "copy-files", "copy_files."+from, "copy_files takes files of this folder only, not %q (to %q)", from, to)
		}
	}
}

// secrets refuses values that must not be in a template (the seed).
func (c *checker) secrets() {
	names := make([]string, 0, len(c.t.Env))
	for k := range c.t.Env {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		at := "env." + k
		switch {
		case strings.HasPrefix(k, "E2B_"):
			c.report(SeverityError, "foreign-variable", at, "%s: templates do not write E2B_* variables", k)
		case secretPair(k, c.t.Env[k]), SecretText(c.t.Env[k]) != "":
			p := c.report(SeverityError, "secret", at, "env.%s looks like a secret; secrets never go into a template", k)
			p.Hint = "give it when a sandbox is created: abxdash create -e " + k + "=…"
			*p = p.secret()
		}
	}
	for i, line := range c.t.src.lines {
		if kind := SecretText(line); kind != "" {
			p := c.t.src.at(SeverityError, "secret", i+1, 0, "the line holds what looks like %s; secrets never go into a template", kind)
			c.ps = append(c.ps, p.secret())
		}
	}
}
