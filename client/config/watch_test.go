package config

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWatchSeesChangesAndMistakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	ctx, cancel := context.WithCancel(context.Background())
	type change struct {
		c   Config
		err error
	}
	changes, over := make(chan change), make(chan struct{})
	go func() {
		defer close(over)
		Watch(ctx, path, func(c Config, err error) {
			select {
			case changes <- change{c, err}:
			case <-ctx.Done():
			}
		})
	}()
	// until writes text again and again until a change comes that satisfies ok:
	// the watch may not stand yet at the first write.
	until := func(text string, ok func(change) bool) {
		t.Helper()
		deadline := time.After(30 * time.Second)
		for {
			// In the place of the old file, as editors do.
			if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
			select {
			case c := <-changes:
				if ok(c) {
					return
				}
			case <-time.After(time.Second):
			case <-deadline:
				t.Fatalf("no change for %q", text)
			}
		}
	}
	until("theme: nord\n", func(c change) bool { return c.err == nil && c.c.Theme == "nord" })
	until("theem: nord\n", func(c change) bool { return c.err != nil })
	until("keymap: vim\n", func(c change) bool { return c.err == nil && c.c.Keymap == "vim" })
	cancel()
	select {
	case <-over:
	case <-time.After(30 * time.Second):
		t.Fatal("the watch does not end")
	}
}

func TestWatchMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	Watch(context.Background(), filepath.Join(dir, "config.yaml"), func(Config, error) { t.Error("called") })
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
}
