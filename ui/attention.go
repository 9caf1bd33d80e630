package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"abxdash/ui/draw"
	"abxdash/ui/lang"
)

// AttentionKind is a sort of thing that is worth calling the user for.
type AttentionKind string

// Kinds of attention; they can be muted one by one.
const (
	// AttentionStrays: a sandbox has begun to look forgotten.
	AttentionStrays AttentionKind = "strays"
	// AttentionExpiry: a sandbox of the user's ends soon.
	AttentionExpiry AttentionKind = "expiry"
	// AttentionFailures: a command, a kill or a provider failed.
	AttentionFailures AttentionKind = "failures"
	// AttentionDone: something long has ended.
	AttentionDone AttentionKind = "done"
)

// AttentionKinds lists the kinds.
func AttentionKinds() []AttentionKind {
	return []AttentionKind{AttentionStrays, AttentionExpiry, AttentionFailures, AttentionDone}
}

// AttentionMsg asks to call the user. Text is one line.
type AttentionMsg struct {
	Kind AttentionKind
	Text string
}

// Attention says how the user is called while the terminal has not the focus.
type Attention struct {
	// Bell rings, Notify asks the terminal for a desktop notification (OSC 9).
	Bell, Notify bool
	// Mute are kinds that never call.
	Mute []AttentionKind
}

const (
	// callEvery is the least time between two calls, callKindEvery that between two of one kind.
	callEvery     = 5 * time.Second
	callKindEvery = time.Minute
	// callMax bounds the text of a notification, in runes.
	callMax = 120
)

// caller decides whether the user is called now.
type caller struct {
	how    Attention
	muted  map[AttentionKind]bool
	last   time.Time
	byKind map[AttentionKind]time.Time
	// unseen counts calls since the terminal had the focus last.
	unseen int
}

func newCaller(a Attention) caller {
	c := caller{how: a, muted: map[AttentionKind]bool{}, byKind: map[AttentionKind]time.Time{}}
	for _, k := range a.Mute {
		c.muted[k] = true
	}
	return c
}

func (c *caller) looked(focused bool) {
	if focused {
		c.unseen = 0
	}
}

// mute silences a kind, or lets it call again.
func (c *caller) mute(arg string, l *lang.Catalog) ToastMsg {
	kinds := AttentionKinds()
	if arg != "all" {
		k := AttentionKind(arg)
		if !slices.Contains(kinds, k) {
			return ToastMsg{Level: ToastWarn, Text: l.T("mute takes strays, expiry, failures, done or all")}
		}
		kinds = []AttentionKind{k}
	}
	on := !c.muted[kinds[0]]
	for _, k := range kinds {
		c.muted[k] = on
	}
	return ToastMsg{Text: c.describe(l)}
}

// describe words what calls and what is muted.
func (c *caller) describe(l *lang.Catalog) string {
	var calls, muted []string
	for _, k := range AttentionKinds() {
		if c.muted[k] {
			muted = append(muted, l.Word(string(k)))
		} else {
			calls = append(calls, l.Word(string(k)))
		}
	}
	all, off := strings.Join(calls, ", "), strings.Join(muted, ", ")
	switch {
	case len(muted) == 0:
		return l.T("attention: %s", all)
	case len(calls) == 0:
		return l.T("attention: nothing calls; muted: %s", off)
	}
	return l.T("attention: %s; muted: %s", all, off)
}

// attend shows the message and, while nobody looks, calls the user; both are
// rate-limited, so that a storm of failures is one bell.
func (r *Root) attend(msg AttentionMsg) tea.Cmd {
	c, now := &r.caller, r.opts.Now()
	if c.muted[msg.Kind] {
		return nil
	}
	text := draw.Clean(msg.Text)
	level := ToastInfo
	if msg.Kind != AttentionDone {
		level = ToastWarn
	}
	r.toast(ToastMsg{Level: level, Text: text})
	if r.focused || now.Sub(c.last) < callEvery && !c.last.IsZero() || now.Sub(c.byKind[msg.Kind]) < callKindEvery {
		return nil
	}
	c.last, c.byKind[msg.Kind] = now, now
	c.unseen++
	seq := ""
	if c.how.Bell {
		seq += "\a"
	}
	if c.how.Notify {
		seq += ansi.Notify(fmt.Sprintf("%s: %s", r.opts.App, truncateRunes(text, callMax)))
	}
	if seq == "" {
		return nil
	}
	return tea.Raw(seq)
}

func truncateRunes(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
