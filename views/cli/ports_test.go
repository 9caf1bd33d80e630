package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseListening(t *testing.T) {
	const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 100 0 0 10 0
   2: 0100007F:9C40 0100007F:2328 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 100 0 0 10 0
  sl  local_address                         remote_address                        st tx_queue
   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000
   1: 00000000000000000000000000000000:1F91 00000000000000000000000000000000:0000 0A 00000000:00000000
   2: junk 0 0A
   3: 0100007F:0000 0 0A
   4: 0100007F:2328 0 0A
`
	want := []portJSON{
		{Port: 80, Address: "0.0.0.0"}, {Port: 8080, Address: "::1"}, {Port: 8081, Address: "::"}, {Port: 9000, Address: "127.0.0.1"},
	}
	if d := cmp.Diff(want, parseListening(text)); d != "" {
		t.Error(d)
	}
}
