package doctor

import (
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	"abxdash/client/config"
	"abxdash/client/credentials"
	"abxdash/client/registry"
)

func options(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	none := credentials.Load(credentials.Options{LookupEnv: func(string) (string, bool) { return "", false }})
	return Options{
		Version: "1.2.3", Folders: config.Folders{Home: dir, Config: dir, State: dir}, Log: slog.New(slog.DiscardHandler),
		Load:         func() (registry.Options, error) { return registry.Options{}, errors.New("line 3: no such setting") },
		Keys:         func() *credentials.Set { return none },
		DockerSocket: filepath.Join(dir, "docker.sock"),
		LookupEnv: func(name string) (string, bool) {
			return filepath.Join(dir, "engine.sock"), name == "ABX_ENGINE_SOCKET"
		},
	}
}

func TestSurroundings(t *testing.T) {
	o := options(t)
	if got := o.surroundings(); len(got) != 1 || got[0].Level != Note {
		t.Errorf("with nothing there: %+v", got)
	}
	for _, name := range []string{"docker.sock", "engine.sock"} {
		l, err := net.Listen("unix", filepath.Join(o.Folders.Home, name))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	got := o.surroundings()
	if len(got) != 2 || got[0].Level != OK || got[1].Name != "engine.sock" || got[1].Level != Note {
		t.Errorf("with both there: %+v", got)
	}
}

func TestKeysAreLookedForWithoutAConfiguration(t *testing.T) {
	o := options(t)
	loaded, err := o.Load()
	loaded.Keys = o.Keys()
	if err == nil || len(keys(loaded)) == 0 {
		t.Error("no check of any key")
	}
	for _, c := range keys(loaded) {
		if c.Level != Note || c.Detail == "" {
			t.Errorf("%+v, want a note that there is no key", c)
		}
	}
}
