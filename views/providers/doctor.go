package providers

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

// patience bounds one test of a provider that is in use but unknown to Admin.
const patience = 10 * time.Second

// check asks the provider under the cursor for its list, once.
func (s *Screen) check(full bool) tea.Cmd {
	r, ok := s.table.Cursor()
	if !ok || s.testing[r.Name] {
		return nil
	}
	s.testing[r.Name] = true
	s.table.Invalidate()
	ctx, admin, p, name, now := s.ctx, s.opt.Admin, s.opt.Providers.Get(r.Name), r.Name, s.env.Now
	return func() tea.Msg {
		m := checkedMsg{owner: s, name: name, full: full}
		if admin == nil {
			m.check = ask(ctx, p, now)
			return m
		}
		list, err := admin.Check(ctx, name)
		m.err = err
		if err == nil && len(list) > 0 {
			m.check = list[0]
		}
		return m
	}
}

// ask is the test without an administration, such as in the demo.
func ask(ctx context.Context, p client.Provider, now func() time.Time) client.ProviderCheck {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := now()
	_, err := p.Sandboxes().List(ctx, client.Query{Limit: 1})
	c := client.ProviderCheck{Name: p.Name(), OK: err == nil, Detail: lang.Mark("its list can be read"), Took: now().Sub(began)}
	if err != nil {
		c.Detail, c.Hint = present.ErrorLine(err), present.Hint(err)
	}
	return c
}

// checked says how a test went: in a line, or in a report with what next.
func (s *Screen) checked(m checkedMsg) tea.Cmd {
	if m.owner != s {
		return nil
	}
	delete(s.testing, m.name)
	s.table.Invalidate()
	if m.err != nil {
		m.check.Detail, m.check.Hint = present.ErrorLine(m.err), present.Hint(m.err)
	}
	r, ok := s.table.Get(m.name)
	if m.full && ok {
		return ui.OpenOverlay(dialog.Message(s.env.Lang.T("Doctor: %s", present.Clean(m.name)), s.report(r, m.check)))
	}
	return ui.Toast(level(m.check), present.Clean(m.name)+": "+outcome(s.env.Lang, m.check))
}

func level(c client.ProviderCheck) ui.ToastLevel {
	if c.OK {
		return ui.ToastOK
	}
	return ui.ToastError
}

// outcome words a test in one line.
func outcome(tr *lang.Catalog, c client.ProviderCheck) string {
	out := tested(tr, c)
	if c.Hint != "" {
		out += "; " + present.Clean(tr.Word(c.Hint))
	}
	return out
}

// tested is what a test found, and how long it took if it went well.
func tested(tr *lang.Catalog, c client.ProviderCheck) string {
	out := present.Clean(tr.Word(c.Detail))
	if c.OK && c.Took > 0 {
		out = tr.T("%s, in %d ms", out, c.Took.Milliseconds())
	}
	return out
}

// report is everything known of a provider, with what to do next.
func (s *Screen) report(r row, c client.ProviderCheck) []dialog.Line {
	t, tr := s.env.Theme, s.env.Lang
	st := t.Text.OK
	if !c.OK {
		st = t.Text.Error
	}
	out := []dialog.Line{{Text: tr.T("tested: %s", tested(tr, c)), Style: st}}
	if c.Hint != "" {
		out = append(out, dialog.Line{Text: tr.T("next: %s", present.Clean(tr.Word(c.Hint))), Style: t.Text.Strong})
	}
	if r.used {
		word, _ := r.health.WordIn(tr, s.env.Now())
		out = append(out, dialog.Line{Text: tr.T("the list: %s, last answer %s", word, r.health.SeenIn(tr, s.env.Now())), Style: t.Text.Normal})
	}
	for _, f := range s.facts(r) {
		out = append(out, dialog.Line{Text: strings.TrimSpace(f.name + ": " + f.value), Style: f.style})
	}
	return out
}
