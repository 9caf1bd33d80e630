package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui/attach"
	"abxdash/ui/record"
	"abxdash/ui/term"
	"abxdash/views/present"
)

// Bounds of the keys of attach.
const (
	// noteTime is how long the title tells what a key did.
	noteTime = 10 * time.Second
	// maxCalls bounds what keys have under way at once.
	maxCalls = 8
	// pasteBytes and pasteLines are the largest paste that is not asked about;
	// here nothing can ask, so larger ones are refused.
	pasteBytes = 4 << 10
	pasteLines = 20
)

// AttachKeys are the actions behind the leader that attach has without a dashboard.
func AttachKeys() []keymap.Action {
	return []keymap.Action{
		keymap.ShellDetach, keymap.ShellNext, keymap.ShellPrev, keymap.ShellNew, keymap.ShellScrollback, keymap.ShellPaste,
		keymap.ShellExtend, keymap.ShellRecord, keymap.ShellRecordInput, keymap.ShellHelp, keymap.ShellLiteral,
	}
}

// ScrollBack is a look at what a shell has written, see App.ScrollBack.
type ScrollBack struct {
	Session *term.Session
	// Title names the shell.
	Title string
	// Help shows the keys first.
	Help bool
	// Clip is what was copied before.
	Clip string
}

func (a *attacher) tell(note string) { a.note, a.noteAt = note, a.c.Now() }

// inAttach reports whether attach has an action.
func inAttach(a keymap.Action) bool { return slices.Contains(AttachKeys(), a) }

// leavesAttach reports whether an action needs the terminal for a screen of its own.
func leavesAttach(a keymap.Action) bool {
	return a == keymap.ShellScrollback || a == keymap.ShellHelp || a == keymap.ShellDetach
}

// key runs the keys after the leader that keep the terminal.
func (a *attacher) key(ctx context.Context, key rune) attach.Verdict {
	switch act := a.keys.Actions[key]; act {
	case keymap.ShellExtend:
		a.expiry.Extend()
	case keymap.ShellNext, keymap.ShellPrev, keymap.ShellNew:
		return a.other(ctx, act)
	case keymap.ShellRecord, keymap.ShellRecordInput:
		return a.toggleRecording(ctx, act == keymap.ShellRecordInput)
	case keymap.ShellPaste:
		a.paste()
	case keymap.ShellUndo:
		a.tell("a kill is undone where it was asked for: in the dashboard")
	case keymap.ShellZoom, keymap.ShellRaw:
		a.tell("it has the whole terminal already")
	case keymap.ShellRename, keymap.ShellSplit, keymap.ShellFocus, keymap.ShellLinks:
		a.tell(string(key) + " works in the dashboard only")
	default:
		return attach.Unknown
	}
	return attach.Used
}

// elsewhere runs do on another goroutine, and what it returns in place of the attach.
func (a *attacher) elsewhere(ctx context.Context, do func() func() *term.Session) {
	a.under.Add(1)
	go func() {
		defer a.under.Done()
		call := do()
		select {
		case a.calls <- call:
		case <-ctx.Done():
		}
	}()
}

// other shows the shell that a key asks for: the next, the previous, or a new
// one. One that was shown before is as it was left.
func (a *attacher) other(ctx context.Context, act keymap.Action) attach.Verdict {
	now, shown := a.at.proc.PID(), slices.Clone(a.shells)
	a.elsewhere(ctx, func() func() *term.Session {
		x, pid, err := a.find(ctx, act, now, shown)
		return func() *term.Session {
			switch {
			case err != nil:
				a.tell(present.ErrorLine(err))
				return nil
			case x != nil:
				a.open(x)
				return x.live
			}
			for _, known := range a.shells {
				if known.proc.PID() == pid && known.live.End() == nil {
					a.show(known)
					return known.live
				}
			}
			return nil
		}
	})
	return attach.Wait
}

