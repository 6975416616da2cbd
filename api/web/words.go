package web

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// functions are what templates may call.
func (p *Page) functions() template.FuncMap {
	return template.FuncMap{
		"asset": p.link, "units": units, "count": count, "percent": percent, "span": span, "clock": clock, "stamp": stamp,
		"sharelink": shareLink, "serieslink": seriesLink, "sharename": shareName, "pathpart": url.PathEscape, "text": text, "pairs": pairs,
		"seconds": seconds, "plural": plural, "figure": figure, "columnname": columnName, "skippedsays": skippedSays, "skipped": skippedOf, "whysays": whySays,
		"takessays": takesSays, "resourcelink": resourceLink,
	}
}

// units prints units to the hundredth, without zeros at the end: 566.67, 40, −3.5.
func units(f float64) string {
	if f >= 1e12 {
		return "∞"
	}
	s := strconv.FormatFloat(math.Abs(f), 'f', 2, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	whole, part, fraction := strings.Cut(s, ".")
	s = group(whole)
	if fraction {
		s += "." + part
	}
	if f < 0 && s != "0" {
		return "−" + s
	}
	return s
}

// count prints a whole number with thin spaces between thousands.
func count(n any) string {
	switch v := n.(type) {
	case int:
		return signed(int64(v))
	case int64:
		return signed(v)
	case int32:
		return signed(int64(v))
	}
	return fmt.Sprint(n)
}

func signed(n int64) string {
	if n < 0 {
		return "−" + group(strconv.FormatInt(-n, 10))
	}
	return group(strconv.FormatInt(n, 10))
}

func group(digits string) string {
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// percent prints a part of 1.
func percent(f float64) string { return strconv.FormatFloat(100*f, 'f', 1, 64) + " %" }

// span prints how long something takes, in its two largest units.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "−" + span(-d)
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatInt(int64(d.Seconds()), 10) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// clock prints the time of day, in UTC as everything here.
func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) }

// stamp prints a moment.
func stamp(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }

// plural formats a count of things: 1 share, 2 shares.
func plural(n any, thing string) string {
	s := count(n)
	if s != "1" {
		thing += "s"
	}
	return s + " " + thing
}

// text is a pointer's value, or an en dash.
func text(v any) string {
	switch v := v.(type) {
	case *time.Time:
		if v != nil {
			return stamp(*v)
		}
	case *float64:
		if v != nil {
			return units(*v)
		}
	case *int64:
		if v != nil {
			return count(*v)
		}
	case string:
		if v != "" {
			return v
		}
	}
	return "–"
}

// pairs makes a map out of names and values, for a template that calls another one with more than one thing.
func pairs(all ...any) (map[string]any, error) {
	if len(all)%2 != 0 {
		return nil, fmt.Errorf("pairs takes names and values: %d", len(all))
	}
	m := map[string]any{}
	for i := 0; i < len(all); i += 2 {
		m[fmt.Sprint(all[i])] = all[i+1]
	}
	return m, nil
}

func shareLink(share string) string {
	if share == "" {
		return "/"
	}
	parts := strings.Split(share, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "/shares/" + strings.Join(parts, "/")
}

// seriesLink is the path of a share's course.
func seriesLink(share string) string {
	return "/series" + strings.TrimPrefix(shareLink(share), "/shares")
}

// shareName is the last part of a share's path.
func shareName(share string) string {
	if share == "" {
		return "all"
	}
	return share[strings.LastIndexByte(share, '/')+1:]
}

// columnName is a column's name in words.
func columnName(name string) string { return strings.ReplaceAll(name, "_", " ") }
