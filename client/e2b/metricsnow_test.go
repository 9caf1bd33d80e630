package e2b

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

func TestMetricsNow(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{
		"GET /sandboxes/metrics": answerJSON(http.StatusOK, `{"sandboxes":{"i1":{"timestampUnix":1924992000,"cpuCount":2,"cpuUsedPct":12.5,"memUsed":1,"memTotal":4},"i2":{"cpuUsedPct":null}}}`),
	})
	c := newTestClient(t, f)
	got, err := c.MetricsNow(context.Background(), []client.ID{"i1", "i2", "i3"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[client.ID]Metric{"i1": {At: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC), CPUCount: 2, CPUUsed: 12.5, MemUsed: 1, MemTotal: 4}, "i2": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if uri := f.only(t, "/sandboxes/metrics").uri; uri != "/sandboxes/metrics?sandbox_ids=i1%2Ci2%2Ci3" {
		t.Errorf("uri %s", uri)
	}
	// Nothing to ask for is no call, too many are refused without one.
	if got, err := c.MetricsNow(context.Background(), nil); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
	many := make([]client.ID, 101)
	for i := range many {
		many[i] = client.ID(fmt.Sprintf("i%d", i))
	}
	if _, err := c.MetricsNow(context.Background(), many); client.CodeOf(err) != client.CodeUsage {
		t.Errorf("101: %v", err)
	}
	if _, err := c.MetricsNow(context.Background(), []client.ID{"../x"}); err == nil {
		t.Error("an id that is a path is asked for")
	}
	f.only(t, "/sandboxes/metrics")
}
