package isolate

import "path/filepath"

// profile repeats the link to the system's profile if it leads into the store,
// which is shown.
func (b *builder) profile() {
	b.look(systemProfile, false)
	if target, err := filepath.EvalSymlinks(systemProfile); err == nil && below(target, "/nix/store") {
		b.link(target, systemProfile)
	}
}
