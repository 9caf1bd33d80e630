package present

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"abxdash/client"
)

func TestDuration(t *testing.T) {
	for in, want := range map[time.Duration]string{
		-5 * time.Hour:               "0s",
		0:                            "0s",
		999 * time.Millisecond:       "0s",
		59 * time.Second:             "59s",
		time.Minute:                  "1m",
		59*time.Minute + time.Second: "59m",
		time.Hour:                    "1h",
		2*time.Hour + 10*time.Minute: "2h10m",
		24 * time.Hour:               "1d",
		27 * time.Hour:               "1d3h",
		41 * 24 * time.Hour:          "41d",
	} {
		if got := Duration(in); got != want {
			t.Errorf("Duration(%v) = %q, want %q", in, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for in, want := range map[int64]string{
		-1: "?", 0: "0B", 812: "812B", 1024: "1.0K", 1228: "1.2K", 10 << 10: "10K",
		512 << 20: "512M", 1 << 30: "1.0G", 1023 << 20: "1.0G", 1 << 62: "4.0E",
	} {
		if got := Size(in); got != want {
			t.Errorf("Size(%d) = %q, want %q", in, got, want)
		}
	}
}

// rowsOf reads a recorded list answer the way a provider does.
func rowsOf(t *testing.T, data []byte) []client.Sandbox {
	t.Helper()
	var wire []struct {
		SandboxID, State, EndAt, StartedAt, Alias string
		Metadata                                  map[string]string
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		t.Fatal(err)
	}
	var out []client.Sandbox
	for _, w := range wire {
		s := client.Sandbox{Provider: "fake", ID: client.ID(w.SandboxID), Name: w.Alias, State: client.State(w.State), Metadata: w.Metadata}
		s.StartedAt, _ = time.Parse(time.RFC3339, w.StartedAt)
		switch end, err := time.Parse(time.RFC3339, w.EndAt); {
		case w.EndAt == "":
			s.End = client.EndUnset
		case err != nil:
			s.End = client.EndInvalid
		default:
			s.ExpiresAt = end
		}
		out = append(out, s)
	}
	return out
}

// LST-08: no negative and no 970-year countdown, and a clock that is ten
// minutes fast does not make running rows look expired.
func TestTTLOfOddEnds(t *testing.T) {
	raw, err := os.ReadFile("testdata/ttl.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Now  time.Time
		Rows json.RawMessage
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	local := file.Now.Add(10 * time.Minute)
	clock := NewClock(file.Now, local)
	rows := rowsOf(t, file.Rows)
	want := []string{"expired", "—", "∞", "—", "expired", "?"}
	for i, s := range rows {
		if got := TTL(s, clock.At(local)); got != want[i] {
			t.Errorf("%s: TTL %q, want %q", s.ID, got, want[i])
		}
	}
	running := client.Sandbox{ExpiresAt: file.Now.Add(5 * time.Minute)}
	if got := TTL(running, clock.At(local)); got != "5m" {
		t.Errorf("with a fast local clock the TTL is %q, want 5m", got)
	}
	if got := Age(file.Now.Add(time.Minute), clock.At(local)); got != "0s" {
		t.Errorf("a start in the future is %q, want 0s", got)
	}
}

func TestTTLNeverNegativeNorHuge(t *testing.T) {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		s := client.Sandbox{ExpiresAt: now.Add(time.Duration(rapid.Int64().Draw(t, "left"))), End: client.EndKind(rapid.IntRange(0, 3).Draw(t, "kind"))}
		if got := TTL(s, now); strings.HasPrefix(got, "-") || len([]rune(got)) > 8 || got == "" {
			t.Fatalf("TTL = %q", got)
		}
		if got := Age(s.ExpiresAt, now); strings.HasPrefix(got, "-") || len([]rune(got)) > 8 {
			t.Fatalf("Age = %q", got)
		}
	})
}

// LST-06: what a server sends never reaches the terminal raw.
func TestCleanOfOddMetadata(t *testing.T) {
	raw, err := os.ReadFile("testdata/odd-metadata.json")
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, raw)
	if len(rows) != 7 {
		t.Fatalf("%d rows, want 7", len(rows))
	}
	for _, s := range rows {
		texts := []string{Label(s), LongLabel(s), StateWord(s), Template(s)}
		for k, v := range s.Metadata {
			texts = append(texts, Clean(k), Clean(v))
		}
		for _, text := range texts {
			for _, r := range text {
				if client.Unsafe(r) {
					t.Errorf("%s: %U in %q", s.ID, r, text)
				}
			}
		}
	}
	if got := Label(rows[6]); got != `\u009b2Kname\rfake` {
		t.Errorf("alias is shown as %q", got)
	}
}

// LST-05: every state is shown as given, an absent one as "?".
func TestStatesNobodyDocumented(t *testing.T) {
	raw, err := os.ReadFile("testdata/unknown-state.json")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"pausing", "unknown", "CheckpointReady", "?", "?", "running"}
	rows := rowsOf(t, raw)
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, s := range rows {
		if got := StateWord(s); got != want[i] {
			t.Errorf("%s: state %q, want %q", s.ID, got, want[i])
		}
	}
}

func TestElideKeepsBothEnds(t *testing.T) {
	if got := Elide("i4dct03zurabcdefghxyz", 11); got != "i4dct…ghxyz" {
		t.Errorf("Elide = %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := Clean(rapid.String().Draw(t, "s"))
		w := rapid.IntRange(0, 40).Draw(t, "w")
		if got := Elide(s, w); ansi.StringWidth(got) > w {
			t.Fatalf("Elide(%q, %d) = %q is %d cells wide", s, w, got, ansi.StringWidth(got))
		}
	})
}

func TestJSONHasNoNullsWhereListsBelong(t *testing.T) {
	s := client.Sandbox{Provider: "local", ID: "i1", End: client.EndUnset, StartedAt: time.Date(2031, 1, 1, 8, 0, 0, 0, time.FixedZone("", 8*3600))}
	b, err := json.Marshal(JSON(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"provider":"local","id":"i1","name":"","template":"","state":"?","isolation":"","started_at":"2031-01-01T00:00:00Z","expires_at":null,"cpu":0,"memory_mb":0,"metadata":{},"stray":[]}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}
