package ui_test

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/dialog"
	"abxdash/ui/uitest"
)

func TestPanics(t *testing.T) {
	for _, where := range []string{"Init", "Update", "Draw", "Keys", "Close"} {
		t.Run(where, func(t *testing.T) {
			d := newDesk(t, 80, 24)
			d.detail.panicIn = where
			d.Keys("enter")
			d.Keys("x")
			_ = d.Text()
			if where == "Close" {
				d.Keys("esc")
			} else if !d.Shows("This screen failed") || !d.Shows("boom in "+where) {
				t.Errorf("nothing said:\n%s", d.Text())
			}
			if len(d.panics) == 0 || !strings.Contains(d.panics[0], "boom in "+where) {
				t.Errorf("logged %q", d.panics)
			}
			if where != "Close" {
				d.Keys("esc")
			}
			if !d.Shows("body of Sandboxes") {
				t.Errorf("esc does not go back:\n%s", d.Text())
			}
			d.Keys("x")
			if d.list.did(keymap.SandboxKill) != 1 {
				t.Error("the list is dead too")
			}
		})
	}
	t.Run("constructor", func(t *testing.T) {
		d := newDesk(t, 80, 24, func(o *ui.Options) {
			o.Routes["detail"] = func(ui.Params) ui.Screen { panic("no such thing") }
		})
		d.Keys("enter")
		if !d.Shows("cannot open detail: no such thing") {
			t.Errorf("nothing said:\n%s", d.Text())
		}
	})
	t.Run("unknown route", func(t *testing.T) {
		d := newDesk(t, 80, 24)
		d.Send(ui.OpenMsg{Route: "nowhere"})
		if !d.Shows("no screen nowhere") {
			t.Errorf("nothing said:\n%s", d.Text())
		}
	})
	for _, where := range []string{"Init", "Update", "Draw"} {
		t.Run("box "+where, func(t *testing.T) {
			d := newDesk(t, 80, 24)
			d.Send(ui.OverlayMsg{Overlay: &fake{title: "Box", panicIn: where}})
			d.Send("anything")
			if !d.Shows("a box failed: boom in "+where) || d.Shows("body of Box") {
				t.Errorf("nothing said, or the box stays:\n%s", d.Text())
			}
			d.Keys("x")
			if d.list.did(keymap.SandboxKill) != 1 {
				t.Error("keys do not reach the list")
			}
		})
	}
	t.Run("background", func(t *testing.T) {
		d := newDesk(t, 80, 24)
		d.work.panics = true
		d.Keys("x")
		if !d.Shows("background task failed") || d.list.did(keymap.SandboxKill) != 1 {
			t.Errorf("nothing said, or the key is lost:\n%s", d.Text())
		}
	})
}

