package client

import "time"

// Duration is a duration in a configuration file: text such as "30m".
type Duration time.Duration

// UnmarshalText reads Go's form of durations.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// MarshalText writes Go's form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.Std().String()), nil }

// Std is d as a [time.Duration].
func (d Duration) Std() time.Duration { return time.Duration(d) }
