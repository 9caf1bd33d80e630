package sandboxes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/views/present"
)

const (
	// stillThereAfter is how long an accepted kill may take before the row says so.
	stillThereAfter = time.Minute
	// createdGrace is how long a sandbox made here may be missing from lists.
	createdGrace = 10 * time.Second
	// listTimeout bounds one listing.
	listTimeout = 20 * time.Second
)

// StoreOptions configures a [Store].
type StoreOptions struct {
	Providers present.Providers
	Owner     present.Owner
	// Timeout bounds one listing of one provider; 0 means 20 s.
	Timeout time.Duration
	// Alive tells whether a process of this machine lives, for stray reasons;
	// present.ProcessAlive does. nil means unknown.
	Alive func(pid int) bool
	// Rules are the thresholds for stray reasons.
	Rules present.StrayRules
	// Protected is the user's own list of protected sandboxes; may be nil.
	Protected *present.Protected
	// Cache is where the last list is remembered, to be shown at once at the next start.
	Cache present.Folder
	// Now is the clock that the age of a remembered list is measured with; nil is time.Now.
	Now func() time.Time
}

// Store keeps the sandboxes of all providers fresh and is the one place that
// polls lists. It is a ui.Background: everything happens in Update, so it needs
// no lock, and the list screen reads it directly.
type Store struct {
	opt     StoreOptions
	env     ui.Env
	ctx     context.Context
	cancel  context.CancelFunc
	sources []*source
	rows    map[present.Key]*entry
	// seq counts requests and local changes, to tell which of them a list can know about.
	seq uint64
	// order is every row in the order of its key; nil when it must be made again.
	order []*entry
	// structure changes when rows came, went or may have to be sorted or filtered anew.
	structure uint64
	now       time.Time
	hidden    bool // the terminal has lost the focus
	// shells counts the open shells of this dashboard by sandbox.
	shells map[present.Key]int
	// savedStructure and savedAt belong to the last write of the cache.
	savedStructure uint64
	savedAt        time.Time
	// only are the providers whose rows are shown; none means all.
	only []string
	// told is what the user was called for, attendedAt when that was looked at last.
	told       watchful
	attendedAt time.Time
	// CacheErr is why the remembered list could not be read, for the log.
	CacheErr error
}

// killStage is how far the killing of a row has got.
type killStage uint8

const (
	killNone     killStage = iota
	killPending            // in the grace time, nothing sent
	killSending            // sent, no answer yet
	killAccepted           // the provider said yes
)

// entry is one sandbox in the store.
type entry struct {
	// id is the key as text, src the provider it came from.
	id    string
	src   *source
	sb    client.Sandbox
	stray []string
	// version changes whenever something that is shown did, except for time passing.
	version uint64
	// localSeq is the store's seq at the last change made from here.
	localSeq   uint64
	stateSince time.Time
	createdAt  time.Time

	kill   killStage
	killAt time.Time
	// acceptedAt is the time of the answer; seenGone is set once a list lacked the row.
	acceptedAt time.Time
	seenGone   bool

	// cached rows are remembered from an earlier run and not confirmed yet.
	cached bool
	// renewed counts how often its end moved on without our doing, as far as it
	// was seen, and when first and last.
	renewed                   int
	firstRenewed, lastRenewed time.Time
	// use is nil until something was measured.
	use *usage
}

