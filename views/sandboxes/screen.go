// Package sandboxes is the home screen: every sandbox of every provider in one
// list that stays fresh by itself, and the store behind it.
package sandboxes

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/form"
	"abxdash/ui/lang"
	"abxdash/ui/table"
	"abxdash/views/present"
)

// Options configures a [Screen].
type Options struct {
	Providers present.Providers
	Owner     present.Owner
	// Rates are what cost is estimated with.
	Rates present.Rates
	// Protected is the user's own list of protected sandboxes; may be nil.
	Protected *present.Protected
	// State is where views and the last session are remembered.
	State present.Folder
	// ReadOnly refuses whatever would change a sandbox.
	ReadOnly bool
	// CreateIn is the provider that n creates in, for the hint of an empty list.
	CreateIn string
	// Banner is a short word shown before everything else, such as "DEMO 5,000"; "" for none.
	Banner string
}

// Screen is the list of sandboxes.
type Screen struct {
	opt    Options
	store  *Store
	env    ui.Env
	ctx    context.Context
	cancel context.CancelFunc

	table *table.Table[*entry]
	// structure is the store's at the last sync.
	structure uint64

	filter    present.Filter
	strayOnly bool
	input     *form.Input // not nil while the filter line is edited
	before    string      // the filter when editing began
	history   []string
	filterErr string

	// want is a row that the cursor goes to once it is there; restoring is set
	// while that is the row of the last run.
	want      string
	restoring bool
	// leftover are marks that a failed kill left; see targets.
	leftover map[string]bool
	// asked is the row whose odd state was warned about.
	asked string
	// extending are rows whose lifetime is being changed now.
	extending map[string]bool
	// pane is the size of the preview: 0 hidden, 1 normal, 2 large.
	pane   int
	counts counts
	// settled is set once the cursor is where the user or the first lists put it.
	settled bool
	spans   []table.Span // scratch for the cell being formatted
	// view is what is looked at, without what filter, strayOnly and table say
	// themselves; views are the saved ones.
	view  View
	views []View
	// only is what the store's was when the filter was set last.
	only  []string
	shape shape
	// notice is said once, when the list opens.
	notice string
	// drawn is set by Draw and Signature and taken back by each tick: without
	// it, nobody sees the list.
	drawn bool
	// activeAt is the time of the last key or click, see sampleResting.
	activeAt time.Time
	// narrow is set while the window has no room for a whole id.
	narrow bool
}

// counts is the summary of the header.
type counts struct {
	running, stray, total int
	// hourly is what is known to be charged an hour.
	hourly float64
}

// New makes the list over a store that is started and stopped by the caller.
func New(store *Store, opt Options) *Screen {
	return &Screen{opt: opt, store: store, pane: 1, leftover: map[string]bool{}, extending: map[string]bool{}}
}

// Init implements ui.Screen.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	s.env = env
	s.ctx, s.cancel = context.WithCancel(env.Ctx)
	s.activeAt = env.Now()
	s.restore()
	s.shape = s.shapeNow()
	s.show(s.view)
	// Anything but the store's own number, so that the first sync happens.
	s.structure = s.store.structure - 1
	s.restoring = s.want != ""
	s.settled = s.restoring
	s.sync()
	if s.notice != "" {
		return ui.Toast(ui.ToastWarn, s.notice)
	}
	return nil
}

func (s *Screen) newTable() *table.Table[*entry] {
	return table.New(table.Config[*entry]{
		Columns: s.columns(),
		ID:      func(e *entry) string { return e.id },
		Version: s.rowVersion,
		Kind:    s.rowKind,
	})
}

// fit changes to columns for a narrow window and back.
func (s *Screen) fit(width int) {
	if narrow := width < narrowBelow; narrow != s.narrow {
		s.narrow = narrow
		s.rebuild()
	}
}

