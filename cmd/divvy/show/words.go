package show

import (
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
)

// Since is how long ago something was, or a dash.
func Since(now time.Time, t *time.Time) string {
	if t == nil {
		return "-"
	}
	return Age(now, *t)
}

// Took is how long an attempt held its slot.
func Took(a wire.Attempt, now time.Time) string {
	if a.EndedAt != nil {
		now = *a.EndedAt
	}
	return now.Sub(a.ClaimedAt).Round(100 * time.Millisecond).String()
}

// Slots is a number of slots; nil is no limit.
func Slots(n *int) string {
	if n == nil {
		return "unlimited"
	}
	return strconv.Itoa(*n)
}

// Limit is a number, of which 0 says that there is no limit.
func Limit(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// Seconds is a time of so many seconds.
func Seconds(s int64) string {
	if s == 0 {
		return "-"
	}
	return config.ShortDuration(time.Duration(s) * time.Second)
}

// Labels prints key=value pairs in the order of the keys.
func Labels(m map[string]string) string {
	pairs := make([]string, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, k+"="+v)
	}
	sort.Strings(pairs)
	return OrDash(strings.Join(pairs, ","))
}
