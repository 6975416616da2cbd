package shares

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that is written as text: 90s, 24h, 7d.
type Duration time.Duration

// ParseDuration reads what time.ParseDuration reads, and whole days such as 7d.
func ParseDuration(s string) (Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= 36500 {
			return Duration(time.Duration(n) * 24 * time.Hour), nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration such as 90s, 24h or 7d", s)
	}
	return Duration(d), nil
}

// String is that of time.Duration.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes what String gives.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDuration(string(b))
	return err
}

// Rate is a number of jobs in a time, written 10/1m.
type Rate struct {
	Jobs int
	Per  Duration
}

// String is the written form; "" for the zero Rate.
func (r Rate) String() string {
	if r == (Rate{}) {
		return ""
	}
	return strconv.Itoa(r.Jobs) + "/" + r.Per.String()
}

// MarshalText writes what String gives.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a number of jobs, a stroke and a time, as in 10/1m.
func (r *Rate) UnmarshalText(b []byte) error {
	n, per, ok := strings.Cut(string(b), "/")
	jobs, err := strconv.Atoi(strings.TrimSpace(n))
	if !ok || err != nil {
		return fmt.Errorf("%q is not a rate such as 10/1m", b)
	}
	d, err := ParseDuration(strings.TrimSpace(per))
	if err != nil {
		return fmt.Errorf("%q is not a rate such as 10/1m", b)
	}
	*r = Rate{Jobs: jobs, Per: d}
	return nil
}
