// Package providers is the screen of all providers and profiles: how each is,
// what it needs and can do, which of them the list shows and which one creates.
// A key can be entered and tested there.
package providers

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/ui/table"
	"abxdash/views/present"
)

// Admin describes providers and tries keys. The texts it gives are clean.
type Admin interface {
	// Providers makes no call; all adds the presets that wait for an entry.
	Providers(ctx context.Context, all bool) ([]client.ProviderInfo, error)
	// Check asks one provider for its list and changes nothing.
	Check(ctx context.Context, name string) ([]client.ProviderCheck, error)
	// KeyTarget says where a key would go, without a call.
	KeyTarget(ctx context.Context, name string) (client.KeyTarget, error)
	// TestKey asks for the list with that key, which is kept nowhere.
	TestKey(ctx context.Context, name, key string) (client.ProviderCheck, error)
	// KeepKey writes the key into the file for that and says where.
	KeepKey(ctx context.Context, name, key string) (string, error)
}

// Options configures a [Screen].
type Options struct {
	// Providers are those in use.
	Providers present.Providers
	// Admin knows the others too; nil leaves only those in use.
	Admin Admin
	// Health and Shown are what the list knows and which providers it shows.
	Health func() []present.ProviderHealth
	Shown  func() []string
	// Default is the provider that creates now.
	Default func() string
	// ReadOnly keeps no key.
	ReadOnly bool
	// Reopen begins the dashboard again, with a key by its variable for this run
	// unless that is "". nil means that a key counts from the next start on.
	Reopen func(variable, key string) tea.Cmd
}

// Screen lists the providers.
type Screen struct {
	opt    Options
	env    ui.Env
	ctx    context.Context
	cancel context.CancelFunc

	table *table.Table[row]
	infos []client.ProviderInfo
	err   error
	// def is the provider that creates.
	def string
	// testing are the providers that are being asked now.
	testing map[string]bool
	area    uv.Rectangle
}

// row is one provider.
type row struct {
	client.ProviderInfo
	health present.ProviderHealth
	// used says that the dashboard works with it.
	used bool
}

// Messages of the screen's own work.
type (
	infosMsg struct {
		owner *Screen
		list  []client.ProviderInfo
		err   error
	}
	checkedMsg struct {
		owner *Screen
		name  string
		// full asks for the whole report, else one line does.
		full  bool
		check client.ProviderCheck
		err   error
	}
	targetMsg struct {
		owner *Screen
		name  string
		to    client.KeyTarget
		err   error
	}
)

// New makes the screen.
func New(opt Options) *Screen { return &Screen{opt: opt, testing: map[string]bool{}} }

// Init implements ui.Screen.
func (s *Screen) Init(env ui.Env) tea.Cmd {
	s.env = env
	s.ctx, s.cancel = context.WithCancel(env.Ctx)
	if s.opt.Default != nil {
		s.def = s.opt.Default()
	}
	s.table = s.newTable()
	s.fill()
	return s.load()
}

// Close implements ui.Screen.
func (s *Screen) Close() {
	if s.cancel != nil {
		s.cancel()
	}
}

// Title implements ui.Screen.
func (s *Screen) Title() string { return s.env.Lang.T("Providers") }

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Context { return []keymap.Context{keymap.Providers, keymap.Move} }

// load reads the descriptions; that looks at files, so it is not done in Update.
func (s *Screen) load() tea.Cmd {
	if s.opt.Admin == nil {
		return nil
	}
	ctx, admin := s.ctx, s.opt.Admin
	return func() tea.Msg {
		list, err := admin.Providers(ctx, false)
		return infosMsg{owner: s, list: list, err: err}
	}
}

// fill lists those in use in their order, then the others.
func (s *Screen) fill() {
	health := map[string]present.ProviderHealth{}
	if s.opt.Health != nil {
		for _, h := range s.opt.Health() {
			health[h.Name] = h
		}
	}
	var rows []row
	for _, p := range s.opt.Providers {
		r := row{used: true, health: health[p.Name()], ProviderInfo: client.ProviderInfo{Name: p.Name(), Ready: true, Capabilities: p.Capabilities()}}
		if i := s.info(p.Name()); i >= 0 {
			r.ProviderInfo = s.infos[i]
		}
		rows = append(rows, r)
	}
	for _, info := range s.infos {
		if s.opt.Providers.Get(info.Name) == nil {
			rows = append(rows, row{ProviderInfo: info})
		}
	}
	s.table.SetRows(rows)
}

func (s *Screen) info(name string) int {
	return slices.IndexFunc(s.infos, func(i client.ProviderInfo) bool { return i.Name == name })
}

