package fake

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"abxdash/client"
)

// home is the default user's home in every sandbox.
const home = "/home/user"

// node is one file or directory. Its data is never changed in place, so that
// readers may hold on to it.
type node struct {
	dir      bool
	data     []byte
	mode     uint32
	modified time.Time
	owner    string
}

// tree is a sandbox's file system, keyed by absolute clean path.
type tree struct {
	mu    sync.Mutex
	now   func() time.Time
	nodes map[string]*node
}

func newTree(now func() time.Time, name string) *tree {
	t := &tree{now: now, nodes: map[string]*node{"/": {dir: true, mode: 0o755, owner: "root", modified: now()}}}
	for _, d := range []string{"/bin", "/dev", "/etc", "/tmp", "/usr/bin", "/var/log", home} {
		t.mkdirAll(d)
	}
	for p, text := range map[string]string{
		"/etc/hostname":       name + "\n",
		"/etc/os-release":     "NAME=\"In memory\"\nID=fake\n",
		home + "/README.md":   "# A sandbox in memory\n\nNothing here is real, and nothing is kept.\n",
		home + "/hello.py":    "print(\"hello\")\n",
		home + "/.profile":    "# read by login shells\n",
		home + "/data/a.csv":  "id,name\n1,ada\n2,grace\n",
		home + "/data/b.json": "{\"ok\": true}\n",
	} {
		t.put(p, []byte(text))
	}
	return t
}

// abs makes a path absolute and clean; relative ones start at the home.
func abs(p string) string {
	if !strings.HasPrefix(p, "/") {
		p = home + "/" + p
	}
	return path.Clean(p)
}

func (t *tree) mkdirAll(p string) {
	for p != "/" && t.nodes[p] == nil {
		t.nodes[p] = &node{dir: true, mode: 0o755, modified: t.now(), owner: owner(p)}
		p = path.Dir(p)
	}
}

func owner(p string) string {
	if p == home || strings.HasPrefix(p, home+"/") || strings.HasPrefix(p, "/tmp/") {
		return "user"
	}
	return "root"
}

func (t *tree) put(p string, data []byte) {
	t.mkdirAll(path.Dir(p))
	mode := uint32(0o644)
	if old := t.nodes[p]; old != nil {
		mode = old.mode
	}
	t.nodes[p] = &node{data: data, mode: mode, modified: t.now(), owner: owner(p)}
}

// check says why p cannot be written: a directory, or a parent that is a file.
func (t *tree) check(p string) error {
	if n := t.nodes[p]; n != nil && n.dir {
		return fmt.Errorf("%s is a directory", p)
	}
	return t.checkParents(p)
}

func (t *tree) checkParents(p string) error {
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		if n := t.nodes[d]; n != nil && !n.dir {
			return fmt.Errorf("%s is not a directory", d)
		}
	}
	return nil
}

func (t *tree) entry(p string, n *node) client.Entry {
	kind, perms := client.FileRegular, "-"
	if n.dir {
		kind, perms = client.FileDir, "d"
	}
	for i := 8; i >= 0; i-- {
		if n.mode&(1<<i) != 0 {
			perms += string("xwr"[i%3])
		} else {
			perms += "-"
		}
	}
	return client.Entry{
		Name: path.Base(p), Path: p, Type: kind, Size: int64(len(n.data)), Mode: n.mode, Permissions: perms,
		Owner: n.owner, Group: n.owner, ModifiedAt: n.modified,
	}
}

