package sandboxes

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/ui"
	"abxdash/views/present"
)

func (s *Store) stage(keys []present.Key, stage killStage, at time.Time) {
	for _, k := range keys {
		if e := s.rows[k]; e != nil && e.kill != killAccepted {
			e.kill, e.killAt = stage, at
			e.version++
		}
	}
}

// killed turns a row into a tombstone until the list agrees.
func (s *Store) killed(msg present.KillResultMsg) {
	e := s.rows[msg.Key]
	if e == nil {
		return
	}
	s.seq++
	e.localSeq = s.seq
	switch msg.Outcome {
	case present.KillFailed:
		e.kill = killNone
	case present.KillAlreadyGone:
		e.kill, e.acceptedAt, e.seenGone = killAccepted, s.now, true
	case present.KillAccepted:
		e.kill, e.acceptedAt = killAccepted, s.now
	}
	e.createdAt = time.Time{}
	e.version++
	s.restructured()
}

func (s *Store) afterKill(msg present.KillDoneMsg) tea.Cmd {
	var cmds []tea.Cmd
	if n := len(msg.Failed); n > 0 {
		cmds = append(cmds, ui.Cmd(ui.AttentionMsg{Kind: ui.AttentionFailures, Text: s.killsFailed(msg.Failed)}))
	}
	seen := map[string]bool{}
	for _, k := range slices.Concat(msg.Killed, msg.Failed) {
		if !seen[k.Provider] {
			seen[k.Provider] = true
			cmds = append(cmds, s.refresh(k.Provider, false))
		}
	}
	return tea.Batch(cmds...)
}

// buried rows are kept only so that a list that flips back does not show them again.
func (e *entry) buried() bool { return e.kill == killAccepted && e.seenGone }

// dropBuried forgets tombstones after the limit: what a list then still says is the truth.
func (s *Store) dropBuried() {
	for k, e := range s.rows {
		if e.buried() && s.now.Sub(e.acceptedAt) >= stillThereAfter {
			delete(s.rows, k)
		}
	}
}

// stuckKill reports that a kill was accepted long ago and the row is still listed.
func (e *entry) stuckKill(now time.Time) bool {
	return e.kill == killAccepted && now.Sub(e.acceptedAt) >= stillThereAfter
}
