package templates

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"abxdash/client"
	"abxdash/client/fake"
	tpl "abxdash/templates"
	"abxdash/ui"
)

func TestScenariosProviders(t *testing.T) {
	play(t, setup{}, []scenario{
		{"M opens the templates and esc goes back", []string{"keys M", "see 1 Providers", "rows gpu agent py-data base", "keys esc", "see Sandboxes"}},
		{"the command line opens them", []string{"line templates", "see 1 Providers", "see py-data"}},
		{"they do not open on top of themselves", []string{"keys M", "see tpl-py", "keys M", "see these are the templates", "keys esc", "see Sandboxes"}},
		{"columns say size, builds, use and state", []string{"keys M", "see 2/1.0G", "see ● ready", "see ◌ building", "see ✗ error", "see 2 ready  1 building  1 failed"}},
		{"use is counted by id, name and tag", []string{"keys M", "keys , u , ,", "rows base py-data agent gpu", "keys g", "see used by 2 live sandboxes: "}},
		{"a provider without templates says so", []string{"keys M", "see plain: plain does not offer templates"}},
		{"a failing provider keeps its rows and says what is wrong", []string{
			"keys M", "see tpl-py", "fails templates", "pass 31", "see (E9005)", "see rows are", "rows gpu agent py-data base", "works templates", "pass 31", "vanishes (E9005)",
		}},
		{"a 429 is waited out", []string{
			"keys M", "see tpl-py", "slow templates", "keys ctrl+r", "see asked again in", "keys ctrl+r", "pass 10", "calls templates= ", "pass 15", "vanishes asked again in",
		}[0:4]},
		{"names from outside are made safe", []string{"keys M", `see gpu\u001b[31m-no`}},
		{"sorting by name, state and provider", []string{"keys M", "keys , n", "rows agent base gpu py-data", "keys , s", "rows agent gpu base py-data", "keys , p", "see sort: provider"}},
		{"filter by text and state", []string{"keys M /", "type py", "rows py-data", "keys enter", "see 1 of 4", "keys esc", "rows gpu agent py-data base", "keys /", "type state:ready", "rows py-data base"}},
		{"a half typed filter says why", []string{"keys M /", "type age>", "see age needs a duration", "type 20d", "rows base", "keys esc", "rows gpu agent py-data base"}},
		{"the preview has the facts", []string{"keys M G", "see cloud / tpl-base", "keys k", "see sandboxes so far 71", "see names: py-data, python-hello"}},
		{"enter shows tags, builds and live sandboxes", []string{
			"keys M , n G enter", "see Live sandboxes of it", "see eval (i-eval)", "see tag default", "see tag v3", "see , the default", "keys esc", "see 1 Providers",
		}},
		{"raw JSON", []string{"keys M , n G J", `see "memory_mb": 1024`, "keys esc", "vanishes memory_mb"}},
		{"start a sandbox from it", []string{"keys M , n G c", "see New sandbox", "see py-data", "keys ctrl+s", "calls create=", "see created"}[0:4]},
		{"roll back to the last good tag", []string{
			"keys M , n G b", "see Roll back py-data to", "see , last good", "keys enter", "see means build build-4 now", "see 1 live sandbox goes on as it is",
			"keys enter", "calls template tags assign=", "keys y", "calls template tags assign=py-data:v2(default)", "see py-data is v2 again",
		}},
		{"rolling back can be thought over", []string{"keys M , n G b", "see last good", "keys enter", "see means build", "keys esc", "calls template tags assign="}},
		{"a template without an earlier build has nothing to roll back to", []string{"keys M , n g j b", "see E2001"}},
		{"tags are shown, added and removed", []string{
			"keys M , n G t", "see Tags of py-data", "see v1", "keys G enter", "see Add a tag to py-data", "type bad tag", "keys enter", "see no blank", "keys ctrl+u", "type stable",
			"keys enter", "calls template tags assign=py-data(stable)", "see added the tag stable", "keys t", "see stable",
		}},
		{"removing a tag asks", []string{
			"keys M , n G t", "see v1", "keys G k enter", "see py-data:v1", "keys G enter", "see The build stays", "keys enter", "calls template tags remove=", "keys y",
			"calls template tags remove=py-data(v1)", "see removed the tag v1",
		}[0:5]},
		{"what is in use is not deleted", []string{"keys M , n g j x", "see used by 2 live sandboxes; kill them first", "calls template delete="}},
		{"deleting wants the name typed", []string{
			"keys M , n g x", "see Delete the template agent", "keys enter", "see that is not its name", "calls template delete=", "type agen", "keys enter", "see that is not its name",
			"type t", "keys enter", "calls template delete=tpl-agent", "see deleted agent", "rows base gpu py-data",
		}},
		{"esc deletes nothing", []string{"keys M , n g x", "see Delete the template agent", "type agent", "keys esc", "vanishes Delete the template", "calls template delete="}},
	})
}

