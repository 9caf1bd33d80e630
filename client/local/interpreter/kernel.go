package interpreter

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"abxdash/client/local/envd"
)

//go:embed driver.py
var pythonDriver string

//go:embed driver.js
var nodeDriver string

const (
	// maxLine bounds one event of a kernel, in bytes: a picture is one.
	maxLine = 64 << 20
	// interruptGrace is how long an interrupted run may take to end.
	interruptGrace = 2 * time.Second
	sigInt         = 2
	sigKill        = 9
)

// Languages and their other names (e2b-protocol §11).
const (
	langPython     = "python"
	langJavaScript = "javascript"
	langTypeScript = "typescript"
	langBash       = "bash"
)

func language(name string) string {
	switch name = strings.ToLower(name); name {
	case "":
		return langPython
	case "js":
		return langJavaScript
	case "ts":
		return langTypeScript
	}
	return name
}

// runner is the language whose kernel runs another's code.
func runner(lang string) string {
	if lang == langTypeScript {
		return langJavaScript
	}
	return lang
}

// argv is the command of a kernel.
func argv(lang string) ([]string, error) {
	switch lang {
	case langPython:
		return []string{"/bin/sh", "-c", `exec python3 -u -c "$0"`, pythonDriver}, nil
	case langJavaScript:
		// What its children print must not mix with the events.
		return []string{"/bin/sh", "-c", `exec node -e "$0" 3>&1 1>&2`, nodeDriver}, nil
	case langBash:
		return []string{"/bin/sh", "-c", `exec bash --noprofile --norc -s`}, nil
	}
	return nil, fmt.Errorf("the language %q is not offered by local sandboxes: python, javascript, typescript, bash are", shorten(lang))
}

func shorten(text string) string {
	if len(text) > 40 {
		return text[:40]
	}
	return text
}

// request is one run, as a driver reads it.
type request struct {
	Code     string            `json:"code"`
	Language string            `json:"language"`
	Env      map[string]string `json:"env,omitempty"`
}

// event is what the API's stream consists of. Results come ready-made from a kernel.
type event struct {
	Type           string `json:"type"`
	Text           string `json:"text,omitempty"`
	Timestamp      string `json:"timestamp,omitempty"`
	ExecutionCount int    `json:"execution_count,omitempty"`
}

type errorEvent struct {
	Type      string `json:"type"`
	Name      string `json:"name"`
	Value     string `json:"value"`
	Traceback string `json:"traceback"`
}

// emitter takes one event, a JSON object. It must not keep it.
type emitter func(line []byte)

func (e emitter) value(v any) {
	if line, err := json.Marshal(v); err == nil {
		e(line)
	}
}

func (e emitter) text(kind, text string) {
	e.value(event{Type: kind, Text: text, Timestamp: time.Now().UTC().Format(time.RFC3339Nano)})
}

func (e emitter) failed(name, value, trace string) {
	e.value(errorEvent{Type: "error", Name: name, Value: value, Traceback: trace})
}

// piece is something a kernel wrote; an empty one is the end of that stream.
type piece struct {
	stderr bool
	data   []byte
}

// kernel is one process that runs code. One run at a time uses it.
type kernel struct {
	lang  string
	child envd.Child
	count int

	mu sync.Mutex
	// out gets what is written during a run; between runs it is dropped.
	out  chan piece
	left chan struct{}
	wg   sync.WaitGroup
}

// start starts a kernel's process.
func (in *Interpreter) start(lang, dir string) (*kernel, error) {
	args, err := argv(lang)
	if err != nil {
		return nil, err
	}
	user, err := in.cfg.Spawner.Lookup("")
	if err != nil {
		return nil, err
	}
	env := map[string]string{
		"PATH": envd.DefaultPath, "HOME": user.Home, "USER": user.Name, "LOGNAME": user.Name, "PYTHONIOENCODING": "utf-8",
	}
	maps.Copy(env, in.cfg.Env)
	list := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	child, err := in.cfg.Spawner.Spawn(envd.Spec{Argv: args, Env: list, Dir: dir, User: user})
	if err != nil {
		return nil, fmt.Errorf("start the %s kernel: %w", lang, err)
	}
	k := &kernel{lang: lang, child: child}
	k.wg.Go(func() { k.read(child.Stderr(), true, false) })
	k.wg.Go(func() { k.read(child.Stdout(), false, lang != langBash) })
	return k, nil
}

