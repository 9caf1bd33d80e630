package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"abxdash/client/local/envd"
)

// startBrowser finds a browser and starts it without a window. It is spoken to
// over descriptors, so that no port is open that others could use. The sandbox
// that we are in stands in for the browser's own, which cannot be made here.
//
// Debian's wrapper wants files of /etc that a sandbox does not have, so the
// program behind it is started.
const startBrowser = `for b in chromium chromium-browser google-chrome google-chrome-stable headless_shell; do
	command -v "$b" >/dev/null 2>&1 || continue
	[ "$b" = chromium ] && [ -x /usr/lib/chromium/chromium ] && b=/usr/lib/chromium/chromium
	dir=$(mktemp -d) || exit 1
	exec "$b" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions \
		--user-data-dir="$dir" --remote-debugging-pipe about:blank 3<&0 4>&1 0</dev/null 1>&2
done
exit 127`

const maxPageMessage = 128 << 20

var (
	errPageGone = &problem{http.StatusServiceUnavailable, "the browser has ended", "BrowserError"}
	errSlowPage = &problem{http.StatusGatewayTimeout, "the browser took too long", "TimeoutError"}
)

// consoleLine is what a page wrote to its console.
type consoleLine struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// page is a running browser with one page, spoken to in the DevTools protocol:
// JSON messages with a NUL byte behind each.
type page struct {
	child envd.Child
	words *tail
	// gone is closed when the browser has ended.
	gone chan struct{}

	mu      sync.Mutex
	next    int
	session string
	waiting map[int]chan pageReply
	loaded  chan struct{}
	console []consoleLine
}

type pageReply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// startPage starts a browser and opens its page.
func (s *Server) startPage(ctx context.Context) (*page, error) {
	child, err := s.spawn(program{argv: []string{"/bin/sh", "-c", startBrowser}, stdin: true})
	if err != nil {
		return nil, err
	}
	p := &page{child: child, words: s.listen(child), gone: make(chan struct{}), waiting: map[int]chan pageReply{}}
	s.work.Go(p.read)
	s.work.Go(func() {
		select {
		case <-child.Done():
		case <-s.life.Done():
			killTree(child)
		}
		_ = child.Stdin().Close()
	})
	if err := p.attach(ctx); err != nil {
		killTree(child)
		<-child.Done()
		if child.Exit().Code == notFoundExit {
			return nil, &problem{http.StatusServiceUnavailable, "no browser is installed here (chromium or Google Chrome)", "BrowserError"}
		}
		return nil, &problem{http.StatusServiceUnavailable, "the browser does not start: " + p.words.final(), "BrowserError"}
	}
	return p, nil
}

// attach opens the page and asks for its events.
func (p *page) attach(ctx context.Context) error {
	var target struct {
		TargetID string `json:"targetId"`
	}
	if err := p.call(ctx, "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var session struct {
		SessionID string `json:"sessionId"`
	}
	if err := p.call(ctx, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session); err != nil {
		return err
	}
	p.mu.Lock()
	p.session = session.SessionID
	p.mu.Unlock()
	return errors.Join(p.call(ctx, "Page.enable", nil, nil), p.call(ctx, "Runtime.enable", nil, nil))
}

// read takes messages until the browser ends.
func (p *page) read() {
	defer close(p.gone)
	var held []byte
	pour(p.child.Stdout(), func(data []byte) {
		held = append(held, data...)
		for {
			message, rest, ok := bytes.Cut(held, []byte{0})
			if !ok {
				break
			}
			p.take(message)
			held = rest
		}
		if len(held) > maxPageMessage {
			held = nil
			killTree(p.child)
		}
	})
}

// take hands an answer on, or notes an event.
func (p *page) take(message []byte) {
	var m struct {
		ID     int
		Method string
		Params struct {
			Type string
			Args []struct {
				Value       json.RawMessage
				Description string
			}
		}
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if json.Unmarshal(message, &m) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case m.ID != 0:
		if to := p.waiting[m.ID]; to != nil {
			to <- pageReply{m.Result, m.Error}
			delete(p.waiting, m.ID)
		}
	case m.Method == "Page.loadEventFired" && p.loaded != nil:
		close(p.loaded)
		p.loaded = nil
	case m.Method == "Runtime.consoleAPICalled":
		parts := make([]string, 0, len(m.Params.Args))
		for _, a := range m.Params.Args {
			var s string
			if json.Unmarshal(a.Value, &s) != nil {
				if s = string(a.Value); s == "" {
					s = a.Description
				}
			}
			parts = append(parts, s)
		}
		p.console = append(p.console, consoleLine{m.Params.Type, strings.Join(parts, " ")})
		if over := len(p.console) - maxConsole; over > 0 {
			p.console = append([]consoleLine(nil), p.console[over:]...)
		}
	}
}

// call makes one call of the protocol.
func (p *page) call(ctx context.Context, method string, params map[string]any, out any) error {
	reply := make(chan pageReply, 1)
	p.mu.Lock()
	p.next++
	id := p.next
	p.waiting[id] = reply
	message := map[string]any{"id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if p.session != "" {
		message["sessionId"] = p.session
	}
	p.mu.Unlock()
	data, err := json.Marshal(message)
	if err == nil {
		_, err = p.child.Stdin().Write(append(data, 0))
	}
	if err != nil {
		return errPageGone
	}
	select {
	case r := <-reply:
		if r.Error != nil {
			return bad("the browser says: %s", firstLine(r.Error.Message))
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(r.Result, out)
	case <-p.gone:
		return errPageGone
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.waiting, id)
		p.mu.Unlock()
		return errSlowPage
	}
}

// nextLoad is closed when the next page has been loaded.
func (p *page) nextLoad() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	loaded := make(chan struct{})
	p.loaded = loaded
	return loaded
}

// drain gives the console's lines and forgets them.
func (p *page) drain() []consoleLine {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := append([]consoleLine{}, p.console...)
	p.console = nil
	return out
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return lastLine(line)
}
