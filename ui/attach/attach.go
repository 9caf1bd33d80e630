package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	xterm "github.com/charmbracelet/x/term"
	"github.com/muesli/cancelreader"

	"abxdash/ui/lang"
	"abxdash/ui/term"
)

// Reason is why an attach ended.
type Reason uint8

// Reasons.
const (
	// Detached means that the user left with the leader; see Result.Key.
	Detached Reason = iota + 1
	// Ended means that the session is over; see term.Session.End.
	Ended
	// Cancelled means that the context ended.
	Cancelled
	// Signalled means that this process got SIGTERM or SIGHUP; see Result.Signal.
	Signalled
	// Failed means that the real terminal cannot be used; see Result.Err.
	Failed
)

// Result is how an attach ended. The real terminal has been restored.
type Result struct {
	Reason Reason
	// Key is the key after the leader that left, 'd' for a plain detach.
	Key rune
	// Signal is the signal that ended it.
	Signal os.Signal
	// Session is the one that was shown last.
	Session *term.Session
	Err     error
}

// Verdict is what became of a second key.
type Verdict uint8

// Verdicts.
const (
	// Unknown means that the key is not one of these: leader and key go to the program.
	Unknown Verdict = iota
	// Used means that the key was dealt with.
	Used
	// Wait means that what is typed waits for the next of Options.Calls, because
	// it is meant for the session which that one shows.
	Wait
)

// Options of an attach. The zero value uses the standard streams.
type Options struct {
	In, Out *os.File
	// Leader is DefaultLeader if it is zero.
	Leader Leader
	// Detach is the second key that leaves; 0 is d.
	Detach rune
	// Keys are further second keys, which leave with that key in the result.
	Keys string
	// Handle runs second keys that do not leave, such as t. It is called by the
	// goroutine of Run and must not block.
	Handle func(key rune) Verdict
	// Calls are run by the goroutine of Run as they come. One that returns
	// another session has that shown in place of the one before; nil changes nothing.
	Calls <-chan func() *term.Session
	// Status is shown in the title, such as "i7f3 — TTL 17m". It must not block.
	Status func() string
	// Hint is what can follow the leader, shown while it is pending.
	Hint string
	// Lang is the language of what the title says itself; nil is English.
	Lang *lang.Catalog
	// Alert is asked once a second whether the bell is to ring. It must not block.
	Alert func() bool
}

// Paces of an attach.
const (
	// holdTime is how long the start of a sequence waits for its rest.
	holdTime = 30 * time.Millisecond
	// pendingTime is how long a leader is pending before the title says so:
	// whoever knows the key sees no flicker.
	pendingTime = 300 * time.Millisecond
	// statusEvery is how often the title is looked at; it is written when it changed.
	statusEvery = time.Second
	// drainTime is how long answers to the program's last queries are waited for.
	drainTime = 200 * time.Millisecond
	// retryTime is how long input waits for room in the session's queue.
	retryTime = 20 * time.Millisecond
)

// Run hands the real terminal to s, and to those that Calls put in its place, until the user leaves, the session ends,
// ctx ends or a signal comes, and restores it. It blocks.
func Run(ctx context.Context, s *term.Session, o Options) Result {
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Leader == (Leader{}) {
		o.Leader = DefaultLeader()
	}
	if o.Detach == 0 {
		o.Detach = 'd'
	}
	a := &attached{s: s, o: o}
	a.scan = scanner{leader: o.Leader, bound: a.bound}
	return a.run(ctx)
}

// attached is one run.
type attached struct {
	s      *term.Session
	o      Options
	scan   scanner
	status string
	// pendingShown is set while the title shows a pending leader.
	pendingShown bool
	// title is the program's title when ours was written last.
	title string
	// queries is the number of queries before this attach.
	queries uint64
	// rest is what was typed after a key whose verdict is Wait; waiting is set
	// until the call comes.
	rest    []action
	waiting bool
	// switched is when another session was shown.
	switched time.Time
	input    chan []byte
	inErr    error
	reader   cancelreader.CancelReader
}

