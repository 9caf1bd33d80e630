package templates

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/client/stream"
	"abxdash/templates/check"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// checking is the running of one folder here. It belongs to the manager and
// goes on when its screen is left.
type checking struct {
	dir, target string
	log         *stream.Ring
	signal      *stream.Signal

	running bool
	// call is the only command that is called, "" for every one.
	call  string
	began time.Time
	took  time.Duration
	// cancel ends the run, stopped is set once the user asked for that.
	cancel  context.CancelFunc
	stopped bool
	// done is set once there is a result; err is why there is none.
	done   bool
	result check.Result
	err    error
	// calls are the last call of each command.
	calls map[string]check.Call

	// watching is set while saves lead to another run; unwatch ends that.
	watching bool
	watched  context.Context //nolint:containedctx // it ends with watch mode, not with a call
	unwatch  context.CancelFunc
	// again is set when something was saved during a run.
	again bool
	saves *stream.Signal
}

type (
	// checkMsg says that a check has something new.
	checkMsg struct{ check *checking }
	// checkDoneMsg is the end of a run.
	checkDoneMsg struct {
		check  *checking
		result check.Result
		err    error
	}
	// saveMsg says that something was saved in a watched folder.
	saveMsg struct {
		check *checking
		err   error
	}
)

// check is that of a folder; it is made when it is asked for first.
func (m *Manager) check(dir string) *checking {
	c := m.checks[dir]
	if c == nil {
		f := look(dir)
		if f == nil {
			f = &folder{dir: dir, express: true}
		}
		c = &checking{dir: dir, target: m.targetOf(f), signal: stream.NewSignal(), calls: map[string]check.Call{}}
		c.log = newLog(c.signal)
		m.checks[dir] = c
	}
	return c
}

// runCheck runs a folder. Without a call every command is called.
func (m *Manager) runCheck(c *checking, call string, args map[string]string) tea.Cmd {
	if why := m.checkCannot(c); why != "" {
		return ui.Toast(ui.ToastWarn, why)
	}
	ctx, cancel := context.WithCancel(m.env.Ctx)
	c.running, c.stopped, c.cancel, c.call, c.began, c.err = true, false, cancel, call, m.env.Now(), nil
	if t := m.targets[c.dir]; t != "" {
		c.target = t
	}
	o := check.Options{
		Provider: m.opt.CheckIn, Dir: c.dir, Lint: m.opt.lint(c.target), Metadata: m.opt.Owner.Tags("template check", "", nil),
		Call: call, Args: args, Say: c.say,
	}
	if call == "" {
		c.say("── " + m.env.Lang.T("check for %s", present.Clean(c.target)) + " ──")
	} else {
		c.say("── " + m.env.Lang.T("call %s", present.Clean(call)) + " ──")
	}
	work := m.opt.Check
	return tea.Batch(m.waitForCheck(c), func() tea.Msg {
		defer cancel()
		r, err := work(ctx, o)
		return checkDoneMsg{check: c, result: r, err: err}
	})
}

// checkCannot says why a folder cannot be run now, "" if it can.
func (m *Manager) checkCannot(c *checking) string {
	switch {
	case c.running:
		return m.env.Lang.T("it runs already")
	case m.opt.ReadOnly:
		return m.env.Lang.T("read-only mode: no sandbox is made")
	case m.opt.CheckIn == nil:
		return m.env.Lang.T("there is no local provider to run it in")
	}
	return ""
}

// say adds a line to the log; it may be called from any goroutine.
func (c *checking) say(text string) {
	c.log.Append(client.Stdout, []byte(client.OneLine(text, 2000)+"\n"), time.Now())
}

func (m *Manager) waitForCheck(c *checking) tea.Cmd {
	ctx := m.env.Ctx
	return func() tea.Msg {
		if c.signal.WaitFrame(ctx) != nil {
			return nil
		}
		return checkMsg{check: c}
	}
}

func (m *Manager) checkMoved(c *checking) tea.Cmd {
	if !c.running {
		return nil
	}
	return m.waitForCheck(c)
}

// checkDone takes over a result and, in watch mode, runs again what was saved
// meanwhile.
func (m *Manager) checkDone(msg checkDoneMsg) tea.Cmd {
	c := msg.check
	c.running, c.took = false, m.env.Now().Sub(c.began)
	c.takeResult(msg, m.env.Lang)
	c.signal.Set() // ends the waiting command
	if c.again && c.watching {
		c.again = false
		return m.runCheck(c, "", nil)
	}
	if msg.err != nil && !c.stopped && !errors.Is(msg.err, context.Canceled) {
		return m.failed(m.env.Lang.T("check %s", m.folderName(c.dir)), msg.err)
	}
	return nil
}

