package viewtest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// mutantsEnv switches TestMutants on: it builds the packages once for each mutant.
const mutantsEnv = "ABXDASH_MUTANTS"

// mutantTime bounds the build and the run of one mutant.
const mutantTime = 5 * time.Minute

// guard is a test that stands for one promise; scenario is its subtest, or "".
type guard struct{ pkg, test, scenario string }

// pattern is what -run takes.
func (g guard) pattern() string {
	out := "^" + regexp.QuoteMeta(g.test) + "$"
	if g.scenario != "" {
		out += "/^" + regexp.QuoteMeta(g.name()[len(g.test)+1:]) + "$"
	}
	return out
}

// name is how the test is called in the output of go test.
func (g guard) name() string {
	if g.scenario == "" {
		return g.test
	}
	return g.test + "/" + strings.ReplaceAll(g.scenario, " ", "_")
}

// says reports whether the output of go test -v tells that outcome of the test.
func (g guard) says(out, outcome string) bool {
	return regexp.MustCompile(`(?m)^ *--- ` + outcome + `: ` + regexp.QuoteMeta(g.name()) + ` \(`).MatchString(out)
}

// mutant is one promise broken in the source.
type mutant struct {
	what string
	// file is relative to the module; old occurs in it exactly once.
	file, old, new string
	// red are the tests of one package that must fail, each of them.
	red []guard
}

func looking(s string) guard { return guard{"./views/present/viewtest", "TestScenariosLooking", s} }

func killing(s string) guard { return guard{"./views/present/viewtest", "TestScenariosKilling", s} }

func readOnly(s string) guard  { return guard{"./views/present/viewtest", "TestScenariosReadOnly", s} }
func inList(test string) guard { return guard{"./views/sandboxes", test, ""} }

const (
	queueFile   = "views/kill/queue.go"
	sheetFile   = "views/kill/sheet.go"
	actionsFile = "views/sandboxes/actions.go"
	marksFile   = "ui/table/marks.go"
)

// confirmMutants break the question before a kill.
func confirmMutants() []mutant {
	return []mutant{
		{
			"the sheet is left out", queueFile,
			"return ui.Cmd(ui.OverlayMsg{Overlay: newSheet(open, q.shells, q.opt)})", "return ui.Cmd(confirmedMsg{open})",
			[]guard{killing("x asks, y kills after five seconds"), killing("x twice and enter kill nothing")},
		},
		{
			"enter confirms", "keymap/defaults.go",
			`{SheetConfirm, Sheet, k("y"),`, `{SheetConfirm, Sheet, k("y", "enter"),`,
			[]guard{killing("x twice and enter kill nothing")},
		},
		{
			"the key that opens the sheet confirms", "keymap/defaults.go",
			`{SheetConfirm, Sheet, k("y"),`, `{SheetConfirm, Sheet, k("y", "x"),`,
			[]guard{killing("x twice and enter kill nothing")},
		},
		{
			"many need no count", sheetFile,
			"return s.dying() >= countFrom", "return false",
			[]guard{killing("more than ten take the count")},
		},
		{
			"any count will do", sheetFile,
			"s.typed != strconv.Itoa(n)", `s.typed == ""`,
			[]guard{killing("more than ten take the count")},
		},
		{
			"protection is ignored", sheetFile,
			"protected: opt.Protected.Of(t.Sandbox)", "protected: false",
			[]guard{killing("a protected one takes the count")},
		},
		{
			"read-only does not hold for kills", queueFile,
			"if q.opt.ReadOnly {", "if false {",
			// The shell refuses the keys before, so only the queue's own test sees it.
			[]guard{{"./views/kill", "TestReadOnlyRefuses", ""}},
		},
		{
			"read-only does not hold for lifetimes", "views/sandboxes/change.go",
			"client.Sandbox, now time.Time) present.Extended) tea.Cmd {\n\tif s.opt.ReadOnly {",
			"client.Sandbox, now time.Time) present.Extended) tea.Cmd {\n\tif false {",
			[]guard{readOnly("nothing is extended")},
		},
		{
			"pausing instead kills", queueFile,
			"return q.pause(msg.targets), false", "return q.confirmed(msg.targets), false",
			[]guard{killing("pausing instead kills nothing")},
		},
		{
			"quitting in the five seconds does not ask", queueFile,
			"\tif pending > 0 {\n\t\tout = append", "\tif pending < 0 {\n\t\tout = append",
			[]guard{killing("quitting in the grace time asks")},
		},
		{
			"quitting sends what was pending", queueFile,
			"\tq.batches = nil\n", "\tfor _, b := range q.batches {\n\t\tfor _, j := range b.jobs {\n\t\t\t_ = q.call(j)()\n\t\t}\n\t}\n\tq.batches = nil\n",
			[]guard{killing("quitting all the same kills nothing")},
		},
	}
}

