package deploy

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
	"abxdash/templates"
)

// tagged is a provider's template with tags and a history.
type tagged struct {
	client.TemplateMaker
	info  client.TemplateInfo
	tags  []client.TemplateTag
	moved []string
	err   error
	// startRefused makes creates with a start command fail as Express once did.
	startRefused bool
	made         []client.TemplateSpec
	// end is how builds end, "" well. moves puts the default on a build as soon
	// as it begins, as some services do; others wait until it is ready.
	end   string
	moves bool
}

func (p *tagged) Templates(context.Context) ([]client.TemplateInfo, error) {
	return []client.TemplateInfo{p.info}, nil
}

func (p *tagged) Template(_ context.Context, ref string) (client.TemplateInfo, error) {
	if p.info.ID == "" {
		return p.info, &client.Error{Code: client.CodeTemplateMissing, Kind: client.ErrNotFound}
	}
	return p.info, nil
}

func (p *tagged) TemplateTags(context.Context, string) ([]client.TemplateTag, error) {
	return p.tags, p.err
}

func (p *tagged) AssignTags(_ context.Context, target string, tags []string) error {
	p.moved = append(p.moved, target+" "+strings.Join(tags, ","))
	_, from, _ := strings.Cut(target, ":")
	for _, t := range tags {
		p.set(t, build(p.tags, from))
	}
	return p.err
}

func (p *tagged) set(tag, id string) {
	p.tags = slices.DeleteFunc(slices.Clone(p.tags), func(t client.TemplateTag) bool { return t.Tag == tag })
	p.tags = append(p.tags, client.TemplateTag{Tag: tag, BuildID: id})
}

func (p *tagged) RemoveTags(_ context.Context, _ string, tags []string) error {
	p.tags = slices.DeleteFunc(slices.Clone(p.tags), func(t client.TemplateTag) bool { return slices.Contains(tags, t.Tag) })
	return p.err
}

func (p *tagged) CreateTemplate(_ context.Context, s client.TemplateSpec) (client.TemplateBuild, error) {
	p.made = append(p.made, s)
	if p.startRefused && s.StartCommand != "" {
		return client.TemplateBuild{}, &client.Error{Status: http.StatusBadRequest, Code: client.CodeServer, Message: "InvalidParameter: startCommand is not supported"}
	}
	if p.moves {
		p.set(TagDefault, "b9")
	}
	return client.TemplateBuild{TemplateID: "tpl1", BuildID: "b9"}, nil
}

func (p *tagged) TemplateBuild(context.Context, client.TemplateBuild, int) (client.BuildState, error) {
	if p.end == "" {
		p.set(TagDefault, "b9")
		p.end = "ready"
	}
	return client.BuildState{State: p.end}, nil
}

func history(states ...string) []client.TemplateBuildInfo {
	var out []client.TemplateBuildInfo
	for i, s := range states {
		id, state, _ := strings.Cut(s, " ")
		out = append(out, client.TemplateBuildInfo{ID: id, State: state, CreatedAt: time.Date(2026, 1, 31-i, 0, 0, 0, 0, time.UTC)})
	}
	return out
}

func TestPlanRollback(t *testing.T) {
	tag := func(name, build string, day int) client.TemplateTag {
		return client.TemplateTag{Tag: name, BuildID: build, CreatedAt: time.Date(2026, 2, day, 0, 0, 0, 0, time.UTC)}
	}
	for _, tc := range []struct {
		name     string
		history  []client.TemplateBuildInfo
		tags     []client.TemplateTag
		to, want string
		code     client.Code
	}{
		{
			"the newest good one", history("b4 error", "b3 ready", "b2 error", "b1 ready"),
			[]client.TemplateTag{tag("default", "b4", 4), tag("v1", "b1", 9), tag("v2", "b2", 8), tag("v3", "b3", 1)},
			"", "default (build b4, error) > v3 (build b3, ready)", "",
		},
		{
			"without a history the tag's time counts", nil,
			[]client.TemplateTag{tag("default", "b4", 4), tag("v1", "b1", 2), tag("v3", "b3", 3)},
			"", "default (build b4) > v3 (build b3)", "",
		},
		{
			"the one that is asked for", history("b2 ready", "b1 ready"),
			[]client.TemplateTag{tag("default", "b2", 2), tag("v1", "b1", 1)},
			"v1", "default (build b2, ready) > v1 (build b1, ready)", "",
		},
		{
			"it is there already", history("b2 ready"),
			[]client.TemplateTag{tag("default", "b2", 2), tag("v2", "b2", 1)},
			"v2", "default (build b2, ready) > v2 (build b2, ready) needless", "",
		},
		{"a failed one", history("b2 ready", "b1 error"), []client.TemplateTag{tag("default", "b2", 2), tag("v1", "b1", 1)}, "v1", "", client.CodeConflict},
		{"no such tag", history("b2 ready"), []client.TemplateTag{tag("default", "b2", 2)}, "v9", "", client.CodeTemplateMissing},
		{"nothing to go back to", history("b2 ready", "b1 error"), []client.TemplateTag{tag("default", "b2", 2), tag("v1", "b1", 1)}, "", "", client.CodeTemplateMissing},
	} {
		p := &tagged{info: client.TemplateInfo{ID: "tpl1", Names: []string{"demo"}, History: tc.history}, tags: tc.tags}
		r, err := PlanRollback(t.Context(), p, p, "demo", tc.to)
		if client.CodeOf(err) != tc.code && err != nil || err == nil && tc.code != "" || err != nil && client.HintOf(err) == "" {
			t.Errorf("%s: %v", tc.name, err)
		}
		if len(p.moved) > 0 {
			t.Errorf("%s: planning moved %v", tc.name, p.moved)
		}
		if err != nil {
			continue
		}
		got := r.From.String() + " > " + r.To.String()
		want := []string{"demo:" + r.To.Tag + " default"}
		if r.Needless {
			got, want = got+" needless", nil
		}
		if got != tc.want {
			t.Errorf("%s: %s", tc.name, got)
		}
		if err := r.Do(t.Context(), p); err != nil || cmp.Diff(want, p.moved) != "" {
			t.Errorf("%s: moved %v, %v", tc.name, p.moved, err)
		}
	}
}

