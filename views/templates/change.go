package templates

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/templates/deploy"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// purpose is what tags were asked for.
type purpose uint8

const (
	showTags purpose = iota
	rollBack
)

// tagsMsg is a template's tags, newest first, and what is known of its builds.
type tagsMsg struct {
	owner         ui.Screen
	provider, ref string
	purpose       purpose
	tags          []client.TemplateTag
	// plan is the roll-back to the last good build; planErr is why there is none.
	plan    deploy.Rollback
	planErr error
	err     error
}

// usersMsg is what uses a template, asked just before it is deleted.
type usersMsg struct {
	owner ui.Screen
	row   *row
	users []client.Sandbox
	err   error
}

// savedMsg is the end of a change at a provider.
type savedMsg struct {
	provider, what string
	err            error
}

// askTags reads the tags of a template; owner gets the answer.
func (m *Manager) askTags(owner ui.Screen, provider, ref string, why purpose) tea.Cmd {
	api, tagger, ok := m.tagger(provider)
	if !ok {
		return ui.Toast(ui.ToastWarn, m.env.Lang.T("%s has no template tags (%s)", present.Clean(provider), client.CodeUnsupported))
	}
	msg, ctx := tagsMsg{owner: owner, provider: provider, ref: ref, purpose: why}, m.env.Ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		if msg.tags, msg.err = tagger.TemplateTags(ctx, ref); msg.err != nil {
			return msg
		}
		sortTags(msg.tags)
		if why == rollBack {
			msg.plan, msg.planErr = deploy.PlanRollback(ctx, api, tagger, ref, "")
		}
		return msg
	}
}

// tagger is a provider's way with tags.
func (m *Manager) tagger(provider string) (client.Templates, client.TemplateTagger, bool) {
	p := m.provider(provider)
	if p == nil {
		return nil, nil, false
	}
	api, ok := client.Find[client.Templates](p)
	tagger, tags := client.Find[client.TemplateTagger](p)
	return api, tagger, ok && tags
}

// sortTags puts the newest first.
func sortTags(tags []client.TemplateTag) {
	slices.SortStableFunc(tags, func(a, b client.TemplateTag) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.Tag, b.Tag))
	})
}

// defaultBuild is the build that the bare name means now.
func defaultBuild(tags []client.TemplateTag) string {
	for _, t := range tags {
		if t.Tag == deploy.TagDefault {
			return t.BuildID
		}
	}
	return ""
}

// gotTags shows a menu of the tags.
func (m *Manager) gotTags(msg tagsMsg) tea.Cmd {
	tr := m.env.Lang
	switch {
	case msg.err != nil:
		return m.failed(tr.T("tags of %s", present.Clean(msg.ref)), msg.err)
	case msg.purpose == rollBack:
		return m.chooseRollback(msg)
	}
	var items []dialog.Item
	now := defaultBuild(msg.tags)
	for _, t := range msg.tags {
		items = append(items, dialog.Item{
			Label: present.CleanMax(t.Tag, 40), Hint: m.tagHint(t, now), Cmd: ui.OpenOverlay(m.tagMenu(msg, t)),
		})
	}
	items = append(items, dialog.Item{Label: tr.T("Add a tag …"), Hint: tr.T("to the build of %s", deploy.TagDefault), Disabled: m.frozen(), Cmd: ui.OpenOverlay(m.addTag(msg))})
	return ui.OpenOverlay(dialog.Menu(tr.T("Tags of %s", present.CleanMax(msg.ref, 40)), items))
}

func (m *Manager) frozen() string {
	if m.opt.ReadOnly {
		return m.env.Lang.T("read-only mode")
	}
	return ""
}

func (m *Manager) tagHint(t client.TemplateTag, now string) string {
	out := m.env.Lang.T("build %s, %s", present.CleanMax(t.BuildID, 12), m.ago(t.CreatedAt))
	if t.BuildID == now && t.Tag != deploy.TagDefault {
		out += m.env.Lang.T(", the default")
	}
	return out
}

