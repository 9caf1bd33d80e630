package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

func TestSentencesAreWrapped(t *testing.T) {
	var got []string
	for _, f := range wrapped([]fact{
		{name: "id", value: "an id that is long"},
		{name: "can", value: "run, files, ports", sentence: true},
		{heading: true, name: "Metadata"},
	}, 10) {
		got = append(got, f.name+"|"+f.value)
	}
	want := []string{"id|an id that is long", "can|run,", "|files,", "|ports", "Metadata|"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestShellsAreNamed(t *testing.T) {
	o := &overview{}
	for want, argv := range map[string][]string{
		"a shell":   client.InteractiveShell(client.Size{Cols: 80, Rows: 24}).Argv,
		"$ ls | wc": {"sh", "-c", `exec sh -c "$1"`, "sh", "ls | wc"},
		"ls -l":     {"ls", "-l"},
	} {
		if got := o.commandLine(argv); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
