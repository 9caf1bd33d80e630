package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

// plain is the dashboard for screen readers: it only ever appends lines. What
// is typed are the usual commands without "abxdash"; what happens to sandboxes
// in between is said in a line each, but never while a command runs.
type plain struct {
	c *cli
	// busy is held while a command runs, so that nothing is printed into it.
	busy sync.Mutex
}

// plainIntro is the first thing that is said.
const plainIntro = `abxdash, plain mode. Type a command such as: ls, create, info NAME, exec NAME -- CMD, kill NAME.
"help" lists all commands, "quit" ends. Changes are said as they happen.
`

func (c *cli) plain(ctx context.Context) error {
	p := &plain{c: c}
	fmt.Fprint(c.Out, plainIntro)
	p.execute(ctx, []string{"ls"})
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { p.follow(ctx, s) })
	defer watching.Wait()
	defer cancel()
	return p.read(ctx)
}

// follow says what happens, from what is so now on.
func (p *plain) follow(ctx context.Context, s *Session) {
	w := newWatcher(p.c.rules(), p.c.Owner, p.c.Alive)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		answers := p.c.lookOnce(ctx, s)
		if ctx.Err() != nil {
			return
		}
		events := w.look(answers, p.c.Now())
		p.busy.Lock()
		for _, e := range events {
			fmt.Fprintln(p.c.Out, e.line())
		}
		p.busy.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// read runs what is typed until the input ends.
func (p *plain) read(ctx context.Context) error {
	in := bufio.NewReader(p.c.In)
	for ctx.Err() == nil {
		p.say("command: ")
		line, err := in.ReadString('\n')
		words, splitErr := client.CommandLine(strings.TrimSpace(line))
		switch {
		case splitErr != nil && strings.TrimSpace(line) != "":
			p.say(present.ErrorLine(splitErr) + "\n")
		case len(words) == 0:
		case words[0] == "quit" || words[0] == "exit" || words[0] == "q":
			return nil
		default:
			p.execute(ctx, words)
		}
		if errors.Is(err, io.EOF) {
			p.say("\n")
			return nil
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// say prints between commands.
func (p *plain) say(text string) {
	p.busy.Lock()
	defer p.busy.Unlock()
	fmt.Fprint(p.c.Out, text)
}

// execute runs one command line and says its exit code if it is not 0.
func (p *plain) execute(ctx context.Context, words []string) {
	p.busy.Lock()
	defer p.busy.Unlock()
	if words[0] == "help" {
		words = append([]string{"--help"}, words[1:]...)
	}
	app := *p.c.App
	app.Err = app.Out // one stream, so that lines stand in their order
	inner := &cli{App: &app}
	root := inner.root()
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetArgs(words)
	root.SetIn(p.c.In)
	root.SetOut(p.c.Out)
	root.SetErr(app.Err)
	if code := inner.finish(root.ExecuteContext(ctx)); code != 0 {
		fmt.Fprintf(p.c.Out, "exit %d\n", code)
	}
}