// tagMenu is what can be done with one tag.
func (m *Manager) tagMenu(msg tagsMsg, t client.TemplateTag) ui.Overlay {
	tr, name := m.env.Lang, present.CleanMax(t.Tag, 40)
	use := dialog.Item{Label: tr.T("Make it the default …"), Cmd: m.reviewRollback(msg, t), Disabled: m.frozen()}
	if use.Disabled == "" && t.BuildID == defaultBuild(msg.tags) {
		use.Disabled = tr.T("it is the default")
	}
	remove := dialog.Item{Label: tr.T("Remove the tag …"), Hint: tr.T("the build stays"), Disabled: m.frozen(), Cmd: ui.OpenOverlay(dialog.Confirm(dialog.ConfirmOptions{
		Title: tr.T("Remove the tag %s", name), Danger: true, Yes: tr.T("remove it"), No: tr.T("keep it"),
		Lines: dialog.Plain(tr.T("%s:%s is no longer a name of build %s.\nLive sandboxes are not touched.", present.Clean(msg.ref), name, present.Clean(t.BuildID))),
		OnYes: m.changeTags(msg, tr.T("removed the tag %s", name), func(ctx context.Context, _ client.Templates, tagger client.TemplateTagger) error {
			return tagger.RemoveTags(ctx, msg.ref, []string{t.Tag})
		}),
	}))}
	if t.Tag == deploy.TagDefault {
		remove.Disabled = tr.T("it cannot go")
	}
	return dialog.Menu(present.CleanMax(msg.ref, 40)+":"+name, []dialog.Item{
		{Label: tr.T("Start a sandbox from it"), Disabled: m.frozen(), Cmd: start(msg.provider, msg.ref+":"+t.Tag)}, use, remove,
	})
}

func (m *Manager) addTag(msg tagsMsg) ui.Overlay {
	tr := m.env.Lang
	return dialog.Prompt(dialog.PromptOptions{
		Title: tr.T("Add a tag to %s", present.CleanMax(msg.ref, 40)), Label: tr.T("tag: "), Placeholder: "v2",
		Lines: dialog.Plain(tr.T("It will mean the build of %s: %s", deploy.TagDefault, present.Clean(defaultBuild(msg.tags)))),
		Check: checkTag,
		OnText: func(tag string) tea.Cmd {
			tag = strings.TrimSpace(tag)
			return m.changeTags(msg, tr.T("added the tag %s", present.Clean(tag)), func(ctx context.Context, _ client.Templates, tagger client.TemplateTagger) error {
				return tagger.AssignTags(ctx, msg.ref, []string{tag})
			})
		},
	})
}

func checkTag(tag string) error {
	tag = strings.TrimSpace(tag)
	switch {
	case tag == "":
		return lang.Errorf("a tag is needed")
	case strings.ContainsAny(tag, ":/ \t") || len(tag) > 128:
		return lang.Errorf("no blank, colon or slash, at most 128 characters")
	}
	return nil
}

// chooseRollback offers the tags of other builds, the last good one first.
func (m *Manager) chooseRollback(msg tagsMsg) tea.Cmd {
	tr, now := m.env.Lang, defaultBuild(msg.tags)
	good := msg.plan.To.Tag
	var items []dialog.Item
	for _, t := range msg.tags {
		it := dialog.Item{Label: present.CleanMax(t.Tag, 40), Hint: m.tagHint(t, now), Cmd: m.reviewRollback(msg, t)}
		switch {
		case t.Tag == deploy.TagDefault || t.BuildID == now:
		case t.Tag == good && msg.planErr == nil:
			it.Hint += tr.T(", last good")
			items = append([]dialog.Item{it}, items...)
		default:
			items = append(items, it)
		}
	}
	switch {
	case len(items) == 0 && msg.planErr != nil:
		return m.failed(tr.T("roll back"), msg.planErr)
	case len(items) == 0:
		return ui.Toast(ui.ToastWarn, tr.T("%s has no tag of another build to go back to", present.Clean(msg.ref)))
	}
	return ui.OpenOverlay(dialog.Menu(tr.T("Roll back %s to", present.CleanMax(msg.ref, 40)), items))
}

// reviewRollback asks before the default changes.
func (m *Manager) reviewRollback(msg tagsMsg, t client.TemplateTag) tea.Cmd {
	tr, name, tag := m.env.Lang, present.CleanMax(msg.ref, 40), present.CleanMax(t.Tag, 40)
	users := ""
	if r := m.find(msg.provider, msg.ref); r != nil && r.usedKnown {
		users = "\n" + tr.N(len(r.used), "%d live sandbox goes on as it is; new ones get the other build.",
			"%d live sandboxes go on as they are; new ones get the other build.", len(r.used))
	}
	text := tr.T("%s means build %s now.\nAfter this it means build %s (tag %s, %s).%s",
		name, orDash(present.CleanMax(defaultBuild(msg.tags), 40)), present.CleanMax(t.BuildID, 40), tag, m.ago(t.CreatedAt), users)
	return ui.OpenOverlay(dialog.Confirm(dialog.ConfirmOptions{
		Title: tr.T("Roll back %s to %s", name, tag), Lines: dialog.Plain(text), Yes: tr.T("roll back"), No: tr.T("leave it"),
		OnYes: m.changeTags(msg, tr.T("%s is %s again", name, tag), func(ctx context.Context, api client.Templates, tagger client.TemplateTagger) error {
			// Planned anew: a build that is known to be bad is refused, and the tag may have moved.
			plan, err := deploy.PlanRollback(ctx, api, tagger, msg.ref, t.Tag)
			if err != nil {
				return err
			}
			return plan.Do(ctx, tagger)
		}),
	}))
}

