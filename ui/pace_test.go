package ui_test

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/uitest"
)

// pacer is a screen that says how soon each message is to be seen.
type pacer struct {
	fake
	say map[string]func(*ui.Pace)
}

func (p *pacer) Update(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		if say := p.say[k.String()]; say != nil {
			say(p.env.Pace)
		}
	}
	return p.fake.Update(msg)
}

// What changes nothing draws nothing, and what somebody waits for is drawn at
// once, also while another frame is put off.
func TestPace(t *testing.T) {
	s := &pacer{
		fake: fake{title: "Shell", captures: true, contexts: []keymap.Context{keymap.Shell}},
		say:  map[string]func(*ui.Pace){"s": (*ui.Pace).Still, "!": (*ui.Pace).Soon},
	}
	var later []tea.Msg
	root := ui.New(ui.Options{
		Routes: map[ui.Route]func(ui.Params) ui.Screen{"list": func(ui.Params) ui.Screen { return s }},
		Start:  "list", FixedTheme: true, FrameInterval: time.Hour, Hint: "press a key",
		After: func(_ time.Duration, m tea.Msg) tea.Cmd {
			later = append(later, m)
			return nil
		},
	})
	defer root.Close()
	send := func(m tea.Msg) {
		root.Update(m)
		root.View()
	}
	root.Init()
	later = nil
	send(tea.WindowSizeMsg{Width: 80, Height: 24})
	expect := func(what string, draws, timers int) {
		t.Helper()
		if s.draws != draws || len(later) != timers {
			t.Errorf("%s: %d draws and %d timers, want %d and %d", what, s.draws, len(later), draws, timers)
		}
	}
	expect("the first frame", 1, 0)
	send(uitest.Key("s"))
	expect("a key that takes the hint away", 1, 1)
	send(later[0])
	expect("its frame", 2, 1)
	send(uitest.Key("s"))
	expect("a key that changes nothing", 2, 1)
	send(uitest.Key("x"))
	expect("a key that changes something", 2, 2)
	send(uitest.Key("!"))
	expect("what somebody waits for", 3, 2)
	send(uitest.Key("x"))
	expect("the next change", 3, 3)
	send(later[1])
	expect("the timer of the frame that was drawn before", 3, 3)
	send(later[2])
	expect("its own timer", 4, 3)
	send(uitest.Key("ctrl+]"))
	send(later[3])
	expect("a leader", 5, 4)
	send(uitest.Key("s"))
	expect("a key that takes the leader from the status line", 5, 5)
	var none *ui.Pace
	none.Still()
	none.Soon()
}
