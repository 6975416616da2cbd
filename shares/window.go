package shares

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a zone means the same on a host without a zone database
)

// When is a weekly span of time in a zone.
type When struct {
	days     [7]bool // by time.Weekday
	from, to int     // minutes of the day; to ≤ from wraps past midnight into the day after
	zone     *time.Location
}

var weekdays = map[string]int{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}

// ParseWhen reads "[days] [HH:MM-HH:MM] [zone]". Days are names and spans of names joined by commas
// (Mon-Fri, Sat,Sun; absent = every day), hours default to the whole day and belong to the day on which they
// begin (Fri 22:00-06:00 ends on Saturday), the zone is a name of the IANA database, by default UTC.
// Hours are those that the clock on the wall shows: on a day of change a span may be an hour longer or
// shorter.
func ParseWhen(s string) (When, error) {
	w := When{to: 24 * 60, zone: time.UTC, days: [7]bool{true, true, true, true, true, true, true}}
	parts := strings.Fields(s)
	if len(parts) == 0 {
		return When{}, fmt.Errorf("is empty: give days and hours such as %q", "Mon-Fri 08:00-18:00 Europe/Zurich")
	}
	if days, ok := parseDays(parts[0]); ok {
		w.days, parts = days, parts[1:]
	}
	if len(parts) > 0 && strings.Contains(parts[0], ":") {
		var err error
		if w.from, w.to, err = parseHours(parts[0]); err != nil {
			return When{}, err
		}
		parts = parts[1:]
	}
	if len(parts) > 0 {
		zone, err := time.LoadLocation(parts[0])
		if err != nil || parts[0] == "Local" {
			return When{}, fmt.Errorf("%q: %q is neither days, hours nor a time zone", s, parts[0])
		}
		w.zone, parts = zone, parts[1:]
	}
	if len(parts) > 0 {
		return When{}, fmt.Errorf("%q: %q is too much; write days, hours, zone", s, parts[0])
	}
	return w, nil
}

// Contains says whether t falls into the span; its beginning belongs to it, its end does not.
func (w When) Contains(t time.Time) bool {
	t = t.In(w.zone)
	minute, day := t.Hour()*60+t.Minute(), int(t.Weekday())
	if w.from < w.to {
		return w.days[day] && w.from <= minute && minute < w.to
	}
	return w.days[day] && minute >= w.from || w.days[(day+6)%7] && minute < w.to
}

func parseDays(s string) (days [7]bool, ok bool) {
	for _, part := range strings.Split(strings.ToLower(s), ",") {
		first, last, span := strings.Cut(part, "-")
		if !span {
			last = first
		}
		from, ok1 := weekdays[first]
		to, ok2 := weekdays[last]
		if !ok1 || !ok2 {
			return days, false
		}
		for d := from; ; d = (d + 1) % 7 {
			days[d] = true
			if d == to {
				break
			}
		}
	}
	return days, true
}

func parseHours(s string) (from, to int, err error) {
	a, b, ok := strings.Cut(s, "-")
	from, ok1 := parseMinute(a)
	to, ok2 := parseMinute(b)
	if !ok || !ok1 || !ok2 || from == to || from == 24*60 {
		return 0, 0, fmt.Errorf("%q are not hours such as 08:00-18:00", s)
	}
	return from, to, nil
}

func parseMinute(s string) (int, bool) {
	hh, mm, _ := strings.Cut(s, ":")
	h, err1 := strconv.ParseUint(hh, 10, 8)
	m, err2 := strconv.ParseUint(mm, 10, 8)
	if err1 != nil || err2 != nil || m > 59 || h > 24 || h == 24 && m > 0 || len(mm) != 2 {
		return 0, false
	}
	return int(h*60 + m), true
}
