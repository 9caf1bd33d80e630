package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// Pace is how whoever handles a message says how soon that is to be seen. Its
// methods are called during Update only; they do nothing on nil.
type Pace struct{ still, soon bool }

// Still says that what Update was called for changed nothing that is on the
// screen: no frame is drawn for it. It is for messages that nobody else acts
// upon, such as a key that is only passed on.
func (p *Pace) Still() {
	if p != nil {
		p.still = true
	}
}

// Soon says that somebody waits for this change, such as the echo of a key: it
// is drawn at once, however short ago the last frame was. Whoever calls it
// bounds how often, for example by one for each key.
func (p *Pace) Soon() {
	if p != nil {
		p.soon = true
	}
}

// frameMsg is the timer behind a frame that was put off. One that was drawn
// earlier after all leaves a timer behind, which its number tells.
type frameMsg struct{ n uint64 }

// stale reports whether msg is to be drawn, after it was handled; own says that
// the shell itself showed something that may be gone now.
func (r *Root) stale(msg tea.Msg, own bool) bool {
	if _, second := msg.(secondMsg); second {
		return r.moved()
	}
	return own || !r.env.Pace.still
}

// transient reports whether the shell shows something that the next key takes
// away without anybody being told.
func (r *Root) transient() bool { return r.hint != "" || len(r.pending) > 0 }

// pace decides whether the next View may draw at once. After a quiet moment it
// may, and when somebody waits for the change; in a flood of messages a frame
// is drawn every FrameInterval, so that the flood is worked off quickly.
func (r *Root) pace() tea.Cmd {
	if r.opts.FrameInterval < 0 {
		return nil
	}
	if r.env.Pace.soon {
		r.waiting, r.urgent = false, true
		r.frame++
		return nil
	}
	if r.waiting {
		return nil
	}
	since := time.Since(r.drawnAt)
	if since >= r.opts.FrameInterval {
		return nil
	}
	r.waiting = true
	r.frame++
	return r.opts.After(r.opts.FrameInterval-since, frameMsg{r.frame})
}
