package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"connectrpc.com/connect"

	"abxdash/client/envdpb/process"
	"abxdash/client/envdpb/process/processconnect"
)

// job is a command that the server itself runs in a sandbox.
type job struct {
	argv []string
	env  map[string]string
	// dir is the working directory, "" the sandbox's default.
	dir string
}

// longestLine bounds a line of a command's output, in bytes.
const longestLine = 8 << 10

// startIn starts a command through the agent, and returns its events once it runs.
func startIn(ctx context.Context, b *box, j job) (*connect.ServerStreamForClient[process.StartResponse], error) {
	noInput := false
	req := connect.NewRequest(&process.StartRequest{
		Process: &process.ProcessConfig{Cmd: j.argv[0], Args: j.argv[1:], Envs: j.env}, Stdin: &noInput,
	})
	if j.dir != "" {
		req.Msg.Process.Cwd = &j.dir
	}
	req.Header().Set("X-Access-Token", b.token)
	c := processconnect.NewProcessClient(&http.Client{Transport: b.agent}, "http://"+agentHost)
	events, err := c.Start(ctx, req)
	if err != nil {
		return nil, err
	}
	if events.Receive() && events.Msg().GetEvent().GetStart() != nil {
		return events, nil
	}
	err = events.Err()
	_ = events.Close()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// runIn runs a command to its end and hands its lines to each, with the stream's
// name. The end of ctx leaves the command alone: whoever gives up ends the sandbox.
func runIn(ctx context.Context, b *box, j job, each func(stream, line string)) (exit string, ok bool, err error) {
	events, err := startIn(ctx, b, j)
	if err != nil {
		return "", false, fmt.Errorf("run %s: %w", j.argv[0], err)
	}
	defer events.Close()
	out, errs := &lines{name: "stdout", each: each}, &lines{name: "stderr", each: each}
	for events.Receive() {
		ev := events.Msg().GetEvent()
		out.write(ev.GetData().GetStdout())
		errs.write(ev.GetData().GetStderr())
		if end := ev.GetEnd(); end != nil {
			out.flush()
			errs.flush()
			return end.GetStatus(), end.GetExited() && end.GetExitCode() == 0, nil
		}
	}
	err = events.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return "", false, fmt.Errorf("run %s: %w", j.argv[0], err)
}

// lines cuts a stream into lines.
type lines struct {
	name string
	each func(stream, line string)
	rest []byte
}

func (l *lines) write(p []byte) {
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		switch {
		case i >= 0:
			l.say(l.rest[:i])
			l.rest = l.rest[i+1:]
		case len(l.rest) > longestLine:
			l.say(l.rest[:longestLine])
			l.rest = l.rest[longestLine:]
		default:
			return
		}
	}
}

func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.say(l.rest)
	}
	l.rest = nil
}

func (l *lines) say(line []byte) {
	if l.each != nil {
		l.each(l.name, string(bytes.ToValidUTF8(bytes.TrimRight(line, "\r"), []byte("\uFFFD"))))
	}
}

// putFile writes a file of the host's into a sandbox, at a path below its home.
func putFile(ctx context.Context, b *box, from, path string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	u := url.URL{Scheme: "http", Host: agentHost, Path: "/files", RawQuery: url.Values{"path": {path}}.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), f)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("X-Access-Token", b.token)
	res, err := b.agent.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return fmt.Errorf("the agent answers %d: %s", res.StatusCode, bytes.TrimSpace(text))
	}
	return nil
}
