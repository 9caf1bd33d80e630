package scaffold

import (
	"path"
	"regexp"
	"strings"

	"abxdash/client"
	"abxdash/templates"
)

// HomeFolder is where files of a sandbox's home lie in the template folder.
const HomeFolder = "home"

// imageHome is the home in the image.
const imageHome = "/home/user"

// fromSandbox turns a sandbox's changes into files of the folder and lines of
// the Dockerfile. own is the sandbox's commands.py, nil if it had none.
func fromSandbox(o Options, f *facts) (home []File, own []byte, err error) {
	if o.Kind != FromSandbox {
		return nil, nil, nil
	}
	c := o.Changes
	if c == nil || len(c.Files)+len(c.Python)+len(c.Node) == 0 {
		return nil, nil, client.Usagef("scaffold template", "there are no changes of a sandbox to start from")
	}
	for _, file := range c.Files {
		if file.Path == path.Base(o.Target.Workdir())+"/"+templates.FileCommands {
			own = file.Data
			continue
		}
		file.Path = path.Join(HomeFolder, file.Path)
		home = append(home, file)
	}
	lines, err := installs(c)
	if err != nil {
		return nil, nil, err
	}
	if len(home) > 0 {
		lines = append(lines, copyHome(o.Target)...)
	}
	for _, dir := range c.NodeFolders {
		if !PlainPath(dir) {
			return nil, nil, client.Usagef("scaffold template", "%s is no folder name for a Dockerfile", client.OneLine(dir, 60))
		}
		lines = append(lines, "RUN cd "+path.Join(imageHome, dir)+" && npm install")
	}
	f.extra = strings.Join(lines, "\n") + "\n"
	if len(c.Node)+len(c.NodeFolders) > 0 {
		f.extra = nodeExtra + f.extra
	}
	return home, own, nil
}

// copyHome puts the files into the image's home so that its user may change
// them. Only Express is known to have that user in its base image.
func copyHome(target templates.Target) []string {
	if target.IsExpress() {
		return []string{"COPY --chown=user:user " + HomeFolder + "/ " + imageHome + "/"}
	}
	return []string{"COPY " + HomeFolder + "/ " + imageHome + "/", "RUN chmod -R a+rwX " + imageHome}
}

// installs are the lines that install packages. Their names come out of a
// sandbox, so they are held to what names of packages may be.
func installs(c *Changes) ([]string, error) {
	var out []string
	for _, k := range []struct {
		list    []string
		good    func(text string) bool
		command string
	}{
		{c.Python, PythonPackage, "pip install --no-cache-dir"},
		{c.Node, NodePackage, "npm install -g"},
	} {
		if len(k.list) == 0 {
			continue
		}
		for _, p := range k.list {
			if !k.good(p) {
				return nil, client.Usagef("scaffold template", "%s is no package", client.OneLine(p, 60))
			}
		}
		out = append(out, "RUN "+k.command+" \\\n        "+strings.Join(k.list, " \\\n        "))
	}
	return out, nil
}

// PythonPackage reports whether a text is "name==version" as pip takes it, with
// nothing a shell would read.
func PythonPackage(text string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.+!_-]*$`).MatchString(text)
}

// NodePackage reports the same of "name@version" and npm.
func NodePackage(text string) bool {
	return regexp.MustCompile(`^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-zA-Z0-9~-][a-zA-Z0-9._~-]*@[0-9A-Za-z][0-9A-Za-z.+-]*$`).MatchString(text)
}

// PlainPath reports whether a path needs no quotes in a Dockerfile or a shell.
func PlainPath(p string) bool {
	return p != "" && strings.Trim(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./@+") == "" && !strings.HasPrefix(p, "-")
}
