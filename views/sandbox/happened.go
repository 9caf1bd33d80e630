package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/views/present"
)

// maxHappened is how many events the overview lists, newest first.
const maxHappened = 12

// How often the processes are read again while they are looked at.
const (
	processesEvery        = 5 * time.Second
	processesEveryUnfocus = 30 * time.Second
)

// happened words the timeline, newest first.
func (o *overview) happened() []fact {
	t := o.env.Theme
	list := o.opts.Journal.Of(present.KeyOf(o.sb))
	if len(list) == 0 {
		return nil
	}
	out := []fact{{heading: true, name: o.env.Lang.T("Happened")}}
	for i := len(list) - 1; i >= 0 && len(out) <= maxHappened; i-- {
		e := list[i]
		st := t.Text.Normal
		if e.Bad {
			st = t.Text.Error
		}
		out = append(out, fact{name: e.At.Local().Format("15:04:05"), value: e.Text, style: st})
	}
	if n := len(list) - maxHappened; n > 0 {
		out = append(out, fact{value: o.env.Lang.T("and %d before", n), style: t.Text.Dim})
	}
	return out
}

// processes is what is known of the live processes of a sandbox.
type processes struct {
	list  []client.ProcessInfo
	known bool
	err   error
}

// processesMsg is the answer to one look.
type processesMsg struct {
	owner *overview
	list  []client.ProcessInfo
	err   error
}

// ask reads the processes, one call at a time. A sandbox that does not run is
// not asked: some providers would wake it up.
func (o *overview) ask() tea.Cmd {
	p := o.opts.Provider
	if !o.sb.Running() || p == nil || !p.Capabilities().Has(client.CapCommands) || !o.pace.Begin(o.env.Now()) {
		return nil
	}
	ctx, id := o.env.Ctx, o.sb.ID
	return func() tea.Msg {
		list, err := p.Commands().Processes(ctx, id)
		return processesMsg{owner: o, list: list, err: err}
	}
}

func (s *processes) take(m processesMsg) {
	if errors.Is(m.err, context.Canceled) {
		return
	}
	s.err = m.err
	if m.err == nil {
		s.list, s.known = m.list, true
	}
}

// running words the live processes.
func (o *overview) running() []fact {
	t := o.env.Theme
	if !o.sb.Running() || !o.procs.known && o.procs.err == nil {
		return nil
	}
	out := []fact{{heading: true, name: o.env.Lang.T("Processes")}}
	if o.procs.err != nil {
		return append(out, fact{value: present.ErrorLine(o.procs.err), style: t.Text.Dim})
	}
	for _, p := range o.procs.list {
		line := o.commandLine(p.Argv)
		if p.Tag != "" {
			line += "  [" + present.CleanMax(p.Tag, 30) + "]"
		}
		out = append(out, fact{name: fmt.Sprint(p.PID), value: line, style: t.Text.Normal})
	}
	if len(o.procs.list) == 0 {
		out = append(out, fact{value: o.env.Lang.T("none started through the provider"), style: t.Text.Dim})
	}
	return out
}

// commandLine words an argument vector; what only wraps a shell line is left
// out, and the script that starts a shell goes by its name.
func (o *overview) commandLine(argv []string) string {
	if slices.Equal(argv, client.InteractiveShell(client.Size{}).Argv) {
		return o.env.Lang.T("a shell")
	}
	if n := len(argv); n == 5 && argv[1] == "-c" && argv[3] == "sh" {
		return "$ " + present.CleanMax(argv[4], 200)
	}
	return present.CleanMax(strings.Join(argv, " "), 200)
}
