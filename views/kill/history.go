package kill

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/lang"
	"abxdash/views/present"
)

const (
	historyFile = "kills.jsonl"
	// historyShown is how many kills the box shows.
	historyShown = 200
)

// Record is one kill as it is remembered. It holds no metadata, which may hold
// secrets, apart from the name.
type Record struct {
	At time.Time
	// By is who asked for it, user@host.
	By             string
	Provider, ID   string
	Name, Template string    `json:",omitempty"`
	State          string    `json:",omitempty"`
	Started        time.Time `json:",omitzero"`
	CPU            float64   `json:",omitempty"`
	MemoryMB       int64     `json:",omitempty"`
	Shells         int       `json:",omitempty"`
	Stray          []string  `json:",omitempty"`
	// Result is killed, gone or failed; Error says why it failed.
	Result string
	Error  string `json:",omitempty"`
}

// record keeps what a finished batch did.
func (q *Queue) record(b *batch) tea.Cmd {
	if !q.opt.State.Remembers() {
		return nil
	}
	records := make([]Record, len(b.jobs))
	for i, j := range b.jobs {
		r := Record{
			At: q.now, By: q.opt.Owner.User + "@" + q.opt.Owner.Host, Provider: j.sb.Provider, ID: string(j.sb.ID),
			Name: j.sb.Name, Template: j.sb.Template, State: string(j.sb.State), Started: j.sb.StartedAt,
			CPU: j.sb.CPU, MemoryMB: j.sb.MemoryMB, Shells: j.shells, Stray: j.stray,
		}
		switch j.outcome {
		case present.KillFailed:
			r.Result, r.Error = "failed", present.ErrorLine(j.err)
		case present.KillAlreadyGone:
			r.Result = "gone"
		default:
			r.Result = "killed"
		}
		records[i] = r
	}
	f, tr := q.opt.State, q.env.Lang
	return func() tea.Msg {
		if err := present.Append(f, historyFile, records...); err != nil {
			return ui.ToastMsg{Level: ui.ToastWarn, Text: tr.T("the kill is not in the history: %s", err)}
		}
		return nil
	}
}

// showHistory opens a box with the newest kills first.
func (q *Queue) showHistory() tea.Cmd {
	f, tr := q.opt.State, q.env.Lang
	return func() tea.Msg {
		records, err := present.Tail[Record](f, historyFile, historyShown)
		if err != nil {
			return ui.ToastMsg{Level: ui.ToastError, Text: tr.T("the history of kills cannot be read: %s", err)}
		}
		var lines []dialog.Line
		for i := len(records) - 1; i >= 0; i-- {
			lines = append(lines, dialog.Plain(records[i].line(tr))...)
		}
		if len(lines) == 0 {
			lines = dialog.Plain(tr.T("Nothing was killed from here yet."))
		}
		return ui.OverlayMsg{Overlay: dialog.Message(tr.T("Killed from this machine"), lines)}
	}
}

// line words one kill: when, by whom, what, and what was lost with it.
func (r Record) line(tr *lang.Catalog) string {
	name := r.Name
	if name == "" {
		name = r.ID
	}
	out := fmt.Sprintf("%s  %s  %s/%s", r.At.Local().Format(tr.T("Jan 2 15:04")), present.CleanMax(r.By, 40), present.Clean(r.Provider), present.CleanMax(name, 40))
	switch r.Result {
	case "gone":
		return out + "  " + tr.T("was already gone")
	case "failed":
		return out + "  " + tr.T("FAILED: %s", present.CleanMax(r.Error, 120))
	}
	lost := []string{}
	if r.State != "" {
		lost = append(lost, tr.Word(present.CleanMax(r.State, 20)))
	}
	if r.Started.Year() > 1 {
		lost = append(lost, tr.T("up %s", present.Duration(r.At.Sub(r.Started))))
	}
	if r.CPU > 0 || r.MemoryMB > 0 {
		lost = append(lost, tr.T("%s vCPU %s", present.CPU(r.CPU), present.Memory(r.MemoryMB)))
	}
	if r.Shells > 0 {
		lost = append(lost, tr.N(r.Shells, "%d open shell", "%d open shells", r.Shells))
	}
	for _, why := range r.Stray {
		lost = append(lost, present.CleanMax(why, 60))
	}
	return out + "  " + strings.Join(lost, ", ")
}
