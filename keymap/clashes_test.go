package keymap

// wantClashes are the keys that a more specific context takes over on purpose.
func wantClashes() []string {
	return []string{
		"files// files.filter over preview// search.open",
		"files/d files.download over sandbox/d sandbox.detail",
		"files/h files.parent over move/h move.left",
		"files/l files.open over sandbox/l sandbox.logs",
		"files/left files.parent over move/left move.left",
		"files/right files.open over move/right move.right",
		"files/y files.copy-path over sandbox/y sandbox.copy-id",
		"global/esc nav.back over list/esc esc mark.clear",
		"logs/enter log.line over template-check/enter template.call",
		"logs/f log.follow over sandbox/f sandbox.files",
		"logs/t log.time over sandbox/t sandbox.extend",
		"logs/w view.wrap over global/w app.tasks",
		"output/A output.merged over sandbox/A sandbox.attach",
		"output/c output.cancel over sandbox/c app.copy-command",
		"ports/y port.copy over sandbox/y sandbox.copy-id",
		"preview/w view.wrap over global/w app.tasks",
		"providers/@ nav.back over global/@ app.providers",
		"replay/q nav.back over global/q nav.quit",
		"scrollback/q nav.back over global/q nav.quit",
	}
}
