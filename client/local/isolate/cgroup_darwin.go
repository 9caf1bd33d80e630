package isolate

import (
	"context"
	"errors"
	"os"
)

// There are no cgroups here: a group is always nil.

type groupParents struct{ missing string }

func findParents() *groupParents {
	return &groupParents{missing: "there are no cgroups on this system"}
}

func (p *groupParents) makeGroup(Limits, int, bool) *group { return nil }

func (p *groupParents) sweep() error { return nil }

type group struct {
	userDir, agentDir *os.File
	tasks             []*os.File
}

var errNoGroups = errors.New("there are no cgroups on this system")

func (g *group) release()                        {}
func (g *group) dropV2()                         {}
func (g *group) canFreeze() bool                 { return false }
func (g *group) freeze(context.Context) error    { return errNoGroups }
func (g *group) thaw() error                     { return errNoGroups }
func (g *group) kill()                           {}
func (g *group) remove() error                   { return nil }
func (g *group) relimit(Limits) error            { return nil }
func (g *group) usage() (u Usage, complete bool) { return u, false }

func (g *group) means(level levelFacts, missing string) Means {
	return Means{Pause: BySignals, Kill: level.kill, Missing: missing}
}

// SweepGroups has nothing to do here.
func SweepGroups() error { return nil }