// NewStore makes a store; it starts with Init.
func NewStore(opt StoreOptions) *Store {
	if opt.Timeout <= 0 {
		opt.Timeout = listTimeout
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	s := &Store{opt: opt, rows: map[present.Key]*entry{}, shells: map[present.Key]int{}, told: newWatchful()}
	for _, p := range opt.Providers {
		s.sources = append(s.sources, &source{provider: p, name: p.Name(), badges: present.Badges(p.Capabilities())})
	}
	s.now = opt.Now()
	s.CacheErr = s.restore(s.now)
	return s
}

// Init asks every provider at once. It implements ui.Background.
func (s *Store) Init(env ui.Env) tea.Cmd {
	s.env, s.now = env, env.Now()
	s.ctx, s.cancel = context.WithCancel(env.Ctx)
	return s.startDue()
}

// Update implements ui.Background.
func (s *Store) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case ui.TickMsg:
		s.now = msg.Now
		s.dropBuried()
		cmds := []tea.Cmd{s.startDue(), s.save()}
		if s.now.Sub(s.attendedAt) >= attentionEvery {
			s.attendedAt = s.now
			cmds = append(cmds, s.attention())
		}
		return tea.Batch(cmds...), false
	case ui.FocusMsg:
		return s.focus(msg.Focused), false
	case ui.ActionMsg:
		switch msg.Action {
		case keymap.AppRefresh:
			return s.refresh("", true), false
		case keymap.AppProviders:
			return s.goProviders(msg.Arg), true
		}
	case present.ListedMsg:
		return s.listed(msg), false
	case present.RefreshMsg:
		return s.refresh(msg.Provider, false), false
	case present.ShowProvidersMsg:
		s.showOnly(msg.Names)
	case present.CreatedMsg:
		return s.created(msg.Sandbox), false
	case present.UpdatedMsg:
		s.updated(msg.Sandbox)
	case present.GoneMsg:
		s.gone(msg.Keys)
	case present.KillPendingMsg:
		s.now = s.env.Now() // the countdown begins now, not at the last tick
		s.stage(msg.Keys, killPending, msg.At)
	case present.KillUndoneMsg:
		s.stage(msg.Keys, killNone, time.Time{})
	case present.KillSendingMsg:
		s.stage(msg.Keys, killSending, time.Time{})
	case present.KillResultMsg:
		s.killed(msg)
	case present.KillDoneMsg:
		return s.afterKill(msg), false
	case sampledMsg:
		return s.sampled(msg), false
	case pastMsg:
		s.remembered(msg)
	case present.EventMsg:
		if msg.Bad && msg.Kind == present.EventCommand && msg.Took >= watchedFor {
			return ui.Cmd(ui.AttentionMsg{Kind: ui.AttentionFailures, Text: s.nameOf(msg.Key) + ": " + msg.Text}), false
		}
	case present.ShellCountMsg:
		s.shells[msg.Key] = msg.N
	}
	return nil, false
}

// Status implements ui.Background; the list's own header tells what there is to tell.
func (s *Store) Status() string { return "" }

// Close cancels all listings and remembers the list.
func (s *Store) Close() {
	if s.ctx != nil && s.savedStructure != s.structure && s.anyLoaded() {
		// A list that cannot be remembered is no reason to end badly.
		_ = present.Save(s.opt.Cache, cacheFile, s.snapshot())
	}
	if s.cancel != nil {
		s.cancel()
	}
}

// Lookup returns a sandbox as last seen.
func (s *Store) Lookup(k present.Key) (client.Sandbox, bool) {
	e := s.rows[k]
	if e == nil || e.buried() {
		return client.Sandbox{}, false
	}
	return e.sb, true
}

// ServerTime returns the time at a provider now.
func (s *Store) ServerTime(provider string) time.Time {
	if src := s.source(provider); src != nil {
		return src.clock.At(s.now)
	}
	return s.now
}

// entries returns the rows to show. The slice is the caller's to read until the next Update.
func (s *Store) entries() []*entry {
	if s.order == nil {
		s.order = make([]*entry, 0, len(s.rows))
		for _, e := range s.rows {
			if !e.buried() {
				s.order = append(s.order, e)
			}
		}
		slices.SortFunc(s.order, func(a, b *entry) int { return strings.Compare(a.id, b.id) })
	}
	return s.order
}

// restructured notes that rows came or went.
func (s *Store) restructured() {
	s.order = nil
	s.structure++
}

func (s *Store) source(name string) *source {
	for _, src := range s.sources {
		if src.name == name {
			return src
		}
	}
	return nil
}

func (s *Store) interval() time.Duration {
	if s.hidden {
		return pollHidden
	}
	return pollFocused
}

