// Package contract is the one test suite that every provider has to pass. A
// provider's own test calls [Run] with itself; what the suite asserts is what
// screens and commands rely on.
package contract

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"abxdash/client"
)

// Setup is what the suite runs on.
type Setup struct {
	Provider client.Provider
	// Template is used for every sandbox; "" is the provider's default.
	Template string
	// Lifetime is given to every sandbox that does not test lifetimes; default 10 min.
	Lifetime time.Duration
	// MinLifetime is the shortest lifetime the provider gives; 0 is one second.
	MinLifetime time.Duration
	// Lines marks a provider whose commands give their output by lines: a missing
	// last line end is added, bytes that are no text are not exact, and the one
	// signal that can be sent is SIGTERM.
	Lines bool
	// PlainKeys marks a provider that takes letters, digits and -_. in metadata keys only.
	PlainKeys bool
	// OnePage marks a provider that never gives a second page.
	OnePage bool
}

// oddKey is a metadata key that asks much of an encoding, where that is allowed.
func (s *suite) oddKey() string {
	if s.PlainKeys {
		return "odd.key"
	}
	return "odd key"
}

// limit bounds every wait. It is generous: other work shares the machine.
const limit = 60 * time.Second

// suite is one run: its sandboxes carry its mark, so that a shared provider does not disturb it.
type suite struct {
	Setup
	mark string
}

// markKey is the metadata key of the mark.
const markKey = "abxdash.contract"

// Run runs the whole suite. setup is called once.
func Run(t *testing.T, setup func(t *testing.T) Setup) {
	t.Helper()
	s := &suite{Setup: setup(t), mark: token(t)}
	if s.Lifetime == 0 {
		s.Lifetime = 10 * time.Minute
	}
	t.Run("Lifecycle", s.lifecycle)
	t.Run("Commands", s.commands)
	t.Run("Terminal", s.terminal)
	t.Run("Files", s.files)
	t.Run("Extras", s.extras)
	t.Run("Capabilities", s.capabilities)
	t.Run("Gone", s.gone)
}

func token(t *testing.T) string {
	t.Helper()
	b := make([]byte, 6)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

// ctx is a context that ends with the test, or at the limit.
func ctx(t *testing.T) context.Context {
	t.Helper()
	c, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return c
}

// create makes a sandbox that is killed when the test ends.
func (s *suite) create(t *testing.T, edit func(*client.CreateSpec)) client.Sandbox {
	t.Helper()
	spec := client.CreateSpec{Template: s.Template, Lifetime: s.Lifetime, Metadata: map[string]string{markKey: s.mark}}
	if edit != nil {
		edit(&spec)
	}
	sb, err := s.Provider.Sandboxes().Create(ctx(t), spec)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	t.Cleanup(func() {
		c, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := s.Provider.Sandboxes().Kill(c, sb.ID); err != nil && !errors.Is(err, client.ErrNotFound) {
			t.Errorf("kill %s: %v", sb.ID, err)
		}
	})
	return sb
}

// eventually waits for a condition that the suite cannot force.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen within %s", what, limit)
		}
		<-tick.C
	}
}

// run starts a command and collects all it writes.
func (s *suite) run(t *testing.T, id client.ID, c client.Command) client.Output {
	t.Helper()
	out, err := client.Collect(s.start(t, id, c))
	if err != nil {
		t.Fatalf("%q: %v", c.Argv, err)
	}
	return out
}

// sh runs a line in sh.
func (s *suite) sh(t *testing.T, id client.ID, line string) client.Output {
	t.Helper()
	return s.run(t, id, client.Command{Argv: []string{"sh", "-c", line}})
}

// start starts a command whose handle is closed when the test ends.
func (s *suite) start(t *testing.T, id client.ID, c client.Command) client.Process {
	t.Helper()
	p, err := s.Provider.Commands().Start(ctx(t), id, c)
	if err != nil {
		t.Fatalf("start %q: %v", c.Argv, err)
	}
	closeLater(t, p)
	return p
}

// closeLater closes p when the test ends, and when its time is up, so that a
// Next that waits for ever fails the test and does not hang it.
func closeLater(t *testing.T, p client.Process) {
	t.Helper()
	stop := time.AfterFunc(limit, func() { _ = p.Close() })
	t.Cleanup(func() {
		stop.Stop()
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// expect reads p until its output holds want.
func expect(t *testing.T, p client.Process, want string) {
	t.Helper()
	var got bytes.Buffer
	for !bytes.Contains(got.Bytes(), []byte(want)) {
		f, err := p.Next()
		if err != nil {
			t.Fatalf("waiting for %q: %v; got %q", want, err, got.String())
		}
		got.Write(f.Data)
	}
}

// drain reads p to its end.
func drain(t *testing.T, p client.Process) client.Output {
	t.Helper()
	out, err := client.Collect(p)
	if err != nil {
		t.Fatalf("read to the end: %v; got %q", err, out.Stdout)
	}
	return out
}

// wantErr checks that err is one of ours and matches kind.
func wantErr(t *testing.T, what string, err, kind error) {
	t.Helper()
	var e *client.Error
	switch {
	case err == nil:
		t.Errorf("%s: no error", what)
	case !errors.As(err, &e):
		t.Errorf("%s: %v is a %T, not a *client.Error", what, err, err)
	case e.Code == "" || e.Op == "":
		t.Errorf("%s: %+v has no code or no operation", what, e)
	case kind != nil && !errors.Is(err, kind):
		t.Errorf("%s: %v does not match %v", what, err, kind)
	}
}
