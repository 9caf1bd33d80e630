package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"abxdash/client"
	"abxdash/client/plugin/wire"
)

// Exec serves p as JSON lines until in ends or ctx does; calls that run are
// ended then. It is the whole main function of a plug-in of kind exec:
//
//	serve.Exec(ctx, provider, os.Stdin, os.Stdout)
func Exec(ctx context.Context, p client.Provider, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	var mu sync.Mutex
	send := func(m wire.Message) error {
		b, err := json.Marshal(m)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		_, err = out.Write(append(b, '\n'))
		return err
	}
	running := newInputs()
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			var m wire.Message
			if jerr := json.Unmarshal(line, &m); jerr != nil {
				return jerr
			}
			switch {
			case m.Input != nil:
				running.put(ctx, m.ID, *m.Input)
			case m.Method != "":
				input := running.add(m.ID)
				calls.Go(func() {
					defer running.remove(m.ID)
					c := call{p: p, input: input, event: func(ev wire.Event) error { return send(wire.Message{ID: m.ID, Event: &ev}) }}
					result, err := c.do(ctx, m.Method, m.Params)
					_ = send(answer(m.ID, result, err)) // nobody is left to be told
				})
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// inputs are the queues of the calls that run.
type inputs struct {
	mu sync.Mutex
	m  map[int64]*queue
}

type queue struct {
	ch   chan wire.Input
	done chan struct{}
}

func newInputs() *inputs { return &inputs{m: map[int64]*queue{}} }

func (s *inputs) add(id int64) <-chan wire.Input {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &queue{make(chan wire.Input, 64), make(chan struct{})}
	s.m[id] = q
	return q.ch
}

func (s *inputs) remove(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.m[id]; q != nil {
		close(q.done)
		delete(s.m, id)
	}
}

// put waits for room; input to a call that has ended is dropped.
func (s *inputs) put(ctx context.Context, id int64, in wire.Input) bool {
	s.mu.Lock()
	q := s.m[id]
	s.mu.Unlock()
	if q == nil {
		return false
	}
	select {
	case q.ch <- in:
		return true
	case <-q.done:
	case <-ctx.Done():
	}
	return false
}