// targetMutants make a kill hit another row than the one that was shown.
func targetMutants() []mutant {
	return []mutant{
		{
			"the sheet sends the next row", sheetFile,
			"msg.targets = append(msg.targets, s.lines[i].KillTarget)", "msg.targets = append(msg.targets, s.lines[(i+1)%len(s.lines)].KillTarget)",
			[]guard{killing("space on the sheet spares one"), killing("a stray that is spared on the sheet lives")},
		},
		{
			"what was spared on the sheet dies all the same", sheetFile,
			"if s.lines[i].dies() {\n\t\t\tmsg.targets", "if !s.lines[i].gone {\n\t\t\tmsg.targets",
			[]guard{killing("space on the sheet spares one"), killing("a stray that is spared on the sheet lives")},
		},
		{
			"the cursor's row dies instead of the marked ones", marksFile,
			"if len(t.marks) > 0 {", "if len(t.marks) < 0 {",
			[]guard{killing("marked rows die, the cursor's does not")},
		},
		{
			"a list that changes under the sheet changes its targets", sheetFile,
			"if !l.gone && slices.Contains(keys, present.KeyOf(l.Sandbox)) {", "if !l.gone {",
			[]guard{killing("a refresh under the sheet changes no target")},
		},
		{
			"a target that vanished is still killed", sheetFile,
			"case present.GoneMsg:\n\t\treturn s.gone(msg.Keys)", "case present.GoneMsg:\n\t\treturn nil",
			[]guard{{"./views/present/viewtest", "TestARefreshUnderTheSheetChangesNoTarget", ""}},
		},
		{
			"all in the filter means the hidden ones too", marksFile,
			"for _, i := range t.view {\n\t\tt.Mark(", "for i := range t.rows {\n\t\tt.Mark(",
			[]guard{killing("all in the filter die, what it hides lives")},
		},
		{
			"a filter loses the marks", "ui/table/table.go",
			"\tt.filter = keep\n", "\tt.filter = keep\n\tclear(t.marks)\n",
			[]guard{killing("marks survive filter and sort")},
		},
		{
			"X takes what is no stray", actionsFile,
			"if len(e.stray) > 0 && e.kill == killNone", "if e.kill == killNone",
			[]guard{killing("strays are reviewed with their reasons")},
		},
		{
			"X takes what is only remembered", actionsFile,
			" && !e.stale() && ", " && ",
			[]guard{inList("TestAStrayOfTheCacheIsNotKilledInBulk")},
		},
		{
			"a kill by name takes the marked along", actionsFile,
			"\ts.table.ClearMarks()\n\treturn nil\n", "\treturn nil\n",
			[]guard{killing("killed by name while others are marked")},
		},
		{
			"the mark of a failed kill goes along with the next", "views/sandboxes/screen.go",
			"s.leftover[k.String()] = true", "delete(s.leftover, k.String())",
			[]guard{killing("the mark of a failed one is not taken along")},
		},
	}
}

// timeMutants break the five seconds and what comes after them.
func timeMutants() []mutant {
	return []mutant{
		{
			"undo does nothing", queueFile,
			"if msg.Action == keymap.AppUndo || msg.Action == keymap.ShellUndo {", "if msg.Action == keymap.ShellUndo {",
			[]guard{killing("z undoes from the list"), killing("z undoes from another screen"), killing("two batches are undone together")},
		},
		{
			"undo says so, but the kill is sent", queueFile,
			"\tq.batches = kept\n\tif len(keys) == 0 {", "\tif len(keys) == 0 {",
			[]guard{killing("z undoes from the list")},
		},
		{
			"undo takes only the last batch back", queueFile,
			"\t\tif b.sent {\n\t\t\tkept", "\t\tif b.sent || b != q.batches[len(q.batches)-1] {\n\t\t\tkept",
			[]guard{killing("two batches are undone together")},
		},
		{
			"three seconds instead of five", queueFile,
			"Grace = 5 * time.Second", "Grace = 3 * time.Second",
			[]guard{killing("x asks, y kills after five seconds")},
		},
		{
			"the countdown is shown and not waited for", queueFile,
			"if !b.sent && !q.now.Before(b.at) {", "if !b.sent {",
			[]guard{killing("x asks, y kills after five seconds"), killing("z undoes from the list")},
		},
		{
			"another key ends the five seconds", queueFile,
			"\t\tif msg.Action == keymap.AppKills {", "\t\tfor _, b := range q.batches {\n\t\t\tb.at = q.now\n\t\t}\n\t\tif msg.Action == keymap.AppKills {",
			[]guard{killing("no other key shortens the five seconds")},
		},
		{
			"a failure in a bulk is called a success", queueFile,
			"j.outcome, j.err = present.KillFailed, msg.err", "j.outcome = present.KillAccepted",
			[]guard{killing("of two the one that fails is said and not sent again"), killing("a failed kill is said and stays marked")},
		},
		{
			"a failed kill is sent again blindly", queueFile,
			"case errors.Is(msg.err, client.ErrRateLimited) && after > 0 && after <= maxWait && j.attempts < maxAttempts:", "case after <= maxWait && j.attempts < maxAttempts:",
			[]guard{killing("of two the one that fails is said and not sent again")},
		},
		{
			"a 429 is not waited for", queueFile,
			"if j.state != jobWaiting || q.now.Before(q.pausedUntil[j.sb.Provider]) {", "if j.state != jobWaiting {",
			[]guard{killing("a 429 is waited for")},
		},
		{
			"an old list brings the killed back", "views/sandboxes/kills.go",
			"return e.kill == killAccepted && e.seenGone }", "return false }",
			[]guard{killing("a killed one does not come back from an old list")},
		},
		{
			"a list asked for before a change undoes it", "views/sandboxes/merge.go",
			"\tif e.localSeq > src.startSeq {", "\tif false {",
			[]guard{inList("TestAnOlderListDoesNotUndoAChange")},
		},
		{
			"the answer to an older question counts", "views/sandboxes/store.go",
			"msg.Gen != src.gen || ", "",
			[]guard{inList("TestAnOlderListDoesNotUndoAChange")},
		},
		{
			"looking moves the end", actionsFile,
			"return present.OpenSandbox(e.sb.Clone(), tab)", `return tea.Batch(present.OpenSandbox(e.sb.Clone(), tab), s.extend(""))`,
			[]guard{looking("looking changes nothing")},
		},
	}
}

