package templates

import (
	"path"
	"regexp"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// finish applies the rules that need the whole file.
func (l *dockerLint) finish(hasCommands bool) {
	if l.now == nil {
		l.ps = append(l.ps, l.src.at(SeverityError, "no-from", 1, 0, "the file has no FROM").hint("start with: FROM %s", l.target.BaseImage()))
		return
	}
	if l.target.IsExpress() {
		l.expressBase()
		l.noStart()
	} else {
		l.profileBase()
		l.wantsStart()
	}
	if hasCommands {
		l.commandsPlace()
	}
	served := false
	for _, p := range l.now.ports() {
		served = served || p == ServerPort
	}
	if hasCommands && !served {
		l.ps = append(l.ps, l.src.at(SeverityWarning, "port", l.now.line, 1, "port 9000 is not exposed; named commands are served there").hint("add: EXPOSE 9000"))
	}
}

// profileBase says when a plug-in names a base image and this is another one;
// it may still be right, since the image may be made of that one.
func (l *dockerLint) profileBase() {
	if s := l.now.root(); l.target.Base != "" && s.from != l.target.Base {
		l.ps = append(l.ps, l.src.at(SeverityWarning, "base-image", s.line, 1, "%s builds on %s, this on %s", l.target.Provider, l.target.Base, s.from).
			hint("use: FROM %s", l.target.Base))
	}
}

// expressBase checks the base image (the seed).
func (l *dockerLint) expressBase() {
	s := l.now.root()
	want := l.target.BaseImage()
	m := regexp.MustCompile(`^fc-e2b-registry(?:-vpc)?\.([a-z0-9-]+)\.cr\.aliyuncs\.com/runtime/base(?::([^@]+))?(@.*)?$`).FindStringSubmatch(s.from)
	at := func(sev Severity, format string, args ...any) {
		l.ps = append(l.ps, l.src.at(sev, "base-image", s.line, 1, format, args...).hint("use: FROM %s; or name the provider it is for with --provider", want))
	}
	region := l.target.Region
	if region == "" {
		region = DefaultRegion
	}
	switch {
	case m == nil:
		at(SeverityError, "%s needs the platform's base image, not %s", Express, s.from)
	case m[1] != region:
		at(SeverityError, "the base image is of region %s, the target of %s", m[1], region)
	case m[2] == "" && m[3] == "", m[2] == "latest":
		at(SeverityWarning, "the base image has no fixed tag")
	}
}

func (l *dockerLint) noStart() {
	for s := l.now; s != nil; s = s.base {
		for _, n := range []*parser.Node{s.cmd, s.entry} {
			if n == nil {
				continue
			}
			p := l.report(SeverityError, "no-cmd", n, "%s is not allowed: the platform starts the server itself", strings.ToUpper(n.Value))
			p.Hint = "remove the line; it runs: " + l.target.StartCommand()
		}
	}
}

func (l *dockerLint) wantsStart() {
	if from := l.now.root().from; strings.HasPrefix(from, "fc-e2b-registry") {
		p := l.src.at(SeverityError, "base-image", l.now.root().line, 1, "the file is written for %s: %s takes another base image and a CMD", Express, l.target.Provider)
		l.ps = append(l.ps, p.hint("use the folder with --provider %s, or make one with: abxdash template init --provider %s", Express, l.target.Provider))
		return
	}
	n := l.now.start()
	if n == nil {
		l.ps = append(l.ps, l.src.at(SeverityError, "cmd", l.now.line, 1, "%s starts what CMD says, and there is none", l.target.Provider).hint(`add: CMD ["python3", "commands.py"]`))
		return
	}
	if !strings.Contains(n.Original, FileCommands) && !strings.Contains(n.Original, "agent-sandbox-server") {
		l.report(SeverityWarning, "cmd", n, "CMD does not start commands.py").Hint = `the usual form is: CMD ["python3", "commands.py"]`
	}
}

// commandsPlace checks that commands.py is where the platform looks.
func (l *dockerLint) commandsPlace() {
	var all []string
	for s := l.now; s != nil; s = s.base {
		all = append(all, s.placed...)
	}
	want := l.target.CommandsPath()
	if !l.target.IsExpress() {
		want = path.Join(l.now.dir, FileCommands)
	}
	for _, p := range all {
		if p == want {
			return
		}
	}
	where := "it is not copied into the image"
	if len(all) > 0 {
		where = "it is copied to " + all[len(all)-1]
	}
	sev := SeverityError
	if !l.target.IsExpress() {
		sev = SeverityWarning
	}
	l.ps = append(l.ps, l.src.at(sev, "commands-path", l.now.line, 1, "the server looks for %s, and %s", want, where).hint("add: COPY commands.py %s", want))
}