// rebuild makes the table anew for other columns. Place, marks, order and
// filter go over to it.
func (s *Screen) rebuild() {
	old := s.table
	s.table = s.newTable()
	s.table.SetRows(s.store.entries())
	if old != nil {
		s.table.SetSort(old.Sort())
		for _, e := range old.Marked() {
			s.table.Mark(e.id, true)
		}
		s.table.SetCursor(old.CursorID())
	}
	s.applyFilter()
}

// shape is what the columns depend on beside the view: whether some row says
// how it is isolated, and whether some use was measured.
type shape struct{ isolated, measured bool }

func (s *Screen) shapeNow() shape {
	var out shape
	for _, e := range s.store.entries() {
		out.isolated = out.isolated || present.IsolationWord(e.sb) != present.TTLUnset
		out.measured = out.measured || e.use != nil
	}
	return out
}

// Title implements ui.Screen; scripts may rely on it.
func (s *Screen) Title() string { return s.env.Lang.T("Sandboxes") }

// WindowTitle implements ui.Titled: what runs, and what looks forgotten.
func (s *Screen) WindowTitle() string {
	return strings.ReplaceAll(s.countText(), "  ", ", ")
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context {
	if s.input != nil {
		return []keymap.Context{keymap.Input}
	}
	return []keymap.Context{keymap.List, keymap.Sandbox, keymap.Move}
}

// Captures implements ui.Capturer: the filter line takes raw keys.
func (s *Screen) Captures() bool { return s.input != nil }

// Close implements ui.Screen. It remembers the session.
func (s *Screen) Close() {
	if s.table != nil {
		// A session that cannot be remembered is no reason to end badly.
		_ = present.Save(s.opt.State, sessionFile, s.session())
	}
	if s.cancel != nil {
		s.cancel()
	}
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	s.sync()
	cmd := s.handle(msg)
	if name := s.sync(); name != "" {
		return tea.Batch(cmd, ui.Toast(ui.ToastInfo, s.env.Lang.T("the filter hides the new sandbox %s", name)))
	}
	return cmd
}

func (s *Screen) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ActionMsg:
		s.settled, s.activeAt = true, s.env.Now()
		if s.restoring {
			s.want, s.restoring = "", false // the user goes elsewhere
		}
		return s.act(msg)
	case ui.TickMsg:
		return s.tick()
	case columnsMsg:
		s.view.Columns = msg.keys
		s.rebuild()
		return s.remember()
	case saveViewMsg:
		return s.saveAs(msg.name)
	case showViewMsg:
		s.show(msg.view)
	case tea.KeyPressMsg, tea.PasteMsg:
		return s.typed(msg)
	case tea.MouseMsg:
		s.settled, s.activeAt = true, s.env.Now()
		return s.mouse(msg)
	case ui.ThemeMsg:
		s.env.Theme = msg.Theme
		s.table.Invalidate()
	case present.DefaultProviderMsg:
		s.opt.CreateIn = msg.Name
	case present.CreatedMsg:
		s.settled, s.want = true, present.KeyOf(msg.Sandbox).String()
	case present.KillDoneMsg:
		s.afterKill(msg)
	case changedMsg:
		return s.changed(msg)
	case notChangedMsg:
		for _, id := range msg.ids {
			delete(s.extending, id)
		}
	case ttlMsg:
		return s.applyTTL(msg)
	}
	return nil
}

// sync takes over what the store changed. While a range is being marked the
// order holds still. It names a row that the cursor should have gone to but
// that the filter hides.
func (s *Screen) sync() (hidden string) {
	if s.table == nil {
		return ""
	}
	if !slices.Equal(s.only, s.store.only) {
		s.applyFilter()
		s.count()
	}
	if s.structure != s.store.structure && !s.table.Ranging() {
		s.structure = s.store.structure
		if now := s.shapeNow(); now != s.shape {
			s.shape = now
			s.rebuild()
		} else {
			s.table.SetRows(s.store.entries())
		}
		s.count()
		s.settle()
	}
	e, ok := s.table.Get(s.want)
	if !ok {
		if s.restoring && s.store.allAnswered() {
			// The row of the last run is gone.
			s.want, s.restoring = "", false
			s.table.Top()
		}
		return ""
	}
	if !s.table.SetCursor(s.want) && !s.restoring {
		hidden = present.Label(e.sb)
	}
	s.want, s.restoring = "", false
	return hidden
}

