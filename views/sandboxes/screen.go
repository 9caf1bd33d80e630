// Package sandboxes is the home screen: every sandbox of every provider in one
// list that stays fresh by itself, and the store behind it.
package sandboxes

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/form"
	"abxdash/ui/table"
	"abxdash/views/present"
)

// Options configures a [Screen].
type Options struct {
	Providers present.Providers
	Owner     present.Owner
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

	// want is a row that the cursor goes to once it is there.
	want string
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
	// narrow is set while the window has no room for a whole id.
	narrow bool
}

// counts is the summary of the header.
type counts struct{ running, stray, total int }

// New makes the list over a store that is started and stopped by the caller.
func New(store *Store, opt Options) *Screen {
	return &Screen{opt: opt, store: store, pane: 1, leftover: map[string]bool{}, extending: map[string]bool{}}
}

// Init implements ui.Screen.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	s.env = env
	s.ctx, s.cancel = context.WithCancel(env.Ctx)
	s.table = s.newTable()
	s.table.SetSort("age", false)
	// Anything but the store's own number, so that the first sync happens.
	s.structure = s.store.structure - 1
	s.sync()
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

// fit changes to columns for a narrow window and back. Place, marks, order and
// filter go over to the new table.
func (s *Screen) fit(width int) {
	if narrow := width < narrowBelow; narrow == s.narrow {
		return
	}
	s.narrow = !s.narrow
	old := s.table
	s.table = s.newTable()
	key, desc := old.Sort()
	s.table.SetRows(s.store.entries())
	s.table.SetSort(key, desc)
	for _, e := range old.Marked() {
		s.table.Mark(e.id, true)
	}
	s.table.SetCursor(old.CursorID())
	s.applyFilter()
}

// Title implements ui.Screen; scripts may rely on it.
func (s *Screen) Title() string { return "Sandboxes" }

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context {
	if s.input != nil {
		return []keymap.Context{keymap.Input}
	}
	return []keymap.Context{keymap.List, keymap.Sandbox, keymap.Move}
}

// Captures implements ui.Capturer: the filter line takes raw keys.
func (s *Screen) Captures() bool { return s.input != nil }

// Close implements ui.Screen.
func (s *Screen) Close() {
	if s.cancel != nil {
		s.cancel()
	}
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	s.sync()
	cmd := s.handle(msg)
	if name := s.sync(); name != "" {
		return tea.Batch(cmd, ui.Toast(ui.ToastInfo, "the filter hides the new sandbox "+name))
	}
	return cmd
}

func (s *Screen) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ui.ActionMsg:
		s.settled = true
		return s.act(msg)
	case tea.KeyPressMsg, tea.PasteMsg:
		return s.typed(msg)
	case tea.MouseMsg:
		s.settled = true
		return s.mouse(msg)
	case ui.ThemeMsg:
		s.env.Theme = msg.Theme
		s.table.Invalidate()
	case present.CreatedMsg:
		s.settled, s.want = true, present.KeyOf(msg.Sandbox).String()
	case present.KillDoneMsg:
		s.afterKill(msg)
	case extendedMsg:
		return s.extended(msg)
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
	if s.structure != s.store.structure && !s.table.Ranging() {
		s.structure = s.store.structure
		s.table.SetRows(s.store.entries())
		s.count()
		s.settle()
	}
	e, ok := s.table.Get(s.want)
	if !ok {
		return ""
	}
	if !s.table.SetCursor(s.want) {
		hidden = present.Label(e.sb)
	}
	s.want = ""
	return hidden
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
		s.counts.total++
		if e.sb.Running() && e.kill != killAccepted {
			s.counts.running++
		}
		if len(e.stray) > 0 {
			s.counts.stray++
		}
	}
}

