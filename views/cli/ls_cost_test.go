package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"abxdash/views/cli"
	"abxdash/views/present"
)

func TestLsShowsWhatIsPaid(t *testing.T) {
	b := newBench(t)
	b.add(rows()...)
	if out := b.ok("ls"); strings.Contains(out, "$/H") {
		t.Errorf("prices without rates:\n%s", out)
	}
	var out, errs bytes.Buffer
	app := b.app(&out, &errs)
	app.Rates = func() present.Rates {
		return present.Rates{Date: "2031-01", Providers: map[string]present.Rate{b.p.Name(): {CPUHour: 0.05}}}
	}
	if code := cli.Run(t.Context(), app, []string{"ls"}); code != 0 {
		t.Fatal(code, errs.String())
	}
	if !strings.Contains(out.String(), "$/H") || !strings.Contains(out.String(), "$0.10") || !strings.Contains(errs.String(), "estimate, rates of 2031-01") {
		t.Errorf("%s\n%s", out.String(), errs.String())
	}
	plain, errs2 := out.String(), errs.String()
	out.Reset()
	errs.Reset()
	app = b.app(&out, &errs)
	app.Rates = func() present.Rates {
		return present.Rates{Providers: map[string]present.Rate{b.p.Name(): {CPUHour: 0.05}}}
	}
	if code := cli.Run(t.Context(), app, []string{"ls", "--json"}); code != 0 || strings.Contains(out.String(), "0.1,") || errs.Len() != 0 {
		t.Errorf("json: %d %s %s\nbefore: %s %s", code, out.String(), errs.String(), plain, errs2)
	}
}
