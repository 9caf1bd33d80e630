//go:build unix

package sdk_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"abxdash/client"
	"abxdash/client/express"
	"abxdash/client/express/expresstest"
	"abxdash/client/sdk"
)

// drainEnv makes the test binary a client of its own: the address of a server.
const drainEnv = "ABXDASH_TEST_DRAIN"

// A gigabyte of output: no byte is lost, and the client's memory stays small. The
// client is a process of its own, so that the server's memory is not counted.
func TestGigabyteOfOutput(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("a gigabyte takes a while, and memory is read from /proc")
	}
	s := expresstest.New(t, expresstest.Switches{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), drainEnv+"="+s.URL)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fields := strings.Fields(string(out))
	if len(fields) != 3 {
		t.Fatalf("%q", out)
	}
	h := sha256.New()
	line := []byte(strings.Repeat("0123456789abcde", 1000) + "\n")
	for left := bigOutput; left > 0; left -= len(line) {
		h.Write(line[:min(len(line), left)])
	}
	if want := hex.EncodeToString(h.Sum(nil)); fields[0] != want || fields[1] != strconv.Itoa(bigOutput) {
		t.Errorf("got %s bytes with sum %s, want %s", fields[1], fields[0], want)
	}
	peak, err := strconv.Atoi(fields[2])
	if err != nil || checkMemory && peak > 64<<10 {
		t.Errorf("the client's memory went to %d KiB", peak)
	}
	t.Logf("peak %d KiB", peak)
}

// drain runs a command that writes a gigabyte and prints sum, count and peak
// memory in KiB.
func drain(url string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	p, err := express.New(express.Config{APIKey: expresstest.Key, APIURL: url, DataURL: url})
	fail(err)
	h := sha256.New()
	n := int64(0)
	err = sdk.With(context.Background(), p, client.CreateSpec{}, func(ctx context.Context, sb *sdk.Sandbox) error {
		r, err := sb.Run(ctx, `yes `+strings.Repeat("0123456789abcde", 1000)+` | head -c `+strconv.Itoa(bigOutput), sdk.RunOptions{
			Timeout: -1, Stdout: writer(func(b []byte) { n += int64(len(b)); h.Write(b) }),
		})
		if err == nil {
			err = r.Err()
		}
		return err
	})
	fail(err)
	status, err := os.ReadFile("/proc/self/status")
	fail(err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			fmt.Println(hex.EncodeToString(h.Sum(nil)), n, strings.Fields(rest)[0])
		}
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

var _ io.Writer = writer(nil)
