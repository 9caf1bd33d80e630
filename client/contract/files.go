package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

func (s *suite) files(t *testing.T) {
	sb := s.create(t, nil)
	home := strings.TrimSpace(string(s.sh(t, sb.ID, `echo "$HOME"`).Stdout))
	for name, f := range map[string]func(*testing.T, client.ID, string){
		"write, list, read": s.writeRead,
		"directories":       s.directories,
		"missing":           s.missing,
		"odd names":         s.oddNames,
		"large file":        s.largeFile,
	} {
		t.Run(name, func(t *testing.T) { f(t, sb.ID, path.Join(home, "contract-"+token(t))) })
	}
}

func (s *suite) put(t *testing.T, id client.ID, name, text string) client.Entry {
	t.Helper()
	e, err := s.Provider.Files().Put(ctx(t), id, name, strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatalf("put %q: %v", name, err)
	}
	return e
}

func (s *suite) read(t *testing.T, id client.ID, name string) []byte {
	t.Helper()
	r, err := s.Provider.Files().Open(ctx(t), id, name)
	if err != nil {
		t.Fatalf("open %q: %v", name, err)
	}
	b, err := io.ReadAll(r)
	if cerr := r.Close(); err != nil || cerr != nil {
		t.Fatalf("read %q: %v, %v", name, err, cerr)
	}
	return b
}

func (s *suite) names(t *testing.T, id client.ID, dir string) []string {
	t.Helper()
	list, err := s.Provider.Files().ReadDir(ctx(t), id, dir)
	if err != nil {
		t.Fatalf("list %q: %v", dir, err)
	}
	out := []string{}
	for _, e := range list {
		out = append(out, e.Name)
		if e.Path != path.Join(dir, e.Name) {
			t.Errorf("%q is said to be at %q", e.Name, e.Path)
		}
	}
	slices.Sort(out)
	return out
}

func (s *suite) writeRead(t *testing.T, id client.ID, dir string) {
	file := dir + "/deep/er/a.txt"
	if e := s.put(t, id, file, "one\n"); e.Path != file || e.Name != "a.txt" {
		t.Errorf("put says %+v", e)
	}
	if got := string(s.read(t, id, file)); got != "one\n" {
		t.Errorf("read %q", got)
	}
	s.put(t, id, file, "")
	if got := s.read(t, id, file); len(got) != 0 {
		t.Errorf("overwritten with nothing, read %q", got)
	}
	if _, err := s.Provider.Files().Put(ctx(t), id, file, strings.NewReader("two\x00\n"), -1); err != nil {
		t.Fatalf("put of unknown size: %v", err)
	}
	e, err := s.Provider.Files().Stat(ctx(t), id, file)
	if err != nil {
		t.Fatal(err)
	}
	if e.Type != client.FileRegular || e.Size != 5 || e.Name != "a.txt" || e.Path != file || e.Mode == 0 || time.Since(e.ModifiedAt) > time.Hour {
		t.Errorf("stat says %+v", e)
	}
	if got := s.sh(t, id, "wc -c < "+file); strings.TrimSpace(string(got.Stdout)) != "5" {
		t.Errorf("the sandbox sees %q, %q", got.Stdout, got.Stderr)
	}
	if got := s.sh(t, id, "printf made > "+dir+"/made"); !got.Exit.OK() {
		t.Fatalf("%+v %s", got.Exit, got.Stderr)
	}
	if got := string(s.read(t, id, dir+"/made")); got != "made" {
		t.Errorf("a file made inside reads %q", got)
	}
	rel := path.Base(dir) + "/rel"
	s.put(t, id, rel, "r")
	if got := string(s.read(t, id, dir+"/rel")); got != "r" {
		t.Errorf("a relative path does not start at the home: %q", got)
	}
}

