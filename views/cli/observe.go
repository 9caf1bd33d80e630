package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/views/present"
)

const (
	// followEvery is how often metrics -f and logs -f ask again.
	followEvery = time.Second
	// metricsSpan is how far back metrics looks when nobody says.
	metricsSpan = 5 * time.Minute
)

func (c *cli) metricsCmd() *cobra.Command {
	var (
		since  time.Duration
		follow bool
	)
	cmd := &cobra.Command{
		Use: "metrics SANDBOX", Short: "Show what a sandbox uses: CPU, memory, disk",
		Args: argCount(1, 1, "metrics needs a sandbox"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			if since <= 0 {
				return client.Usagef("metrics", "--since must be positive")
			}
			return c.metrics(ctx, args[0], since, follow)
		}),
	}
	cmd.Flags().DurationVar(&since, "since", metricsSpan, "how far back")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with new points; --json then prints one object a line")
	return cmd
}

// metricJSON is one point of metrics --json. Sizes are bytes.
type metricJSON struct {
	At         time.Time `json:"at"`
	CPUCount   float64   `json:"cpu_count"`
	CPUUsedPct float64   `json:"cpu_used_pct"`
	MemUsed    int64     `json:"mem_used"`
	MemTotal   int64     `json:"mem_total"`
	MemCache   int64     `json:"mem_cache"`
	DiskUsed   int64     `json:"disk_used"`
	DiskTotal  int64     `json:"disk_total"`
}

func metricOf(m client.Metric) metricJSON {
	return metricJSON{
		At: m.At.UTC(), CPUCount: m.CPUCount, CPUUsedPct: m.CPUUsed, MemUsed: m.MemUsed, MemTotal: m.MemTotal,
		MemCache: m.MemCache, DiskUsed: m.DiskUsed, DiskTotal: m.DiskTotal,
	}
}

func (c *cli) metrics(ctx context.Context, name string, since time.Duration, follow bool) error {
	sb, p, done, err := c.one(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	reader, err := offered[client.MetricsReader](p, client.CapMetrics)
	if err != nil {
		return err
	}
	read := func(from time.Time) ([]client.Metric, error) {
		call, cancel := c.call(ctx)
		defer cancel()
		return reader.Metrics(call, sb.ID, from, time.Time{})
	}
	list, err := read(c.Now().Add(-since))
	if err != nil {
		return err
	}
	if follow {
		return c.followMetrics(ctx, list, read)
	}
	if c.flags.JSON {
		out := make([]metricJSON, 0, len(list))
		for _, m := range list {
			out = append(out, metricOf(m))
		}
		return c.printJSON(out)
	}
	if len(list) == 0 {
		c.say("nothing was measured yet")
		return nil
	}
	rows := [][]string{{"TIME", "CPU", "MEMORY", "DISK"}}
	for _, m := range list {
		rows = append(rows, metricRow(m))
	}
	return printTable(c.Out, []bool{false, true, true, true}, rows)
}

func metricRow(m client.Metric) []string {
	of := func(used, total int64) string {
		if total <= 0 {
			return present.Size(used)
		}
		return present.Size(used) + " / " + present.Size(total)
	}
	return []string{
		m.At.Local().Format(time.TimeOnly), fmt.Sprintf("%.1f%% of %s", m.CPUUsed, present.CPU(m.CPUCount)),
		of(m.MemUsed, m.MemTotal), of(m.DiskUsed, m.DiskTotal),
	}
}

// followMetrics prints points as they come, until a signal or the sandbox's end.
func (c *cli) followMetrics(ctx context.Context, list []client.Metric, read func(time.Time) ([]client.Metric, error)) error {
	var last time.Time
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		for _, m := range list {
			if !m.At.After(last) {
				continue
			}
			last = m.At
			if err := c.printMetric(m); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var err error
		if list, err = read(last); err != nil {
			return err
		}
	}
}

func (c *cli) printMetric(m client.Metric) error {
	if c.flags.JSON {
		return c.printLine(metricOf(m))
	}
	row := metricRow(m)
	_, err := fmt.Fprintf(c.Out, "%s  cpu %s  memory %s  disk %s\n", row[0], row[1], row[2], row[3])
	return err
}

// printLine prints one JSON value on one line.
func (c *cli) printLine(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "%s\n", line)
	return err
}