// shown reports whether the list shows a provider's sandboxes.
func (s *Screen) shown(name string) bool {
	if s.opt.Shown == nil {
		return true
	}
	only := s.opt.Shown()
	return len(only) == 0 || slices.Contains(only, name)
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case ui.ThemeMsg:
		s.env.Theme = m.Theme
		s.table.Invalidate()
	case ui.TickMsg, present.ListedMsg, present.ShowProvidersMsg:
		s.fill()
	case present.DefaultProviderMsg:
		s.def = m.Name
	case infosMsg:
		if m.owner == s {
			s.infos, s.err = m.list, m.err
			s.fill()
		}
	case checkedMsg:
		return s.checked(m)
	case targetMsg:
		return s.askKey(m)
	case keyDoneMsg:
		return s.keyDone(m)
	case tea.MouseMsg:
		if (uv.Position{X: m.Mouse().X, Y: m.Mouse().Y}).In(s.area) {
			if s.table.Mouse(m, s.env.Now()) == table.HitDouble {
				return s.showThis()
			}
		}
	case ui.ActionMsg:
		return s.act(m.Action)
	}
	return nil
}

func (s *Screen) act(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.NavBack:
		return ui.Back()
	case keymap.AppRefresh:
		return s.load()
	case keymap.ProviderShow:
		return s.showThis()
	case keymap.MarkToggle:
		return s.toggle()
	case keymap.ProviderAll:
		return show(nil)
	case keymap.ProviderDoctor, keymap.ProviderTest:
		return s.check(a == keymap.ProviderDoctor)
	case keymap.ProviderDefault:
		return s.makeDefault()
	case keymap.ProviderKey:
		return s.enterKey()
	default:
		s.table.Do(a)
	}
	return nil
}

// Disabled implements ui.Disabler.
func (s *Screen) Disabled(a keymap.Action) string {
	r, ok := s.table.Cursor()
	if !ok {
		return ""
	}
	switch a {
	case keymap.ProviderShow, keymap.MarkToggle, keymap.ProviderDefault:
		if !r.used {
			return s.env.Lang.T("%s is not in use: %s", present.Clean(r.Name), notUsed(s.env.Lang, r))
		}
	case keymap.ProviderKey:
		if s.opt.Admin == nil {
			return s.env.Lang.T("there are no keys here")
		}
	}
	return ""
}

// notUsed is why a provider is not in use.
func notUsed(tr *lang.Catalog, r row) string {
	switch {
	case r.Problem != "" && r.Hint != "":
		return present.Clean(tr.Word(r.Problem)) + "; " + present.Clean(tr.Word(r.Hint))
	case r.Problem != "":
		return present.Clean(tr.Word(r.Problem))
	default:
		return tr.T("it was added after the dashboard was opened")
	}
}

func show(names []string) tea.Cmd { return ui.Cmd(present.ShowProvidersMsg{Names: names}) }

// showThis lists only the sandboxes of the provider under the cursor, or all
// again, and goes back to the list.
func (s *Screen) showThis() tea.Cmd {
	r, ok := s.table.Cursor()
	if !ok || !r.used {
		return nil
	}
	names := []string{r.Name}
	if s.opt.Shown != nil && slices.Equal(s.opt.Shown(), names) {
		names = nil
	}
	return tea.Sequence(show(names), ui.Back())
}

// toggle adds the provider under the cursor to those shown, or takes it away.
func (s *Screen) toggle() tea.Cmd {
	r, ok := s.table.Cursor()
	if !ok || !r.used {
		return nil
	}
	var names []string
	for _, name := range s.opt.Providers.Names() {
		if s.shown(name) != (name == r.Name) {
			names = append(names, name)
		}
	}
	s.table.Move(1)
	return show(names)
}

func (s *Screen) makeDefault() tea.Cmd {
	r, ok := s.table.Cursor()
	if !ok || !r.used {
		return nil
	}
	return tea.Batch(ui.Cmd(present.DefaultProviderMsg{Name: r.Name}),
		ui.Toast(ui.ToastOK, s.env.Lang.T("new sandboxes are created on %s until you leave", present.Clean(r.Name))))
}

// Signature implements ui.Timed.
func (s *Screen) Signature() uint64 {
	h := fnv.New64a()
	now := s.env.Now()
	for i := range s.table.Len() {
		r, ok := s.table.Row(i)
		if ok {
			word, _ := s.state(r)
			fmt.Fprint(h, r.Name, word, r.health.SeenIn(nil, now), r.health.Sandboxes)
		}
	}
	return h.Sum64()
}

var (
	_ ui.Screen   = (*Screen)(nil)
	_ ui.Disabler = (*Screen)(nil)
	_ ui.Timed    = (*Screen)(nil)
)
