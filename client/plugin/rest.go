package plugin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"abxdash/client"
	"abxdash/client/plugin/wire"
)

// service is a plug-in that is reached over HTTP: POST <base>/v1/<method>, the
// answer being lines of messages; input goes to POST <base>/v1/input.
type service struct {
	base, key, agent string
	http             *http.Client
	// last is the last call id; they begin at a random place, so that two
	// programs do not share one.
	last atomic.Int64
}

type restCall struct {
	s      *service
	id     int64
	cancel context.CancelFunc
	body   io.ReadCloser
	r      *bufio.Reader
	closed atomic.Bool
}

func (s *service) open(ctx context.Context, method string, params json.RawMessage) (channel, error) {
	id := s.last.Add(1)
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	resp, err := s.post(own, "/v1/"+method, id, params)
	if err != nil {
		stop()
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	if !stop() {
		cancel()
		_ = resp.Body.Close()
		return nil, ctx.Err()
	}
	c := &restCall{s: s, id: id, cancel: cancel, body: resp.Body, r: bufio.NewReaderSize(resp.Body, 64<<10)}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/x-ndjson") {
		c.close()
		return nil, errPlugin{"HTTP " + strconv.Itoa(resp.StatusCode) + ", which is not the plug-in protocol"}
	}
	return c, nil
}

func (s *service) post(ctx context.Context, path string, id int64, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Call-Id", strconv.FormatInt(id, 10))
	req.Header.Set("User-Agent", s.agent)
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	return s.http.Do(req)
}

func (s *service) close() { s.http.CloseIdleConnections() }

func (c *restCall) recv() (wire.Message, error) {
	line, err := readLine(c.r)
	if len(line) > 1 {
		var m wire.Message
		if json.Unmarshal(line, &m) != nil {
			return m, errPlugin{"it does not speak the plug-in protocol"}
		}
		return m, nil
	}
	if c.closed.Load() {
		return wire.Message{}, net.ErrClosed
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return wire.Message{}, err
}

func (c *restCall) send(ctx context.Context, in wire.Input) error {
	b, err := json.Marshal(wire.Message{ID: c.id, Input: &in})
	if err != nil {
		return err
	}
	resp, err := c.s.post(ctx, "/v1/input", c.id, b)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return errPlugin{"the call does not take input: HTTP " + client.OneLine(resp.Status, 60)}
	}
	return nil
}

func (c *restCall) close() {
	c.closed.Store(true)
	c.cancel()
	_ = c.body.Close()
}

// laterCall is a call whose answer begins only after its input has been taken.
type laterCall struct {
	ready chan struct{}
	c     channel
	err   error
	s     *service
	id    int64
	stop  context.CancelFunc
}

// openLater begins a call without waiting for the answer to begin.
func (s *service) openLater(ctx context.Context, method string, params json.RawMessage) channel {
	ctx, cancel := context.WithCancel(ctx)
	l := &laterCall{ready: make(chan struct{}), s: s, id: s.last.Add(1), stop: cancel}
	go func() {
		defer close(l.ready)
		resp, err := s.post(ctx, "/v1/"+method, l.id, params) //nolint:bodyclose // the call closes it
		if err != nil {
			l.err = err
			return
		}
		l.c = &restCall{s: s, id: l.id, cancel: cancel, body: resp.Body, r: bufio.NewReaderSize(resp.Body, 64<<10)}
	}()
	return l
}

func (l *laterCall) recv() (wire.Message, error) {
	<-l.ready
	if l.err != nil {
		return wire.Message{}, l.err
	}
	return l.c.recv()
}

// send tries again while the call is not yet known to the other side.
func (l *laterCall) send(ctx context.Context, in wire.Input) error {
	sender := &restCall{s: l.s, id: l.id}
	for wait := 5 * time.Millisecond; ; wait *= 2 {
		err := sender.send(ctx, in)
		var unknown errPlugin
		if err == nil || !errors.As(err, &unknown) || wait > time.Second {
			return err
		}
		select {
		case <-time.After(wait):
		case <-l.ready: // it has ended; nobody takes more
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *laterCall) close() {
	l.stop()
	<-l.ready
	if l.c != nil {
		l.c.close()
	}
}
