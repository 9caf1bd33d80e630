//go:build linux

package local

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// scripts drive official SDKs.
//
//go:embed testdata/sdk
var scripts embed.FS

// listening starts a listener of p that ends with the test.
func listening(t testing.TB, p *Provider, o ListenOptions) Listening {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan Listening, 1)
	done := make(chan error, 1)
	go func() { done <- p.Listen(ctx, o, func(l Listening) { ready <- l }) }()
	select {
	case l := <-ready:
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("listen: %v", err)
			}
		})
		return l
	case err := <-done:
		cancel()
		t.Fatalf("listen: %v", err)
	}
	return Listening{}
}

// npmInstall makes a folder with packages and the scripts.
func npmInstall(t *testing.T, packages ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SDK tests take a while")
	}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine", tool)
		}
	}
	dir := tempRoot(t)
	files, err := fs.Sub(scripts, "testdata/sdk")
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"}, packages...)
	cmd := exec.CommandContext(t.Context(), "npm", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install %s: %v\n%s", strings.Join(packages, " "), err, out)
	}
	return dir
}

// runScript runs one against a listener. It fails unless the script ends with "all ok".
func runScript(t *testing.T, dir, script string, l Listening) {
	t.Helper()
	at, err := json.Marshal(map[string]string{"url": l.URL, "api_key": l.APIKey, "domain": l.Domain})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*waitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script, string(at))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+l.CAFile)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if err != nil || !strings.HasSuffix(out.String(), "\nall ok\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	t.Logf("%s", out.String())
}

// TestSDK drives the official JavaScript SDK, two versions of it.
func TestSDK(t *testing.T) {
	versions := []string{"2.50.0", "2.45.0"}
	if os.Geteuid() == nobody {
		versions = versions[:1] // root's run has shown the other one
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			dir := npmInstall(t, "e2b@"+version)
			p := newProvider(t, Config{})
			runScript(t, dir, "check.mjs", listening(t, p, ListenOptions{Addr: "127.0.0.1:0"}))
		})
	}
}

// TestTemplateSDK builds templates with the official SDK, and bounds networks.
func TestTemplateSDK(t *testing.T) {
	dir := npmInstall(t, "e2b@2.50.0")
	p := newProvider(t, Config{})
	runScript(t, dir, "template.mjs", listening(t, p, ListenOptions{Addr: "127.0.0.1:0"}))
}

// TestSDKOverTLS is the same with an authority of our own.
func TestSDKOverTLS(t *testing.T) {
	if os.Geteuid() == nobody {
		return // no other than as root
	}
	dir := npmInstall(t, "e2b@2.50.0")
	p := newProvider(t, Config{})
	l := listening(t, p, ListenOptions{Addr: "127.0.0.1:0", TLS: true})
	if !strings.HasPrefix(l.URL, "https://") {
		t.Fatalf("%+v", l)
	}
	runScript(t, dir, "check.mjs", l)
}

// TestCodeInterpreterSDK drives the official code interpreter SDK.
func TestCodeInterpreterSDK(t *testing.T) {
	dir := npmInstall(t, "@e2b/code-interpreter@2.8.0")
	p := newProvider(t, Config{})
	runScript(t, dir, "interpreter.mjs", listening(t, p, ListenOptions{Addr: "127.0.0.1:0"}))
}
