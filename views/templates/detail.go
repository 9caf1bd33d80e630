package templates

import (
	"context"
	"fmt"
	"hash/fnv"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/keymap"
	"abxdash/templates/deploy"
	"abxdash/ui"
	"abxdash/ui/draw"
	"abxdash/ui/table"
	"abxdash/views/present"
)

// Detail is one template: facts, tags, builds, and the live sandboxes of it.
type Detail struct {
	m      *Manager
	params DetailParams
	env    ui.Env
	cancel context.CancelFunc

	// row is nil while the template is not listed; gone is set once it was and is not.
	row  *row
	gone bool
	tags []client.TemplateTag
	// history are its builds, newest first.
	history []client.TemplateBuildInfo
	asked   bool
	tagsErr error
	table   *table.Table[client.Sandbox]
	// drawn is as in Screen.
	drawn bool

	listed, counted uint64
}

// detailMsg is what was asked of one template.
type detailMsg struct {
	owner *Detail
	tags  []client.TemplateTag
	info  client.TemplateInfo
	err   error
}

// NewDetail makes the screen of one template.
func NewDetail(m *Manager, p DetailParams) *Detail { return &Detail{m: m, params: p} }

// Init implements ui.Screen.
func (d *Detail) Init(env ui.Env) tea.Cmd {
	env.Ctx, d.cancel = context.WithCancel(env.Ctx)
	d.env = env
	d.table = d.newTable()
	d.listed = d.m.listed - 1
	d.sync()
	return tea.Batch(d.ask(), d.m.refresh(env.Now(), false))
}

func (d *Detail) newTable() *table.Table[client.Sandbox] {
	tr := d.env.Lang
	cell := func(text func(sb client.Sandbox) string) func(client.Sandbox, int) []table.Span {
		return func(sb client.Sandbox, _ int) []table.Span {
			return []table.Span{{Text: text(sb), Style: d.env.Theme.Text.Normal}}
		}
	}
	return table.New(table.Config[client.Sandbox]{
		ID:    func(sb client.Sandbox) string { return present.KeyOf(sb).String() },
		Empty: tr.T("No live sandbox of it."),
		Columns: []table.Column[client.Sandbox]{
			{Key: "name", Title: tr.T("SANDBOX"), Min: 16, Max: 44, Weight: 3, ElideMiddle: true, Cell: cell(present.LongLabel)},
			{Key: "state", Title: tr.T("STATE"), Min: 10, Max: 14, Cell: func(sb client.Sandbox, _ int) []table.Span {
				return stateSpans(d.env.Theme, tr, present.StateWord(sb))
			}},
			{Key: "age", Title: tr.T("AGE"), Min: 5, Priority: 1, Align: table.Right, Cell: cell(func(sb client.Sandbox) string { return present.Age(sb.StartedAt, d.env.Now()) })},
			{Key: "ttl", Title: tr.T("TTL"), Min: 6, Priority: 2, Align: table.Right, Cell: cell(func(sb client.Sandbox) string { return tr.Word(present.TTL(sb, d.env.Now())) })},
		},
	})
}

// ask reads tags and builds.
func (d *Detail) ask() tea.Cmd {
	p := d.m.provider(d.params.Provider)
	api, ok := client.Find[client.Templates](p)
	if !ok {
		return nil
	}
	tagger, hasTags := client.Find[client.TemplateTagger](p)
	parent, id, msg := d.env.Ctx, d.params.ID, detailMsg{owner: d}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(parent, callTimeout)
		defer cancel()
		if msg.info, msg.err = api.Template(ctx, id); msg.err != nil || !hasTags {
			return msg
		}
		msg.tags, msg.err = tagger.TemplateTags(ctx, id)
		sortTags(msg.tags)
		return msg
	}
}

// Close implements ui.Screen.
func (d *Detail) Close() {
	if d.cancel != nil {
		d.cancel()
	}
}

// Title implements ui.Screen.
func (d *Detail) Title() string {
	if d.row != nil {
		return d.row.label()
	}
	return present.CleanMax(d.params.ID, 40)
}

// Keys implements ui.Screen.
func (d *Detail) Keys() []keymap.Context {
	return []keymap.Context{keymap.TemplateDetail, keymap.Move}
}

// Disabled implements ui.Disabler.
func (d *Detail) Disabled(a keymap.Action) string {
	switch a {
	case keymap.TemplatesOpen:
		return d.m.here()
	case keymap.ListOpen:
		if d.table.CursorID() == "" {
			return d.env.Lang.T("no live sandbox of it")
		}
	case keymap.TemplateStart, keymap.TemplateDelete, keymap.TemplateTags, keymap.TemplateRollback, keymap.SandboxCopyID,
		keymap.SandboxRaw, keymap.AppCopyCommand:
		if d.row == nil || d.gone {
			return d.env.Lang.T("it is not listed")
		}
		return d.m.cannot(a, d.row)
	}
	return ""
}

