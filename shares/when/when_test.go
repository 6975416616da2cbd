package when_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares/when"
)

func TestParseContains(t *testing.T) {
	for _, c := range []struct {
		when, at string
		want     bool
	}{
		{"Mon-Fri 08:00-18:00 Europe/Zurich", "2026-11-20T07:00:00Z", true}, // Friday, 08:00 in winter
		{"Mon-Fri 08:00-18:00 Europe/Zurich", "2026-11-20T06:59:00Z", false},
		{"Mon-Fri 08:00-18:00 Europe/Zurich", "2026-11-20T17:00:00Z", false}, // 18:00: the end is outside
		{"Mon-Fri 08:00-18:00 Europe/Zurich", "2026-07-17T06:00:00Z", true},  // 08:00 in summer
		{"Mon-Fri 08:00-18:00 Europe/Zurich", "2026-11-21T10:00:00Z", false}, // Saturday
		{"Sat,Sun", "2026-11-21T23:59:59Z", true},
		{"Fri 22:00-06:00", "2026-11-21T05:59:00Z", true}, // the night of Friday ends on Saturday
		{"Fri 22:00-06:00", "2026-11-20T05:59:00Z", false},
		{"Fri-Mon", "2026-11-22T12:00:00Z", true},
		{"00:00-24:00 Asia/Tokyo", "2026-11-22T12:00:00Z", true},
		{"sun", "2026-11-22T12:00:00Z", true},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		w, err := when.Parse(c.when)
		if err != nil || w.Contains(at) != c.want {
			t.Errorf("%q at %s: %v %v", c.when, c.at, w.Contains(at), err)
		}
	}
	for _, bad := range []string{"", "Mon-Fry", "25:00-26:00", "08:00", "08:00-08:00", "Mon 08:00-18:60", "Mon 08:00-09:00 Nowhere/Land",
		"Mon 08:00-09:00 UTC UTC", "Local", "24:00-06:00", "8:0-9:0"} {
		if _, err := when.Parse(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestNext(t *testing.T) {
	for _, c := range []struct{ when, now, want string }{
		{"Mon-Fri 08:00-18:00 Europe/Zurich", "2026-01-05T06:59:59Z", "2026-01-05T07:00:00Z"}, // Monday, winter
		{"Mon-Fri 08:00-18:00 Europe/Zurich", "2026-07-06T06:00:00Z", "2026-07-06T16:00:00Z"}, // summer
		{"Mon-Fri 08:00-18:00 Europe/Zurich", "2026-07-10T16:00:00Z", "2026-07-13T06:00:00Z"}, // over the weekend
		{"Fri 22:00-06:00", "2026-01-02T22:00:00Z", "2026-01-03T06:00:00Z"},
		{"Sat,Sun", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"},
		{"00:00-24:00", "2026-01-02T00:00:00Z", ""},
		{"02:30-04:00 Europe/Zurich", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"}, // 02:30 is skipped that night
		{"02:30-04:00 Europe/Zurich", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"}, // the clock goes back to 02:00
		{"02:30-04:00 Europe/Zurich", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"}, // and it is 02:30 once more
	} {
		span, err := when.Parse(c.when)
		if err != nil {
			t.Fatal(err)
		}
		now, _ := time.Parse(time.RFC3339, c.now)
		got := ""
		if at, ok := span.Next(now); ok {
			got = at.UTC().Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%s at %s: next %q, want %q", c.when, c.now, got, c.want)
		}
	}
}

// Between now and Next nothing changes, and there it does.
func TestNextIsNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span, err := when.Parse(rapid.SampledFrom([]string{"Mon-Fri ", "Sun ", "Sat,Wed ", ""}).Draw(t, "days") +
			rapid.SampledFrom([]string{"08:00-18:00", "22:00-06:00", "02:30-03:15", "00:00-12:00"}).Draw(t, "hours") +
			rapid.SampledFrom([]string{"", " Europe/Zurich", " America/St_Johns", " Australia/Lord_Howe"}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(1767225600+rapid.Int64Range(0, 366*24*60).Draw(t, "minute")*60, 0)
		next, ok := span.Next(now)
		if !ok {
			t.Fatal("no change in a week")
		}
		for at := now; at.Before(next); at = at.Add(time.Minute) {
			if span.Contains(at) != span.Contains(now) {
				t.Fatalf("changes at %v, before %v", at, next)
			}
		}
		if span.Contains(next) == span.Contains(now) {
			t.Fatalf("no change at %v", next)
		}
	})
}
