package sandboxes

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// changedMsg is the answer to a change of a lifetime or a state.
type changedMsg struct{ present.Extended }

// changeConcurrency bounds the calls in flight that one key press starts.
const changeConcurrency = 6

// change does something to every target, a few at a time. Nothing moves on
// screen before the provider has confirmed it.
func (s *Screen) change(rows []*entry, do func(ctx context.Context, p client.Provider, sb client.Sandbox, now time.Time) present.Extended) tea.Cmd {
	if s.opt.ReadOnly {
		return s.readOnly()
	}
	slots := make(chan struct{}, changeConcurrency)
	var cmds []tea.Cmd
	for _, e := range rows {
		p := s.opt.Providers.Get(e.sb.Provider)
		if p == nil || s.extending[e.id] {
			continue
		}
		s.extending[e.id] = true
		sb, now, parent := e.sb.Clone(), s.at(e), s.ctx
		cmds = append(cmds, func() tea.Msg {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(parent, listTimeout)
			defer cancel()
			return changedMsg{do(ctx, p, sb, now)}
		})
	}
	return tea.Batch(cmds...)
}

// extend asks for more time for every target; arg may name the step.
func (s *Screen) extend(arg string) tea.Cmd {
	step := present.ExtendStep
	if arg != "" {
		d, err := present.ParseDuration(arg)
		if err != nil || d <= 0 {
			return ui.Toast(ui.ToastWarn, s.env.Lang.T("extend needs a duration such as 30m"))
		}
		step = d
	}
	return s.change(s.targets(), func(ctx context.Context, p client.Provider, sb client.Sandbox, now time.Time) present.Extended {
		return present.Extend(ctx, p, sb, step, now)
	})
}

// ttlMsg is a time left that was asked for, for rows chosen before.
type ttlMsg struct {
	ids []string
	d   time.Duration
}

// setTTL sets the time left; without an argument it asks for it.
func (s *Screen) setTTL(arg string) tea.Cmd {
	if s.opt.ReadOnly {
		return s.readOnly()
	}
	rows := s.targets()
	if len(rows) == 0 {
		return nil
	}
	ids := make([]string, len(rows))
	for i, e := range rows {
		ids[i] = e.id
	}
	if arg != "" {
		d, err := parseTTL(arg)
		if err != nil {
			return ui.Toast(ui.ToastWarn, s.env.Lang.Err(err))
		}
		return s.applyTTL(ttlMsg{ids, d})
	}
	tr := s.env.Lang
	what := tr.T("%s, TTL %s", present.LongLabel(rows[0].sb), tr.Word(present.TTL(rows[0].sb, s.at(rows[0]))))
	if len(rows) > 1 {
		what = tr.N(len(rows), "%d marked sandbox", "%d marked sandboxes", len(rows))
	}
	return ui.OpenOverlay(dialog.Prompt(dialog.PromptOptions{
		Title: tr.T("Set the remaining time"), Label: tr.T("from now: "), Placeholder: "30m, 2h, 1d",
		Lines: dialog.Plain(what),
		Check: func(text string) error {
			_, err := parseTTL(text)
			return err
		},
		OnText: func(text string) tea.Cmd {
			d, _ := parseTTL(text) // Check let it through
			return ui.Cmd(ttlMsg{ids, d})
		},
	}))
}

func parseTTL(text string) (time.Duration, error) {
	d, err := present.ParseDuration(strings.TrimSpace(text))
	if err != nil || d <= 0 {
		return 0, lang.Errorf("a duration such as 30m or 2h, please")
	}
	return d, nil
}

func (s *Screen) applyTTL(msg ttlMsg) tea.Cmd {
	var rows []*entry
	for _, id := range msg.ids {
		if e, ok := s.table.Get(id); ok && !e.buried() {
			rows = append(rows, e)
		}
	}
	return s.change(rows, func(ctx context.Context, p client.Provider, sb client.Sandbox, now time.Time) present.Extended {
		return present.SetTTL(ctx, p, sb, msg.d, now)
	})
}

// pauseResume pauses the running ones among the targets, or wakes the paused
// ones. Several at once are asked about.
func (s *Screen) pauseResume(pause bool) tea.Cmd {
	if s.opt.ReadOnly {
		return s.readOnly()
	}
	var rows []*entry
	for _, e := range s.targets() {
		if pause == e.sb.Running() {
			rows = append(rows, e)
		}
	}
	tr := s.env.Lang
	verb, nothing, title := tr.T("resume"), tr.T("nothing here to resume"), tr.T("Resume %d sandboxes?", len(rows))
	do := func(ctx context.Context, p client.Provider, sb client.Sandbox, now time.Time) present.Extended {
		return present.Resume(ctx, p, sb, now)
	}
	if pause {
		verb, nothing, title = tr.T("pause"), tr.T("nothing here to pause"), tr.T("Pause %d sandboxes?", len(rows))
		do = func(ctx context.Context, p client.Provider, sb client.Sandbox, _ time.Time) present.Extended {
			return present.Pause(ctx, p, sb)
		}
	}
	switch len(rows) {
	case 0:
		return ui.Toast(ui.ToastInfo, nothing)
	case 1:
		return s.change(rows, do)
	}
	return ui.OpenOverlay(dialog.Confirm(dialog.ConfirmOptions{
		Title: title,
		Yes:   verb, OnYes: s.change(rows, do), OnNo: s.forgetChange(rows),
	}))
}

