package sandboxes

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/views/present"
)

const (
	cacheFile = "list.json"
	// cacheVersion changes with the shape of the file; others are not read.
	cacheVersion = 1
	// cacheEvery is the least time between two writes of the list.
	cacheEvery = 30 * time.Second
	// cacheMaxAge is how old a list may be to be shown again.
	cacheMaxAge = 7 * 24 * time.Hour
)

// cachedList is the last list as it lies on disk. It holds what the list shows
// and nothing that could be secret: of the metadata only the dashboard's own
// tags, and neither the provider's JSON nor a token.
type cachedList struct {
	Version   int
	Providers []cachedProvider
}

type cachedProvider struct {
	Name string
	// At is the local time of the answer.
	At   time.Time
	Rows []cachedRow
}

type cachedRow struct {
	ID, Name, Template, TemplateID, State, Isolation string
	StartedAt, ExpiresAt                             time.Time
	End                                              client.EndKind
	CPU                                              float64
	MemoryMB, DiskMB                                 int64
	Tags                                             map[string]string `json:",omitempty"`
	// Renewed counts how often others moved its end on, see entry.renewed.
	Renewed                   int       `json:",omitzero"`
	FirstRenewed, LastRenewed time.Time `json:",omitzero"`
}

func cacheRow(e *entry) cachedRow {
	s := &e.sb
	r := cachedRow{
		ID: string(s.ID), Name: s.Name, Template: s.Template, TemplateID: s.TemplateID,
		State: string(s.State), Isolation: string(s.Isolation), StartedAt: s.StartedAt, ExpiresAt: s.ExpiresAt,
		End: s.End, CPU: s.CPU, MemoryMB: s.MemoryMB, DiskMB: s.DiskMB,
		Renewed: e.renewed, FirstRenewed: e.firstRenewed, LastRenewed: e.lastRenewed,
	}
	for k, v := range s.Metadata {
		if strings.HasPrefix(k, "abxdash.") {
			if r.Tags == nil {
				r.Tags = map[string]string{}
			}
			r.Tags[k] = v
		}
	}
	return r
}

func (r cachedRow) sandbox(provider string) client.Sandbox {
	return client.Sandbox{
		Provider: provider, ID: client.ID(r.ID), Name: r.Name, Template: r.Template, TemplateID: r.TemplateID,
		State: client.State(r.State), Isolation: client.Isolation(r.Isolation), StartedAt: r.StartedAt, ExpiresAt: r.ExpiresAt,
		End: r.End, CPU: r.CPU, MemoryMB: r.MemoryMB, DiskMB: r.DiskMB, Metadata: r.Tags,
	}
}

// restore shows the last list until the providers have answered.
func (s *Store) restore(now time.Time) error {
	list, err := present.Load[cachedList](s.opt.Cache, cacheFile)
	if err != nil || list.Version != cacheVersion {
		return err
	}
	for _, p := range list.Providers {
		src := s.source(p.Name)
		if src == nil || now.Sub(p.At) > cacheMaxAge || p.At.After(now.Add(time.Minute)) {
			continue
		}
		src.cachedAt = p.At
		for _, r := range p.Rows {
			sb := r.sandbox(p.Name)
			// What ended meanwhile is not worth a second of a wrong list.
			if left, kind := present.Left(sb, now); r.ID == "" || kind == client.EndAt && left <= 0 {
				continue
			}
			e := s.add(src, sb)
			e.cached = true
			e.renewed, e.firstRenewed, e.lastRenewed = r.Renewed, r.FirstRenewed, r.LastRenewed
		}
	}
	s.restructured()
	return nil
}

// snapshot is the present list as it is written; providers that have not
// answered keep what was remembered of them.
func (s *Store) snapshot() cachedList {
	out := cachedList{Version: cacheVersion}
	rows := map[*source][]cachedRow{}
	for _, e := range s.entries() {
		if e.kill != killAccepted && e.kill != killSending {
			rows[e.src] = append(rows[e.src], cacheRow(e))
		}
	}
	for _, src := range s.sources {
		at := src.lastOK
		if !src.loaded {
			at = src.cachedAt
		}
		if !at.IsZero() {
			out.Providers = append(out.Providers, cachedProvider{Name: src.name, At: at, Rows: rows[src]})
		}
	}
	return out
}

// save writes the list, at most every cacheEvery.
func (s *Store) save() tea.Cmd {
	if !s.opt.Cache.Remembers() || s.savedStructure == s.structure || s.now.Sub(s.savedAt) < cacheEvery || !s.anyLoaded() {
		return nil
	}
	s.savedStructure, s.savedAt = s.structure, s.now
	list, f, tr := s.snapshot(), s.opt.Cache, s.env.Lang
	return func() tea.Msg {
		if err := present.Save(f, cacheFile, list); err != nil {
			return ui.ToastMsg{Level: ui.ToastWarn, Text: tr.T("the list could not be remembered: %s", err)}
		}
		return nil
	}
}

func (s *Store) anyLoaded() bool {
	for _, src := range s.sources {
		if src.loaded {
			return true
		}
	}
	return false
}
