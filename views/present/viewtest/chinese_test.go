package viewtest_test

import (
	"strings"
	"testing"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"abxdash/client/fake"
	"abxdash/keymap"
	"abxdash/ui"
	"abxdash/ui/lang"
	"abxdash/ui/uitest"
	"abxdash/views/create"
	"abxdash/views/kill"
	"abxdash/views/present"
	"abxdash/views/present/viewtest"
	"abxdash/views/sandboxes"
)

// sitInChinese is the list, the kill sheet and the create dialog in Chinese, as
// main wires them.
func sitInChinese(t *testing.T, w, h int) *uitest.Driver {
	t.Helper()
	texts, err := lang.Load(lang.Chinese)
	if err != nil {
		t.Fatal(err)
	}
	clock := viewtest.NewClock()
	p := fake.New(fake.Options{Name: "cloud", Now: clock.Now})
	t.Cleanup(p.Close)
	p.Add(people(clock.Now())...)
	ps, owner := present.Providers{p}, present.Owner{User: "anna", Host: "box"}
	rates := present.Rates{Date: "2031-01-01", Providers: map[string]present.Rate{"cloud": {CPUHour: 0.05}}}
	store := sandboxes.NewStore(sandboxes.StoreOptions{Providers: ps, Owner: owner, Now: clock.Now})
	return uitest.Start(t, ui.Options{
		Now: clock.Now, Start: present.RouteSandboxes, Lang: texts, Keys: keymap.Default().Translated(texts.Word),
		Routes: map[ui.Route]func(ui.Params) ui.Screen{
			present.RouteSandboxes: func(ui.Params) ui.Screen {
				return sandboxes.New(store, sandboxes.Options{Providers: ps, Owner: owner, CreateIn: "cloud", Rates: rates})
			},
		},
		Background: []ui.Background{
			store,
			kill.New(kill.Options{Providers: ps, Owner: owner, Rates: rates}),
			create.New(create.Options{Providers: ps, Owner: owner, Default: "cloud"}),
		},
	}, w, h)
}

func TestGoldenChinese(t *testing.T) {
	for _, size := range []struct {
		name string
		w, h int
	}{{"80x24", 80, 24}, {"120x40", 120, 40}} {
		d := sitInChinese(t, size.w, size.h)
		for _, screen := range []struct{ name, keys, leave string }{
			{"list", "", ""}, {"kill", "x", "esc"}, {"help", "?", "esc"}, {"create", "N", "esc"},
		} {
			d.Keys(screen.keys)
			uitest.Golden(t, "zh-"+screen.name+"-"+size.name, d.Dump())
			d.Keys(screen.leave)
		}
	}
}

// TestChineseKillsAndUndoes walks the way that matters most by its Chinese texts.
func TestChineseKillsAndUndoes(t *testing.T) {
	d := sitInChinese(t, 120, 40)
	d.Keys("space space x")
	if !d.Shows("终止 2 个沙箱") {
		t.Fatalf("no sheet:\n%s", d.Text())
	}
	d.Keys("y")
	if !d.Shows("5 秒后终止 2 个") || !d.Shows("z 撤销") {
		t.Fatalf("nothing pending:\n%s", d.Text())
	}
	d.Keys("q")
	if !d.Shows("退出？") || !d.Shows("2 个终止请求尚未发出，将不会执行") {
		t.Fatalf("leaving does not say what is at stake:\n%s", d.Text())
	}
	d.Keys("n z")
	if !d.Shows("已撤销：未发出任何请求，2 个沙箱保留") {
		t.Fatalf("not undone:\n%s", d.Text())
	}
}

// TestChineseSearchesItsHelp finds a key by what it does.
func TestChineseSearchesItsHelp(t *testing.T) {
	d := sitInChinese(t, 120, 40)
	d.Keys("? /")
	d.Send(tea.PasteMsg{Content: "过滤"})
	d.Keys("enter")
	if !d.Shows("标记过滤后的所有行") || d.Shows("创建沙箱并选择设置") {
		t.Errorf("help is not searched:\n%s", d.Text())
	}
	d.Keys("esc ctrl+k")
	d.Send(tea.PasteMsg{Content: "状态"})
	line := ""
	for l := range strings.Lines(d.Text()) {
		if strings.Contains(l, "按状态排序") {
			line = l
		}
	}
	if line == "" || !strings.ContainsFunc(line, unicode.IsLetter) {
		t.Errorf("the palette does not find it:\n%s", d.Text())
	}
}
