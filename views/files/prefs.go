package files

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"abxdash/views/present"
)

// Prefs are the user's choices in the Files tab, shared by all sandboxes and
// kept from one run to the next. The zero value keeps nothing.
type Prefs struct {
	path string
	// hideDots leaves dot files out.
	hideDots bool
	// places are where each sandbox's tab was left. They are not written down.
	places map[present.Key]left
	// side waits for the other side of a comparison, nil if none does.
	side *side
}

// left is where a tab was when it was closed.
type left struct {
	dir, cursor string
	// inner are the names under the cursor in the folders on the way.
	inner map[string]string
}

// prefsFile is how Prefs are written.
type prefsFile struct {
	HideDots bool `json:"hide_dots"`
}

// LoadPrefs reads the choices kept in a file. A file that is missing or cannot
// be read counts as no choice made.
func LoadPrefs(path string) *Prefs {
	p := &Prefs{path: path}
	data, err := os.ReadFile(path)
	var f prefsFile
	if err == nil && json.Unmarshal(data, &f) == nil {
		p.hideDots = f.HideDots
	}
	return p
}

// save writes the choices whole or not at all.
func savePrefs(path string, f prefsFile) error {
	if path == "" {
		return nil
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".files-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		if rerr := os.Remove(tmp.Name()); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}
