package shell_test

import (
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/client"
	"abxdash/ui"
	"abxdash/ui/uitest"
	"abxdash/views/present"
	"abxdash/views/shell"
)

// counted is a shell screen that counts how often it is drawn.
type counted struct {
	*shell.Screen
	draws *int
}

func (c counted) Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor {
	*c.draws++
	return c.Screen.Draw(scr, area)
}

// outputs counts the changes of shells that the loop was told of.
type outputs struct{ n int }

func (o *outputs) Init(ui.Env) tea.Cmd { return nil }
func (o *outputs) Status() string      { return "" }
func (o *outputs) Close()              {}

func (o *outputs) Update(msg tea.Msg) (tea.Cmd, bool) {
	if fmt.Sprintf("%T", msg) == "shell.changedMsg" {
		o.n++
	}
	return nil, false
}

// A key that only goes to the shell draws nothing, its echo does, and the output
// of a shell that is not in sight does not.
func TestOnlyWhatIsSeenIsDrawn(t *testing.T) {
	w := newWorld(t, client.Sandbox{})
	manager := shell.NewManagerWith(present.Providers{w.fake}, shell.ManagerOptions{Owner: present.Owner{User: "ann", Host: "desk"}})
	draws, told := 0, &outputs{}
	d := &dashboard{}
	d.Driver = uitest.StartStreams(t, ui.Options{
		Start: "list", Background: []ui.Background{manager, told},
		Routes: map[ui.Route]func(ui.Params) ui.Screen{
			"list": func(ui.Params) ui.Screen { return &empty{} },
			present.RouteShell: func(p ui.Params) ui.Screen {
				return counted{shell.New(shell.Options{Manager: manager, Whole: true}, p.Value.(present.ShellParams).Sandbox), &draws}
			},
		},
	}, 110, 30)
	d.Run(present.OpenShell(w.sb))
	d.UntilShows("user@sandbox")
	d.line("echo ready-$((1+1))", "ready-2")
	before := draws
	d.Send(uitest.Key("y"))
	if draws != before {
		t.Errorf("%d frames were drawn for a key alone", draws-before)
	}
	d.Until("a frame with its echo", func() bool { return draws > before })
	d.UntilShows("$ y")
	d.Type("es")
	d.Keys("enter")
	d.Until("the flood", func() bool { return told.n > 10 })
	d.Keys("ctrl+] c")
	d.UntilShows("1 [2]")
	d.Until("a prompt", func() bool { return d.Shows("user@sandbox") })
	before, from := draws, told.n
	d.Until("output of the hidden shell", func() bool { return told.n >= from+30 })
	if n := draws - before; n > 15 {
		t.Errorf("%d frames were drawn for 30 changes of a shell that is not in sight", n)
	}
	d.Keys("ctrl+] n")
	before = draws
	d.Until("frames of the flood", func() bool { return draws >= before+3 })
}
