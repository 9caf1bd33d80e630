package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"abxdash/ui"
	"abxdash/ui/record"
	"abxdash/ui/uitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample is a recording of one step a second, with a pause of an hour in it.
func sample(t *testing.T) string {
	t.Helper()
	at := time.Unix(1_700_000_000, 0)
	path := filepath.Join(t.TempDir(), "a.cast")
	f, err := record.Create(path, record.Header{Width: 40, Height: 5, Title: "web\x1b[31m"}, record.Options{Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		if i == 30 {
			at = at.Add(time.Hour)
		}
		f.Output(fmt.Appendf(nil, "\x1b[H\x1b[2Jscene %d \x1b[c\x1b]52;c;eA==\x07", i))
		at = at.Add(time.Second)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func play(t *testing.T, path string, rate float64) (*uitest.Driver, *Screen) {
	t.Helper()
	s := New(Options{Path: path, Rate: rate})
	d := uitest.StartStreams(t, ui.Options{
		Start: "list",
		Routes: map[ui.Route]func(ui.Params) ui.Screen{
			"list":  func(ui.Params) ui.Screen { return New(Options{Path: "nothing"}) },
			"other": func(ui.Params) ui.Screen { return s },
		},
	}, 80, 20)
	d.Run(ui.Open("other", nil))
	return d, s
}

func TestReplayPlaysPausesAndJumps(t *testing.T) {
	// At this speed a scene lasts a second, so one of them is seen however busy
	// the machine is.
	d, s := play(t, sample(t), 1)
	before := func() bool { return d.Shows("scene ") && !d.Shows("scene 59") }
	d.Until("playing", before)
	if !d.Shows("×1 ") || d.Shows("\x1b") || !d.Shows(`web\u001b[31m`) {
		t.Errorf("the bar:\n%s", d.Text())
	}
	d.Keys("+ + + + + +")
	d.UntilShows("×64")
	// An hour in which nothing happened is not waited for.
	d.UntilShows("scene 59")
	d.UntilShows("ended")
	scene := func(n int) {
		t.Helper()
		want := fmt.Sprintf("scene %d", n)
		d.Until(want, func() bool {
			return slices.ContainsFunc(strings.Split(d.Text(), "\n"), func(l string) bool { return strings.TrimSpace(l) == want })
		})
	}
	d.Keys("g")
	scene(0)
	d.Keys("right")
	scene(10)
	d.Keys("left")
	scene(0)
	d.Keys("G")
	d.UntilShows("scene 59")
	d.Keys("-")
	d.UntilShows("×32")
	d.Keys("/")
	d.Type("scene 2")
	d.Keys("enter")
	d.UntilShows("not found")
	d.Keys("N")
	d.UntilShows("scene 29")
	d.Keys("N")
	d.UntilShows("scene 28")
	d.Keys("n")
	d.UntilShows("scene 29")
	if s.playing {
		t.Error("it goes on after a search")
	}
	d.Keys("space")
	d.UntilShows("scene 59")
	d.UntilShows("ended")
	d.Keys("- - - - -")
	d.UntilShows("×1 ")
	d.Keys("space")
	d.Until("playing from the start", before)
	if !s.playing {
		t.Error("it does not play again")
	}
	d.Keys("esc")
	d.UntilShows("cannot be played")
}

func TestReplayOfWhatIsNoRecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, t.TempDir(), filepath.Join(path, "none")} {
		d, _ := play(t, p, 1)
		d.UntilShows("This recording cannot be played")
		d.Keys("space + - g /")
	}
}

func TestPace(t *testing.T) {
	if w, on := pace(time.Hour, 4); w != maxIdle/4 || on != time.Hour {
		t.Errorf("a long pause: %v %v", w, on)
	}
	if w, on := pace(0, 1); w <= 0 || on != w {
		t.Errorf("at once: %v %v", w, on)
	}
	if w, on := pace(time.Second, 8); w != frame || on != 8*frame {
		t.Errorf("fast: %v %v", w, on)
	}
	if strings.TrimSpace(clock(125*time.Second)) != "02:05" {
		t.Error("clock")
	}
}
