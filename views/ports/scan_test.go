package ports

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const kernel = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0000000000000000 100 0 0 10 0
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 4244 1 0000000000000000 20 4 30 10 -1
   2: garbage
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4245 1 0000000000000000 100 0 0 10 0
   1: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4246 1 0000000000000000 100 0 0 10 0
   2: 0000000000000000FFFF00000100007F:0017 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 0 1 0000000000000000 100 0 0 10 0
== descriptors
/proc/1/fd:
total 0
lrwx------ 1 user user 64 Nov 29 12:00 0 -> /dev/null
/proc/77/fd:
total 0
lrwx------ 1 user user 64 Nov 29 12:00 3 -> socket:[4242]
lrwx------ 1 user user 64 Nov 29 12:00 4 -> socket:[4246]
== names
/proc/1/comm:init
/proc/77/comm:web: server
`

func TestParse(t *testing.T) {
	addr := netip.MustParseAddr
	want := []Listener{
		{Port: 22, Addresses: []netip.Addr{addr("::1")}, PID: 77, Process: "web: server"},
		{Port: 23, Addresses: []netip.Addr{addr("127.0.0.1")}},
		{Port: 8080, Addresses: []netip.Addr{addr("127.0.0.1"), addr("::")}, PID: 77, Process: "web: server"},
	}
	got := parse(kernel)
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
		t.Error(d)
	}
	if got[2].Local() || !got[0].Local() {
		t.Errorf("local: %v, %v", got[0].Local(), got[2].Local())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(kernel)
	f.Add("== descriptors\n== names\n")
	f.Add(strings.Repeat("0: 0:1F90 0 0A 0 0 0 0 0 0\n", 3))
	f.Fuzz(func(t *testing.T, text string) {
		for i, l := range parse(text) {
			if l.Port < 1 || l.Port > 65535 || len(l.Addresses) == 0 {
				t.Fatalf("listener %d of %q is %+v", i, text, l)
			}
		}
	})
}

func TestFromHere(t *testing.T) {
	for _, tt := range []struct {
		host, origin string
		want         bool
	}{
		{"127.0.0.1:80", "", true},
		{"localhost:80", "http://localhost:80", true},
		{"app.localhost:80", "", true},
		{"[::1]:80", "", true},
		{"evil.example.com", "", false},
		{"127.0.0.1.evil.example.com:80", "", false},
		{"127.0.0.1:80", "https://evil.example.com", false},
		{"127.0.0.1:80", "http://127.0.0.1:81", false},
		{"127.0.0.1:80", "null", false},
		{"", "", false},
	} {
		r := &http.Request{Host: tt.host, Header: http.Header{}}
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		if got := fromHere(r); got != tt.want {
			t.Errorf("host %q, origin %q: %v", tt.host, tt.origin, got)
		}
	}
}

// Two rows of the code become one row of text and lose nothing.
func TestBlocks(t *testing.T) {
	got := blocks([][]bool{{true, false, true, false}, {true, false, false, true}, {true, true, false, false}})
	if d := cmp.Diff([]string{"█ ▀▄", "▀▀  "}, got); d != "" {
		t.Error(d)
	}
}