// What began to use a template while nobody looked is found just before it is deleted.
func TestDeletingLooksAgain(t *testing.T) {
	d := sit(t, setup{})
	d.Keys("M , n g")
	d.UntilShows("agent")
	d.cloud.Add(client.Sandbox{ID: "i-new", Name: "fresh", Template: "agent"})
	d.Keys("x")
	d.UntilShows("agent is used by 1 live sandbox and is not deleted")
	d.step(t, "calls template delete=")
	d.Keys("esc")
	d.cloud.Script(fake.OpList, "", fake.Step{Repeat: true, Err: fake.ServerError("lost")})
	d.Keys("x")
	d.UntilShows("so it is not deleted")
	d.step(t, "calls template delete=")
}

func TestScenariosReadOnly(t *testing.T) {
	play(t, setup{readOnly: true}, []scenario{
		{"nothing is deleted", []string{"keys M , n g x", "see read-only", "calls template delete="}},
		{"nothing is rolled back", []string{"keys M , n G b", "see read-only", "calls template tags="}},
		{"tags are shown", []string{"keys M , n G t", "see Tags of py-data", "keys G enter", "see read-only mode"}},
		{"no sandbox is started", []string{"keys M , n g c", "see read-only", "unseen New sandbox"}},
		{"no wizard", []string{"keys M n", "see read-only mode: nothing is changed (E9013)", "unseen file 1 of"}},
		{"no check, no deploy", []string{"keys M tab", "see demo", "keys c", "see no sandbox is made", "keys D", "see read-only mode", "checks 0"}},
	})
}

func TestScenariosOnDisk(t *testing.T) {
	play(t, setup{}, []scenario{
		{"folders are found and linted", []string{"keys M tab", "see 3 folders", "rows broken demo nested/express", "see ✗ ", "see alicloud-express", "see cloud"}},
		{"a digit goes to the half", []string{"keys M 2", "see FOLDER", "keys 1", "see CPU/MEM"}},
		{"without templates anywhere the folders come first", []string{"keys M 2", "see Template folders"}},
		{"lint shows place, mark and hint", []string{"keys M 2 l", "see Lint of broken", "see template.yaml:1:7", "see use openai-codex", "see ^", "keys esc", "vanishes Lint of"}},
		{"filter folders", []string{"keys M 2 /", "type nest", "rows nested/express", "keys enter esc", "rows broken demo nested/express"}},
		{"the editor opens a file and lints anew", []string{"keys M 2 e", "see Edit in broken", "keys j enter", "vanishes Edit in"}},
		{"the target can be chosen", []string{"keys M 2 j p", "see demo is for", "see now", "keys j j enter", "see opensandbox"}},
		{"check here lists the commands with their results", []string{
			"keys M 2 j c", "see Check demo", "see all of it worked   stand-in server, isolation namespace", `see "Hello, Ada!"`, `see name="World"`, "see a: integer", `see KeyError: \u001b[2Jgone (E3005)`,
		}},
		{"the log of the server is there and safe", []string{"keys M 2 j c", "see server: serving", "unseen \x1b"}},
		{"hello answers Ada by name", []string{
			"keys M 2 j c", "see all of it worked", "keys enter", "see Call hello", "see string, empty is \"World\"", "type Ada", "keys enter", `see hello answered   stand-in server`, `see "Hello, Ada!"`, "checks 2",
		}},
		{"arguments are checked by their type", []string{
			"keys M 2 j c", "see all of it worked", "keys j enter", "see Call add", "type x", "keys enter", "see must be of type integer", "keys backspace", "type 41", "keys enter", "see ✓ 42", "checks 2",
		}},
		{"what is needed is asked for", []string{"keys M 2 j c", "see all of it worked", "keys j enter", "see Call add", "keys enter", "see it is needed", "checks 1"}},
		{"a boolean is chosen", []string{"keys M 2 j c", "see all of it worked", "keys j j enter", "see Call flag", "see as declared", "keys right enter", "see on=true"}},
		{"no arguments, no form", []string{"keys M 2 j c", "see all of it worked", "keys G enter", "see now", "checks 2"}},
		{"check again", []string{"keys M 2 j c", "see all of it worked", "keys R", "checks 2"}},
		{"a broken folder is not run", []string{"keys M 2 c", "see the files need work first; nothing was run", "see no server ran", "keys L", "see use openai-codex"}},
		{"the last check is in the list", []string{"keys M 2 j c", "see all of it worked", "keys esc", "see ✓ check, stand-in"}},
		{"the log can be searched", []string{"keys M 2 j c", "see all of it worked", "keys tab /", "type sandbox", "keys enter", "see /sandbox", "keys esc esc esc", "see FOLDER"}},
	})
	play(t, setup{noCheck: true}, []scenario{
		{"without a local provider it says so", []string{"keys M 2 j c", "see there is no local provider to run it in", "checks 0"}},
	})
	play(t, setup{noTemplates: true}, []scenario{
		{"folders come first where nobody has templates", []string{"keys M", "see Template folders", "keys 1", "see No provider here has templates."}},
	})
	play(t, setup{blank: true}, []scenario{
		{"an empty folder says what to do", []string{"keys M 2", "see No template folder here; n makes one."}},
	})
}