// tick asks for the use of the rows on screen, as long as somebody can see them.
func (s *Screen) tick() tea.Cmd {
	seen := s.drawn
	s.drawn = false
	if !seen {
		return nil
	}
	every := sampleActive
	if s.env.Now().Sub(s.activeAt) > restAfter {
		every = sampleResting
	}
	return s.store.sample(s.table.Visible(), s.current(), every)
}

// settle keeps the cursor on the first row while the first answers come in and
// nobody has moved it; from then on it follows its row.
func (s *Screen) settle() {
	if s.settled {
		return
	}
	s.table.Top()
	s.settled = true
	for _, src := range s.store.sources {
		s.settled = s.settled && (src.loaded || src.err != nil)
	}
}

func (s *Screen) count() {
	s.counts = counts{}
	for _, e := range s.store.entries() {
		if s.store.hides(e.src) {
			continue
		}
		s.counts.total++
		if e.sb.Running() && e.kill != killAccepted {
			s.counts.running++
		}
		if len(e.stray) > 0 {
			s.counts.stray++
		}
		if h, ok := s.opt.Rates.Hourly(e.sb); ok && e.kill != killAccepted {
			s.counts.hourly += h
		}
	}
}

// mouse moves, sorts, scrolls, and opens with a double click.
func (s *Screen) mouse(msg tea.MouseMsg) tea.Cmd {
	hit := s.table.Mouse(msg, s.env.Now())
	s.keepSort()
	if hit == table.HitDouble {
		return s.open(present.TabOverview)
	}
	return nil
}

// afterKill leaves only the failed ones marked. Those marks are leftovers: a
// kill of another row does not take them along (see targets).
func (s *Screen) afterKill(msg present.KillDoneMsg) {
	for _, k := range msg.Killed {
		s.table.Mark(k.String(), false)
		delete(s.leftover, k.String())
	}
	for _, k := range msg.Failed {
		s.table.Mark(k.String(), true)
		s.leftover[k.String()] = true
	}
}

// targets is what an action applies to: marked rows, else the cursor's. Marks
// that only a failed kill left count only while the cursor is on one of them.
// Rows whose kill is under way are left out.
func (s *Screen) targets() []*entry {
	rows := s.table.Targets()
	if cur, ok := s.table.Cursor(); ok && len(rows) > 0 && !s.leftover[cur.id] {
		only := true
		for _, e := range rows {
			only = only && s.leftover[e.id]
		}
		if only && s.table.MarkedCount() > 0 {
			rows = []*entry{cur}
		}
	}
	out := make([]*entry, 0, len(rows))
	for _, e := range rows {
		if !e.buried() && e.kill != killSending && (e.kill != killAccepted || e.stuckKill(s.store.now)) {
			out = append(out, e)
		}
	}
	return out
}

// current is the row under the cursor, or nil.
func (s *Screen) current() *entry {
	if e, ok := s.table.Cursor(); ok && !e.buried() {
		return e
	}
	return nil
}

func (s *Screen) readOnly() tea.Cmd {
	return ui.Toast(ui.ToastWarn, s.env.Lang.T("read-only mode: nothing is changed (%s)", client.CodeReadOnly))
}

// since words how old the rows of a provider that fails now are.
func since(src *source, now time.Time, tr *lang.Catalog) string {
	if src.lastOK.IsZero() {
		return ""
	}
	return ", " + tr.T("rows are %s old", present.Duration(now.Sub(src.lastOK)))
}