// read hands on what the kernel writes, by lines or as it comes.
func (k *kernel) read(r io.ReadCloser, stderr, lines bool) {
	defer r.Close()
	defer k.deliver(piece{stderr: stderr})
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		var data []byte
		var err error
		if lines {
			data, err = readLine(br)
		} else {
			buf := make([]byte, 32<<10)
			var n int
			n, err = br.Read(buf)
			data = buf[:n]
		}
		if len(data) > 0 {
			k.deliver(piece{stderr, data})
		}
		if err != nil {
			return
		}
	}
}

var errLongLine = errors.New("an event is too long")

func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, errLongLine
		case !errors.Is(err, bufio.ErrBufferFull):
			return bytes.TrimRight(line, "\n"), err
		}
	}
}

func (k *kernel) deliver(p piece) {
	k.mu.Lock()
	out, left := k.out, k.left
	k.mu.Unlock()
	if out == nil {
		return
	}
	select {
	case out <- p:
	case <-left:
	}
}

// alive reports whether the process still runs.
func (k *kernel) alive() bool {
	select {
	case <-k.child.Done():
		return false
	default:
		return true
	}
}

// close ends the process and waits for its readers.
func (k *kernel) close() {
	_ = k.child.Signal(sigKill)
	_ = k.child.Stdin().Close()
	<-k.child.Done()
	// A descendant may hold the other ends.
	_ = k.child.Stdout().Close()
	_ = k.child.Stderr().Close()
	k.wg.Wait()
}

// run runs one piece of code and returns when it has ended. The end of ctx
// interrupts it; one that goes on all the same is killed.
func (k *kernel) run(ctx context.Context, req request, emit emitter) {
	out, left := make(chan piece), make(chan struct{})
	k.mu.Lock()
	k.out, k.left = out, left
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		k.out = nil
		k.mu.Unlock()
		close(left)
	}()
	stop := context.AfterFunc(ctx, func() {
		_ = k.child.Signal(sigInt)
		select {
		case <-left:
		case <-time.After(interruptGrace):
			_ = k.child.Signal(sigKill)
		}
	})
	defer stop()
	k.count++
	if k.lang == langBash {
		k.runBash(req, out, emit)
		return
	}
	line, err := json.Marshal(req)
	if err == nil {
		_, err = k.child.Stdin().Write(append(line, '\n'))
	}
	if err != nil {
		k.died(emit)
		return
	}
	for {
		var p piece
		select {
		case p = <-out:
		case <-k.child.Done():
			k.rest(out, emit)
			return
		}
		if k.event(p, emit) {
			return
		}
	}
}

// event hands one piece on; true is the end of the run.
func (k *kernel) event(p piece, emit emitter) bool {
	if len(p.data) == 0 {
		return false
	}
	if p.stderr {
		emit.text("stderr", strings.ToValidUTF8(string(p.data), "\uFFFD"))
		return false
	}
	var e event
	switch {
	case json.Unmarshal(p.data, &e) != nil || e.Type == "":
		emit.text("stdout", strings.ToValidUTF8(string(p.data), "\uFFFD")+"\n")
	case e.Type == "done":
		return true
	default:
		emit(p.data)
	}
	return false
}

// rest hands on what an ended kernel had still written, and says that it ended.
func (k *kernel) rest(out <-chan piece, emit emitter) {
	grace := time.NewTimer(interruptGrace)
	defer grace.Stop()
	for ends := 0; ends < 2; {
		select {
		case p := <-out:
			if len(p.data) == 0 {
				ends++
			}
			if k.event(p, emit) {
				return
			}
		case <-grace.C:
			ends = 2
		}
	}
	k.died(emit)
}

func (k *kernel) died(emit emitter) {
	status := "ended"
	if !k.alive() {
		status = k.child.Exit().Status
	}
	emit.failed("UnexpectedEndOfExecution", "the kernel ended: "+status, "")
}