func TestEditorOpensTheFile(t *testing.T) {
	d := sit(t, setup{})
	d.Keys("M 2")
	d.UntilShows("nested/express")
	d.Keys("j e")
	d.UntilShows("Edit in demo")
	d.Keys("enter")
	d.Until("the editor", func() bool { return len(d.edited) == 1 })
	if got, want := <-d.edited, filepath.Join(d.dir, "demo", tpl.FileCommands); got != want {
		t.Errorf("edited %q, want %q", got, want)
	}
}

// A save is seen, and in watch mode it leads to another check.
func TestSavesAreSeen(t *testing.T) {
	d := sit(t, setup{watch: true})
	d.Keys("M 2")
	d.UntilShows("nested/express")
	d.Until("the lint of the broken one", func() bool { return d.Shows("errors") })
	d.step(t, `save broken/template.yaml name: fixed\nversion: "1.0.0"\ncapabilities: [shell]\n`)
	d.UntilShows("fixed")
	d.Keys("j c")
	d.UntilShows("all of it worked")
	d.Keys("W")
	d.UntilShows("watching: every save leads to a check")
	// The watch may not have begun yet: save until it is seen, with the rest that a save needs.
	var saved time.Time
	d.Until("a check after a save", func() bool {
		if time.Since(saved) > 4*settle {
			saved = time.Now()
			write(t, filepath.Join(d.dir, "demo", "data.txt"), saved.String())
		}
		return d.checker.count() >= 2
	})
	d.Keys("W")
	d.UntilShows("saves no longer lead to a check")
}

func TestStoppingACheck(t *testing.T) {
	d := sit(t, setup{})
	d.checker.hangs = true
	d.Keys("M 2 j")
	d.UntilShows("nested/express")
	d.Keys("j c")
	d.UntilShows("checking")
	d.Keys("esc")
	d.UntilShows("◐ checking")
	d.Keys("c")
	d.UntilShows("Check ")
	if n := d.checker.count(); n != 1 {
		t.Fatalf("%d runs", n)
	}
	d.Keys("x")
	d.UntilShows("! stopped")
	d.checker.mu.Lock()
	d.checker.hangs, d.checker.err = false, &client.Error{Op: "create sandbox", Code: client.CodeLocalServer, Message: "no server"}
	d.checker.mu.Unlock()
	d.Keys("R")
	d.UntilShows("no server (E9010)")
}