// TUI-01: no size makes it panic, esc works blind, and it recovers at once.
func TestSizes(t *testing.T) {
	sizes := [][2]int{{20, 5}, {5, 20}, {1, 1}, {0, 0}, {40, 10}, {39, 10}, {40, 9}, {41, 11}, {200, 60}, {1000, 3}, {-1, -1}, {120, 40}}
	states := map[string]func(*desk){
		"list":     func(*desk) {},
		"detail":   func(d *desk) { d.Keys("enter") },
		"help":     func(d *desk) { d.Keys("?") },
		"palette":  func(d *desk) { d.Keys("ctrl+k"); d.Type("kil") },
		"command":  func(d *desk) { d.Keys(":"); d.Type("kill") },
		"messages": func(d *desk) { d.Send(ui.Do(keymap.AppMessages)()) },
		"quit":     func(d *desk) { d.Keys("ctrl+c") },
		"confirm": func(d *desk) {
			d.Send(ui.OverlayMsg{Overlay: dialog.Confirm(dialog.ConfirmOptions{Title: "Delete?", Lines: dialog.Plain("a line of text"), Danger: true})})
		},
		"count": func(d *desk) {
			d.Send(ui.OverlayMsg{Overlay: dialog.Confirm(dialog.ConfirmOptions{Title: "Kill 12 sandboxes", Count: 12})})
		},
		"menu": func(d *desk) {
			d.Send(ui.OverlayMsg{Overlay: dialog.Menu("Choose", []dialog.Item{{Label: "a"}, {Label: "b", Hint: "h"}, {Label: "c"}})})
		},
		"message": func(d *desk) {
			d.Send(ui.OverlayMsg{Overlay: dialog.Message("Note", dialog.Plain(strings.Repeat("words ", 100)))})
		},
	}
	for name, open := range states {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, 120, 40)
			open(d)
			for _, s := range sizes {
				d.Send(tea.WindowSizeMsg{Width: s[0], Height: s[1]})
				d.Send(ui.ToastMsg{Level: ui.ToastError, Text: "a toast"})
				v := d.Root.View()
				lines := strings.Split(v.Content, "\n")
				if len(lines) > max(s[1], 1) {
					t.Errorf("%v: %d rows", s, len(lines))
				}
				for _, l := range lines {
					if w := ansi.StringWidth(l); w > max(s[0], 0) {
						t.Errorf("%v: a row of %d cells", s, w)
					}
				}
				if c := v.Cursor; c != nil && (c.X < 0 || c.Y < 0 || c.X >= s[0] || c.Y >= s[1]) {
					t.Errorf("%v: cursor at %d,%d", s, c.X, c.Y)
				}
			}
			if len(d.panics) > 0 {
				t.Errorf("panics: %q", d.panics)
			}
			d.Send(tea.WindowSizeMsg{Width: 5, Height: 2})
			d.Keys("esc")
			d.Send(tea.WindowSizeMsg{Width: 80, Height: 24})
			if !d.Shows("body of Sandboxes") {
				t.Errorf("esc did not work blind:\n%s", d.Text())
			}
			d.Send(tea.WindowSizeMsg{Width: 32, Height: 8})
			if !d.Shows("need 40x10, have 32x8") {
				t.Errorf("too small is not said: %q", d.Text())
			}
			d.Keys("q")
			if !d.Quit {
				t.Error("q does not quit blind")
			}
		})
	}
}

// Frames are drawn only when something changed, and not more often than asked for.
func TestFramePacing(t *testing.T) {
	list := &fake{title: "L", contexts: []keymap.Context{keymap.List, keymap.Move}}
	var later []tea.Msg
	root := ui.New(ui.Options{
		Routes: map[ui.Route]func(ui.Params) ui.Screen{"list": func(ui.Params) ui.Screen { return list }},
		Start:  "list", FixedTheme: true, FrameInterval: time.Hour,
		After: func(_ time.Duration, m tea.Msg) tea.Cmd {
			later = append(later, m)
			return nil
		},
	})
	defer root.Close()
	root.Init()
	later = nil
	root.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	root.View()
	if list.draws != 1 {
		t.Fatalf("%d draws at first", list.draws)
	}
	root.View()
	root.View()
	if list.draws != 1 {
		t.Error("drawn again though nothing changed")
	}
	for range 1000 {
		root.Update(uitest.Key("j"))
		root.View()
	}
	if list.did(keymap.MoveDown) != 1000 {
		t.Errorf("%d of 1000 keys arrived", list.did(keymap.MoveDown))
	}
	if list.draws != 1 || len(later) != 1 {
		t.Errorf("%d draws and %d timers in a flood within one interval", list.draws, len(later))
	}
	root.Update(later[0])
	root.View()
	if list.draws != 2 {
		t.Errorf("%d draws after the frame was due", list.draws)
	}
}

func BenchmarkFrame(b *testing.B) {
	s := newRows(10_000)
	d := uitest.Start(b, ui.Options{Routes: map[ui.Route]func(ui.Params) ui.Screen{"list": func(ui.Params) ui.Screen { return s }}, Start: "list"}, 200, 60)
	b.ReportAllocs()
	for b.Loop() {
		d.Root.Update(uitest.Key("j"))
		d.Root.View()
	}
}

func TestFrameAllocations(t *testing.T) {
	s := newRows(10_000)
	d := uitest.Start(t, ui.Options{Routes: map[ui.Route]func(ui.Params) ui.Screen{"list": func(ui.Params) ui.Screen { return s }}, Start: "list"}, 200, 60)
	n := testing.AllocsPerRun(20, func() {
		d.Root.Update(uitest.Key("ctrl+f"))
		d.Root.View()
	})
	if n > 2000 {
		t.Errorf("a frame makes %.0f allocations", n)
	}
}
