//go:build linux

package isolate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

func TestParseRule(t *testing.T) {
	for text, want := range map[string]string{
		"*": "any", "*:443": "any:443", "example.com": "example.com", "EXAMPLE.com:8080": "example.com:8080",
		"*.example.com": "*.example.com", "localhost": "localhost", "localhost:3000": "localhost:3000", "192.0.2.1": "192.0.2.1/32", "192.0.2.1:80": "192.0.2.1/32:80",
		"192.0.2.77/24": "192.0.2.0/24", "192.0.2.0/24:443": "192.0.2.0/24:443", "::1": "::1/128", "[::1]:80": "::1/128:80", "2001:db8::/32": "2001:db8::/32",
		"::ffff:127.0.0.1": "127.0.0.1/32",
		"":                 "", ":80": "", "a b": "", "http://x": "", "x:0": "", "x:70000": "", "*x": "", "*.*.x": "", "x..y": "", "192.0.2.0/99": "", "fe80::1%eth0": "",
	} {
		r, err := parseRule(text)
		got := ""
		if err == nil {
			switch {
			case r.any:
				got = "any"
			case r.suffix != "":
				got = "*" + r.suffix
			case r.host != "":
				got = r.host
			default:
				got = r.network.String()
			}
			if r.port != 0 {
				got += fmt.Sprint(":", r.port)
			}
		}
		if got != want {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
	}
}

func TestEgressPolicy(t *testing.T) {
	names := map[string]string{
		"public.example": "192.0.2.10", "sub.public.example": "192.0.2.11", "inner.example": "10.1.2.3", "metadata.example": "169.254.169.254",
		"loop.example": "127.0.0.1", "six.example": "::1", "mapped.example": "::ffff:127.0.0.1", "nat64.example": "64:ff9b::7f00:1",
		"localhost": "127.0.0.1", "self.example": "203.0.113.5", "azure.example": "168.63.129.16", "denied.example": "198.51.100.9", "carrier.example": "100.64.0.9",
	}
	for _, c := range []struct {
		allow  []string
		target string
		want   bool
	}{
		{nil, "public.example:443", false},
		{[]string{"*"}, "public.example:443", true},
		{[]string{"*"}, "PUBLIC.example.:443", true},
		{[]string{"*"}, "192.0.2.10:25", true},
		{[]string{"*:443"}, "public.example:80", false},
		{[]string{"*:443"}, "192.0.2.10:80", false},
		{[]string{"public.example"}, "public.example:1", true},
		{[]string{"public.example"}, "sub.public.example:1", false},
		{[]string{"public.example"}, "notpublic.example:1", false},
		{[]string{"*.public.example"}, "sub.public.example:1", true},
		{[]string{"*.public.example"}, "public.example:1", false},
		{[]string{"public.example"}, "192.0.2.10:1", false},
		{[]string{"192.0.2.0/24"}, "public.example:1", true},
		{[]string{"192.0.2.0/24:80"}, "public.example:81", false},
		{[]string{"*"}, "inner.example:80", false},
		{[]string{"*"}, "10.0.0.1:80", false},
		{[]string{"inner.example"}, "inner.example:80", true},
		{[]string{"10.0.0.0/8"}, "10.0.0.1:80", true},
		{[]string{"*"}, "carrier.example:80", false},
		// Loopback and metadata, by whatever name or form.
		{[]string{"*"}, "loop.example:80", false},
		{[]string{"loop.example"}, "loop.example:80", false},
		{[]string{"six.example"}, "six.example:80", false},
		{[]string{"mapped.example"}, "mapped.example:80", false},
		{[]string{"nat64.example"}, "nat64.example:80", false},
		{[]string{"*"}, "127.0.0.1:80", false},
		{[]string{"*"}, "[::ffff:127.0.0.1]:80", false},
		{[]string{"*"}, "0.0.0.0:80", false},
		{[]string{"*"}, "localhost:80", false},
		{[]string{"localhost"}, "localhost:80", true},
		{[]string{"localhost:3000"}, "localhost:80", false},
		{[]string{"127.0.0.1:80"}, "loop.example:80", true},
		{[]string{"metadata.example"}, "metadata.example:80", false},
		{[]string{"*"}, "169.254.169.254:80", false},
		{[]string{"*"}, "[fd00:ec2::254]:80", false},
		{[]string{"azure.example"}, "azure.example:80", false},
		{[]string{"*"}, "[fe80::1]:80", false},
		{[]string{"self.example"}, "self.example:80", false},
		{[]string{"203.0.113.5"}, "self.example:80", true},
		// A wide network names nobody.
		{[]string{"0.0.0.0/0"}, "loop.example:80", false},
		{[]string{"0.0.0.0/1"}, "127.0.0.1:80", false},
		{[]string{"127.0.0.0/8"}, "127.0.0.1:80", true},
		{[]string{"*"}, "224.0.0.1:80", false},
		// What is denied is denied to the star alone.
		{[]string{"*"}, "denied.example:80", false},
		{[]string{"*"}, "198.51.100.7:80", false},
		{[]string{"*", "198.51.100.7"}, "198.51.100.7:80", true},
		{[]string{"*", "denied.example"}, "denied.example:80", true},
		{[]string{"*", "*.other"}, "denied.example:80", false},
	} {
		rules, err := parseEgress(Egress{Allow: c.allow, Deny: []string{"198.51.100.0/24"}})
		if err != nil {
			t.Fatal(err)
		}
		p := newEgressPolicy(rules)
		p.own = func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("203.0.113.5")} }
		p.resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
			a, ok := names[host]
			if !ok {
				return nil, errors.New("no such host")
			}
			return []netip.Addr{netip.MustParseAddr(a)}, nil
		}
		host, portText, err := net.SplitHostPort(c.target)
		if err != nil {
			t.Fatal(err)
		}
		var port uint16
		if _, err := fmt.Sscan(portText, &port); err != nil {
			t.Fatal(err)
		}
		addrs, err := p.addrs(context.Background(), host, port)
		if (len(addrs) > 0) != c.want || (err == nil) != c.want {
			t.Errorf("%v %s: %v %v, want %v", c.allow, c.target, addrs, err, c.want)
		}
	}
}

