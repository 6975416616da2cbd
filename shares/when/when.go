package when

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a zone means the same on a host without a zone database
)

// Span is a weekly span of time in a zone.
type Span struct {
	days     [7]bool // by time.Weekday
	from, to int     // minutes of the day; to ≤ from wraps past midnight into the day after
	zone     *time.Location
}

var weekdays = map[string]int{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}

// Parse reads "[days] [HH:MM-HH:MM] [zone]". Days are names and spans of names joined by commas
// (Mon-Fri, Sat,Sun; absent = every day), hours default to the whole day and belong to the day on which they
// begin (Fri 22:00-06:00 ends on Saturday), the zone is a name of the IANA database, by default UTC.
// Hours are those that the clock on the wall shows: on a day of change a span may be an hour longer or
// shorter.
func Parse(s string) (Span, error) {
	w := Span{to: 24 * 60, zone: time.UTC, days: [7]bool{true, true, true, true, true, true, true}}
	parts := strings.Fields(s)
	if len(parts) == 0 {
		return Span{}, fmt.Errorf("is empty: give days and hours such as %q", "Mon-Fri 08:00-18:00 Europe/Zurich")
	}
	if days, ok := parseDays(parts[0]); ok {
		w.days, parts = days, parts[1:]
	}
	if len(parts) > 0 && strings.Contains(parts[0], ":") {
		var err error
		if w.from, w.to, err = parseHours(parts[0]); err != nil {
			return Span{}, err
		}
		parts = parts[1:]
	}
	if len(parts) > 0 {
		zone, err := time.LoadLocation(parts[0])
		if err != nil || parts[0] == "Local" {
			return Span{}, fmt.Errorf("%q: %q is neither days, hours nor a time zone", s, parts[0])
		}
		w.zone, parts = zone, parts[1:]
	}
	if len(parts) > 0 {
		return Span{}, fmt.Errorf("%q: %q is too much; write days, hours, zone", s, parts[0])
	}
	return w, nil
}

// Contains says whether t falls into the span; its beginning belongs to it, its end does not.
func (w Span) Contains(t time.Time) bool {
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

// Next is the first moment after t at which the span begins or ends; false for one that has no end.
func (w Span) Next(t time.Time) (next time.Time, ok bool) {
	in := w.Contains(t)
	for _, at := range w.edges(t) {
		if at.After(t) && (!ok || at.Before(next)) && w.Contains(at) != in {
			next, ok = at, true
		}
	}
	return next, ok
}

// edges are the moments of the week to come at which the span may begin or end: its hours on each day, by every
// offset from UTC that the zone has meanwhile, and the moments at which that offset changes.
func (w Span) edges(t time.Time) (list []time.Time) {
	const days = 9
	offsets := map[int]bool{}
	for at, end := t, t.AddDate(0, 0, days); ; {
		_, offset := at.In(w.zone).Zone()
		offsets[offset] = true
		_, change := at.In(w.zone).ZoneBounds()
		if change.IsZero() || change.After(end) {
			break
		}
		list = append(list, change)
		at = change
	}
	local := t.In(w.zone)
	for d := -1; d < days; d++ {
		for _, minute := range []int{w.from, w.to} {
			wall := time.Date(local.Year(), local.Month(), local.Day()+d, 0, minute, 0, 0, time.UTC)
			for offset := range offsets {
				list = append(list, wall.Add(-time.Duration(offset)*time.Second))
			}
		}
	}
	return list
}
