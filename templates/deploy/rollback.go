package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"abxdash/client"
)

// Tags that a deploy and a roll back move.
const (
	// TagDefault is what a create without a tag uses (e2b-protocol §4).
	TagDefault = "default"
	// TagPrevious is on the good build that a deploy replaced, so that there is
	// something to roll back to.
	TagPrevious = "previous"
	// tagReplaced is on that build while it is not known yet whether the new one
	// takes its place.
	tagReplaced = "replaced"
)

// Build is one end of a roll back.
type Build struct {
	// Tag is the tag that names it.
	Tag     string `json:"tag"`
	BuildID string `json:"build_id"`
	// State is the build's as the provider words it, "" if it is not told.
	State string `json:"state,omitempty"`
}

// String words it for people, clean.
func (b Build) String() string {
	text := client.OneLine(b.Tag, 60)
	if b.BuildID != "" {
		text += " (build " + client.OneLine(b.BuildID, 60)
		if b.State != "" {
			text += ", " + client.OneLine(b.State, 20)
		}
		text += ")"
	}
	return text
}

// Rollback is a roll back that has been thought through and not been done.
type Rollback struct {
	// Template is its name, or its id where it has none.
	Template string `json:"template"`
	From     Build  `json:"from"`
	To       Build  `json:"to"`
	// Needless tells that the default is that build already.
	Needless bool `json:"needless"`
}

// PlanRollback finds out what a roll back of a template would do. to is a tag;
// "" is the newest good build that has a tag and is not the default already.
// Nothing is changed. Without such a tag the error is E2001 with what to do.
func PlanRollback(ctx context.Context, all client.Templates, tagger client.TemplateTagger, ref, to string) (Rollback, error) {
	info, err := all.Template(ctx, ref)
	if err != nil {
		return Rollback{}, err
	}
	tags, err := tagger.TemplateTags(ctx, ref)
	if err != nil {
		return Rollback{}, err
	}
	r := Rollback{Template: info.Name()}
	find := func(name string) (client.TemplateTag, bool) {
		i := slices.IndexFunc(tags, func(t client.TemplateTag) bool { return t.Tag == name })
		if i < 0 {
			return client.TemplateTag{}, false
		}
		return tags[i], true
	}
	asBuild := func(t client.TemplateTag) Build {
		return Build{Tag: t.Tag, BuildID: t.BuildID, State: info.BuildState(t.BuildID)}
	}
	now, hasDefault := find(TagDefault)
	if hasDefault {
		r.From = asBuild(now)
	}
	target, ok := find(to)
	if to == "" {
		target, ok = lastGood(info, tags, now.BuildID)
	}
	if !ok {
		return r, noTag(info.Name(), to)
	}
	r.To = asBuild(target)
	if s := (client.BuildState{State: r.To.State}); s.Failed() {
		return r, &client.Error{
			Op: "roll back", Code: client.CodeConflict, Kind: client.ErrConflict, Message: r.To.String() + " is no good build",
			Hint: "see the others: abxdash template tags " + client.OneLine(info.Name(), 60),
		}
	}
	r.Needless = hasDefault && r.To.BuildID == now.BuildID
	return r, nil
}

// lastGood is the tag of the newest build that did not fail and is not the
// default's. Where the history does not know a build, its tag's time counts.
func lastGood(info client.TemplateInfo, tags []client.TemplateTag, now string) (client.TemplateTag, bool) {
	age := func(t client.TemplateTag) int64 {
		for _, b := range info.History {
			if b.ID == t.BuildID && !b.CreatedAt.IsZero() {
				return b.CreatedAt.UnixNano()
			}
		}
		return t.CreatedAt.UnixNano()
	}
	var good []client.TemplateTag
	for _, t := range tags {
		state := client.BuildState{State: info.BuildState(t.BuildID)}
		if t.Tag != TagDefault && t.BuildID != now && (state.State == "" || state.Ready()) {
			good = append(good, t)
		}
	}
	if len(good) == 0 {
		return client.TemplateTag{}, false
	}
	return slices.MaxFunc(good, func(a, b client.TemplateTag) int {
		return cmp.Or(cmp.Compare(age(a), age(b)), cmp.Compare(b.Tag, a.Tag))
	}), true
}

func noTag(name, to string) error {
	e := &client.Error{Op: "roll back", Code: client.CodeTemplateMissing, Kind: client.ErrNotFound}
	name = client.OneLine(name, 60)
	if to != "" {
		e.Message, e.Hint = fmt.Sprintf("%s has no tag %s", name, client.OneLine(to, 60)), "see them: abxdash template tags "+name
		return e
	}
	e.Message = name + " has no tag on an earlier good build"
	e.Hint = "deploy an earlier image again: abxdash template deploy DIR --image IMAGE"
	return e
}

// Do carries it out: the default becomes the build of To.
func (r Rollback) Do(ctx context.Context, tagger client.TemplateTagger) error {
	if r.Needless {
		return nil
	}
	return tagger.AssignTags(ctx, r.Template+":"+r.To.Tag, []string{TagDefault})
}

// tagger is the provider's way with tags, if it has one.
func (d *run) tagger() (client.Templates, client.TemplateTagger, bool) {
	all, ok := d.o.Maker.(client.Templates)
	if !ok {
		return nil, nil, false
	}
	tagger, ok := d.o.Maker.(client.TemplateTagger)
	return all, tagger, ok
}

// build is what a tag names, "" if there is no such tag.
func build(tags []client.TemplateTag, name string) string {
	for _, t := range tags {
		if t.Tag == name {
			return t.BuildID
		}
	}
	return ""
}

// mark puts a tag on the default's build before another one is made, if it is a
// good one. A deploy does not fail for it: it only says that rolling back will
// need a tag.
func (d *run) mark(ctx context.Context, name string) {
	all, tagger, ok := d.tagger()
	if !ok {
		return
	}
	info, err := all.Template(ctx, name)
	if errors.Is(err, client.ErrNotFound) {
		return // the first build
	}
	var tags []client.TemplateTag
	if err == nil {
		tags, err = tagger.TemplateTags(ctx, name)
	}
	if now := build(tags, TagDefault); err == nil && now != "" {
		state := client.BuildState{State: info.BuildState(now)}
		if state.State != "" && !state.Ready() {
			return // the one before it stays the last good one
		}
		err = tagger.AssignTags(ctx, name+":"+TagDefault, []string{tagReplaced})
		d.marked = err == nil
	}
	if err != nil {
		d.say(StepCreate, "the build before this one gets no tag %s: %s", TagPrevious, err)
	}
}

// settle looks whether the new build took the place of the marked one, which
// then is the previous one. Services differ in whether a failed build does.
func (d *run) settle(ctx context.Context) {
	_, tagger, ok := d.tagger()
	if !ok || !d.marked {
		return
	}
	d.marked = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settlePatience)
	defer cancel()
	name := d.r.Name
	tags, err := tagger.TemplateTags(ctx, name)
	if err == nil && (build(tags, TagDefault) != build(tags, tagReplaced) || d.o.Last == StepCreate) {
		if err = tagger.AssignTags(ctx, name+":"+tagReplaced, []string{TagPrevious}); err == nil {
			d.kept = true
			d.say(StepReady, "the build before this one has the tag %s", TagPrevious)
		}
	}
	if err == nil {
		err = tagger.RemoveTags(ctx, name, []string{tagReplaced})
	}
	if err != nil {
		d.say(StepReady, "the build before this one keeps the tag %s: %s", tagReplaced, err)
	}
}

// settlePatience bounds putting tags in order, also after the end of a deploy's context.
const settlePatience = 30 * time.Second
