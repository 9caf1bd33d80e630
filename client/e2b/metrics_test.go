package e2b

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"abxdash/client"
)

func TestMetrics(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{
		"GET /sandboxes/i1/metrics": answerJSON(http.StatusOK, `[{"timestamp":"2031-01-01T00:00:00Z","timestampUnix":1924992000,"cpuCount":2,"cpuUsedPct":12.5,"memUsed":1,"memTotal":4,"memCache":2,"diskUsed":5,"diskTotal":6},
			{"timestamp":"2031-01-01T00:00:05Z","cpuUsedPct":null}]`),
		"GET /sandboxes/i2/metrics": answerJSON(http.StatusOK, `[]`),
		"GET /sandboxes/i3/metrics": answerJSON(http.StatusOK, `{"a":1}`),
	})
	c := newTestClient(t, f)
	ctx := context.Background()
	got, err := c.Metrics(ctx, "i1", time.Unix(1700000000, 0), time.Unix(1700000100, 0))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	want := []Metric{{At: at, CPUCount: 2, CPUUsed: 12.5, MemUsed: 1, MemTotal: 4, MemCache: 2, DiskUsed: 5, DiskTotal: 6}, {At: at.Add(5 * time.Second)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if uri := f.only(t, "i1/metrics").uri; uri != "/sandboxes/i1/metrics?end=1700000100&start=1700000000" {
		t.Errorf("uri %s", uri)
	}
	if got, err := c.Metrics(ctx, "i2", time.Time{}, time.Time{}); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
	if uri := f.only(t, "i2/metrics").uri; uri != "/sandboxes/i2/metrics" {
		t.Errorf("uri %s", uri)
	}
	if _, err := c.Metrics(ctx, "i3", time.Time{}, time.Time{}); client.CodeOf(err) != client.CodeBadAnswer {
		t.Errorf("got %v", err)
	}
}

func TestLogs(t *testing.T) {
	f := newFake(t, map[string]http.HandlerFunc{
		"GET /v2/sandboxes/i1/logs": answerJSON(http.StatusOK, `{"logs":[{"timestamp":"2031-01-01T00:00:00.5Z","level":"info","message":"up","fields":{"n":1,"logger":"envd"}},{"message":null}]}`),
	})
	since := time.UnixMilli(1700000000123)
	got, err := newTestClient(t, f).Logs(context.Background(), "i1", since, 5000)
	if err != nil {
		t.Fatal(err)
	}
	want := []LogEntry{
		{At: time.Date(2031, 1, 1, 0, 0, 0, 5e8, time.UTC), Level: "info", Message: "up", Fields: map[string]string{"n": "1", "logger": "envd"}},
		{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if uri := f.only(t, "/logs").uri; uri != "/v2/sandboxes/i1/logs?cursor=1700000000123&direction=forward&limit=1000" {
		t.Errorf("uri %s", uri)
	}
}
