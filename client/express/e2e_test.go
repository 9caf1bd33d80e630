package express_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"abxdash/client"
	"abxdash/client/credentials"
	"abxdash/client/express"
	"abxdash/client/sdk"
)

// e2eTag marks what this test makes; everything with it is deleted at the end.
const e2eTag = "abxdash.e2e"

// TestE2EExpress runs against the real Express, with a key from the environment,
// ./.env or ~/.abx/.env. Without one it is left out. It makes two small
// sandboxes, and deletes whatever bears its tag, after a failure too.
func TestE2EExpress(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("there is no home folder to look for a key in")
	}
	set := credentials.Load(credentials.Options{LookupEnv: os.LookupEnv, ProjectFile: ".env", HomeFile: filepath.Join(home, ".abx", ".env")})
	account, err := set.Account(express.Name)
	if err != nil {
		t.Skipf("the real Express is not tried: %v", err)
	}
	cfg, err := express.FromAccount(account, express.Config{UserAgent: "abxdash/e2e"})
	if err != nil {
		t.Skipf("the real Express is not tried: %v (%s)", err, client.HintOf(err))
	}
	p, err := express.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	b := make([]byte, 6)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	mark := hex.EncodeToString(b)
	t.Cleanup(func() { sweep(t, p, mark) })
	c, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)

	template := os.Getenv("ABXDASH_E2E_TEMPLATE") // "" is base
	spec := client.CreateSpec{Template: template, Lifetime: 5 * time.Minute, Metadata: map[string]string{e2eTag: mark, client.MetaName: "abxdash-e2e"}}
	sb, err := sdk.Create(c, p, spec)
	if err != nil {
		t.Fatal(err)
	}
	for name, step := range map[string]func() error{
		"command": func() error {
			r, err := sb.Run(c, "sh -c 'echo out; echo err >&2; exit 3'", sdk.RunOptions{Timeout: 30 * time.Second})
			if err == nil && (r.Stdout != "out\n" || r.Stderr != "err\n" || r.Exit.Code != 3) {
				t.Errorf("command: %+v", r)
			}
			return err
		},
		"pipe": func() error {
			r, err := sb.Run(c, "echo abc | tr a-c A-C", sdk.RunOptions{})
			if err == nil && r.Stdout != "ABC\n" {
				t.Errorf("pipe: %+v", r)
			}
			return err
		},
		"files": func() error {
			if _, err := sb.Files().Write(c, "abxdash-e2e/a b.txt", []byte("hello")); err != nil {
				return err
			}
			text, err := sb.Files().Read(c, "abxdash-e2e/a b.txt")
			if err == nil && text != "hello" {
				t.Errorf("files: %q", text)
			}
			return err
		},
		"file URL": func() error {
			_, err := sb.Files().DownloadURL(c, "x")
			return err
		},
		"list": func() error {
			n := 0
			for _, err := range sdk.Sandboxes(c, p, client.Query{Metadata: map[string]string{e2eTag: mark}}) {
				if n++; err != nil {
					return err
				}
			}
			if n != 1 {
				t.Errorf("list: %d sandboxes", n)
			}
			return nil
		},
		"lifetime": func() error { return sb.SetTimeout(c, 4*time.Minute) },
		"connect":  func() error { _, err := sdk.Connect(c, p, sb.ID(), time.Minute); return err },
		"terminal": func() error {
			term, err := sb.GetTerminal(c, client.Size{Cols: 80, Rows: 24}, sdk.RunOptions{})
			if err != nil {
				return err
			}
			defer func() { _ = term.Close() }()
			return term.Kill(c)
		},
	} {
		if err := step(); err != nil {
			t.Errorf("%s: %v (%s)", name, err, client.CodeOf(err))
		}
	}
	v, err := sb.RunNamed(c, "hello", map[string]any{"name": "Ada"})
	switch {
	case err == nil && !strings.Contains(v.String(), "Ada"):
		t.Errorf("named command: %s", v)
	case err != nil:
		t.Logf("no named command in this template: %v", err)
	}
	if err := sb.Kill(c); err != nil {
		t.Error(err)
	}
	if err := sdk.KillByID(c, p, sb.ID()); err != nil {
		t.Errorf("a second kill: %v", err)
	}
}

// sweep deletes every sandbox with the tag, whatever happened before.
func sweep(t *testing.T, p client.Provider, mark string) {
	c, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	page, err := client.ListAll(c, p.Sandboxes(), client.Query{Metadata: map[string]string{e2eTag: mark}})
	if err != nil {
		t.Errorf("what was made could not be listed: %v; look for %s=%s", err, e2eTag, mark)
	}
	for _, sb := range page.Sandboxes {
		if err := p.Sandboxes().Kill(c, sb.ID); err != nil && !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s was not deleted: %v", sb.ID, err)
		}
	}
}
