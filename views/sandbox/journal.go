package sandbox

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/views/present"
)

// Bounds of what is remembered.
const (
	maxEvents  = 200  // of one sandbox
	maxJournal = 2000 // sandboxes with events
)

// moved is how far an end of life must move to be worth a line: less is the
// rounding of two answers.
const moved = 30 * time.Second

// Journal remembers, in memory, what happened to each sandbox while the
// dashboard runs: changes of state and lifetime that providers report,
// commands, shells, files and kills. It is a ui.Background.
type Journal struct {
	env    ui.Env
	events map[present.Key][]present.EventMsg // oldest first
	order  []present.Key                      // by first event, for forgetting
	seen   map[present.Key]sight
	shells map[present.Key]int
	// renewed are the lifetimes whose last event is that they were moved.
	renewed map[present.Key]renewal
}

// renewal is an end of life that was moved, perhaps several times in a row.
type renewal struct {
	from  string
	times int
}

// sight is what a sandbox was like when it was last reported.
type sight struct {
	state   client.State
	end     client.EndKind
	expires time.Time
}

// NewJournal makes an empty one.
func NewJournal() *Journal {
	return &Journal{events: map[present.Key][]present.EventMsg{}, seen: map[present.Key]sight{}, shells: map[present.Key]int{}, renewed: map[present.Key]renewal{}}
}

// Init implements ui.Background.
func (j *Journal) Init(env ui.Env) tea.Cmd {
	j.env = env
	return nil
}

// Close implements ui.Background.
func (j *Journal) Close() {}

// Status implements ui.Background.
func (j *Journal) Status() string { return "" }

// Of returns what happened to a sandbox, oldest first. It is not to be changed.
func (j *Journal) Of(k present.Key) []present.EventMsg {
	if j == nil {
		return nil
	}
	return j.events[k]
}

// Update implements ui.Background.
func (j *Journal) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch m := msg.(type) {
	case present.EventMsg:
		j.add(m)
	case present.UpdatedMsg:
		j.look(m.Sandbox)
	case present.CreatedMsg:
		j.note(present.KeyOf(m.Sandbox), present.EventState, j.env.Lang.T("created here"), false)
		j.look(m.Sandbox)
	case present.ListedMsg:
		if m.Err == nil {
			for _, s := range m.Page.Sandboxes {
				s.Provider = m.Provider
				j.look(s)
			}
		}
	case present.ShellCountMsg:
		j.shellCount(m)
	case present.KillPendingMsg:
		for _, k := range m.Keys {
			j.note(k, present.EventKill, j.env.Lang.T("kill asked for, not sent yet"), false)
		}
	case present.KillUndoneMsg:
		for _, k := range m.Keys {
			j.note(k, present.EventKill, j.env.Lang.T("kill undone"), false)
		}
	case present.KillResultMsg:
		j.killed(m)
	case present.GoneMsg:
		for _, k := range m.Keys {
			if j.seen[k].state != gone {
				j.seen[k] = sight{state: gone}
				j.note(k, present.EventState, j.env.Lang.T("no longer exists"), true)
			}
		}
	}
	return nil, false
}

// gone stands for a sandbox that its provider no longer knows.
const gone client.State = "gone"

func (j *Journal) killed(m present.KillResultMsg) {
	switch m.Outcome {
	case present.KillAccepted:
		j.note(m.Key, present.EventKill, j.env.Lang.T("killed"), false)
	case present.KillAlreadyGone:
		j.note(m.Key, present.EventKill, j.env.Lang.T("kill: was already gone"), false)
	default:
		j.note(m.Key, present.EventKill, j.env.Lang.T("kill failed: %s", present.ErrorLine(m.Err)), true)
	}
}

func (j *Journal) shellCount(m present.ShellCountMsg) {
	before := j.shells[m.Key]
	j.shells[m.Key] = m.N
	switch {
	case m.N > before:
		j.note(m.Key, present.EventShell, j.env.Lang.T("shell attached"), false)
	case m.N < before:
		j.note(m.Key, present.EventShell, j.env.Lang.T("shell ended"), false)
	}
}

// look compares a report with the one before.
func (j *Journal) look(s client.Sandbox) {
	k := present.KeyOf(s)
	now := sight{state: s.State, end: s.End, expires: s.ExpiresAt}
	before, known := j.seen[k]
	j.seen[k] = now
	switch {
	case !known:
		return
	case before.state != now.state:
		j.note(k, present.EventState, j.stateName(before.state)+" → "+j.stateName(now.state), false)
	case before.end != now.end || now.expires.Sub(before.expires).Abs() >= moved:
		j.movedEnd(k, before, now)
	}
}

func (j *Journal) stateName(s client.State) string {
	return j.env.Lang.Word(present.StateWord(client.Sandbox{State: s}))
}

// movedEnd notes a lifetime that changed. A lifetime that is renewed again and
// again is one line.
func (j *Journal) movedEnd(k present.Key, before, now sight) {
	word := func(v sight) string {
		if v.end != client.EndAt {
			return present.TTL(client.Sandbox{End: v.end}, time.Time{})
		}
		return v.expires.Local().Format("15:04:05")
	}
	run, again := j.renewed[k]
	if !again {
		run = renewal{from: word(before)}
	}
	run.times++
	text := j.env.Lang.T("end %s → %s", run.from, word(now))
	if again {
		list := j.events[k]
		last := &list[len(list)-1]
		last.At, last.Text = j.env.Now(), j.env.Lang.T("%s, moved %d times", text, run.times)
	} else {
		j.note(k, present.EventState, text, false)
	}
	j.renewed[k] = run
}

func (j *Journal) note(k present.Key, kind present.EventKind, text string, bad bool) {
	j.add(present.EventMsg{Key: k, At: j.env.Now(), Kind: kind, Text: text, Bad: bad})
}

func (j *Journal) add(e present.EventMsg) {
	delete(j.renewed, e.Key)
	list, ok := j.events[e.Key]
	if !ok {
		j.order = append(j.order, e.Key)
		if len(j.order) > maxJournal {
			delete(j.events, j.order[0])
			delete(j.renewed, j.order[0])
			j.order = j.order[1:]
		}
	}
	if len(list) >= maxEvents {
		list = append(list[:0], list[1:]...)
	}
	j.events[e.Key] = append(list, e)
}
