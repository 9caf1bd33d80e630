package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"abxdash/client"
	"abxdash/client/sdk"
	"abxdash/views/present"
)

// treeFlags are the flags of cp for whole folders.
type treeFlags struct {
	recursive, noClobber, resume, noChecksum bool
}

// treeJSON is what cp -r prints with --json.
type treeJSON struct {
	Files int `json:"files"`
	Dirs  int `json:"dirs"`
	// Bytes is the size of all files that were copied.
	Bytes int64 `json:"bytes"`
	// Skipped are paths that were left out, Notes remarks on such as were not.
	Skipped []noteJSON `json:"skipped"`
	Notes   []noteJSON `json:"notes"`
}

// copyTree copies a folder or file either way with the client's own transfer:
// each file is checked, and appears under its name when it is whole.
func (c *cli) copyTree(ctx context.Context, f treeFlags, in bool, found client.Sandbox, p client.Provider, remote, local string) error {
	if err := p.Capabilities().Missing(p.Name(), client.CapFiles); err != nil {
		return err
	}
	sb, err := sdk.Open(ctx, p, found.ID)
	if err != nil {
		return err
	}
	defer func() { _ = sb.Close() }()
	line := c.progress()
	opts := sdk.TransferOptions{Overwrite: !f.noClobber, Resume: f.resume, SkipChecksum: f.noChecksum, Progress: line.show}
	var report sdk.Report
	op, name := "copy out", local
	if in {
		op, name = "copy in", present.Label(found)+":"+remote
		report, err = sb.Files().Upload(ctx, local, remote, opts)
	} else {
		report, err = sb.Files().Download(ctx, remote, local, opts)
	}
	line.clear()
	if err == nil {
		err = failedNotes(op, report)
	}
	if c.flags.JSON {
		out := treeJSON{report.Files, report.Dirs, report.Bytes, notesOf(report.Skipped), notesOf(report.Notes)}
		return errors.Join(c.printJSON(out), err)
	}
	c.sayReport(name, report)
	return err
}

// progressEvery is how often the line of progress changes at most.
const progressEvery = 100 * time.Millisecond

// progressWidth is how wide it gets, in cells.
const progressWidth = 76

// progressLine is one line on a terminal that is written over.
type progressLine struct {
	c     *cli
	on    bool
	width int
	last  time.Time
}

// progress shows nothing without a terminal, and with --quiet or --json.
func (c *cli) progress() *progressLine {
	return &progressLine{c: c, on: c.IsTerminal(c.Err) && !c.flags.Quiet && !c.flags.JSON}
}

// show is called once at a time.
func (l *progressLine) show(p sdk.Progress) {
	now := l.c.Now()
	if !l.on || now.Sub(l.last) < progressEvery && p.Done != p.Total {
		return
	}
	l.last = now
	text := fmt.Sprintf("%s, %s  %s", present.Plural(p.Files, "file", "files"), present.Size(p.Bytes), present.CleanMax(p.Name, 200))
	if p.Total > 0 {
		text = fmt.Sprintf("%3d%%  %s", p.Done*100/p.Total, text)
	}
	text = present.Elide(text, progressWidth)
	width := ansi.StringWidth(text)
	fmt.Fprint(l.c.Err, "\r"+text+strings.Repeat(" ", max(0, l.width-width)))
	l.width = max(l.width, width)
}

// clear takes the line away.
func (l *progressLine) clear() {
	if l.on && l.width > 0 {
		fmt.Fprint(l.c.Err, "\r"+strings.Repeat(" ", l.width)+"\r")
	}
}