func (c *checking) takeResult(msg checkDoneMsg, tr *lang.Catalog) {
	r := msg.result
	if c.err = msg.err; msg.err != nil {
		c.say(tr.T("it could not be run: %s", msg.err))
		return
	}
	for _, l := range r.Logs {
		c.say(tr.T("server: %s", l))
	}
	if r.Error != "" {
		c.say(tr.T("failed: %s", r.Error))
	}
	for _, p := range r.Lint.Problems {
		c.say(p.String())
	}
	if c.call == "" {
		clear(c.calls)
	} else if len(r.Commands) == 0 {
		r.Commands = c.result.Commands
	}
	c.result, c.done = r, true
	for _, call := range r.Calls {
		c.calls[call.Command] = call
	}
}

// stop ends a run.
func (c *checking) stop(tr *lang.Catalog) {
	if c.running {
		c.stopped = true
		c.say(tr.T("stopped"))
		c.cancel()
	}
}

// watch begins or ends watch mode.
func (m *Manager) watch(c *checking) tea.Cmd {
	if c.watching {
		c.watching = false
		c.unwatch()
		return ui.Toast(ui.ToastInfo, m.env.Lang.T("saves no longer lead to a check"))
	}
	ctx, cancel := context.WithCancel(m.env.Ctx)
	c.watching, c.watched, c.unwatch, c.saves = true, ctx, cancel, stream.NewSignal()
	sig, dir := c.saves, c.dir
	watch := func() tea.Msg {
		if err := check.Watch(ctx, dir, sig.Set); ctx.Err() == nil {
			return saveMsg{check: c, err: err}
		}
		return nil
	}
	return tea.Batch(watch, c.nextSave(), ui.Toast(ui.ToastInfo, m.env.Lang.T("watching %s: every save leads to a check", m.folderName(dir))))
}

// nextSave waits for the next save, until watch mode or the dashboard ends.
func (c *checking) nextSave() tea.Cmd {
	ctx, sig := c.watched, c.saves
	return func() tea.Msg {
		if sig.Wait(ctx) != nil {
			return nil
		}
		return saveMsg{check: c}
	}
}

// wasSaved runs a watched folder again.
func (m *Manager) wasSaved(msg saveMsg) tea.Cmd {
	c := msg.check
	switch {
	case !c.watching:
		return nil
	case msg.err != nil:
		c.watching = false
		c.unwatch()
		return m.failed(m.env.Lang.T("watch %s", m.folderName(c.dir)), msg.err)
	}
	next := c.nextSave()
	if c.running {
		c.again = true
		return next
	}
	c.say(m.env.Lang.T("saved"))
	return tea.Batch(next, m.runCheck(c, "", nil))
}

// names are the commands that a check knows: those the server listed, else
// those that commands.py declares.
func (c *checking) names() []string {
	var out []string
	for _, cmd := range c.result.Commands {
		out = append(out, cmd.Name)
	}
	if len(out) == 0 {
		for _, d := range c.result.Lint.Commands.Commands {
			if !d.Hidden {
				out = append(out, d.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.calls)) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// server says which server answered, in words.
func (c *checking) server(tr *lang.Catalog) string {
	switch {
	case c.result.Server == "":
		return tr.T("no server ran")
	case c.result.Isolation == "":
		return tr.T("%s server", c.result.Server)
	}
	return tr.T("%s server, isolation %s", c.result.Server, present.Clean(string(c.result.Isolation)))
}

// verdict is the check in the list of folders.
func (c *checking) verdict(t *theme.Theme, tr *lang.Catalog) (string, uv.Style) {
	switch {
	case c.running:
		return t.Symbol.Busy + " " + tr.T("checking"), t.Text.Info
	case c.stopped:
		return t.Symbol.Warn + " " + tr.T("check stopped"), t.Text.Warn
	case c.err != nil:
		return t.Symbol.Fail + " " + tr.T("check: %s", present.ErrorLine(c.err)), t.Text.Error
	case !c.done:
		return present.TTLUnset, t.Text.Dim
	case !c.result.OK:
		return t.Symbol.Fail + " " + tr.T("check failed"), t.Text.Error
	}
	return t.Symbol.OK + " " + tr.T("check, %s", c.result.Server), t.Text.OK
}