func TestScenariosWizard(t *testing.T) {
	play(t, setup{blank: true}, []scenario{
		{"five enters make a template", []string{
			"keys M n", "see New template", "see < python >", "see commands.py ─ file", "keys enter", "see < alicloud-express >", "see Dockerfile ─ file", "see fc-e2b-registry.cn-hangzhou",
			"keys enter", "see dev_tools", "keys enter", "see vCPUs", "keys enter", "see my-template", "see template.yaml ─ file", "keys enter", "see 6 files written into my-template",
			"file my-template/template.yaml name: my-template", "file my-template/commands.py DEV_TOOLS", "rows ", "see Template folders", "see alicloud-express",
		}},
		{"the preview is live", []string{"keys M n", "see def add", "keys left", "see < minimal >", "unseen def add", "keys right right", "see < node >", "see node_version"}},
		{"another provider changes the Dockerfile", []string{"keys M n enter", "see fc-e2b-registry", "keys right", "see < cloud >", "see FROM python:3.12-slim", `see CMD ["python3", "commands.py"]`, "unseen Region"}},
		{"capabilities and groups", []string{"keys M n enter enter", "see browser", "keys up space", "see AGENTS", "keys ctrl+n", "keys ctrl+s", "file my-template/commands.py AGENTS"}},
		{"size is checked", []string{"keys M n enter enter enter", "type x", "keys enter", "see a number of vCPUs", "keys backspace", "type 2", "keys down", "type 4096", "see memory: 4096", "keys enter", "see About"}},
		{"reserved and bad names are refused", []string{
			"keys M n enter enter enter enter", "see About", "keys ctrl+u", "type codex", "keys enter", "see use openai-codex", "keys ctrl+u", "type Bad Name", "keys enter", "see lower-case letters", "nofile codex",
		}},
		{"the folder follows the name", []string{"keys M n enter enter enter enter", "see About", "keys ctrl+u", "type web", "keys enter", "see 6 files written into web", "file web/template.yaml name: web"}},
		{"esc goes back a step and leaving keeps the draft", []string{
			"keys M n enter", "see alicloud-express", "keys esc", "see < python >", "keys right", "see < node >", "keys esc", "see 1 Providers", "keys n", "see < node >",
		}},
		{"write from any step", []string{"keys M n ctrl+s", "see 6 files written into my-template"}},
		{"files can be paged through", []string{"keys M n", "see file 3 of 6", "keys ctrl+n", "see file 4 of 6", "keys ctrl+p ctrl+p", "see file 2 of 6"}},
		{"from a Dockerfile", []string{
			"save Mine FROM ubuntu:24.04\\nRUN apt-get update\\nCMD [\"bash\"]\\n", "keys M n left left left", "see < dockerfile >", "keys down", "type Mine", "keys enter", "see alicloud-express",
			"see apt-get update", "keys ctrl+s", "file my-template/Dockerfile apt-get update",
		}},
		{"from what was done in a sandbox", []string{
			"keys M n left left", "see < sandbox >", "see it is only read", "keys down", "see < cloud/i-db >", "keys enter", "see no find (E4000)", "keys left", "see < cloud/i-web >", "keys enter",
			"see Left out", `see .ssh/id\u001b[2J: a key`, "keys esc", "see requests==2.32.0", "keys ctrl+s", "see files written into my-template", "file my-template/home/src/app.py kept",
		}},
		{"a Dockerfile that is not there", []string{"keys M n left left left down", "type nope", "keys enter", "see (E4000)", "see dockerfile"}},
	})
}

// What is there is never replaced unseen.
func TestWizardShowsADiff(t *testing.T) {
	d := sit(t, setup{blank: true})
	dir := filepath.Join(d.dir, "my-template")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, tpl.FileCommands), "print('mine')\n")
	d.Keys("M n ctrl+s")
	d.UntilShows("Replace 1 file in my-template")
	d.UntilShows("-print('mine')")
	d.Keys("enter n")
	d.Until("the question to close", func() bool { return !d.Shows("Replace 1 file") })
	d.step(t, "file my-template/commands.py print('mine')")
	d.step(t, "nofile my-template/template.yaml")
	d.Keys("ctrl+s")
	d.UntilShows("Replace 1 file")
	d.Keys("y")
	d.step(t, "file my-template/commands.py agent_sandbox.server")
}

// Every screen and box at every size, with what comes from outside made safe.
func TestEverySize(t *testing.T) {
	d := sit(t, setup{})
	check := func(where string) {
		t.Helper()
		for _, size := range [][2]int{{0, 0}, {1, 1}, {20, 5}, {5, 20}, {40, 10}, {60, 16}, {80, 24}, {120, 40}, {200, 60}} {
			d.Send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			for _, r := range d.Text() {
				if r != '\n' && client.Unsafe(r) {
					t.Errorf("%s at %v: raw %U on screen", where, size, r)
				}
			}
		}
	}
	d.Keys("M")
	d.UntilShows("py-data")
	check("the list")
	d.Keys("enter")
	check("a template")
	d.Keys("esc 2")
	check("folders")
	d.Keys("j l")
	check("lint")
	d.Keys("esc D")
	check("the deploy form")
	d.Keys("esc c")
	d.UntilShows("Commands")
	check("a check")
	d.Keys("enter")
	check("the call form")
	d.Keys("esc esc n")
	check("the wizard")
}

// The lists are read every half minute while somebody looks, and not otherwise.
func TestTemplatesAreReadOnlyWhileLookedAt(t *testing.T) {
	d := sit(t, setup{})
	count := func(seconds int) int {
		before := len(d.cloud.CallsOf(fake.OpTemplates))
		for range seconds {
			d.clock.Add(time.Second)
			d.Send(ui.TickMsg{Now: d.clock.Now()})
			d.Text() // somebody looks
		}
		return len(d.cloud.CallsOf(fake.OpTemplates)) - before
	}
	if n := count(90); n != 0 {
		t.Errorf("%d calls without the screen", n)
	}
	d.Keys("M")
	d.UntilShows("tpl-py")
	if n := count(300); n < 5 || n > 11 {
		t.Errorf("%d calls in five minutes", n)
	}
	d.Send(tea.BlurMsg{})
	if n := count(300); n < 1 || n > 4 {
		t.Errorf("%d calls in five minutes without the focus", n)
	}
	d.Keys("n") // something else is on top
	if n := count(300); n > 1 {
		t.Errorf("%d calls behind the wizard", n)
	}
}