// Update implements ui.Screen.
func (d *Detail) Update(msg tea.Msg) tea.Cmd {
	defer d.sync()
	switch msg := msg.(type) {
	case ui.ThemeMsg:
		d.env.Theme = msg.Theme
		d.table.Invalidate()
	case ui.TickMsg:
		d.table.Invalidate()
		if d.drawn {
			d.drawn = false
			return d.m.refresh(msg.Now, false)
		}
	case detailMsg:
		if msg.owner == d {
			d.asked, d.tags, d.history, d.tagsErr = true, msg.tags, msg.info.History, msg.err
		}
	case savedMsg:
		if msg.provider == d.params.Provider {
			return d.ask()
		}
	case tagsMsg:
		if msg.owner == d {
			return d.m.gotTags(msg)
		}
	case usersMsg:
		if msg.owner == d {
			return d.m.gotUsers(msg)
		}
	case tea.MouseMsg:
		if d.table.Mouse(msg, d.env.Now()) == table.HitDouble {
			return ui.Do(keymap.ListOpen)
		}
	case ui.ActionMsg:
		return d.act(msg.Action)
	}
	return nil
}

func (d *Detail) act(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.NavBack:
		return ui.Back()
	case keymap.AppRefresh:
		return tea.Batch(d.ask(), d.m.refresh(d.env.Now(), true))
	case keymap.ListOpen:
		if sb, ok := d.table.Cursor(); ok {
			return present.OpenSandbox(sb, present.TabOverview)
		}
		return nil
	}
	if d.table.Do(a) || d.row == nil {
		return nil
	}
	return d.m.actOn(d.row, a, d)
}

// sync takes over what the manager has that is new.
func (d *Detail) sync() {
	if d.listed == d.m.listed && d.counted == d.m.counted {
		return
	}
	d.listed, d.counted = d.m.listed, d.m.counted
	r := d.m.find(d.params.Provider, d.params.ID)
	if d.gone = r == nil && d.row != nil; d.gone {
		return
	}
	if d.row = r; r != nil {
		d.table.SetRows(r.used)
	}
}

// Signature implements ui.Timed.
func (d *Detail) Signature() uint64 {
	d.drawn = true
	h := fnv.New64a()
	fmt.Fprint(h, d.env.Now().Unix(), d.m.listed, d.m.counted)
	return h.Sum64()
}

// Draw implements ui.Screen: the facts, then tags and builds, then a table.
func (d *Detail) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	d.sync()
	d.drawn = true
	t := d.env.Theme
	if area.Dx() < 4 || area.Dy() < 3 {
		return nil
	}
	if d.row == nil {
		draw.Text(scr, area.Min.X+1, area.Min.Y, area.Dx()-2, d.env.Lang.T("asking %s …", present.Clean(d.params.Provider)), t.Text.Dim)
		return nil
	}
	lines := d.m.factLines(t, d.row)
	if d.gone {
		lines = append([]line{{d.env.Lang.T("it no longer exists"), t.Text.Error}}, lines...)
	}
	lines = append(lines, d.tagLines()...)
	h := min(len(lines)+2, max(area.Dy()/2, 3))
	in := draw.Box(scr, uv.Rect(area.Min.X, area.Min.Y, area.Dx(), h), t, d.Title(), t.Border.Normal, t.Border.Title)
	drawLines(scr, uv.Rect(in.Min.X+1, in.Min.Y, in.Dx()-2, in.Dy()), lines)
	rest := uv.Rect(area.Min.X, area.Min.Y+h, area.Dx(), area.Dy()-h)
	if rest.Dy() >= 4 {
		rest = draw.Box(scr, rest, t, d.env.Lang.T("Live sandboxes of it"), t.Border.Focused, t.Border.TitleFocused)
	}
	d.table.Draw(scr, rest, t, true)
	return nil
}

// maxBuilds is how many builds are shown.
const maxBuilds = 5

func (d *Detail) tagLines() []line {
	t, tr := d.env.Theme, d.env.Lang
	switch {
	case d.tagsErr != nil:
		return []line{{present.ErrorLine(d.tagsErr), t.Text.Error}}
	case !d.asked:
		return []line{{tr.T("tags: asking …"), t.Text.Dim}}
	}
	var out []line
	now := defaultBuild(d.tags)
	for _, tag := range d.tags {
		st := t.Text.Normal
		if tag.Tag == deploy.TagDefault {
			st = t.Text.Strong
		}
		out = append(out, line{tr.T("tag %s", present.CleanMax(tag.Tag, 40)) + "   " + d.m.tagHint(tag, now), st})
	}
	if len(out) == 0 {
		out = append(out, line{tr.T("no tags"), t.Text.Dim})
	}
	for i, b := range d.history {
		if i == maxBuilds {
			out = append(out, line{tr.T("and %d older builds", len(d.history)-i), t.Text.Dim})
			break
		}
		s := stateSpans(t, tr, b.State)[0]
		out = append(out, line{tr.T("build %s", present.CleanMax(b.ID, 40)) + "   " + s.Text + "   " + d.m.ago(b.CreatedAt), s.Style})
	}
	return out
}
