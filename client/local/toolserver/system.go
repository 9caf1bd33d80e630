package toolserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const toolTimeout = 60 * time.Second

func (s *Server) systemRoutes() {
	route(s, groupSystem, "GET /system/info", s.info)
	route(s, groupSystem, "GET /system/metrics", s.metrics)
	route(s, groupSystem, "GET /env", s.getEnv)
	route(s, groupSystem, "POST /env", s.setEnv)
	route(s, groupSystem, "GET /ports", func(*http.Request, struct{}) (any, error) {
		list, err := listeners()
		return map[string][]listener{"listening": list}, err
	})
	route(s, groupSystem, "GET /packages", s.packages)
}

// python remembers the version of the sandbox's python3.
type python struct {
	mu    sync.Mutex
	asked bool
	text  string
}

// version is "" without python3.
func (p *python) version(ctx context.Context, s *Server) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asked {
		res, err := s.output(ctx, program{argv: []string{"python3", "-c", "import platform; print(platform.python_version())"}}, toolTimeout)
		if err != nil {
			return ""
		}
		p.asked, p.text = true, ""
		if res.ExitCode == 0 {
			p.text = strings.TrimSpace(res.Stdout)
		}
	}
	return p.text
}

const (
	mib = 1 << 20
	gib = 1 << 30
)

// facts is what both system routes tell; what is not known is left out.
func (s *Server) facts(out map[string]any) {
	if mem := memory(); mem["MemTotal"] > 0 {
		total, free := float64(mem["MemTotal"]), float64(mem["MemAvailable"])
		out["memory_total_mb"], out["memory_used_mb"] = total/mib, (total-free)/mib
		out["memory_available_mb"], out["memory_percent"] = free/mib, 100*(total-free)/total
	}
	if user, err := s.cfg.Spawner.Lookup(""); err == nil {
		if used, total := diskOf(user.Home); total > 0 {
			out["disk_total_gb"], out["disk_used_gb"] = float64(total)/gib, float64(used)/gib
			out["disk_free_gb"], out["disk_percent"] = float64(total-used)/gib, 100*float64(used)/float64(total)
		}
	}
}

// info tells what the machine is.
func (s *Server) info(r *http.Request, _ struct{}) (any, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, errors.New("the host name is not known")
	}
	out := map[string]any{"os": runtime.GOOS, "arch": runtime.GOARCH, "cpu_count": runtime.NumCPU(), "hostname": host}
	if v := s.python.version(r.Context(), s); v != "" {
		out["python_version"] = v
	}
	s.facts(out)
	return out, nil
}

// metrics tells the use right now. The load is the machine's.
func (s *Server) metrics(*http.Request, struct{}) (any, error) {
	out := map[string]any{"uptime_seconds": time.Since(s.began).Seconds()}
	s.facts(out)
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		for i, name := range []string{"cpu_load_1m", "cpu_load_5m", "cpu_load_15m"} {
			if parts := strings.Fields(string(data)); i < len(parts) {
				if load, err := strconv.ParseFloat(parts[i], 64); err == nil {
					out[name] = load
				}
			}
		}
	}
	return out, nil
}

// memory reads /proc/meminfo, in bytes; there is none on other systems.
func memory() map[string]int64 {
	out := map[string]int64{}
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return out
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		value, unit, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && unit == "kB" {
			out[name] = n << 10
		}
	}
	return out
}

// Names that look like secrets are not told (agent-sandbox-server §5).
var secretName = regexp.MustCompile(`(?i)TOKEN|SECRET|KEY|PASSWORD|CREDENTIAL`)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// protected are the names that cannot be changed: what programs depend on, and
// what belongs to the server or to other products.
func protected(name string) bool {
	if slices.Contains([]string{"PATH", "HOME", "USER", "LOGNAME", "SHELL"}, name) {
		return true
	}
	return strings.HasPrefix(name, "ABX_") || foreign(name)
}

// foreign names belong to other products and are neither made nor shown.
func foreign(name string) bool {
	return strings.HasPrefix(name, "E2B_") || strings.HasPrefix(name, "SANDBOX_")
}

func (s *Server) getEnv(r *http.Request, _ struct{}) (any, error) {
	filter := strings.ToLower(r.URL.Query().Get("filter"))
	s.mu.Lock()
	env := maps.Clone(s.env)
	s.mu.Unlock()
	maps.DeleteFunc(env, func(name, _ string) bool {
		return secretName.MatchString(name) || foreign(name) || !strings.Contains(strings.ToLower(name), filter)
	})
	return map[string]map[string]string{"env": env}, nil
}

// setEnv changes what programs get that this server starts from now on.
func (s *Server) setEnv(_ *http.Request, vars map[string]string) (any, error) {
	for name, value := range vars {
		switch {
		case !variableName.MatchString(name) || strings.ContainsRune(value, 0):
			return nil, bad("that is not a usable variable")
		case protected(name):
			return nil, &problem{http.StatusForbidden, name + " cannot be changed", "PermissionError"}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.env, vars)
	return done(nil)
}

// pkg is an installed package.
type pkg struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// pipList asks the interpreter itself, since pip may be missing.
const pipList = `import importlib.metadata as m, json
print(json.dumps(sorted({(d.metadata["Name"] or "", d.version or "") for d in m.distributions()})))`

func (s *Server) packages(r *http.Request, _ struct{}) (any, error) {
	manager := r.URL.Query().Get("manager")
	if manager == "" {
		manager = "pip"
	}
	argv := map[string][]string{
		"pip": {"python3", "-c", pipList},
		"npm": {"npm", "ls", "--global", "--depth=0", "--json", "--offline"},
	}[manager]
	if argv == nil {
		return nil, bad("manager must be pip or npm")
	}
	res, err := s.output(r.Context(), program{argv: argv}, toolTimeout)
	switch {
	case err != nil:
		return nil, err
	case res.ExitCode == notFoundExit:
		return nil, &problem{http.StatusServiceUnavailable, argv[0] + " is not installed here", "RuntimeError"}
	}
	list, err := readPackages(manager, []byte(res.Stdout))
	if err != nil {
		return nil, &problem{http.StatusInternalServerError, manager + ": " + lastLine(res.Stderr), "RuntimeError"}
	}
	return map[string]any{"manager": manager, "packages": list}, nil
}

func readPackages(manager string, data []byte) ([]pkg, error) {
	list := []pkg{}
	if manager == "pip" {
		var pairs [][2]string
		err := json.Unmarshal(data, &pairs)
		for _, p := range pairs {
			list = append(list, pkg{p[0], p[1]})
		}
		return list, err
	}
	var tree struct {
		Dependencies map[string]struct{ Version string } `json:"dependencies"`
	}
	err := json.Unmarshal(data, &tree)
	for _, name := range slices.Sorted(maps.Keys(tree.Dependencies)) {
		list = append(list, pkg{name, tree.Dependencies[name].Version})
	}
	return list, err
}
