package attach

import (
	"context"
	"io"
	"os"

	tea "charm.land/bubbletea/v2"

	"abxdash/ui/term"
)

// DoneMsg tells the program that an attach ended and the screen is its own again.
type DoneMsg struct{ Result Result }

// Command stops the running program's drawing, runs an attach on the real
// terminal and comes back with a DoneMsg.
func Command(ctx context.Context, s *term.Session, o Options) tea.Cmd {
	c := &execCommand{ctx: ctx, s: s, o: o}
	return tea.Exec(c, func(error) tea.Msg { return DoneMsg{Result: c.result} })
}

// execCommand is Run in the form that Bubble Tea wants.
type execCommand struct {
	ctx    context.Context
	s      *term.Session
	o      Options
	result Result
}

// Run implements tea.ExecCommand.
func (c *execCommand) Run() error {
	c.result = Run(c.ctx, c.s, c.o)
	return nil
}

// SetStdin implements tea.ExecCommand; only a real file can be used.
func (c *execCommand) SetStdin(r io.Reader) {
	if f, ok := r.(*os.File); ok && c.o.In == nil {
		c.o.In = f
	}
}

// SetStdout implements tea.ExecCommand; only a real file can be used.
func (c *execCommand) SetStdout(w io.Writer) {
	if f, ok := w.(*os.File); ok && c.o.Out == nil {
		c.o.Out = f
	}
}

// SetStderr implements tea.ExecCommand.
func (c *execCommand) SetStderr(io.Writer) {}
