package templates

import (
	tea "charm.land/bubbletea/v2"

	"abxdash/keymap"
	"abxdash/ui"
)

// Install adds the manager, its screens and the action that opens them to the
// options of the dashboard.
func (m *Manager) Install(o *ui.Options) {
	if o.Routes == nil {
		o.Routes = map[ui.Route]func(ui.Params) ui.Screen{}
	}
	if o.Actions == nil {
		o.Actions = map[keymap.Action]tea.Cmd{}
	}
	o.Routes[RouteTemplates] = func(ui.Params) ui.Screen { return NewScreen(m) }
	o.Routes[RouteDetail] = func(p ui.Params) ui.Screen {
		params, _ := p.Value.(DetailParams) // the zero value is a template that nobody lists
		return NewDetail(m, params)
	}
	o.Routes[RouteRun] = func(p ui.Params) ui.Screen {
		params, _ := p.Value.(RunParams) // number 0 is no job
		return NewRun(m, params)
	}
	o.Routes[RouteCheck] = func(p ui.Params) ui.Screen {
		params, _ := p.Value.(CheckParams)
		return NewCheck(m, params)
	}
	o.Routes[RouteWizard] = func(ui.Params) ui.Screen { return NewWizard(m) }
	o.Background = append(o.Background, m)
	o.Actions[keymap.TemplatesOpen] = ui.Open(RouteTemplates, nil)
}

// here is why the templates are not opened once more on top of themselves.
func (m *Manager) here() string { return m.env.Lang.T("they are open already: esc goes back to them") }
