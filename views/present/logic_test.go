package present

import (
	"slices"
	"strings"
	"testing"
	"time"

	"abxdash/client"
)

func TestStrayReasons(t *testing.T) {
	now := time.Date(2031, 1, 2, 0, 0, 0, 0, time.UTC)
	owned := func(more ...string) map[string]string {
		m := map[string]string{client.MetaOwner: "anna", client.MetaHost: "box"}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	end := now.Add(time.Hour)
	gone := func(int) bool { return false }
	lives := func(int) bool { return true }
	for _, c := range []struct {
		name string
		s    client.Sandbox
		in   StrayInfo
		want []string
	}{
		{"old but owned", client.Sandbox{StartedAt: now.AddDate(0, -6, 0), ExpiresAt: end, Metadata: owned()}, StrayInfo{}, nil},
		{"no tag", client.Sandbox{ExpiresAt: end}, StrayInfo{}, []string{"no owner tag"}},
		{"creator gone", client.Sandbox{ExpiresAt: end, Metadata: owned(MetaPID, "12")}, StrayInfo{Host: "box", Alive: gone}, []string{"its creator (process 12) is gone"}},
		{"creator lives", client.Sandbox{ExpiresAt: end, Metadata: owned(MetaPID, "12")}, StrayInfo{Host: "box", Alive: lives}, nil},
		{"creator elsewhere", client.Sandbox{ExpiresAt: end, Metadata: owned(MetaPID, "12")}, StrayInfo{Host: "other", Alive: gone}, nil},
		{"creator not a number", client.Sandbox{ExpiresAt: end, Metadata: owned(MetaPID, "-1")}, StrayInfo{Host: "box", Alive: gone}, nil},
		{"past expected", client.Sandbox{StartedAt: now.Add(-2 * time.Hour), ExpiresAt: end, Metadata: owned(MetaExpected, "50m")}, StrayInfo{}, []string{"past its expected life by 1h10m"}},
		{"past its end", client.Sandbox{ExpiresAt: now.Add(-time.Hour), Metadata: owned()}, StrayInfo{}, []string{"past its end by 1h"}},
		{"just ended", client.Sandbox{ExpiresAt: now.Add(-time.Minute), Metadata: owned()}, StrayInfo{}, nil},
		{"stuck", client.Sandbox{State: "pausing", ExpiresAt: end, Metadata: owned()}, StrayInfo{StateSince: now.Add(-time.Hour)}, []string{"stuck in pausing for 1h"}},
		{"pausing since unknown", client.Sandbox{State: "pausing", StartedAt: now.Add(-time.Hour), ExpiresAt: end, Metadata: owned()}, StrayInfo{}, nil},
		{"never started", client.Sandbox{State: "starting", StartedAt: now.Add(-time.Hour), ExpiresAt: end, Metadata: owned()}, StrayInfo{}, []string{"stuck in starting for 1h"}},
		{"idle", client.Sandbox{State: client.StateRunning, ExpiresAt: end, Metadata: owned()}, StrayInfo{IdleFor: 38 * time.Minute}, []string{"idle for 38m"}},
		{"idle but attached", client.Sandbox{State: client.StateRunning, ExpiresAt: end, Metadata: owned()}, StrayInfo{IdleFor: 38 * time.Minute, Attached: true}, nil},
		{"idle within the rules", client.Sandbox{State: client.StateRunning, ExpiresAt: end, Metadata: owned()}, StrayInfo{IdleFor: 38 * time.Minute, Rules: StrayRules{Idle: time.Hour}}, nil},
		{"idle switched off", client.Sandbox{State: client.StateRunning, ExpiresAt: end, Metadata: owned()}, StrayInfo{IdleFor: 38 * time.Hour, Rules: StrayRules{Idle: -1}}, nil},
		{"renewed for ever", client.Sandbox{ExpiresAt: end, Metadata: owned()}, StrayInfo{Renewed: 30, RenewedOver: 7 * time.Hour}, []string{"its end was moved on 30 times in 7h"}},
		{"renewed in a burst", client.Sandbox{ExpiresAt: end, Metadata: owned()}, StrayInfo{Renewed: 30, RenewedOver: time.Hour}, nil},
		{"stuck by a stricter rule", client.Sandbox{State: "pausing", ExpiresAt: end, Metadata: owned()}, StrayInfo{StateSince: now.Add(-2 * time.Minute), Rules: StrayRules{Stuck: time.Minute}}, []string{"stuck in pausing for 2m"}},
		{"odd state rests", client.Sandbox{State: "CheckpointReady", ExpiresAt: end, Metadata: owned()}, StrayInfo{StateSince: now.Add(-time.Hour)}, nil},
	} {
		c.in.Now = now
		if got := StrayReasons(c.s, c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestFilter(t *testing.T) {
	now := time.Date(2031, 1, 1, 12, 0, 0, 0, time.UTC)
	rows := []FilterRow{
		NewFilterRow(Row{Now: now, Sandbox: client.Sandbox{
			Provider: "local", ID: "i4dct", Name: "web-agent-3", Template: "py", State: "running",
			StartedAt: now.Add(-12 * time.Minute), ExpiresAt: now.Add(4 * time.Minute), Metadata: map[string]string{"app": "web", "empty": ""},
		}}),
		NewFilterRow(Row{Now: now, Stray: []string{"no owner tag"}, Sandbox: client.Sandbox{
			Provider: "e2b", ID: "i9x2", Template: "base", State: "paused", StartedAt: now.Add(-3 * time.Hour), End: client.EndUnset,
		}}),
	}
	for text, want := range map[string]string{
		"":                     "01",
		"web":                  "0",
		"WEB":                  "0",
		"!web":                 "1",
		"web !paused":          "0",
		"~^i9":                 "1",
		"/agent-[0-9]/":        "0",
		"-f wbagt":             "0",
		"-f wx2":               "",
		"!-f wbagt":            "1",
		"app=web":              "0",
		"app=we*":              "0",
		"app=":                 "0",
		"empty=":               "0",
		"app=other":            "",
		"state:paused":         "1",
		"provider:e2b i9":      "1",
		"stray":                "1",
		"!stray":               "0",
		"ttl<5m":               "0",
		"ttl>5m":               "",
		"age>1h":               "1",
		"age<1d":               "01",
		"name:web id:i4":       "0",
		"unknownfield:x":       "",
		"owner:? state:paused": "1",
	} {
		f, err := ParseFilter(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := ""
		for i := range rows {
			if f.Match(&rows[i]) {
				got += string(rune('0' + i))
			}
		}
		if got != want {
			t.Errorf("%q selects %q, want %q", text, got, want)
		}
	}
	for _, bad := range []string{"~[", "ttl<", "ttl<x", "!", "-f", "!!"} {
		if _, err := ParseFilter(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{"web !paused", "~[", "/x/", "-f ab", "a=b*", "ttl<5m", "!-f \xff"} {
		f.Add(s)
	}
	row := NewFilterRow(Row{Sandbox: client.Sandbox{ID: "i1", Name: "näme\xff"}})
	f.Fuzz(func(t *testing.T, s string) {
		flt, err := ParseFilter(s)
		if err != nil {
			if strings.ContainsFunc(err.Error(), client.Unsafe) {
				t.Fatalf("the error carries raw text: %q", err)
			}
			return
		}
		flt.Match(&row)
	})
}

func TestErrorLine(t *testing.T) {
	err := &client.Error{Op: "create sandbox", Code: client.CodeQuota, Message: "too many\x1b[2J"}
	if got := ErrorLine(err); got != `create sandbox: too many\u001b[2J (E2002)` {
		t.Errorf("line %q", got)
	}
	if Hint(err) == "" {
		t.Error("no hint for a quota error")
	}
	if ErrorLine(nil) != "" || Hint(nil) != "" {
		t.Error("nil is worded")
	}
}
