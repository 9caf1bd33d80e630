package config

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"abxdash/client"
)

// Rates are prices for cost estimates, in US dollars per hour.
type Rates struct {
	// Date says of when they are; it is shown beside every estimate.
	Date string `yaml:"date"`
	// Providers are by provider name.
	Providers map[string]Rate `yaml:"providers"`
}

// Rate is what one provider charges.
type Rate struct {
	// CPUHour is for one vCPU, GBHour for one GiB of memory, Hour for any sandbox.
	CPUHour float64 `yaml:"cpu_hour"`
	GBHour  float64 `yaml:"gb_hour"`
	Hour    float64 `yaml:"hour"`
	// PausedHour is for a paused sandbox.
	PausedHour float64 `yaml:"paused_hour"`
	// Sizes are whole prices by size, "2x4096" for 2 vCPUs and 4096 MiB.
	Sizes map[string]float64 `yaml:"sizes"`
}

// Strays are the thresholds from which on a sandbox looks forgotten; zero
// values mean the usual ones. A negative Idle or Renewals switches that reason off.
type Strays struct {
	Overdue     time.Duration `yaml:"overdue"`
	Stuck       time.Duration `yaml:"stuck"`
	Idle        time.Duration `yaml:"idle"`
	Renewals    int           `yaml:"renewals"`
	RenewedOver time.Duration `yaml:"renewed_over"`
}

// Attention says how the user is called while the terminal is not looked at.
type Attention struct {
	// NoBell and NoNotify switch off the bell and the terminal's notification.
	NoBell   bool `yaml:"no_bell"`
	NoNotify bool `yaml:"no_notify"`
	// Mute are kinds that never call: strays, expiry, failures, done.
	Mute []string `yaml:"mute"`
}

// themeRE is the form of a theme's name; which ones exist, package theme knows.
var themeRE = regexp.MustCompile(`^[a-z0-9-]{0,30}$`)

// sizeRE is the form of a size in rates.
var sizeRE = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?x[0-9]+$`)

// checkDashboard looks at what only the dashboard reads.
func (c Config) checkDashboard() error {
	if !themeRE.MatchString(c.Theme) {
		return fmt.Errorf("theme is a name such as auto, dark or light, not %q", client.OneLine(c.Theme, 40))
	}
	for name, r := range c.Rates.Providers {
		for _, v := range []float64{r.CPUHour, r.GBHour, r.Hour, r.PausedHour} {
			if v < 0 {
				return fmt.Errorf("rates of %s: a price is not negative", client.OneLine(name, 40))
			}
		}
		for size, v := range r.Sizes {
			if !sizeRE.MatchString(size) || v < 0 {
				return fmt.Errorf("rates of %s: size %q is written as vCPUs x MiB, such as 2x4096, with a price that is not negative", client.OneLine(name, 40), client.OneLine(size, 40))
			}
		}
	}
	for _, d := range []time.Duration{c.Strays.Overdue, c.Strays.Stuck, c.Strays.RenewedOver} {
		if d < 0 {
			return fmt.Errorf("strays: a threshold is not negative")
		}
	}
	for _, k := range c.Attention.Mute {
		if !slices.Contains([]string{"strays", "expiry", "failures", "done"}, k) {
			return fmt.Errorf("attention: mute knows strays, expiry, failures and done, not %q", client.OneLine(k, 40))
		}
	}
	if c.KillLimit < 0 {
		return fmt.Errorf("kill_limit is not negative")
	}
	return nil
}
