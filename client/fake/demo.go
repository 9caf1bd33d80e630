package fake

import (
	"fmt"
	"time"

	"abxdash/client"
)

// AddMany adds n plausible sandboxes, the same ones in every run, and returns
// their ids. Ages go from seconds to days, a few are paused, some have no
// owner, some are about to end.
func (p *Provider) AddMany(n int) []client.ID {
	templates := []string{"base", "python-hello", "code-interpreter", "node22", "browser", "agent-go"}
	names := []string{"nightly-eval", "web-scrape", "refactor", "triage", "bench", "docs", "crawler", "notebook", ""}
	users := []string{"ada", "grace", "linus", "margaret", ""}
	now := p.opts.Now().Add(p.opts.Skew)
	list := make([]client.Sandbox, 0, n)
	for i := range n {
		h := uint64(i+1) * 0x9E3779B97F4A7C15
		pick := func(k, of int) int { return int(h >> (7 * k) % uint64(of)) }
		age := time.Duration(pick(1, 3600)) * time.Second * time.Duration(1+pick(2, 40))
		s := client.Sandbox{
			Template: templates[pick(3, len(templates))], StartedAt: now.Add(-age),
			ExpiresAt: now.Add(time.Duration(60+pick(4, 7200)) * time.Second),
			CPU:       float64(1 + pick(5, 4)), MemoryMB: 512 << pick(6, 4), DiskMB: 4096,
			Metadata: map[string]string{}, EnvdVersion: "0.6.13",
		}
		s.TemplateID = s.Template
		if name := names[pick(1, len(names))]; name != "" {
			s.Name = fmt.Sprintf("%s-%d", name, i)
			s.Metadata[client.MetaName] = s.Name
		}
		if user := users[pick(2, len(users))]; user != "" {
			s.Metadata[client.MetaOwner] = user
			s.Metadata[client.MetaHost] = "workstation"
			s.Metadata[client.MetaStarted] = "cli"
		}
		if pick(7, 9) == 0 {
			s.State = client.StatePaused
		}
		list = append(list, s)
	}
	return p.Add(list...)
}
