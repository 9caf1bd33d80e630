package present

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/ui"
)

// Pace decides when a tab asks again: only while it is shown, less often while
// the terminal has not the focus, one call at a time. The zero value is hidden
// and never due. It is used from Update only.
type Pace struct {
	// Every is the time between two calls, Unfocused the same without the focus.
	Every, Unfocused time.Duration

	shown, blurred, asking bool
	asked                  time.Time
}

// Update takes the messages that matter (tab shown and hidden, focus, time) and
// reports whether it is time to ask.
func (p *Pace) Update(msg tea.Msg) bool {
	switch m := msg.(type) {
	case TabShownMsg:
		p.shown = true
		return true
	case TabHiddenMsg:
		p.shown = false
	case ui.FocusMsg:
		p.blurred = !m.Focused
	case ui.TickMsg:
		return p.due(m.Now)
	}
	return false
}

func (p *Pace) due(now time.Time) bool {
	every := p.Every
	if p.blurred {
		every = p.Unfocused
	}
	return p.shown && every > 0 && now.Sub(p.asked) >= every
}

// Begin notes that a call starts now; it reports false while one is under way.
func (p *Pace) Begin(now time.Time) bool {
	if p.asking {
		return false
	}
	p.asking, p.asked = true, now
	return true
}

// End notes that the call is over, or that its answer is no longer wanted.
func (p *Pace) End() { p.asking = false }

// Shown reports whether the tab is the one that is looked at.
func (p *Pace) Shown() bool { return p.shown }

// Show makes what is no tab count as shown.
func (p *Pace) Show() { p.shown = true }
