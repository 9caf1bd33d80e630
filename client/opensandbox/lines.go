package opensandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"abxdash/client"
)

// exports sets variables in front of a command line.
func exports(env map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "export %s=%s; ", k, quote(env[k]))
	}
	return b.String()
}

// tail keeps the shell around for a moment: what is written right before the
// end of a session is lost otherwise (§4.6).
const tail = "; c=$?; sleep 0.3; exit $c"

// terminalLine is the command of a session with a terminal. execd and what it
// starts ignore SIGINT and SIGQUIT, so that ctrl-c would do nothing; the command
// gets them back in one of three ways (§4.6).
func terminalLine(cmd client.Command) string {
	env := map[string]string{"TERM": "xterm-256color"}
	maps.Copy(env, cmd.Env)
	argv := quoteAll(cmd.Argv)
	python := "import os,signal,sys; signal.signal(signal.SIGINT,signal.SIG_DFL); signal.signal(signal.SIGQUIT,signal.SIG_DFL); os.execvp(sys.argv[1],sys.argv[1:])"
	perl := `$SIG{INT}="DEFAULT"; $SIG{QUIT}="DEFAULT"; exec {$ARGV[0]} @ARGV`
	line := exports(env)
	if cmd.PTY.Cols > 0 && cmd.PTY.Rows > 0 {
		// The terminal starts with 80 by 24 whatever is asked.
		line += fmt.Sprintf("stty cols %d rows %d 2>/dev/null; ", cmd.PTY.Cols, cmd.PTY.Rows)
	}
	return line + "if env --default-signal=INT,QUIT true 2>/dev/null; then env --default-signal=INT,QUIT " + argv +
		"; elif command -v python3 >/dev/null 2>&1; then python3 -c " + quote(python) + " " + argv +
		"; elif command -v perl >/dev/null 2>&1; then perl -e " + quote(perl) + " -- " + argv +
		"; else " + argv + "; fi" + tail
}

// pipeLine is the command of a session with an open standard input. A session
// cannot say that its input ends, so input is sent as lines of base64 and "."
// ends it; a pipe inside the sandbox turns them into bytes again.
func pipeLine(cmd client.Command) string {
	return exports(cmd.Env) + `exec 3<&0; d=$(mktemp -d) && mkfifo "$d/in" || exit 125; ` +
		`(while IFS= read -r l; do [ "$l" = . ] && exit 0; printf %s "$l" | base64 -d || exit 1; done) <&3 >"$d/in" & ` +
		quoteAll(cmd.Argv) + ` <"$d/in" 3<&-; c=$?; kill $! 2>/dev/null; rm -rf "$d"; sleep 0.3; exit $c`
}
