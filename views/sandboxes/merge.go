package sandboxes

import (
	"maps"
	"slices"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/views/present"
)

// merge brings the rows of one provider up to its list and returns those that vanished by themselves.
func (s *Store) merge(src *source, page client.Page) (gone []present.Key) {
	in := make(map[present.Key]bool, len(page.Sandboxes))
	changed, moved := false, false
	for i := range page.Sandboxes {
		sb := page.Sandboxes[i]
		sb.Provider = src.name
		k := present.KeyOf(sb)
		in[k] = true
		isNew, differs := s.mergeOne(src, k, sb)
		moved = moved || isNew
		changed = changed || differs
	}
	for k, e := range s.rows {
		if k.Provider != src.name || in[k] {
			continue
		}
		switch {
		case e.localSeq > src.startSeq, s.now.Sub(e.createdAt) < createdGrace:
			// The list may not know about it yet.
		case e.kill == killAccepted:
			moved = moved || !e.seenGone
			e.seenGone = true
		default:
			delete(s.rows, k)
			gone = append(gone, k)
		}
	}
	switch {
	case moved || len(gone) > 0:
		s.restructured()
	case changed:
		s.structure++
	}
	slices.SortFunc(gone, func(a, b present.Key) int { return strings.Compare(a.String(), b.String()) })
	return gone
}

func (s *Store) mergeOne(src *source, k present.Key, sb client.Sandbox) (isNew, changed bool) {
	e := s.rows[k]
	if e == nil {
		s.add(src, sb)
		return true, false
	}
	if e.localSeq > src.startSeq {
		return false, false
	}
	if e.sb.State != sb.State {
		e.stateSince = s.now
	}
	e.noteRenewal(&sb, s.now)
	changed = !sameRow(&e.sb, &sb) || e.cached
	e.sb, e.cached = sb, false
	if changed {
		e.version++
	}
	return false, s.restray(e) || changed
}

// restray judges again whether a row is a stray, and reports a change.
func (s *Store) restray(e *entry) bool {
	stray := s.strays(e.src, e)
	if slices.Equal(stray, e.stray) {
		return false
	}
	e.stray = stray
	e.version++
	return true
}

// renewalStep is the least move of an end that counts as a renewal: ends that
// are computed anew for each list tremble a little.
const renewalStep = 30 * time.Second

// noteRenewal counts an end that others moved on.
func (e *entry) noteRenewal(sb *client.Sandbox, now time.Time) {
	if e.sb.End != client.EndAt || sb.End != client.EndAt || sb.ExpiresAt.Sub(e.sb.ExpiresAt) < renewalStep {
		return
	}
	if e.renewed == 0 {
		e.firstRenewed = now
	}
	e.renewed++
	e.lastRenewed = now
}

func (s *Store) add(src *source, sb client.Sandbox) *entry {
	k := present.KeyOf(sb)
	e := &entry{id: k.String(), src: src, sb: sb, stateSince: s.now, version: 1}
	e.stray = s.strays(src, e)
	s.rows[k] = e
	return e
}

// sameRow reports whether two reports of one sandbox look the same in the list.
func sameRow(a, b *client.Sandbox) bool {
	return a.Name == b.Name && a.Template == b.Template && a.TemplateID == b.TemplateID && a.State == b.State &&
		a.Isolation == b.Isolation && a.StartedAt.Equal(b.StartedAt) && a.ExpiresAt.Equal(b.ExpiresAt) && a.End == b.End &&
		a.CPU == b.CPU && a.MemoryMB == b.MemoryMB && a.DiskMB == b.DiskMB && maps.Equal(a.Metadata, b.Metadata)
}

func (s *Store) strays(src *source, e *entry) []string {
	now := src.clock.At(s.now)
	return present.StrayReasons(e.sb, present.StrayInfo{
		Now: now, Host: s.opt.Owner.Host, StateSince: src.clock.At(e.stateSince), Alive: s.opt.Alive, Rules: s.opt.Rules, Lang: s.env.Lang,
		IdleFor: e.idleFor(now), Attached: s.shells[present.KeyOf(e.sb)] > 0,
		Renewed: e.renewed, RenewedOver: e.lastRenewed.Sub(e.firstRenewed),
	})
}
