package sdk

import (
	"context"
	"crypto/sha256"
	"errors"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"abxdash/client"
)

// sent is a file that lies in the sandbox under another name: it has no mode yet
// and was not checked.
type sent struct {
	name, part, remote string
	size               int64
	// mode is 0 where that of a new file is right.
	mode uint32
	// sum is the SHA-256 of what was sent, in hex.
	sum string
}

// Files of a tree are settled together, so that a tree of small files costs a
// command in the sandbox now and then and not one each.
const (
	batchFiles = 100
	batchBytes = 256 << 20
)

// batch collects what was sent.
type batch struct {
	mu    sync.Mutex
	files []sent
	bytes int64
}

func (b *batch) add(x sent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files = append(b.files, x)
	b.bytes += x.size
}

// take gives all of it, or nothing while it holds less than either limit.
func (b *batch) take(files int, bytes int64) []sent {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.files) < files && b.bytes < bytes {
		return nil
	}
	out := b.files
	b.files, b.bytes = nil, 0
	return out
}

// settle gives whole files their mode, checks them, and gives them their final
// names. One that differs fails; the others of its batch are settled all the same.
func (t *transfer) settle(ctx context.Context, list []sent) error {
	if len(list) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		t.discard(ctx, list)
		return cancelled(ctx)
	}
	sums := t.finish(ctx, list)
	if ctx.Err() != nil {
		t.discard(ctx, list)
		return cancelled(ctx)
	}
	var renames errgroup.Group
	renames.SetLimit(parallel)
	var differ error
	for i, x := range list {
		if sums[i] != "" && sums[i] != x.sum {
			t.remove(ctx, x) // not to be taken up again
			differ = t.differs("upload file")
			continue
		}
		renames.Go(func() error {
			// Begun, it is seen through: a rename cut short leaves open whether it was done.
			own, cancel := context.WithTimeout(context.WithoutCancel(ctx), renamePatience)
			defer cancel()
			if err := t.f.Rename(own, x.part, x.remote); err != nil {
				t.discard(ctx, []sent{x})
				return err
			}
			t.moved(x.name, x.size)
			return nil
		})
	}
	return errors.Join(renames.Wait(), differ)
}

// script takes a mode (or "") and a name in turns: names hold anything, and are
// never inside its text. It answers a line for each: its sum or -, and nomode
// where chmod failed. Its code is 3 where there is no sha256sum.
const script = `want=$1; shift
if [ -n "$want" ] && ! command -v sha256sum >/dev/null; then want=; none=1; fi
while [ $# -gt 1 ]; do
  word=
  if [ -n "$1" ]; then chmod -- "$1" "$2" || word=nomode; fi
  sum=
  if [ -n "$want" ]; then sum=$(sha256sum < "$2"); fi
  echo "${sum:--} $word"
  shift 2
done
[ -z "$none" ] || exit 3`

// finish sets modes and returns the sums, "" where one cannot be had. What
// cannot be done is noted.
func (t *transfer) finish(ctx context.Context, list []sent) []string {
	sums := make([]string, len(list))
	want := ""
	if !t.nosums.Load() {
		want = "sum"
	}
	argv, modes := []string{"sh", "-c", script, "sh", want}, 0
	for _, x := range list {
		mode := ""
		if x.mode != 0 {
			mode = "0" + strconv.FormatUint(uint64(x.mode), 8)
			modes++
		}
		argv = append(argv, mode, here(x.part))
	}
	if want == "" && modes == 0 {
		return sums
	}
	if !t.f.sb.p.Capabilities().Has(client.CapCommands) {
		t.noteModes(list, "could not be set: there are no commands here")
		return sums
	}
	out, err := t.f.sb.RunArgs(ctx, argv, RunOptions{Timeout: -1, MaxOutput: 1 << 20})
	if err != nil {
		for _, x := range list {
			t.note(x.name, "neither its mode nor its checksum could be looked at: %s", err)
		}
		return sums
	}
	if out.Exit.Code == 3 {
		t.nosums.Store(true) // no sha256sum in the image: not asked again
	}
	lines := strings.Split(strings.TrimSuffix(out.Stdout, "\n"), "\n")
	if len(lines) != len(list) {
		lines = make([]string, len(list)) // there is no sh, or none that is one
		t.noteModes(list, "could not be set")
	}
	for i, x := range list {
		hash, _, _ := strings.Cut(lines[i], " ")
		if strings.HasSuffix(lines[i], " nomode") {
			t.noteModes(list[i:i+1], "could not be set")
		}
		switch {
		case len(hash) == sha256.Size*2:
			sums[i] = hash
		case want != "":
			t.note(x.name, "not checked: the sandbox could not compute its checksum")
		}
	}
	return sums
}

// noteModes notes that modes were not carried over.
func (t *transfer) noteModes(list []sent, why string) {
	for _, x := range list {
		if x.mode != 0 {
			t.note(x.name, "its mode 0%o %s", x.mode, why)
		}
	}
}

// discard removes what was sent and will not be settled, unless it is to be
// taken up again.
func (t *transfer) discard(ctx context.Context, list []sent) {
	if t.opts.Resume {
		return
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, x := range list {
		group.Go(func() error { t.remove(ctx, x); return nil })
	}
	_ = group.Wait() // nothing of it fails: the transfer has failed already
}

// remove removes a part.
func (t *transfer) remove(ctx context.Context, x sent) {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanPatience)
	defer cancel()
	_ = t.f.Remove(own, x.part)
}
