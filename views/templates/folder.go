package templates

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	tpl "abxdash/templates"
	"abxdash/theme"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/lang"
	"abxdash/ui/textbox"
	"abxdash/views/present"
)

// relintMsg asks for a lint of a folder, e.g. after an editor was left.
type relintMsg struct{ dir string }

// editorMsg says that the editor was left.
type editorMsg struct {
	dir string
	err error
}

func (s *Screen) actOnFolder(a keymap.Action) tea.Cmd {
	if s.folders.Do(a) {
		return nil
	}
	f, ok := s.folders.Cursor()
	if !ok {
		return nil
	}
	switch a {
	case keymap.TemplateTry, keymap.ListOpen:
		return ui.Open(RouteCheck, CheckParams{Dir: f.dir})
	case keymap.TemplateLint:
		return s.m.showLint(f)
	case keymap.TemplateJob:
		if j := s.m.jobOf(f.dir); j != nil {
			return ui.Open(RouteRun, RunParams{Number: j.number})
		}
		return nil
	case keymap.TemplateTarget:
		return s.chooseTarget(f)
	case keymap.AppCopyCommand:
		line := "abxdash template check " + present.ShellQuote(f.dir)
		if t := s.m.targetOf(f); t != tpl.Express {
			line += " --provider " + present.ShellQuote(t)
		}
		return tea.Batch(tea.SetClipboard(line), ui.Toast(ui.ToastOK, s.env.Lang.T("copied: %s", present.Clean(line))))
	case keymap.SandboxCopyID:
		return tea.Batch(tea.SetClipboard(f.dir), ui.Toast(ui.ToastOK, s.env.Lang.T("copied %s", present.Clean(f.dir))))
	}
	return s.m.actOnDir(f.dir, s.m.targetOf(f), f.name(), a)
}

// actOnDir carries out what the list of folders, a check and a build have in common.
func (m *Manager) actOnDir(dir, target, name string, a keymap.Action) tea.Cmd {
	switch a {
	case keymap.TemplateEdit:
		return m.chooseFile(dir)
	case keymap.TemplateDeploy, keymap.TemplateBuild:
		if why := m.folderCannot(a, dir); why != "" {
			return ui.Toast(ui.ToastWarn, why)
		}
		return ui.OpenOverlay(newDeployForm(m, dir, target, name, a == keymap.TemplateBuild))
	}
	return nil
}

// showLint opens a box with every problem, its place and what to do.
func (m *Manager) showLint(f *folder) tea.Cmd {
	tr := m.env.Lang
	title := tr.T("Lint of %s for %s", m.folderName(f.dir), present.Clean(m.targetOf(f)))
	switch {
	case f.err != nil:
		return m.failed(tr.T("lint"), f.err)
	case f.report == nil:
		return ui.Toast(ui.ToastInfo, tr.T("it is being linted"))
	}
	return ui.OpenOverlay(textbox.New(textbox.Options{Title: title, Text: lintText(tr, f.report.Problems)}))
}

// lintText is problems as people read them: place, what, the line with a mark, what to do.
func lintText(tr *lang.Catalog, ps tpl.Problems) string {
	if len(ps) == 0 {
		return tr.T("Nothing is wrong.") + "\n"
	}
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", present.Clean(p.String()))
		for _, l := range p.Caret() {
			fmt.Fprintf(&b, "    %s\n", l)
		}
		if p.Hint != "" {
			b.WriteString("    " + tr.T("hint: %s", present.Clean(p.Hint)) + "\n")
		}
	}
	return b.String()
}

func severityStyle(t *theme.Theme, s tpl.Severity) uv.Style {
	switch s {
	case tpl.SeverityError:
		return t.Text.Error
	case tpl.SeverityWarning:
		return t.Text.Warn
	}
	return t.Text.Dim
}

// chooseTarget offers the providers that the folder can be for.
func (s *Screen) chooseTarget(f *folder) tea.Cmd {
	var items []dialog.Item
	now := s.m.targetOf(f)
	for _, t := range s.m.opt.Targets {
		it := dialog.Item{Label: present.Clean(t), Cmd: ui.Cmd(targetMsg{dir: f.dir, target: t})}
		if t == now {
			it.Hint = s.env.Lang.T("now")
		}
		items = append(items, it)
	}
	return ui.OpenOverlay(dialog.Menu(s.env.Lang.T("%s is for", s.m.folderName(f.dir)), items))
}

// targetMsg is the choice of a provider for a folder.
type targetMsg struct{ dir, target string }

// chooseFile offers the files of a folder for the editor.
func (m *Manager) chooseFile(dir string) tea.Cmd {
	var items []dialog.Item
	for _, name := range []string{tpl.FileCommands, tpl.FileTemplate, tpl.FileDockerfile, tpl.FileIgnore} {
		items = append(items, dialog.Item{Label: name, Cmd: m.edit(dir, name)})
	}
	return ui.OpenOverlay(dialog.Menu(m.env.Lang.T("Edit in %s", m.folderName(dir)), items))
}

// edit hands the terminal to the user's editor.
func (m *Manager) edit(dir, name string) tea.Cmd {
	path := filepath.Join(dir, name)
	done := func(err error) tea.Msg { return editorMsg{dir: dir, err: err} }
	if m.opt.RunEditor != nil {
		return m.opt.RunEditor(path, done)
	}
	cmd, err := present.EditorCommand(context.WithoutCancel(m.env.Ctx), m.env.Lang, m.opt.Editor, path)
	if err != nil {
		return ui.Toast(ui.ToastError, err.Error())
	}
	cmd.Dir = dir
	return tea.ExecProcess(cmd, done)
}

// edited repaints after the editor and lints what it left.
func (m *Manager) edited(msg editorMsg) tea.Cmd {
	cmds := []tea.Cmd{tea.ClearScreen, ui.Cmd(relintMsg{dir: msg.dir})}
	if msg.err != nil {
		cmds = append(cmds, ui.Toast(ui.ToastError, m.env.Lang.T("the editor ended with %s", present.Clean(msg.err.Error()))))
	}
	return tea.Batch(cmds...)
}