// forgetChange takes back the note that rows are being changed.
func (s *Screen) forgetChange(rows []*entry) tea.Cmd {
	ids := make([]string, len(rows))
	for i, e := range rows {
		ids[i] = e.id
	}
	return ui.Cmd(notChangedMsg{ids})
}

// notChangedMsg says that a change was not made after all.
type notChangedMsg struct{ ids []string }

func (s *Screen) changed(msg changedMsg) tea.Cmd {
	delete(s.extending, msg.Key.String())
	name := present.Label(msg.Before)
	if msg.Err != nil {
		cmds := []tea.Cmd{ui.Toast(ui.ToastError, fmt.Sprintf("%s: %s", name, present.ErrorLine(msg.Err)))}
		if gone(msg.Err) {
			cmds = append(cmds, ui.Cmd(present.GoneMsg{Keys: []present.Key{msg.Key}}))
		}
		return tea.Batch(cmds...)
	}
	level := ui.ToastOK
	if msg.Short {
		level = ui.ToastWarn
	}
	return tea.Batch(ui.Cmd(present.UpdatedMsg{Sandbox: msg.After}), ui.Toast(level, name+": "+msg.In(s.env.Lang)))
}

// protect sets the targets apart from killing in bulk, or not any more. No
// provider lets metadata be changed later, so the list lies on this machine.
func (s *Screen) protect() tea.Cmd {
	if s.opt.Protected == nil {
		return ui.Toast(ui.ToastWarn, s.env.Lang.T("there is nowhere to remember it"))
	}
	rows := s.targets()
	if len(rows) == 0 {
		return nil
	}
	on := !s.opt.Protected.Of(rows[0].sb)
	var save func() error
	kept := ""
	for _, e := range rows {
		if !on && client.Protected(e.sb) {
			kept = present.Label(e.sb)
		}
		save = s.opt.Protected.Set(present.KeyOf(e.sb), on)
		e.version++
	}
	tr := s.env.Lang
	what := present.Label(rows[0].sb)
	if len(rows) > 1 {
		what = tr.N(len(rows), "%d sandbox", "%d sandboxes", len(rows))
	}
	text := tr.T("protected: %s", what)
	if !on {
		text = tr.T("not protected any more: %s", what)
	}
	level := ui.ToastOK
	if kept != "" {
		level, text = ui.ToastWarn, tr.T("%s stays protected: it was created with that tag", kept)
	}
	return tea.Batch(ui.Toast(level, text), func() tea.Msg {
		if err := save(); err != nil {
			return ui.ToastMsg{Level: ui.ToastWarn, Text: tr.T("the protection is not remembered: %s", err)}
		}
		return nil
	})
}

// broadcast asks to run one line in every target.
func (s *Screen) broadcast(line string) tea.Cmd {
	if s.opt.ReadOnly {
		return s.readOnly()
	}
	rows := s.targets()
	if len(rows) == 0 {
		return nil
	}
	msg := present.BroadcastMsg{Line: line}
	for _, e := range rows {
		msg.Targets = append(msg.Targets, e.sb.Clone())
	}
	return ui.Cmd(msg)
}

// copyCommand offers the commands that do the same as the keys here.
func (s *Screen) copyCommand() tea.Cmd {
	type choice struct{ label, command string }
	tr := s.env.Lang
	choices := []choice{{tr.T("list"), "abxdash ls"}}
	if rows := s.targets(); len(rows) > 0 {
		boxes := make([]client.Sandbox, len(rows))
		for i, e := range rows {
			boxes[i] = e.sb
		}
		if len(boxes) == 1 {
			choices = append(choices,
				choice{tr.T("details"), present.CommandLine("info", boxes)},
				choice{tr.T("shell"), present.CommandLine("attach", boxes)},
				choice{tr.T("run a command"), present.CommandLine("exec", boxes, "--", "COMMAND")})
		}
		choices = append(choices, choice{tr.T("kill"), present.CommandLine("kill", boxes)})
	}
	items := make([]dialog.Item, len(choices))
	for i, c := range choices {
		items[i] = dialog.Item{Label: c.label, Hint: present.CleanMax(c.command, 60), Cmd: copied(c.command, tr)}
	}
	return ui.OpenOverlay(dialog.Menu(tr.T("Copy as command"), items))
}

// copied puts a command on the clipboard and says so. Ids come from outside;
// only clean text goes there.
func copied(command string, tr *lang.Catalog) tea.Cmd {
	command = present.CleanMax(command, 64<<10)
	return tea.Batch(tea.SetClipboard(command), ui.Toast(ui.ToastOK, tr.T("copied: %s", present.CleanMax(command, 100))))
}