func allMutants() []mutant { return slices.Concat(confirmMutants(), targetMutants(), timeMutants()) }

// TestMutantsApply holds that each mutant can still be made, so that a change of
// the source is followed here at once.
func TestMutantsApply(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range allMutants() {
		m.overlay(t, root)
		if m.old == m.new || len(m.red) == 0 {
			t.Errorf("%s: changes or expects nothing", m.what)
		}
	}
}

// TestMutants breaks the promises about killing one at a time and expects a red
// test for each. It takes minutes, so it runs only when it is asked for:
//
//	ABXDASH_MUTANTS=1 go test -run TestMutants -timeout 60m -v ./views/present/viewtest
func TestMutants(t *testing.T) {
	if os.Getenv(mutantsEnv) == "" {
		t.Skip("set " + mutantsEnv + "=1 to run it")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	all := allMutants()
	if !greenAtFirst(t, root, all) {
		t.Fatal("the tests are red without a mutant")
	}
	for _, m := range all {
		t.Run(m.what, func(t *testing.T) {
			out, err := goTest(t, root, m.overlay(t, root), m.red)
			if err == nil {
				t.Fatalf("it survives %s", m.patterns())
			}
			for _, g := range m.red {
				if !g.says(out, "FAIL") {
					t.Errorf("%s did not turn red (%v):\n%s", g.name(), err, tail(out))
				}
			}
		})
	}
}

// greenAtFirst runs every guard on the source as it is.
func greenAtFirst(t *testing.T, root string, all []mutant) bool {
	t.Helper()
	var guards []guard
	for _, m := range all {
		guards = append(guards, m.red...)
	}
	slices.SortFunc(guards, func(a, b guard) int {
		return cmp.Or(strings.Compare(a.pkg, b.pkg), strings.Compare(a.name(), b.name()))
	})
	guards = slices.Compact(guards)
	green := true
	for len(guards) > 0 {
		n := slices.IndexFunc(guards, func(g guard) bool { return g.pkg != guards[0].pkg })
		if n < 0 {
			n = len(guards)
		}
		out, err := goTest(t, root, "", guards[:n])
		if err != nil {
			t.Errorf("%s: %v\n%s", guards[0].pkg, err, tail(out))
			green = false
		}
		for _, g := range guards[:n] {
			if !g.says(out, "PASS") {
				t.Errorf("%s has no test %q", g.pkg, g.name())
				green = false
			}
		}
		guards = guards[n:]
	}
	return green
}

func (m mutant) patterns() string {
	names := make([]string, len(m.red))
	for i, g := range m.red {
		names[i] = g.name()
	}
	return strings.Join(names, ", ")
}

// overlay writes the mutated file next to the description that makes go build
// take it instead of the real one, which is never touched.
func (m mutant) overlay(t *testing.T, root string) string {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(m.file))
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(src, []byte(m.old)); n != 1 {
		t.Fatalf("%q occurs %d times in %s: this mutant has to be written anew", m.old, n, m.file)
	}
	dir := t.TempDir()
	mutated := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(mutated, bytes.Replace(src, []byte(m.old), []byte(m.new), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// goTest runs guards of one package, over an overlay unless that is "".
func goTest(t *testing.T, root, overlay string, guards []guard) (string, error) {
	t.Helper()
	patterns := make([]string, len(guards))
	for i, g := range guards {
		patterns[i] = g.pattern()
	}
	args := []string{"test", "-v", "-count=1", "-vet=off", "-timeout", "2m", "-run", strings.Join(patterns, "|")}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	ctx, cancel := context.WithTimeout(t.Context(), mutantTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, guards[0].pkg)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), mutantsEnv+"=", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// tail is the end of an output, where the failure is told.
func tail(out string) string {
	const most = 4000
	if len(out) > most {
		out = out[len(out)-most:]
	}
	return out
}