// Names that no rule is about are not looked up: that would carry data out.
func TestEgressLooksUpOnlyWhatItMust(t *testing.T) {
	rules, err := parseEgress(Egress{Allow: []string{"public.example"}})
	if err != nil {
		t.Fatal(err)
	}
	p := newEgressPolicy(rules)
	p.resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		t.Errorf("looked up %q", host)
		return nil, errors.New("no")
	}
	if _, err := p.addrs(context.Background(), "secret.attacker.example", 53); !errors.Is(err, errEgress) {
		t.Error(err)
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"*", "a.b:1", "[::1]:2", "10.0.0.0/8", "*.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseRule(s)
		if err == nil && !r.any && r.suffix == "" && r.host == "" && !r.network.IsValid() {
			t.Errorf("%q is a rule about nothing", s)
		}
	})
}

// From inside: a server on the host is reached by a rule that names it, plain and
// by CONNECT, and nothing else is.
func TestNetworkProxy(t *testing.T) {
	needPython(t)
	l := newLauncher(t)
	wantNamespace(t, l)
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, body)
	})
	allowed, refused := httptest.NewServer(hello), httptest.NewServer(hello)
	defer allowed.Close()
	defer refused.Close()
	b := startBox(t, l, Config{ID: realAgent, Network: NetworkProxy, Egress: Egress{Allow: []string{strings.TrimPrefix(allowed.URL, "http://")}}})
	const script = `
import os, sys, urllib.request, http.client
from urllib.parse import urlsplit
def plain(url, data=None):
    try: return urllib.request.urlopen(url, data, timeout=20).read().decode()
    except urllib.error.HTTPError as e: return "HTTP %d" % e.code
def tunnel(url):
    proxy = urlsplit(os.environ["HTTPS_PROXY"]); to = urlsplit(url)
    c = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=20)
    c.set_tunnel(to.hostname, to.port)
    try: c.request("GET", "/t"); return c.getresponse().read().decode()
    except OSError as e: return str(e)
allowed, refused = sys.argv[1:3]
os.environ["no_proxy"] = os.environ["NO_PROXY"] = ""   # the test's servers are on loopback
print(plain(allowed + "/a"), plain(allowed + "/b", b"data"), plain(refused), plain("http://169.254.169.254/"), sep="|")
print(tunnel(allowed), tunnel(refused), tunnel("http://127.0.0.1:1"), sep="|")
`
	out, code := runReal(t, b, "/usr/bin/python3", "-c", script, allowed.URL, refused.URL)
	want := "GET /a |POST /b data|HTTP 403|HTTP 403\nGET /t |Tunnel connection failed: 403 Forbidden|Tunnel connection failed: 403 Forbidden\n"
	if diff := cmp.Diff(want, out); diff != "" || code != 0 {
		t.Errorf("exit %d %s", code, diff)
	}
	// The rules can be replaced while it runs: now it is the other one.
	if err := b.SetEgress(Egress{Allow: []string{strings.TrimPrefix(refused.URL, "http://")}}); err != nil {
		t.Fatal(err)
	}
	out, _ = runReal(t, b, "/usr/bin/python3", "-c", script, refused.URL, allowed.URL)
	if out != want {
		t.Errorf("after the change: %q", out)
	}
	if err := b.SetEgress(Egress{Deny: []string{"example.com"}}); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("a name to deny: %v", err)
	}
	// There is still no other way out, and the host's loopback is another one.
	out, _ = runReal(t, b, "sh", "-c", "cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '; env | grep -i _proxy | sort")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if lines[0] != "lo" || len(lines) != 8 || !slices.Contains(lines, "HTTP_PROXY=http://127.0.0.1:3128") || !slices.Contains(lines, "no_proxy=localhost,127.0.0.1,::1") {
		t.Errorf("%q", lines)
	}
}

// A connection that is open when the sandbox ends goes with it, and so does what
// serves it (goleak looks after that).
func TestNetworkProxyEnds(t *testing.T) {
	needPython(t)
	l := newLauncher(t)
	wantNamespace(t, l)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	b := startBox(t, l, Config{Network: NetworkProxy, Egress: Egress{Allow: []string{ln.Addr().String()}}})
	b.do(t, runRequest{Leave: true, Argv: []string{"/usr/bin/python3", "-c", `
import socket, sys, time
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n" % sys.argv[1].encode()); time.sleep(300)`, ln.Addr().String()}})
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := b.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes", n)
	}
}

func TestNetworkProxyRefusals(t *testing.T) {
	l := newLauncher(t)
	wantNamespace(t, l)
	for name, cfg := range map[string]Config{
		"bad rule":   {Network: NetworkProxy, Egress: Egress{Allow: []string{"http://x"}}},
		"weak level": {Network: NetworkProxy, Level: client.IsolationProcess},
		"bad denial": {Network: NetworkProxy, Egress: Egress{Deny: []string{"example.com"}}},
	} {
		cfg.Home = tempDir(t)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f, err := ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		l.forcedProcess = true
		cfg.Listener = f
		_, err = l.Start(context.Background(), cfg)
		if client.CodeOf(err) != client.CodeUsage {
			t.Errorf("%s: %v", name, err)
		}
		_, _ = f.Close(), ln.Close()
	}
}
