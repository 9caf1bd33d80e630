package sandboxes

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// watchful remembers what the user was told already.
type watchful struct {
	// expiring are rows whose near end was said, stray those that were said to be strays.
	expiring, stray map[string]bool
	// failing are providers whose failure was said.
	failing map[string]bool
	// begun is set once the first lists are in: what is so from the beginning
	// is on the screen and needs no call.
	begun bool
}

func newWatchful() watchful {
	return watchful{expiring: map[string]bool{}, stray: map[string]bool{}, failing: map[string]bool{}}
}

// callFailures is how many listings in a row must fail before that is worth a call.
const callFailures = 3

// attention finds what is worth calling the user for, each thing once.
func (s *Store) attention() tea.Cmd {
	w := &s.told
	first := !w.begun
	if first {
		if !s.allAnswered() {
			return nil
		}
		w.begun = true
	}
	var cmds []tea.Cmd
	say := func(kind ui.AttentionKind, text string) {
		if !first {
			cmds = append(cmds, ui.Cmd(ui.AttentionMsg{Kind: kind, Text: text}))
		}
	}
	var ends, strays []string
	for _, e := range s.entries() {
		if e.stale() || e.kill != killNone {
			continue
		}
		if s.endsSoon(e) != w.expiring[e.id] {
			if w.expiring[e.id] = !w.expiring[e.id]; w.expiring[e.id] {
				ends = append(ends, present.Label(e.sb))
			}
		}
		if lost := len(e.stray) > 0; lost != w.stray[e.id] {
			if w.stray[e.id] = lost; lost {
				strays = append(strays, present.Label(e.sb)+" ("+strings.Join(e.stray, ", ")+")")
			}
		}
	}
	if len(ends) > 0 {
		say(ui.AttentionExpiry, s.env.Lang.T("%s ends within %s", someOf(ends, s.env.Lang), present.Duration(lowTTL)))
	}
	if len(strays) > 0 {
		say(ui.AttentionStrays, s.env.Lang.T("looks forgotten: %s", someOf(strays, s.env.Lang)))
	}
	for _, src := range s.sources {
		if failing := src.failures >= callFailures; failing != w.failing[src.name] {
			if w.failing[src.name] = failing; failing {
				say(ui.AttentionFailures, s.env.Lang.T("%s does not answer: %s", present.Clean(src.name), present.ErrorLine(src.err)))
			}
		}
	}
	return tea.Batch(cmds...)
}

// watchedFor is how long somebody is taken to watch the command that they
// started: its failure within that time is on their screen already.
const watchedFor = 10 * time.Second

// killsFailed words kills that were refused.
func (s *Store) killsFailed(keys []present.Key) string {
	var names []string
	for _, k := range keys {
		names = append(names, s.nameOf(k))
	}
	return s.env.Lang.T("not killed: %s", someOf(names, s.env.Lang))
}

// nameOf is what people call a sandbox, its id if it is not known here; clean.
func (s *Store) nameOf(k present.Key) string {
	if e := s.rows[k]; e != nil {
		return present.Label(e.sb)
	}
	return present.Clean(string(k.ID))
}

func (s *Store) allAnswered() bool {
	for _, src := range s.sources {
		if !src.loaded && src.err == nil {
			return false
		}
	}
	return true
}

// endsSoon reports a sandbox of the user's that will end soon by itself.
func (s *Store) endsSoon(e *entry) bool {
	left, kind := present.Left(e.sb, s.at(e.src))
	// One that was made for less than twice that time is meant to be short.
	short := e.sb.ExpiresAt.Sub(e.sb.StartedAt) < 2*lowTTL
	return kind == client.EndAt && left > 0 && left < lowTTL && !short && e.sb.Running() && s.opt.Owner.Column(e.sb) == "me"
}

// someOf names the first few of a list.
func someOf(names []string, tr *lang.Catalog) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return tr.T("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// attentionEvery is how often rows are looked through for it.
const attentionEvery = 5 * time.Second
