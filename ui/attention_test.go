package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/uitest"
)

// raws are the sequences that were written past the renderer.
func raws(d *uitest.Driver) string {
	var out strings.Builder
	for _, m := range d.Ignored {
		if r, ok := m.(tea.RawMsg); ok {
			fmt.Fprint(&out, r.Msg)
		}
	}
	return out.String()
}

func TestAttentionCallsOnlyWhoDoesNotLook(t *testing.T) {
	now := time.Date(2031, 1, 1, 12, 0, 0, 0, time.UTC)
	d := uitest.Start(t, ui.Options{
		Now: func() time.Time { return now }, Attention: ui.Attention{Bell: true, Notify: true},
		Start: "plain", Routes: map[ui.Route]func(ui.Params) ui.Screen{"plain": func(ui.Params) ui.Screen { return titledScreen{&fake{title: "plain"}} }},
	}, 80, 24)
	expiry := ui.AttentionMsg{Kind: ui.AttentionExpiry, Text: "web ends in 5m\x1b]0;owned\a"}
	d.Send(expiry)
	if raws(d) != "" || !d.Shows("web ends in 5m") {
		t.Fatalf("called %q while somebody looks", raws(d))
	}
	if got := d.Root.View().WindowTitle; got != "abxdash - 3 running" {
		t.Errorf("title %q", got)
	}
	d.Send(tea.BlurMsg{}, expiry)
	got := raws(d)
	if !strings.HasPrefix(got, "\a\x1b]9;abxdash: web ends in 5m") || strings.Count(got, "\x1b") != 1+strings.Count(got, "\x1b\\") {
		t.Fatalf("called %q", got)
	}
	if got := d.Root.View().WindowTitle; got != "(!) abxdash - 3 running" {
		t.Errorf("title %q", got)
	}
	// One bell for a storm; another kind a little later, the same one after a minute.
	before := len(raws(d))
	d.Send(expiry, ui.AttentionMsg{Kind: ui.AttentionFailures, Text: "x"})
	if len(raws(d)) != before {
		t.Error("called twice at once")
	}
	now = now.Add(6 * time.Second)
	d.Send(expiry)
	if len(raws(d)) != before {
		t.Error("the same kind called again after 6 s")
	}
	d.Send(ui.ActionMsg{Action: keymap.AppMute, Arg: "failures"})
	d.Send(ui.AttentionMsg{Kind: ui.AttentionFailures, Text: "x"})
	if len(raws(d)) != before {
		t.Error("a muted kind called")
	}
	d.Send(ui.AttentionMsg{Kind: ui.AttentionStrays, Text: "lost"})
	if len(raws(d)) == before {
		t.Error("another kind did not call")
	}
	d.Send(tea.FocusMsg{})
	if got := d.Root.View().WindowTitle; got != "abxdash - 3 running" {
		t.Errorf("title after looking %q", got)
	}
}

type titledScreen struct{ ui.Screen }

func (titledScreen) WindowTitle() string { return "3 running" }

func TestThemeAndKeysChangeWhileRunning(t *testing.T) {
	d := uitest.Start(t, ui.Options{
		Start: "plain", Routes: map[ui.Route]func(ui.Params) ui.Screen{"plain": func(ui.Params) ui.Screen { return &fake{title: "plain"} }},
	}, 80, 24)
	d.Send(ui.ActionMsg{Action: keymap.AppTheme, Arg: "nord"})
	if got := d.Root.Theme().Name; got != "nord" {
		t.Errorf("theme %q", got)
	}
	d.Send(ui.ThemeNameMsg{Name: "pink"})
	if got := d.Root.Theme().Name; got != "nord" || !d.Shows("theme is one of") {
		t.Errorf("theme %q", got)
	}
	keys, err := keymap.Default().Override(map[string][]string{"app.help": {"H"}})
	if err != nil {
		t.Fatal(err)
	}
	d.Send(ui.KeysMsg{Keys: keys})
	d.Keys("?")
	if d.Shows("Keys here") {
		t.Error("the old key still works")
	}
	d.Keys("H")
	if !d.Shows("Keys here") {
		t.Error("the new key does nothing")
	}
}
