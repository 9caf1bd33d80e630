// Package create makes sandboxes: the dialog that asks for what is needed and
// the work behind it, which goes on when the dialog is closed.
package create

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/views/present"
)

// createTimeout bounds one create call; images may have to be pulled.
const createTimeout = 5 * time.Minute

// Options configures a [Creator].
type Options struct {
	Providers present.Providers
	// Default is the provider that is chosen at first; "" means the first one.
	Default string
	Owner   present.Owner
	// ReadOnly refuses every request with a reason.
	ReadOnly bool
}

// Creator opens the dialog for each CreateRequestMsg and carries out what it
// decides. It is a ui.Background and a ui.Staker.
type Creator struct {
	opt    Options
	env    ui.Env
	ctx    context.Context
	cancel context.CancelFunc
	now    time.Time
	jobs   []*job
}

// job is one create call under way.
type job struct {
	values values
	at     time.Time
	// dialog shows the result while it is open.
	dialog *dialog
}

// submitMsg comes from the dialog.
type submitMsg struct {
	dialog *dialog
	values values
}

// closedMsg says that a dialog no longer shows anything.
type closedMsg struct{ dialog *dialog }

// doneMsg is the answer to one create call.
type doneMsg struct {
	job     *job
	sandbox client.Sandbox
	err     error
}

// New makes a creator; it starts with Init.
func New(opt Options) *Creator { return &Creator{opt: opt} }

// Init implements ui.Background.
func (c *Creator) Init(env ui.Env) tea.Cmd {
	c.env, c.now = env, env.Now()
	c.ctx, c.cancel = context.WithCancel(env.Ctx)
	return nil
}

// Update implements ui.Background.
func (c *Creator) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case ui.TickMsg:
		c.now = msg.Now
	case present.DefaultProviderMsg:
		c.opt.Default = msg.Name
	case present.CreateRequestMsg:
		return c.request(msg), false
	case submitMsg:
		return c.submit(msg), false
	case closedMsg:
		for _, j := range c.jobs {
			if j.dialog == msg.dialog {
				j.dialog = nil
			}
		}
	case doneMsg:
		return c.done(msg), false
	}
	return nil, false
}

// Default names the provider that creates when nothing else is said.
func (c *Creator) Default() string { return c.opt.Default }

// Close cancels what is under way.
func (c *Creator) Close() {
	if c.cancel != nil {
		c.cancel()
	}
}

func (c *Creator) request(msg present.CreateRequestMsg) tea.Cmd {
	if c.opt.ReadOnly {
		return ui.Toast(ui.ToastWarn, c.env.Lang.T("read-only mode: nothing is created (%s)", client.CodeReadOnly))
	}
	if len(c.opt.Providers) == 0 {
		return ui.Toast(ui.ToastError, c.env.Lang.T("no provider is configured (%s)", client.CodeConfig))
	}
	provider := msg.Provider
	if c.opt.Providers.Get(provider) == nil {
		provider = c.opt.Default
	}
	if c.opt.Providers.Get(provider) == nil {
		provider = c.opt.Providers[0].Name()
	}
	return ui.Cmd(ui.OverlayMsg{Overlay: newDialog(c.opt.Providers, provider, msg.Template, msg.Full)})
}

func (c *Creator) submit(msg submitMsg) tea.Cmd {
	p := c.opt.Providers.Get(msg.values.provider)
	spec, err := msg.values.spec(c.opt.Owner)
	if err == nil && p == nil {
		err = client.Usagef("create sandbox", "there is no provider %q", msg.values.provider)
	}
	j := &job{values: msg.values, at: c.env.Now(), dialog: msg.dialog}
	c.jobs = append(c.jobs, j)
	if err != nil {
		return ui.Cmd(doneMsg{job: j, err: err})
	}
	parent := c.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(parent, createTimeout)
		defer cancel()
		sb, err := p.Sandboxes().Create(ctx, spec)
		sb.Provider = p.Name()
		return doneMsg{job: j, sandbox: sb, err: err}
	}
}

// done shows an error where the user looks: in the dialog if that is still
// open, else as a toast.
func (c *Creator) done(msg doneMsg) tea.Cmd {
	for i, j := range c.jobs {
		if j == msg.job {
			c.jobs = append(c.jobs[:i:i], c.jobs[i+1:]...)
			break
		}
	}
	d := msg.job.dialog
	if msg.err != nil {
		if d != nil {
			d.failed(msg.err)
			return nil
		}
		text := c.env.Lang.T("create: %s", present.ErrorLine(msg.err))
		if h := present.Hint(msg.err); h != "" {
			text += "  " + c.env.Lang.T("hint: %s", c.env.Lang.Word(h))
		}
		return ui.Toast(ui.ToastError, text)
	}
	text := c.env.Lang.T("created %s on %s, TTL %s", present.LongLabel(msg.sandbox), present.Clean(msg.sandbox.Provider),
		present.TTL(msg.sandbox, c.env.Now()))
	cmds := []tea.Cmd{ui.Cmd(present.CreatedMsg{Sandbox: msg.sandbox}), ui.Toast(ui.ToastOK, text)}
	if d != nil {
		cmds = append(cmds, ui.Cmd(ui.CloseOverlayMsg{Overlay: d}))
	}
	return tea.Batch(cmds...)
}

// Status implements ui.Background; while the dialog is open that shows the progress.
func (c *Creator) Status() string {
	for _, j := range c.jobs {
		if j.dialog == nil {
			return c.env.Lang.T("creating a sandbox on %s %s", present.Clean(j.values.provider), present.Duration(c.now.Sub(j.at)))
		}
	}
	return ""
}

// AtStake implements ui.Staker: whether an unanswered create happened is unknown.
func (c *Creator) AtStake() []string {
	if n := len(c.jobs); n > 0 {
		return []string{c.env.Lang.N(n, "%d sandbox is being created", "%d sandboxes are being created", n)}
	}
	return nil
}
