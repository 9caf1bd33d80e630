package contract_test

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"abxdash/client/contract"
	"abxdash/client/local"
)

func TestMain(m *testing.M) {
	if local.Reexec() {
		return
	}
	os.Exit(m.Run())
}

// TestLocal runs the suite over real sandboxes on this machine.
func TestLocal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("local sandboxes are tested on linux")
	}
	contract.Run(t, func(t *testing.T) contract.Setup {
		root, err := os.MkdirTemp("", "abxdash-contract-")
		if err != nil {
			t.Fatal(err)
		}
		p, err := local.New(local.Config{Version: "contract", Root: root})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := p.Stop(ctx, true); err != nil {
				t.Errorf("stop the local server: %v", err)
			}
			p.Close()
			if err := os.RemoveAll(root); err != nil {
				t.Error(err)
			}
		})
		return contract.Setup{Provider: p}
	})
}