// ago is an age in words.
func (m *Manager) ago(at time.Time) string {
	if at.IsZero() || at.Year() <= 1 {
		return m.env.Lang.T("at an unknown time")
	}
	return m.env.Lang.T("%s ago", present.Age(at, m.now))
}

// changeTags carries a change out.
func (m *Manager) changeTags(msg tagsMsg, what string, change func(ctx context.Context, api client.Templates, tagger client.TemplateTagger) error) tea.Cmd {
	if m.opt.ReadOnly {
		return m.readOnly()
	}
	api, tagger, ok := m.tagger(msg.provider)
	if !ok {
		return nil // there were tags to choose from
	}
	parent := m.env.Ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(parent, callTimeout)
		defer cancel()
		return savedMsg{provider: msg.provider, what: what, err: change(ctx, api, tagger)}
	}
}

// saved says how a change went and reads the list anew.
func (m *Manager) saved(msg savedMsg) tea.Cmd {
	if msg.err != nil {
		return tea.Batch(m.failed(m.env.Lang.T("templates of %s", present.Clean(msg.provider)), msg.err), m.again(msg.provider))
	}
	return tea.Batch(ui.Toast(ui.ToastOK, msg.what), m.again(msg.provider))
}

// askUsers lists what is live just before a template is deleted: what the
// screen knows may be seconds old.
func (m *Manager) askUsers(owner ui.Screen, r *row) tea.Cmd {
	parent := m.env.Ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(parent, callTimeout)
		defer cancel()
		page, err := present.ListAll(ctx, r.src.provider, client.Query{})
		msg := usersMsg{owner: owner, row: r, err: err}
		byName := map[string]*row{r.info.ID: r}
		for _, n := range r.info.Names {
			byName[n] = r
		}
		for _, sb := range page.Sandboxes {
			if templateOf(byName, sb) != nil {
				msg.users = append(msg.users, sb)
			}
		}
		return msg
	}
}

// gotUsers refuses for a template that is in use, else wants its name typed.
// Neither the key that asked nor enter alone deletes anything.
func (m *Manager) gotUsers(msg usersMsg) tea.Cmd {
	tr, r := m.env.Lang, msg.row
	name := present.CleanMax(r.info.Name(), 60)
	if msg.err != nil {
		return m.failed(tr.T("what uses %s is not known, so it is not deleted", name), msg.err)
	}
	if n := len(msg.users); n > 0 {
		lines := tr.N(n, "%[2]s is used by %[1]d live sandbox and is not deleted:", "%[2]s is used by %[1]d live sandboxes and is not deleted:", n, name) + "\n"
		for _, sb := range msg.users[:min(n, 12)] {
			lines += "\n  " + present.LongLabel(sb) + "  " + tr.Word(present.StateWord(sb))
		}
		if n > 12 {
			lines += "\n  " + tr.T("and %d more", n-12)
		}
		return ui.OpenOverlay(dialog.Message(tr.T("In use"), dialog.Plain(lines)))
	}
	builds := int(max(r.info.Builds, 1))
	text := tr.N(builds, "%[2]s of %[3]s goes for good, with %[1]d build and all its tags.\nNo live sandbox is of it.",
		"%[2]s of %[3]s goes for good, with %[1]d builds and all its tags.\nNo live sandbox is of it.", builds, name, present.Clean(r.src.name))
	return ui.OpenOverlay(dialog.Prompt(dialog.PromptOptions{
		Title: tr.T("Delete the template %s", name), Lines: dialog.Plain(text), Label: tr.T("type its name to delete it: "),
		Check: func(typed string) error {
			if present.CleanMax(strings.TrimSpace(typed), 60) != name {
				return lang.Errorf("that is not its name; nothing is deleted")
			}
			return nil
		},
		OnText: func(string) tea.Cmd { return m.deleteTemplate(r) },
	}))
}

func (m *Manager) deleteTemplate(r *row) tea.Cmd {
	if m.opt.ReadOnly {
		return m.readOnly()
	}
	parent, tr := m.env.Ctx, m.env.Lang
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(parent, callTimeout)
		defer cancel()
		err := r.src.api.DeleteTemplate(ctx, r.info.ID)
		what := tr.T("deleted %s", r.label())
		if errors.Is(err, client.ErrNotFound) {
			err, what = nil, tr.T("%s was already gone", r.label())
		}
		return savedMsg{provider: r.src.name, what: what, err: err}
	}
}
