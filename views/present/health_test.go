package present

import (
	"strings"
	"testing"
	"time"

	"abxdash/client"
)

func TestProviderHealthWords(t *testing.T) {
	now := time.Date(2031, 1, 1, 12, 0, 0, 0, time.UTC)
	ok := ProviderHealth{Loaded: true, LastOK: now.Add(-3 * time.Second)}
	with := func(change func(*ProviderHealth)) ProviderHealth {
		h := ok
		change(&h)
		return h
	}
	for want, h := range map[string]ProviderHealth{
		"ok":               ok,
		"not asked yet":    {},
		"refreshing":       with(func(h *ProviderHealth) { h.AskedAt = now.Add(-time.Second) }),
		"silent for 9s":    with(func(h *ProviderHealth) { h.AskedAt = now.Add(-9 * time.Second) }),
		"429, 12s":         with(func(h *ProviderHealth) { h.PausedUntil, h.Err = now.Add(12*time.Second), client.ErrRateLimited }),
		"401, key refused": with(func(h *ProviderHealth) { h.Err = &client.Error{Code: client.CodeAuth, Kind: client.ErrUnauthorized} }),
		"offline":          with(func(h *ProviderHealth) { h.Err = &client.Error{Code: client.CodeConnect} }),
		"failing E9005":    with(func(h *ProviderHealth) { h.Err = &client.Error{Code: client.CodeServer} }),
	} {
		if got, _ := h.WordIn(nil, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if ok.SeenIn(nil, now) != "3s ago" || (ProviderHealth{}).SeenIn(nil, now) != "never" {
		t.Errorf("seen %q", ok.SeenIn(nil, now))
	}
}

func TestBadges(t *testing.T) {
	c := client.Capabilities{
		Have: map[client.Capability]bool{client.CapCommands: true, client.CapFiles: true, client.CapCode: true},
		Why:  map[client.Capability]string{client.CapPause: "not\x1b[2J here"},
	}
	if got := Badges(c); got != "r-f-----c" {
		t.Errorf("%q", got)
	}
	can, cannot := BadgeWords(c, nil)
	if strings.Join(can, " ") != "run files code" {
		t.Errorf("can %q", can)
	}
	all := strings.Join(cannot, "\n")
	if !strings.Contains(all, "no pause: not") || strings.Contains(all, "\x1b") || len(cannot) != 6 {
		t.Errorf("cannot %q", cannot)
	}
}