func (s *suite) directories(t *testing.T, id client.ID, dir string) {
	f := s.Provider.Files()
	if err := f.Mkdir(ctx(t), id, dir+"/a/b"); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "mkdir again", f.Mkdir(ctx(t), id, dir+"/a/b"), client.ErrConflict)
	if got := s.names(t, id, dir+"/a/b"); len(got) != 0 {
		t.Errorf("a new directory holds %q", got)
	}
	s.put(t, id, dir+"/a/b/c", "x")
	s.put(t, id, dir+"/a/z", "z")
	if d := cmp.Diff([]string{"b", "z"}, s.names(t, id, dir+"/a")); d != "" {
		t.Error(d)
	}
	if e, err := f.Stat(ctx(t), id, dir+"/a/b"); err != nil || e.Type != client.FileDir {
		t.Errorf("stat of a directory: %+v, %v", e, err)
	}
	if err := f.Rename(ctx(t), id, dir+"/a", dir+"/moved"); err != nil {
		t.Fatal(err)
	}
	if got := string(s.read(t, id, dir+"/moved/b/c")); got != "x" {
		t.Errorf("after the move: %q", got)
	}
	if d := cmp.Diff([]string{"moved"}, s.names(t, id, dir)); d != "" {
		t.Error(d)
	}
	_, err := f.Open(ctx(t), id, dir+"/moved")
	wantErr(t, "open of a directory", err, nil)
	_, err = f.ReadDir(ctx(t), id, dir+"/moved/z")
	wantErr(t, "list of a file", err, nil)
	for range 2 {
		if err := f.Remove(ctx(t), id, dir+"/moved"); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	if got := s.names(t, id, dir); len(got) != 0 {
		t.Errorf("after removing: %q", got)
	}
}

func (s *suite) missing(t *testing.T, id client.ID, dir string) {
	f := s.Provider.Files()
	_, err := f.Open(ctx(t), id, dir+"/none")
	wantErr(t, "open", err, client.ErrNotFound)
	if code := client.CodeOf(err); code != client.CodeFileNotFound {
		t.Errorf("open: code %s, want %s", code, client.CodeFileNotFound)
	}
	_, err = f.Stat(ctx(t), id, dir+"/none")
	wantErr(t, "stat", err, client.ErrNotFound)
	_, err = f.ReadDir(ctx(t), id, dir+"/none")
	wantErr(t, "list", err, client.ErrNotFound)
	wantErr(t, "rename", f.Rename(ctx(t), id, dir+"/none", dir+"/other"), client.ErrNotFound)
}

func (s *suite) oddNames(t *testing.T, id client.ID, dir string) {
	want := []string{
		"with space", "-dash", "a;touch b", "$(id)", "`id`", "qu'o\"te", "per%2Fcent", "ha#sh?q=1&r", "st*r",
		"\u00e4 composed", "a\u0308 decomposed", "日本語", "🚀", "new\nline", "tab\there", ".hidden", "...", "back\\slash", "+plus",
		strings.Repeat("n", 255),
	}
	for _, name := range want {
		s.put(t, id, dir+"/"+name, name)
	}
	for _, name := range want {
		if got := string(s.read(t, id, dir+"/"+name)); got != name {
			t.Errorf("%q reads %q", name, got)
		}
		if e, err := s.Provider.Files().Stat(ctx(t), id, dir+"/"+name); err != nil || e.Name != name {
			t.Errorf("stat of %q: %q, %v", name, e.Name, err)
		}
	}
	slices.Sort(want)
	if d := cmp.Diff(want, s.names(t, id, dir)); d != "" {
		t.Error(d)
	}
	for _, name := range want {
		if err := s.Provider.Files().Remove(ctx(t), id, dir+"/"+name); err != nil {
			t.Errorf("remove %q: %v", name, err)
		}
	}
	if got := s.names(t, id, dir); len(got) != 0 {
		t.Errorf("left after removing: %q", got)
	}
}

func (s *suite) largeFile(t *testing.T, id client.ID, dir string) {
	size := 16 << 20
	if testing.Short() {
		size = 1 << 20
	}
	var data bytes.Buffer
	for i := 0; data.Len() < size; i++ {
		fmt.Fprintln(&data, i)
	}
	sum := sha256.Sum256(data.Bytes())
	file := dir + "/large"
	if _, err := s.Provider.Files().Put(ctx(t), id, file, bytes.NewReader(data.Bytes()), int64(data.Len())); err != nil {
		t.Fatal(err)
	}
	if got := string(s.run(t, id, client.Command{Argv: []string{"sha256sum", file}}).Stdout); !strings.HasPrefix(got, hex.EncodeToString(sum[:])) {
		t.Errorf("the sandbox computes %q", got)
	}
	if got := sha256.Sum256(s.read(t, id, file)); got != sum {
		t.Error("what came back differs")
	}
}