// startDue starts a listing of every provider whose time has come.
func (s *Store) startDue() tea.Cmd {
	var cmds []tea.Cmd
	for _, src := range s.sources {
		if src.due(s.now) {
			cmds = append(cmds, s.list(src))
		}
	}
	return tea.Batch(cmds...)
}

func (s *Store) list(src *source) tea.Cmd {
	s.seq++
	src.gen++
	src.startSeq, src.startAt, src.inFlight, src.again = s.seq, s.now, true, false
	gen, p, parent, timeout, clock := src.gen, src.provider, s.ctx, s.opt.Timeout, s.env.Now
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(parent, timeout)
		defer cancel()
		page, err := present.ListAll(ctx, p, client.Query{})
		return present.ListedMsg{Provider: p.Name(), Gen: gen, Page: page, At: clock(), Err: err}
	}
}

// refresh lists again as soon as that is allowed. With say, a provider that
// asked us to wait is named together with the wait.
func (s *Store) refresh(provider string, say bool) tea.Cmd {
	var cmds []tea.Cmd
	for _, src := range s.sources {
		if provider != "" && src.name != provider {
			continue
		}
		switch {
		case src.paused(s.now):
			if say {
				left := present.Duration(src.pausedUntil.Sub(s.now) + time.Second - 1)
				cmds = append(cmds, ui.Toast(ui.ToastWarn, s.env.Lang.T("%s asked us to wait: next refresh in %s", present.Clean(src.name), left)))
			}
		case src.inFlight:
			src.again = true
		default:
			cmds = append(cmds, s.list(src))
		}
	}
	return tea.Batch(cmds...)
}

// focus changes the pace; coming back refreshes what is older than the faster pace.
func (s *Store) focus(focused bool) tea.Cmd {
	s.hidden = !focused
	if !focused {
		return nil
	}
	for _, src := range s.sources {
		if src.failures == 0 && s.now.Sub(src.lastOK) >= pollFocused {
			src.nextAt = s.now
		}
	}
	return s.startDue()
}

// listed applies one provider's answer.
func (s *Store) listed(msg present.ListedMsg) tea.Cmd {
	src := s.source(msg.Provider)
	if src == nil || msg.Gen != src.gen || !src.inFlight {
		return nil
	}
	if msg.At.After(s.now) {
		s.now = msg.At
	}
	if msg.Err != nil {
		if errors.Is(msg.Err, context.Canceled) && s.ctx.Err() != nil {
			return nil
		}
		src.failed(msg.Err, s.now, s.interval())
		return s.startDue()
	}
	src.succeeded(msg.Page, s.now, s.interval())
	gone := s.merge(src, msg.Page)
	cmds := []tea.Cmd{s.startDue()}
	if len(gone) > 0 && !msg.Page.MayBeIncomplete {
		cmds = append(cmds, ui.Cmd(present.GoneMsg{Keys: gone}))
	}
	return tea.Batch(cmds...)
}

// created puts a sandbox made here into the list at once and asks for a fresh list.
func (s *Store) created(sb client.Sandbox) tea.Cmd {
	src := s.source(sb.Provider)
	if src == nil {
		return nil
	}
	s.seq++
	e := s.add(src, sb)
	e.localSeq, e.createdAt = s.seq, s.now
	s.restructured()
	return s.refresh(sb.Provider, false)
}

func (s *Store) updated(sb client.Sandbox) {
	e := s.rows[present.KeyOf(sb)]
	if e == nil {
		return
	}
	s.seq++
	if e.sb.State != sb.State {
		e.stateSince = s.now
	}
	e.sb, e.localSeq = sb, s.seq
	e.version++
	s.structure++
}

// gone removes rows that another view found to be missing.
func (s *Store) gone(keys []present.Key) {
	for _, k := range keys {
		if _, ok := s.rows[k]; ok {
			delete(s.rows, k)
			s.restructured()
		}
	}
}

// stale reports whether the row's provider does not answer now, or has not yet.
func (e *entry) stale() bool { return e.src.err != nil || e.cached }
