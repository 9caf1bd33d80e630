package check

import (
	"strconv"
	"strings"

	"abxdash/client"
	"abxdash/client/agentserver"
)

// arguments makes sensible arguments for a command: those given, a value for
// each required one, and a name for whoever wants one. What has a default is
// left to it.
func arguments(cmd agentserver.Command, given map[string]string) (map[string]any, error) {
	out := map[string]any{}
	for _, a := range cmd.Args {
		if text, ok := given[a.Name]; ok {
			v, err := value(a, text)
			if err != nil {
				return nil, err
			}
			out[a.Name] = v
			continue
		}
		if a.Required || a.Type == "string" && strings.EqualFold(a.Name, "name") {
			out[a.Name] = sample(a)
		}
	}
	for k, v := range given {
		if _, ok := out[k]; !ok {
			out[k] = v // the server says what is wrong with it
		}
	}
	return out, nil
}

// value reads a text as the argument's type.
func value(a agentserver.Argument, text string) (any, error) {
	var (
		v   any = text
		err error
	)
	switch a.Type {
	case "integer":
		v, err = strconv.ParseInt(text, 10, 64)
	case "float":
		v, err = strconv.ParseFloat(text, 64)
	case "boolean":
		v, err = strconv.ParseBool(text)
	}
	if err != nil {
		return nil, client.Usagef("read the arguments", "%s must be of type %s", client.OneLine(a.Name, 40), client.OneLine(a.Type, 20))
	}
	return v, nil
}

// sample is a harmless value that fits the argument's type and name.
func sample(a agentserver.Argument) any {
	switch a.Type {
	case "integer":
		return 1
	case "float":
		return 1.5
	case "boolean":
		return true
	}
	name := strings.ToLower(a.Name)
	switch {
	case strings.Contains(name, "url"):
		return "https://example.com/"
	case strings.Contains(name, "path"), strings.Contains(name, "dir"):
		return "/tmp"
	case strings.Contains(name, "code"), strings.Contains(name, "expr"):
		return "1 + 1"
	case strings.Contains(name, "name"), name == "who", name == "user":
		return "Ada"
	}
	return "hello"
}