// children lists a directory, sorted by name.
func (t *tree) children(dir string) []client.Entry {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	out := []client.Entry{}
	for p, n := range t.nodes {
		if rest, ok := strings.CutPrefix(p, prefix); ok && rest != "" && !strings.Contains(rest, "/") {
			out = append(out, t.entry(p, n))
		}
	}
	slices.SortFunc(out, func(a, b client.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// remove deletes p and everything below it.
func (t *tree) remove(p string) {
	for q := range t.nodes {
		if q == p || strings.HasPrefix(q, p+"/") {
			delete(t.nodes, q)
		}
	}
}

// files returns the sandbox's tree, which is made when it is first looked at.
func (b *box) files() *tree {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tree == nil {
		b.tree = newTree(b.prov.opts.Now, string(b.sb.ID))
	}
	return b.tree
}

// fileCall begins a file operation and returns the tree and the absolute path.
func (p *Provider) fileCall(ctx context.Context, op string, id client.ID, name string) (*tree, string, Step, error) {
	step, err := p.begin(ctx, op, id, name)
	if err != nil {
		return nil, "", step, err
	}
	if strings.ContainsRune(name, 0) {
		return nil, "", step, client.Usagef(op, "a path cannot hold a NUL byte")
	}
	b, err := p.running(op, id)
	if err != nil {
		return nil, "", step, err
	}
	return b.files(), abs(name), step, nil
}

func (p *Provider) noFile(op, name string) error {
	return &client.Error{
		Op: op, Provider: p.opts.Name, Code: client.CodeFileNotFound, Status: 404, Kind: client.ErrNotFound,
		Message: fmt.Sprintf("path '%s' does not exist", client.OneLine(name, 200)),
	}
}

func (p *Provider) fileError(op string, err error) error {
	return &client.Error{Op: op, Provider: p.opts.Name, Code: client.CodeFiles, Status: 400, Message: client.OneLine(err.Error(), 300)}
}

// ReadDir lists one directory.
func (p *Provider) ReadDir(ctx context.Context, id client.ID, name string) ([]client.Entry, error) {
	t, q, step, err := p.fileCall(ctx, OpReadDir, id, name)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch n := t.nodes[q]; {
	case n == nil:
		return nil, p.noFile("list files", q)
	case !n.dir:
		return nil, p.fileError("list files", fmt.Errorf("%s is not a directory", q))
	}
	return t.children(q), step.Err
}

// Stat describes one path.
func (p *Provider) Stat(ctx context.Context, id client.ID, name string) (client.Entry, error) {
	t, q, step, err := p.fileCall(ctx, OpStat, id, name)
	if err != nil {
		return client.Entry{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[q]
	if n == nil {
		return client.Entry{}, p.noFile("stat", q)
	}
	return t.entry(q, n), step.Err
}

// Open reads one file.
func (p *Provider) Open(ctx context.Context, id client.ID, name string) (io.ReadCloser, error) {
	t, q, step, err := p.fileCall(ctx, OpOpen, id, name)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch n := t.nodes[q]; {
	case n == nil:
		return nil, p.noFile("read file", q)
	case n.dir:
		return nil, p.fileError("read file", fmt.Errorf("%s is a directory", q))
	default:
		return io.NopCloser(bytes.NewReader(n.data)), step.Err
	}
}

// Put writes one file whole, or not at all.
func (p *Provider) Put(ctx context.Context, id client.ID, name string, r io.Reader, size int64) (client.Entry, error) {
	t, q, step, err := p.fileCall(ctx, OpPut, id, name)
	if err != nil {
		return client.Entry{}, err
	}
	data, err := io.ReadAll(r)
	if err == nil && size >= 0 && int64(len(data)) != size {
		err = fmt.Errorf("got %d of %d bytes", len(data), size)
	}
	if err != nil {
		return client.Entry{}, p.fileError("write file", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.check(q); err != nil {
		return client.Entry{}, p.fileError("write file", err)
	}
	t.put(q, data)
	return t.entry(q, t.nodes[q]), step.Err
}

// Mkdir makes a directory with its parents; one that is there is a conflict.
func (p *Provider) Mkdir(ctx context.Context, id client.ID, name string) error {
	t, q, step, err := p.fileCall(ctx, OpMkdir, id, name)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nodes[q] != nil {
		return &client.Error{
			Op: "make directory", Provider: p.opts.Name, Code: client.CodeFiles, Status: 409, Kind: client.ErrConflict,
			Message: fmt.Sprintf("%s is already there", client.OneLine(q, 200)),
		}
	}
	if err := t.checkParents(q); err != nil {
		return p.fileError("make directory", err)
	}
	t.mkdirAll(q)
	return step.Err
}

// Rename moves a file or a directory.
func (p *Provider) Rename(ctx context.Context, id client.ID, from, to string) error {
	t, src, step, err := p.fileCall(ctx, OpRename, id, from)
	if err != nil {
		return err
	}
	dst := abs(to)
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[src]
	if n == nil {
		return p.noFile("rename", src)
	}
	if strings.HasPrefix(dst, src+"/") {
		return p.fileError("rename", fmt.Errorf("%s lies inside %s", dst, src))
	}
	if err := t.checkParents(dst); err != nil {
		return p.fileError("rename", err)
	}
	moved := map[string]*node{}
	for q, c := range t.nodes {
		if rest, ok := strings.CutPrefix(q, src); ok && (rest == "" || rest[0] == '/') {
			moved[dst+rest] = c
		}
	}
	t.remove(src)
	t.remove(dst)
	t.mkdirAll(path.Dir(dst))
	for q, c := range moved {
		t.nodes[q] = c
	}
	return step.Err
}

// Remove deletes a path and everything below it; a missing one is success.
func (p *Provider) Remove(ctx context.Context, id client.ID, name string) error {
	t, q, step, err := p.fileCall(ctx, OpRemove, id, name)
	if err != nil {
		return err
	}
	if q == "/" {
		return p.fileError("remove", fmt.Errorf("the root cannot be removed"))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(q)
	return step.Err
}
