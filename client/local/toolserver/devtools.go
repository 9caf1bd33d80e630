package toolserver

import (
	"fmt"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	// maxCode bounds code that comes as an argument of its interpreter, in bytes.
	maxCode = 120_000
	// maxDiff bounds a diff, in bytes (agent-sandbox-server §5).
	maxDiff = 1 << 20
	// codeTimeout is the default of POST /code/run.
	codeTimeout = 30 * time.Second
	gitTimeout  = 60 * time.Second
)

func (s *Server) devRoutes() {
	route(s, groupDevTools, "POST /code/run", s.runCode)
	route(s, groupDevTools, "GET /git/status", s.gitStatus)
	route(s, groupDevTools, "GET /git/diff", s.gitDiff)
}

type codeBody struct {
	Code     string
	Language string
	Timeout  float64
}

// interpreterFor is the command that runs code.
func interpreterFor(language, code string) ([]string, error) {
	switch strings.ToLower(language) {
	case "", "python":
		return []string{"python3", "-c", code}, nil
	case "node", "javascript", "js":
		return []string{"node", "-e", code}, nil
	case "bash", "sh":
		// A machine without bash runs what sh understands.
		return []string{"sh", "-c", `if command -v bash >/dev/null 2>&1; then exec bash -c "$0"; else exec sh -c "$0"; fi`, code}, nil
	}
	return nil, bad("language must be python, node or bash")
}

func (s *Server) runCode(r *http.Request, b codeBody) (any, error) {
	argv, err := interpreterFor(b.Language, b.Code)
	limit := time.Duration(b.Timeout * float64(time.Second))
	switch {
	case err != nil:
		return nil, err
	case len(b.Code) > maxCode:
		return nil, &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("code has at most %d bytes; upload a file and run it", maxCode), "ValueError"}
	case b.Timeout < 0 || limit > shellTimeout:
		return nil, bad("timeout is between 1 and %.0f seconds", shellTimeout.Seconds())
	case b.Timeout == 0:
		limit = codeTimeout
	}
	return s.output(r.Context(), program{argv: argv}, limit)
}

// git runs git in a folder below the base folder. It looks only: no lock, and no
// program that the repository's settings name.
func (s *Server) git(r *http.Request, args ...string) (result, error) {
	user, err := s.cfg.Spawner.Lookup("")
	if err != nil {
		return result{}, err
	}
	dir := ""
	err = s.inHome(r.URL.Query().Get("path"), func(_ *os.Root, name string) error {
		dir = path.Join(s.base(user.Home), name)
		return nil
	})
	if err != nil {
		return result{}, err
	}
	argv := append([]string{"git", "--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-C", dir}, args...)
	res, err := s.output(r.Context(), program{argv: argv, env: map[string]string{"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}}, gitTimeout)
	switch {
	case err != nil:
		return res, err
	case res.ExitCode == notFoundExit:
		return res, &problem{http.StatusServiceUnavailable, "git is not installed here", "RuntimeError"}
	case res.ExitCode != 0:
		return res, bad("git: %s", lastLine(res.Stderr))
	}
	return res, nil
}

// change is one line of a status: the state in the index, that of the file, and
// the name it had before.
type change struct {
	Path     string `json:"path"`
	Index    string `json:"index"`
	Worktree string `json:"worktree"`
	From     string `json:"from,omitempty"`
}

func (s *Server) gitStatus(r *http.Request, _ struct{}) (any, error) {
	res, err := s.git(r, "status", "--porcelain=v1", "-z", "--branch")
	if err != nil {
		return nil, err
	}
	branch, files := readStatus(res.Stdout)
	return map[string]any{"branch": branch, "clean": len(files) == 0, "files": files}, nil
}

// readStatus reads git's format for programs, version 1, with NUL bytes.
func readStatus(out string) (branch string, files []change) {
	files = []change{}
	parts := strings.Split(out, "\x00")
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		if head, ok := strings.CutPrefix(p, "## "); ok {
			head = strings.TrimPrefix(head, "No commits yet on ")
			branch, _, _ = strings.Cut(head, "...")
			continue
		}
		if len(p) < 4 {
			continue
		}
		c := change{Path: p[3:], Index: p[:1], Worktree: p[1:2]}
		if strings.ContainsAny(p[:2], "RC") && i+1 < len(parts) {
			i++
			c.From = parts[i]
		}
		files = append(files, c)
	}
	return branch, files
}

func (s *Server) gitDiff(r *http.Request, _ struct{}) (any, error) {
	args := []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv"}
	if staged, err := strconv.ParseBool(r.URL.Query().Get("staged")); err == nil && staged {
		args = append(args, "--staged")
	}
	if file := r.URL.Query().Get("file"); file != "" {
		args = append(args, "--", file)
	}
	res, err := s.git(r, args...)
	if err != nil {
		return nil, err
	}
	diff := res.Stdout
	cut := len(diff) > maxDiff
	if cut {
		diff = diff[:maxDiff]
	}
	return map[string]any{"diff": diff, "truncated": cut}, nil
}
