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
	"abxdash/ui/lang"
	"abxdash/views/present"
)

const (
	// refreshEvery is how often a list is read while somebody looks at it. With
	// the list of sandboxes an idle dashboard stays under 15 calls a minute.
	refreshEvery = 30 * time.Second
	// unfocusedTimes is how much less often that is without the focus.
	unfocusedTimes = 4
	// callTimeout bounds one call.
	callTimeout = 30 * time.Second
)

// source is the templates of one provider.
type source struct {
	provider client.Provider
	name     string
	// api is nil for a provider without templates; why says so.
	api  client.Templates
	why  string
	list []client.TemplateInfo

	asking bool
	gen    uint64
	loaded bool
	err    error
	lastOK time.Time
	// next is when it is asked again; held is set while that is the provider's wish.
	next time.Time
	held bool
}

// templatesMsg is the answer of one provider.
type templatesMsg struct {
	src  *source
	gen  uint64
	list []client.TemplateInfo
	err  error
}

func newSource(p client.Provider) *source {
	s := &source{provider: p, name: p.Name()}
	if err := p.Capabilities().Missing(p.Name(), client.CapTemplates); err != nil {
		s.why = present.Clean(reason(err))
		return s
	}
	api, ok := client.Find[client.Templates](p)
	if !ok {
		s.why = lang.Mark("it has no template calls")
		return s
	}
	s.api = api
	return s
}

// reason is the message of an error without its operation and code.
func reason(err error) string {
	var e *client.Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return err.Error()
}

// refresh asks the providers whose time has come; now asks all that do not wish
// to be left alone.
func (m *Manager) refresh(now time.Time, all bool) tea.Cmd {
	var cmds []tea.Cmd
	for _, s := range m.sources {
		if s.api == nil || s.asking || now.Before(s.next) && (s.held || !all) {
			continue
		}
		s.gen++
		s.asking = true
		ctx, src, gen := m.env.Ctx, s, s.gen
		cmds = append(cmds, func() tea.Msg {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			list, err := src.api.Templates(ctx)
			return templatesMsg{src: src, gen: gen, list: list, err: err}
		})
	}
	return tea.Batch(cmds...)
}

// again makes a provider's list due now, e.g. after a change.
func (m *Manager) again(provider string) tea.Cmd {
	for _, s := range m.sources {
		if s.name == provider && !s.held {
			s.next = time.Time{}
			s.asking = false // an answer under way may be from before the change
		}
	}
	return m.refresh(m.env.Now(), false)
}

func (m *Manager) gotTemplates(msg templatesMsg) {
	s := msg.src
	if msg.gen != s.gen {
		return
	}
	now := m.env.Now()
	s.asking, s.held, s.next, s.err = false, false, now.Add(refreshEvery), msg.err
	m.listed++
	if msg.err != nil {
		var e *client.Error
		if errors.As(msg.err, &e) && e.RetryAfter > 0 {
			s.next, s.held = now.Add(e.RetryAfter), true
		}
		return
	}
	s.list, s.loaded, s.lastOK = msg.list, true, now
}

// notice is a line about a provider that shows nothing, or nothing new.
type notice struct {
	text string
	bad  bool
}

func (m *Manager) notices() []notice {
	tr := m.env.Lang
	var bad, quiet []notice
	for _, s := range m.sources {
		name := present.Clean(s.name)
		switch {
		case s.api == nil:
			quiet = append(quiet, notice{text: name + ": " + tr.Word(s.why)})
		case s.err != nil:
			text := name + ": " + present.ErrorLine(s.err)
			if s.held {
				text += tr.T(", asked again in %s", present.Duration(s.next.Sub(m.now)))
			}
			if s.loaded {
				text += tr.T(", rows are %s old", present.Duration(m.now.Sub(s.lastOK)))
			}
			if h := present.Hint(s.err); h != "" {
				text += "  " + tr.T("hint: %s", tr.Word(h))
			}
			bad = append(bad, notice{text: text, bad: true})
		case !s.loaded:
			quiet = append(quiet, notice{text: name + ": " + tr.T("asking…")})
		}
	}
	return append(bad, quiet...)
}

// row is one template on screen.
type row struct {
	src  *source
	info client.TemplateInfo
	// used are the live sandboxes of it; usedKnown is false before the provider
	// has listed any.
	used      []client.Sandbox
	usedKnown bool
}

func (r *row) id() string { return r.src.name + "/" + r.info.ID }

// label is what people call the template; clean.
func (r *row) label() string { return present.Clean(r.info.Name()) }

// ref is the name to start sandboxes with: the template's, else its id.
func (r *row) ref() string { return r.info.Name() }

// rows are all templates with their live sandboxes.
func (m *Manager) rows() []*row {
	var out []*row
	for _, s := range m.sources {
		live, known := m.live[s.name]
		byName := map[string]*row{}
		for _, t := range s.list {
			r := &row{src: s, info: t, usedKnown: known}
			out = append(out, r)
			for _, n := range append([]string{t.ID}, t.Names...) {
				byName[n] = r
			}
		}
		for _, sb := range live {
			if r := templateOf(byName, sb); r != nil {
				r.used = append(r.used, sb)
			}
		}
	}
	slices.SortFunc(out, func(a, b *row) int { return cmp.Compare(a.id(), b.id()) })
	return out
}

// templateOf finds the template that a sandbox was made of, by id first. A tag
// behind the name does not matter.
func templateOf(byName map[string]*row, sb client.Sandbox) *row {
	for _, ref := range []string{sb.TemplateID, sb.Template} {
		if r := byName[ref]; r != nil && ref != "" {
			return r
		}
		name, _, tagged := strings.Cut(ref, ":")
		if r := byName[name]; r != nil && tagged {
			return r
		}
	}
	return nil
}

// find is one template as it is listed now, nil if it is not.
func (m *Manager) find(provider, ref string) *row {
	for _, r := range m.rows() {
		if r.src.name == provider && (r.info.ID == ref || slices.Contains(r.info.Names, ref)) {
			return r
		}
	}
	return nil
}
