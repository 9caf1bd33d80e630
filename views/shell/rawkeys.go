package shell

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/attach"
	"abxdash/ui/lang"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// rawShell carries out keys while the shell has the whole terminal. The loop of
// the dashboard stands still meanwhile: all methods run in its place, on its
// goroutine, and what it has to learn is kept for later.
type rawShell struct {
	s     *Screen
	keys  attach.SecondKeys
	calls chan func() *term.Session
	// running are commands whose messages have not come yet.
	running []chan tea.Msg
	cmds    []tea.Cmd
	// note is the last thing to tell, and noteAt when it was told.
	note   string
	noteAt time.Time
}

// noteTime is how long the title tells what a key did.
const noteTime = 10 * time.Second

// maxCalls bounds what keys have under way at once.
const maxCalls = 8

func newRawShell(s *Screen, keys attach.SecondKeys) *rawShell {
	return &rawShell{s: s, keys: keys, calls: make(chan func() *term.Session, maxCalls)}
}

// status is the title of the terminal.
func (r *rawShell) status() string {
	x := r.s.cur()
	text := "[" + x.name + "] " + r.s.expiry.Status()
	if mark := x.rec.mark(); mark != "" {
		text = mark + " " + text
	}
	if r.note != "" && r.s.env.Now().Sub(r.noteAt) < noteTime {
		text += " (" + r.note + ")"
	}
	return text
}

func (r *rawShell) tell(note string) { r.note, r.noteAt = note, r.s.env.Now() }

// handle implements attach.Options.
func (r *rawShell) handle(key rune) attach.Verdict {
	switch a := r.keys.Actions[key]; a {
	case keymap.ShellExtend:
		r.s.expiry.Extend()
	case keymap.ShellNext, keymap.ShellPrev:
		step := 1
		if a == keymap.ShellPrev {
			step = -1
		}
		return r.turn(step)
	case keymap.ShellNew:
		return r.start()
	case keymap.ShellPaste:
		r.paste()
	case keymap.ShellRecord, keymap.ShellRecordInput:
		if cmd := r.s.record(a == keymap.ShellRecordInput); cmd != nil {
			// What is typed meanwhile waits: it is to be recorded, and another key would
			// take this one's answer for its own.
			return r.run(cmd, func(msg tea.Msg) *term.Session {
				r.cmds = append(r.cmds, ui.Cmd(msg))
				r.tell(recordingNote(msg, r.s.env.Lang))
				return nil
			})
		}
	default:
		return attach.Unknown
	}
	return attach.Used
}

// turn shows the next or previous shell that runs.
func (r *rawShell) turn(step int) attach.Verdict {
	if len(r.calls) == maxCalls {
		return attach.Used
	}
	for range r.s.shells() {
		if r.s.turn(step); r.s.live() != nil {
			break
		}
	}
	r.calls <- r.s.live
	return attach.Wait
}

// start begins another shell and shows it as soon as it runs.
func (r *rawShell) start() attach.Verdict {
	m := r.s.opts.Manager
	if m.opts.ReadOnly != "" {
		r.tell(m.env.Lang.T("no new shell: %s", m.opts.ReadOnly))
		return attach.Used
	}
	if len(r.running) == maxCalls { // run would drop it, and a tab that never starts would be left
		return attach.Used
	}
	cols, rows := r.s.live().Terminal().Size()
	x, cmd := m.open(r.s.sb)
	x.fit(cols, rows)
	r.tell(m.env.Lang.T("starting a shell …"))
	return r.run(cmd, func(msg tea.Msg) *term.Session {
		started, ok := msg.(startedMsg)
		if !ok {
			return nil
		}
		r.cmds = append(r.cmds, m.started(started))
		if started.err != nil {
			r.tell(x.ending(m.env.Lang))
			r.cmds = append(r.cmds, m.forget(x))
			return nil
		}
		r.tell("")
		r.s.show(x)
		return r.s.live()
	})
}

// paste types what was copied last; a large one needs the dashboard's question.
func (r *rawShell) paste() {
	clip, tr := r.s.opts.Manager.clip, r.s.env.Lang
	switch {
	case clip == "":
		r.tell(tr.T("nothing was copied yet"))
	case asksFirst(clip):
		r.tell(tr.T("not pasted: %s; in the pane it asks first", pasteSize(clip, tr)))
	case !r.s.live().Paste(clip):
		r.tell(tr.T("nothing pasted: the shell has not read the last input yet"))
	}
}

// run runs a command of the dashboard elsewhere and then done in its loop's place.
func (r *rawShell) run(cmd tea.Cmd, done func(tea.Msg) *term.Session) attach.Verdict {
	if len(r.running) == maxCalls {
		return attach.Used
	}
	result := make(chan tea.Msg, 1)
	r.running = append(r.running, result)
	ctx, calls := r.s.env.Ctx, r.calls
	go func() {
		msg := cmd()
		result <- msg
		call := func() *term.Session {
			for i, c := range r.running {
				if c == result {
					r.running = append(r.running[:i:i], r.running[i+1:]...)
					return done(<-result)
				}
			}
			return nil
		}
		select {
		case calls <- call:
		case <-ctx.Done():
		}
	}()
	return attach.Wait
}

// later is what the loop of the dashboard has to learn once it goes on.
func (r *rawShell) later() tea.Cmd {
	cmds := r.cmds
	for _, result := range r.running {
		cmds = append(cmds, func() tea.Msg { return <-result })
	}
	r.running, r.cmds = nil, nil
	return tea.Batch(cmds...)
}

// recordingNote words what beginning or ending a recording came to.
func recordingNote(msg tea.Msg, tr *lang.Catalog) string {
	switch m := msg.(type) {
	case ui.ToastMsg:
		return m.Text
	case recordedMsg:
		switch {
		case m.err != nil:
			return present.ErrorLine(m.err)
		case m.path != "":
			return tr.T("recorded %s", present.Clean(m.path))
		}
	}
	return ""
}