// applyFilter shows what the filter and the stray switch let through.
func (s *Screen) applyFilter() {
	f, strays := s.filter, s.strayOnly
	if f.Empty() && !strays {
		s.table.SetFilter(nil)
		return
	}
	s.table.SetFilter(func(e *entry) bool {
		if strays && len(e.stray) == 0 {
			return false
		}
		if f.Empty() {
			return true
		}
		r := present.NewFilterRow(present.Row{Sandbox: e.sb, Now: s.at(e), Stray: e.stray, Owner: s.opt.Owner})
		return f.Match(&r)
	})
}

// typed edits the filter line; every change filters at once.
func (s *Screen) typed(msg tea.Msg) tea.Cmd {
	if s.input == nil {
		return nil
	}
	switch s.input.Update(msg) {
	case form.Changed:
		s.setFilter(s.input.Value())
	case form.Accepted:
		s.history = s.input.Remember(s.filter.String())
		s.input, s.filterErr = nil, ""
	case form.Cancelled:
		s.setFilter(s.before)
		s.input, s.filterErr = nil, ""
	}
	return nil
}

// setFilter parses text; what cannot be read yet leaves the rows as they are.
func (s *Screen) setFilter(text string) {
	f, err := present.ParseFilter(text)
	if err != nil {
		s.filterErr = err.Error()
		return
	}
	s.filter, s.filterErr = f, ""
	s.applyFilter()
}

func (s *Screen) editFilter() {
	s.before = s.filter.String()
	s.input = form.NewInput(s.env.Keys, keymap.Input, "/")
	s.input.Placeholder = "text  !not  ~regex  -f fuzzy  key=value  state:paused  stray  ttl<5m"
	s.input.SetHistory(s.history)
	s.input.SetValue(s.before)
}

// mouse moves, sorts, scrolls, and opens with a double click.
func (s *Screen) mouse(msg tea.MouseMsg) tea.Cmd {
	if s.table.Mouse(msg, s.env.Now()) == table.HitDouble {
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

// extendedMsg is the answer to a change of a lifetime.
type extendedMsg struct{ present.Extended }

// extend asks for more time for every target. Nothing moves on screen before
// the provider has confirmed it.
func (s *Screen) extend() tea.Cmd {
	if s.opt.ReadOnly {
		return readOnly()
	}
	var cmds []tea.Cmd
	for _, e := range s.targets() {
		p := s.opt.Providers.Get(e.sb.Provider)
		if p == nil || s.extending[e.id] {
			continue
		}
		s.extending[e.id] = true
		sb, now, parent := e.sb.Clone(), s.at(e), s.ctx
		cmds = append(cmds, func() tea.Msg {
			ctx, cancel := context.WithTimeout(parent, listTimeout)
			defer cancel()
			return extendedMsg{present.Extend(ctx, p, sb, present.ExtendStep, now)}
		})
	}
	return tea.Batch(cmds...)
}

func (s *Screen) extended(msg extendedMsg) tea.Cmd {
	delete(s.extending, msg.Key.String())
	name := present.Label(msg.Before)
	if msg.Err != nil {
		cmds := []tea.Cmd{ui.Toast(ui.ToastError, fmt.Sprintf("%s: %s", name, present.ErrorLine(msg.Err)))}
		if gone(msg.Err) {
			cmds = append(cmds, ui.Cmd(present.GoneMsg{Keys: []present.Key{msg.Key}}))
		}
		return tea.Batch(cmds...)
	}
	level := ui.ToastOK
	if msg.Short {
		level = ui.ToastWarn
	}
	return tea.Batch(ui.Cmd(present.UpdatedMsg{Sandbox: msg.After}), ui.Toast(level, name+": "+msg.Text))
}

func readOnly() tea.Cmd {
	return ui.Toast(ui.ToastWarn, fmt.Sprintf("read-only mode: nothing is changed (%s)", client.CodeReadOnly))
}

// since words how old the rows of a provider that fails now are.
func since(src *source, now time.Time) string {
	if src.lastOK.IsZero() {
		return ""
	}
	return ", rows are " + present.Duration(now.Sub(src.lastOK)) + " old"
}