func (a *attached) run(ctx context.Context) (res Result) {
	defer func() { res.Session = a.s }()
	// Signals are caught before the first change to the terminal.
	signals, stopSignals := watchSignals()
	defer stopSignals()
	state, err := xterm.MakeRaw(a.o.In.Fd())
	if err != nil {
		return Result{Reason: Failed, Err: fmt.Errorf("attach: set the terminal to raw: %w", err)}
	}
	defer func() {
		if err := xterm.Restore(a.o.In.Fd(), state); err != nil && res.Err == nil {
			res.Err = fmt.Errorf("attach: restore the terminal: %w", err)
		}
	}()
	if a.reader, err = cancelreader.NewReader(a.o.In); err != nil {
		return Result{Reason: Failed, Err: fmt.Errorf("attach: read the terminal: %w", err)}
	}
	readerDone := make(chan struct{})
	a.input = make(chan []byte)
	stopped := make(chan struct{})
	go a.read(stopped, readerDone)
	defer func() {
		close(stopped)
		if a.reader.Cancel() {
			<-readerDone
		}
		_ = a.reader.Close()
	}()
	resized, stopResize := watchResize()
	defer stopResize()
	return a.loop(ctx, signals, resized)
}

// read passes input on until it is cancelled or fails.
func (a *attached) read(stopped, done chan struct{}) {
	defer close(done)
	defer close(a.input)
	buf := make([]byte, 4096)
	for {
		n, err := a.reader.Read(buf)
		if n > 0 {
			select {
			case a.input <- append([]byte(nil), buf[:n]...):
			case <-stopped:
				return
			}
		}
		if err != nil {
			if !errors.Is(err, cancelreader.ErrCanceled) {
				a.inErr = err
			}
			return
		}
	}
}

func (a *attached) loop(ctx context.Context, signals <-chan os.Signal, resized <-chan struct{}) (res Result) {
	a.resize()
	a.queries = a.s.Terminal().Queries()
	if err := a.enter(); err != nil {
		return Result{Reason: Failed, Err: err}
	}
	defer func() {
		if err := a.leave(); err != nil && res.Err == nil && res.Reason != Signalled {
			res.Err = err
		}
	}()
	a.showStatus(false)
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	hold, pending := time.NewTimer(holdTime), time.NewTimer(pendingTime)
	defer hold.Stop()
	defer pending.Stop()
	for {
		var actions []action
		select {
		case p, ok := <-a.typed():
			if !ok {
				return Result{Reason: Failed, Err: inputError(a.inErr)}
			}
			m := a.s.Terminal().Modes()
			a.scan.holdEsc = m.Kitty != 0 || m.ModifyOtherKeys > 0
			actions = a.scan.feed(p)
			if a.scan.waiting() {
				hold.Reset(holdTime)
			}
			if a.scan.pending != nil {
				pending.Reset(pendingTime)
			}
		case <-hold.C:
			actions = a.scan.flush()
		case <-pending.C:
			a.showStatus(a.scan.pending != nil)
		case <-resized:
			a.resize()
		case <-tick.C:
			a.showStatus(a.scan.pending != nil)
			if time.Since(a.switched) > statusEvery {
				a.scan.stale = 0 // the terminal does not answer everything
			}
			if a.o.Alert != nil && a.o.Alert() {
				a.s.InjectRaw([]byte{0x07})
			}
			if err := a.s.RawError(); err != nil {
				return Result{Reason: Failed, Err: fmt.Errorf("attach: write to the terminal: %w", err)}
			}
		case call := <-a.o.Calls:
			if err := a.call(call); err != nil {
				return Result{Reason: Failed, Err: err}
			}
			actions, a.rest = a.rest, nil
		case <-a.s.Done():
			return Result{Reason: Ended}
		case sig := <-signals:
			return Result{Reason: Signalled, Signal: sig}
		case <-ctx.Done():
			return Result{Reason: Cancelled, Err: ctx.Err()}
		}
		if res, left := a.act(ctx, actions); left {
			return res
		}
	}
}

// typed is where input comes from, nil while it waits for another session.
func (a *attached) typed() <-chan []byte {
	if a.waiting {
		return nil
	}
	return a.input
}

// call runs a call and shows the session that it returns.
func (a *attached) call(f func() *term.Session) error {
	a.waiting = false
	next := f()
	if next != nil && next != a.s {
		if _, err := a.o.Out.Write(a.s.DetachRaw()); err != nil {
			return fmt.Errorf("attach: write to the terminal: %w", err)
		}
		// Answers to what the one before asked are not for this one.
		if asked := a.s.Terminal().Queries() - a.queries; asked > a.scan.replies {
			a.scan.stale, a.switched = asked-a.scan.replies, time.Now()
		}
		a.s = next
		a.scan.replies, a.queries = 0, next.Terminal().Queries()
		a.resize()
		if !next.AttachRaw(a.o.Out) {
			return errAttached
		}
		a.status = "" // the title of the program that left may hide ours
	}
	a.showStatus(false)
	return nil
}