// find starts or joins the shell that a key asks for; pid is its number where
// it is one of those shown before. now is the one on the terminal.
func (a *attacher) find(ctx context.Context, act keymap.Action, now int, shown []*attached) (x *attached, pid int, err error) {
	own := a.found(ctx)
	if act == keymap.ShellNew || len(own) == 0 {
		x, err = a.start(ctx, nil, "")
		return x, 0, err
	}
	at := slices.IndexFunc(own, func(s present.FoundShell) bool { return s.PID == now })
	step := 1
	if act == keymap.ShellPrev {
		step = -1
	}
	next := own[((at+step)%len(own)+len(own))%len(own)]
	if slices.ContainsFunc(shown, func(x *attached) bool { return x.proc.PID() == next.PID && x.live.End() == nil }) {
		return nil, next.PID, nil
	}
	x, err = a.join(ctx, next)
	return x, 0, err
}

// paste types what was copied last.
func (a *attacher) paste() {
	lines := strings.Count(strings.ReplaceAll(a.clip, "\r", "\n"), "\n") + 1
	switch {
	case a.clip == "":
		a.tell("nothing was copied yet; the scroll-back copies")
	case len(a.clip) > pasteBytes || lines > pasteLines:
		a.tell(fmt.Sprintf("not pasted: %s in %s; the dashboard asks before that much",
			present.Plural(len(a.clip), "byte", "bytes"), present.Plural(lines, "line", "lines")))
	case !a.at.live.Paste(a.clip):
		a.tell("not pasted: the shell has not read the last input yet")
	}
}

// scrollBack shows what the shell has written, with search and copying.
func (a *attacher) scrollBack(ctx context.Context, help bool) error {
	if a.c.ScrollBack == nil {
		return nil
	}
	title := present.Label(a.sb)
	if a.at.name != "" {
		title += " [" + a.at.name + "]"
	}
	clip, err := a.c.ScrollBack(ctx, a.c.flags, ScrollBack{Session: a.at.live, Title: title, Help: help, Clip: a.clip})
	a.clip = clip
	return err
}

// toggleRecording begins or ends a recording. What is typed meanwhile waits: it
// is to be recorded, and another key would take this one's answer for its own.
func (a *attacher) toggleRecording(ctx context.Context, keys bool) attach.Verdict {
	if a.tape.mark() != "" {
		a.elsewhere(ctx, func() func() *term.Session {
			path, err := a.tape.stop()
			return func() *term.Session {
				if a.tell("recorded " + present.Clean(path)); err != nil {
					a.tell(present.ErrorLine(err))
				}
				return nil
			}
		})
		return attach.Wait
	}
	if a.c.Recordings == "" {
		a.tell("there is no folder for recordings")
		return attach.Used
	}
	path := filepath.Join(a.c.Recordings, record.Name(present.Label(a.sb)+"-"+a.at.name, a.c.Now()))
	a.elsewhere(ctx, func() func() *term.Session {
		err := a.record(ctx, path, keys)
		return func() *term.Session {
			if err != nil {
				a.tell(present.ErrorLine(err))
			}
			return nil
		}
	})
	return attach.Wait
}

// record begins a recording of what is shown.
func (a *attacher) record(ctx context.Context, path string, keys bool) error {
	ctx, cancel := a.c.call(ctx)
	defer cancel()
	secrets, err := present.EnvSecrets(ctx, a.provider, a.sb.ID)
	if err != nil {
		return fmt.Errorf("not recording, because the secrets to mask cannot be read: %w", err)
	}
	if filepath.Ext(path) == "" {
		path += record.Extension
	}
	size := terminalSize(a.out)
	f, err := record.Create(path, record.Header{Width: size.Cols, Height: size.Rows, Title: present.Label(a.sb)}, record.Options{Secrets: secrets, Input: keys})
	if err != nil {
		return err
	}
	if !a.tape.start(f, keys) {
		return &client.Error{Op: "record", Code: client.CodeUsage, Message: "it is recorded already", Err: f.Close()}
	}
	return nil
}