// logLevels are in rising order.
func logLevels() []string { return []string{"debug", "info", "warn", "error"} }

func (c *cli) logsCmd() *cobra.Command {
	var (
		since  time.Duration
		level  string
		limit  int
		follow bool
	)
	cmd := &cobra.Command{
		Use: "logs SANDBOX", Short: "Show what was noted about a sandbox: its life and its processes",
		Args: argCount(1, 1, "logs needs a sandbox"),
		RunE: c.run(func(ctx context.Context, args []string) error {
			at := slices.Index(logLevels(), level)
			if at < 0 || limit < 0 || since < 0 {
				return client.Usagef("logs", "--level is debug, info, warn or error; --limit and --since are not negative")
			}
			from := time.Time{}
			if since > 0 {
				from = c.Now().Add(-since)
			}
			return c.logs(ctx, args[0], logRequest{from: from, level: at, limit: limit, follow: follow})
		}),
	}
	f := cmd.Flags()
	f.DurationVar(&since, "since", 0, "how far back; 0 is all there is")
	f.StringVar(&level, "level", "info", "least level: debug, info, warn, error")
	f.IntVarP(&limit, "limit", "n", 0, "at most this many, the newest; 0 is all")
	f.BoolVarP(&follow, "follow", "f", false, "go on with new entries; --json then prints one object a line")
	return cmd
}

type logRequest struct {
	from   time.Time
	level  int // index into logLevels
	limit  int // 0 is none
	follow bool
}

// logJSON is one entry of logs --json.
type logJSON struct {
	At      time.Time         `json:"at"`
	Level   string            `json:"level"`
	Message string            `json:"message"`
	Fields  map[string]string `json:"fields"`
}

func logOf(e client.LogEntry) logJSON {
	if e.Fields == nil {
		e.Fields = map[string]string{}
	}
	return logJSON{At: e.At.UTC(), Level: e.Level, Message: e.Message, Fields: e.Fields}
}

func (c *cli) logs(ctx context.Context, name string, r logRequest) error {
	sb, p, done, err := c.one(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	reader, err := offered[client.LogReader](p, client.CapLogs)
	if err != nil {
		return err
	}
	read := func(from time.Time) ([]client.LogEntry, error) {
		call, cancel := c.call(ctx)
		defer cancel()
		list, err := reader.Logs(call, sb.ID, from, 0)
		return slices.DeleteFunc(list, func(e client.LogEntry) bool {
			at := slices.Index(logLevels(), e.Level)
			return at >= 0 && at < r.level
		}), err
	}
	list, err := read(r.from)
	if err != nil {
		return err
	}
	if r.limit > 0 && len(list) > r.limit {
		list = list[len(list)-r.limit:]
	}
	if r.follow {
		return c.followLogs(ctx, list, read)
	}
	if c.flags.JSON {
		out := make([]logJSON, 0, len(list))
		for _, e := range list {
			out = append(out, logOf(e))
		}
		return c.printJSON(out)
	}
	for _, e := range list {
		if err := c.printLog(e); err != nil {
			return err
		}
	}
	return nil
}

// followLogs prints entries as they come, until a signal or the sandbox's end.
func (c *cli) followLogs(ctx context.Context, list []client.LogEntry, read func(time.Time) ([]client.LogEntry, error)) error {
	next := time.Time{}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		for _, e := range list {
			if err := c.printLog(e); err != nil {
				return err
			}
			next = e.At.Add(time.Millisecond)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var err error
		if list, err = read(next); err != nil {
			return err
		}
	}
}

func (c *cli) printLog(e client.LogEntry) error {
	if c.flags.JSON {
		return c.printLine(logOf(e))
	}
	line := fmt.Sprintf("%s  %-5s  %s", e.At.Local().Format(time.DateTime), present.Clean(e.Level), present.Clean(e.Message))
	keys := make([]string, 0, len(e.Fields))
	for k := range e.Fields {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		line += "  " + present.Clean(k) + "=" + present.Clean(e.Fields[k])
	}
	_, err := fmt.Fprintln(c.Out, line)
	return err
}
