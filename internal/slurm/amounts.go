package slurm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseTime reads a time limit: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S. Zero, -1 and words for infinity mean no limit, 0.
func ParseTime(text string) (time.Duration, error) {
	wrong := fmt.Errorf("Invalid --time specification %q: expected minutes, MM:SS, HH:MM:SS or D-HH:MM:SS", text)
	switch strings.ToLower(text) {
	case "infinite", "unlimited", "-1":
		return 0, nil
	}
	days, clock, dated := strings.Cut(text, "-")
	if !dated {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	if len(parts) > 3 {
		return 0, wrong
	}
	var n [4]int64
	for i, part := range append([]string{days}, parts...) {
		v, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return 0, wrong
		}
		n[i] = int64(v)
	}
	// Without days one number is minutes, two are minutes and seconds; with days they begin with hours.
	var s int64
	switch {
	case dated, len(parts) == 3:
		s = n[0]*86400 + n[1]*3600 + n[2]*60 + n[3]
	default:
		s = n[1]*60 + n[2]
	}
	if s > math.MaxInt64/int64(time.Second) {
		return 0, wrong
	}
	return time.Duration(s) * time.Second, nil
}

// FormatTime writes a time as squeue does: 1:05, 2:00:00, 1-02:03:04.
func FormatTime(d time.Duration) string {
	s := max(0, int64(d/time.Second))
	day, h, m, s := s/86400, s/3600%24, s/60%60, s%60
	switch {
	case day > 0:
		return fmt.Sprintf("%d-%02d:%02d:%02d", day, h, m, s)
	case h > 0:
		return fmt.Sprintf("%d:%02d:%02d", h, m, s)
	}
	return fmt.Sprintf("%d:%02d", m, s)
}

// FormatElapsed writes a time as sacct does: 00:01:05, 1-02:03:04.
func FormatElapsed(d time.Duration) string {
	s := max(0, int64(d/time.Second))
	clock := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if s >= 86400 {
		return fmt.Sprintf("%d-%s", s/86400, clock)
	}
	return clock
}

// ParseMiB reads an amount of memory: a number of MiB, or with one of K M G T behind it. It rounds up.
func ParseMiB(option, text string) (int64, error) {
	number, power := text, 1
	upper := strings.TrimSuffix(strings.ToUpper(text), "B")
	if i := strings.IndexAny(upper, "KMGT"); i >= 0 && i == len(upper)-1 {
		number, power = upper[:i], strings.IndexByte("KMGT", upper[i])
	}
	n, err := strconv.ParseUint(number, 10, 40)
	if err != nil {
		return 0, fmt.Errorf("invalid memory constraint %q of --%s: expected MiB, or a number with K, M, G or T", text, option)
	}
	switch power {
	case 0:
		n = (n + 1023) >> 10
	case 2:
		n <<= 10
	case 3:
		n <<= 20
	}
	return int64(n), nil
}

// Megabytes returns MiB in MB of a million bytes, as divvy counts, rounded up.
func Megabytes(mib int64) int64 { return (mib<<20 + 999_999) / 1_000_000 }

// count reads a whole number of at least 1.
func count(option, text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("invalid number %q of --%s: expected a whole number of at least 1", text, option)
	}
	return int(n), nil
}

// moments are the ways of writing a time for sacct, beside now and now-3days.
var moments = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02", "01/02/06-15:04:05", "01/02/06-15:04", "01/02/06", "01/02", "0102", "15:04:05", "15:04"}

// ParseMoment reads a time for sacct -S and -E: 2026-01-31T12:00, now, today, now-2hours.
func ParseMoment(text string, now time.Time) (time.Time, error) {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch lower := strings.ToLower(text); {
	case lower == "now":
		return now, nil
	case lower == "today", lower == "midnight":
		return midnight, nil
	case strings.HasPrefix(lower, "now"):
		return shifted(text, lower[len("now"):], now)
	}
	for _, layout := range moments {
		t, err := time.ParseInLocation(layout, text, now.Location())
		if err != nil {
			continue
		}
		switch {
		case !strings.Contains(layout, "02"): // a time of today
			t = midnight.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second)
		case !strings.Contains(layout, "06"): // a day of this year
			t = t.AddDate(now.Year()-t.Year(), 0, 0)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("Invalid time specification %q: expected YYYY-MM-DD[THH:MM[:SS]], now or now-3days", text)
}

// shifted is now plus or minus a number of seconds, minutes, hours, days or weeks.
func shifted(text, shift string, now time.Time) (time.Time, error) {
	wrong := fmt.Errorf("Invalid time specification %q: expected now-3days or now-2hours", text)
	if len(shift) < 2 || shift[0] != '-' && shift[0] != '+' {
		return time.Time{}, wrong
	}
	digits := strings.TrimRight(shift[1:], "abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.ParseInt(digits, 10, 31)
	if err != nil {
		return time.Time{}, wrong
	}
	unit := time.Second
	switch word := strings.TrimSuffix(shift[1+len(digits):], "s"); word {
	case "", "second":
	case "minute":
		unit = time.Minute
	case "hour":
		unit = time.Hour
	case "day":
		unit = 24 * time.Hour
	case "week":
		unit = 7 * 24 * time.Hour
	default:
		return time.Time{}, wrong
	}
	if n > int64(math.MaxInt64/unit) {
		return time.Time{}, wrong
	}
	if shift[0] == '-' {
		n = -n
	}
	return now.Add(time.Duration(n) * unit), nil
}