// A deploy keeps a way back: the good build that it replaced has the tag
// "previous". A deploy that fails does not lose the one from before.
func TestPreviousIsKept(t *testing.T) {
	two := []client.TemplateTag{{Tag: "default", BuildID: "b2"}, {Tag: "previous", BuildID: "b1"}}
	good := client.TemplateInfo{ID: "t", Names: []string{"demo"}, History: history("b2 ready", "b1 ready")}
	for name, tc := range map[string]struct {
		p    *tagged
		want string
		hint string
	}{
		"replaced":                  {&tagged{info: good, tags: two}, "default b9, previous b2", ""},
		"replaced at once":          {&tagged{info: good, tags: two, moves: true}, "default b9, previous b2", ""},
		"failed and not replaced":   {&tagged{info: good, tags: two, end: "error"}, "default b2, previous b1", "template info demo"},
		"failed and replaced":       {&tagged{info: good, tags: two, end: "error", moves: true}, "default b9, previous b2", "template rollback demo"},
		"the one before had failed": {&tagged{info: client.TemplateInfo{ID: "t", History: history("b2 error", "b1 ready")}, tags: two}, "default b9, previous b1", ""},
		"first":                     {&tagged{}, "default b9", ""},
	} {
		r, err := Run(t.Context(), options(t, folder(t, nil), &fakeEngine{}, tc.p))
		if failed := tc.p.end == "error"; (err != nil) != failed || r.OK == failed || !strings.Contains(r.Hint, tc.hint) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		var got []string
		for _, tag := range tc.p.tags {
			got = append(got, tag.Tag+" "+tag.BuildID)
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != tc.want {
			t.Errorf("%s: %s", name, text)
		}
	}
	// Tags that do not work are said and end nothing.
	p := &tagged{info: client.TemplateInfo{ID: "t"}, err: &client.Error{Code: client.CodeServer, Message: "no tags here"}}
	if r, err := Run(t.Context(), options(t, folder(t, nil), &fakeEngine{}, p)); err != nil || !r.OK {
		t.Errorf("%+v, %v", r, err)
	}
}

// Where no start command is taken the template is made without, and that is said.
func TestServeByHand(t *testing.T) {
	for name, tc := range map[string]struct {
		refused    bool
		generation int
		hand       bool
		made       int
	}{"refused": {true, 0, true, 2}, "generation 1": {false, 1, true, 1}, "generation 2": {false, 2, false, 1}} {
		p := &tagged{startRefused: tc.refused}
		o := options(t, folder(t, nil), &fakeEngine{}, p)
		o.Generation = tc.generation
		var said []string
		o.Say = func(e Event) { said = append(said, e.Text) }
		r, err := Run(t.Context(), o)
		if err != nil || r.ServeByHand != tc.hand || len(p.made) != tc.made || strings.Contains(strings.Join(said, "\n"), "template serve") != tc.hand {
			t.Errorf("%s: %+v, %v, %q", name, r, err, said)
		}
	}
	p := &tagged{startRefused: true}
	o := options(t, folder(t, nil), &fakeEngine{}, p)
	o.Lint.Target = templates.NewTarget("", "", nil)
	if _, err := Run(t.Context(), o); err != nil || p.made[1].StartCommand != "" {
		t.Errorf("%+v, %v", p.made, err)
	}
}