var errAttached = errors.New("attach: the session is already attached to a terminal")

func inputError(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("attach: the terminal is gone")
	}
	return fmt.Errorf("attach: read the terminal: %w", err)
}

// act carries out what the scanner found; left means that the run is over.
func (a *attached) act(ctx context.Context, actions []action) (res Result, left bool) {
	for i, x := range actions {
		switch x.kind {
		case actSend:
			a.send(ctx, x.data)
			continue
		case actPending:
			continue
		}
		if a.pendingShown {
			a.showStatus(false)
		}
		switch {
		case x.key == 0:
			continue
		case a.leaves(x.key):
			return Result{Reason: Detached, Key: x.key}, true
		}
		switch a.o.Handle(x.key) {
		case Unknown:
			a.send(ctx, x.data)
		case Wait:
			a.waiting, a.rest = true, actions[i+1:]
			a.showStatus(false)
			return Result{}, false
		default:
			a.showStatus(false)
		}
	}
	return Result{}, false
}

func (a *attached) leaves(key rune) bool {
	return key == a.o.Detach || strings.ContainsRune(a.o.Keys, key)
}

// bound reports whether the key after the leader can do something.
func (a *attached) bound(key rune) bool { return a.leaves(key) || a.o.Handle != nil && key > ' ' }

// send queues input, waiting for room as long as the session lives.
func (a *attached) send(ctx context.Context, p []byte) {
	for !a.s.Send(p) {
		select {
		case <-time.After(retryTime):
		case <-a.s.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

func (a *attached) resize() {
	cols, rows, err := xterm.GetSize(a.o.Out.Fd())
	if err != nil || cols <= 0 || rows <= 0 {
		cols, rows = 80, 24
	}
	a.s.Resize(cols, rows)
}

// enter saves the title, scrolls what is on the screen out of the way and lets
// the session paint.
func (a *attached) enter() error {
	_, rows := a.s.Terminal().Size()
	head := "\x1b[22;0t\x1b[>0u\x1b[m" + strings.Repeat("\r\n", rows)
	if _, err := io.WriteString(a.o.Out, head); err != nil {
		return fmt.Errorf("attach: write to the terminal: %w", err)
	}
	if !a.s.AttachRaw(a.o.Out) {
		return errAttached
	}
	return nil
}

// leave stops the output and resets the terminal. Answers to queries that the
// program made just before are read away, or they would be typed into whatever
// reads next.
func (a *attached) leave() error {
	tail := string(a.s.DetachRaw()) + "\x1b[<1u\x1b[23;0t"
	_, err := io.WriteString(a.o.Out, tail)
	if asked := a.s.Terminal().Queries() - a.queries; err == nil && asked > a.scan.replies {
		a.drain(asked)
	}
	if err != nil {
		return fmt.Errorf("attach: reset the terminal: %w", err)
	}
	return nil
}

func (a *attached) drain(want uint64) {
	limit := time.NewTimer(drainTime)
	defer limit.Stop()
	a.scan.pending = nil
	for a.scan.replies < want {
		select {
		case p, ok := <-a.input:
			if !ok {
				return
			}
			a.scan.feed(p)
		case <-limit.C:
			return
		}
	}
}

// showStatus writes the title; a leader that is pending shows in it.
func (a *attached) showStatus(pending bool) {
	a.pendingShown = pending
	text := ""
	if a.o.Status != nil {
		text = a.o.Status()
	}
	if pending {
		text += "  " + a.o.Leader.String() + " … " + a.o.Hint
	} else {
		text += "  " + a.o.Lang.T("%s detaches", a.o.Leader.String()+" "+string(a.o.Detach))
	}
	text = strings.TrimSpace(text)
	if text == a.status && a.s.Terminal().Title() == a.title {
		return
	}
	// What the program set since then would hide ours.
	a.status, a.title = text, a.s.Terminal().Title()
	a.s.InjectRaw([]byte("\x1b]2;" + term.CleanTitle(text) + "\x07"))
}
