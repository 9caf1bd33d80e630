package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"abxdash/client"
)

// script is a process that plays frames; after the last one it ends with err.
type script struct {
	client.Process
	frames chan client.Frame
	end    error
	exit   client.Exit
	closed chan struct{}
	once   sync.Once
}

func newScript(end error, exit client.Exit, frames ...client.Frame) *script {
	s := &script{frames: make(chan client.Frame, len(frames)), end: end, exit: exit, closed: make(chan struct{})}
	for _, f := range frames {
		s.frames <- f
	}
	return s
}

func (s *script) Next() (client.Frame, error) {
	select {
	case f := <-s.frames:
		return f, nil
	default:
	}
	if s.end != nil {
		return client.Frame{}, s.end
	}
	<-s.closed
	return client.Frame{}, client.ErrStreamBroken
}

func (s *script) Exit() client.Exit { return s.exit }

func (s *script) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func TestPumpEnds(t *testing.T) {
	frames := []client.Frame{{Stream: client.Stdout, Data: []byte("o\n")}, {Stream: client.Stderr, Data: []byte("e")}}
	for name, c := range map[string]struct {
		end     error
		want    client.Exit
		wantErr error
	}{
		"exit":   {end: io.EOF, want: client.Exit{Code: 3}},
		"broken": {end: client.ErrStreamBroken, wantErr: client.ErrStreamBroken},
	} {
		t.Run(name, func(t *testing.T) {
			ring := NewRing(RingOptions{})
			p := StartPump(newScript(c.end, client.Exit{Code: 3}, frames...), ring, func() time.Time { return at })
			exit, err := p.Wait(context.Background())
			if exit != c.want || !errors.Is(err, c.wantErr) {
				t.Errorf("Wait = %+v, %v", exit, err)
			}
			if ring.String() != "o\ne\n" || !ring.Finished() {
				t.Errorf("ring holds %q, finished %v", ring.String(), ring.Finished())
			}
			p.Stop()
		})
	}
}

func TestPumpStopAndWait(t *testing.T) {
	p := StartPump(newScript(nil, client.Exit{}), NewRing(RingOptions{}), nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v, want the context's error", err)
	}
	p.Stop()
	p.Stop()
	if _, err := p.Result(); !errors.Is(err, client.ErrStreamBroken) {
		t.Errorf("Result = %v", err)
	}
}

func TestPumpSwap(t *testing.T) {
	s := newScript(nil, client.Exit{})
	s.frames = make(chan client.Frame) // unbuffered: a send has been read
	first, second := NewRing(RingOptions{}), NewRing(RingOptions{})
	blocking := &blockingScript{script: s}
	p := StartPump(blocking, first, nil)
	s.frames <- client.Frame{Stream: client.Stdout, Data: []byte("1\n")}
	s.frames <- client.Frame{Stream: client.Stdout, Data: []byte("2\n")} // taken after 1 was appended
	if p.Swap(second) != Sink(first) {
		t.Error("Swap did not return the old sink")
	}
	s.frames <- client.Frame{Stream: client.Stdout, Data: []byte("3\n")}
	p.Stop()
	if first.Len()+second.Len() != 3 || first.Len() < 1 || second.Len() < 1 {
		t.Errorf("first %q, second %q", first, second)
	}
}

type blockingScript struct{ *script }

func (b *blockingScript) Next() (client.Frame, error) {
	select {
	case f := <-b.frames:
		return f, nil
	case <-b.closed:
		return client.Frame{}, client.ErrStreamBroken
	}
}

func TestSignal(t *testing.T) {
	var none *Signal
	none.Set()
	s := NewSignal()
	s.Set()
	s.Set()
	if err := s.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.C():
		t.Error("two sets gave two wake-ups")
	default:
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v", err)
	}
	if err := s.WaitFrame(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitFrame = %v", err)
	}
}

func TestSignalFrames(t *testing.T) {
	s := NewSignal()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.Set()
			}
		}
	})
	const n = 5
	start := time.Now()
	for range n {
		if err := s.WaitFrame(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(start)
	close(stop)
	wg.Wait()
	if took < (n-1)*Frame {
		t.Errorf("%d wake-ups in %s", n, took)
	}
}

func TestBufferKeepsEverything(t *testing.T) {
	b := NewBuffer(7, NewSignal())
	want := bytes.Repeat([]byte("0123456789"), 1000)
	var wg sync.WaitGroup
	wg.Go(func() {
		for chunk := range slices(want, 23) {
			b.Append(client.Terminal, chunk, at)
		}
		b.Finish()
	})
	got, err := io.ReadAll(b)
	wg.Wait()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes of %d, %v", len(got), len(want), err)
	}
	if _, err := b.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write after Finish = %v", err)
	}
}

func TestBufferBounds(t *testing.T) {
	b := NewBuffer(4, nil)
	if n, err := b.TryRead(make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("TryRead on empty = %d, %v", n, err)
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := b.Write([]byte("123456"))
		wrote <- err
	}()
	one := make([]byte, 1)
	if _, err := io.ReadFull(b, one); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 4 {
		t.Errorf("%d bytes in a buffer of 4", b.Len())
	}
	_ = b.Close()
	if err := <-wrote; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write = %v", err)
	}
	if _, err := b.Read(one); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Read after Close = %v", err)
	}
}
