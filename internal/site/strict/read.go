package strict

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Entries reads a mapping with free keys. A key is a Value too, whose text is given beside it.
func (v Value) Entries(read func(name string, key, val Value)) bool {
	return v.pairs(func(key, val Value) { read(key.node.Value, key, val) })
}

// Text is a scalar as it is written; it may be empty only in quotes.
func (v Value) Text() (string, bool) {
	s, _, ok := scalar(v, "text")
	return s, ok
}

// Is says whether the value is this text, or would be without quotes. It reports nothing.
func (v Value) Is(text string) bool {
	return v.node != nil && !v.IsMapping() && !v.IsList() && v.node.Value == text
}

// NonEmpty is Text that is not empty.
func (v Value) NonEmpty() (string, bool) {
	s, ok := v.Text()
	if ok && s == "" {
		v.Failf("%s is empty", v.name)
		return "", false
	}
	return s, ok
}

// Strings is a list of texts.
func (v Value) Strings() ([]string, bool) {
	list, ok := v.List()
	texts := make([]string, 0, len(list))
	for _, e := range list {
		s, fine := e.Text()
		texts, ok = append(texts, s), ok && fine
	}
	return texts, ok
}

// OneOf is a text out of a few.
func (v Value) OneOf(options ...string) (string, bool) {
	s, ok := v.Text()
	if ok && !slices.Contains(options, s) {
		v.Fail(fmt.Sprintf("%s: %q is not known", v.name, clip(s)), DidYouMean(s, options))
		return "", false
	}
	return s, ok
}

// Bool is true or false.
func (v Value) Bool() (value, ok bool) {
	s, tag, ok := scalar(v, "true or false")
	if ok && tag != "!!bool" {
		v.Failf("%s: expected true or false, got %s", v.name, kind(v))
		return false, false
	}
	return strings.EqualFold(s, "true"), ok
}

// numeral is the text of a plain number; quoted ones are refused with a hint.
func numeral(v Value, expected string) (string, bool) {
	s, tag, ok := scalar(v, expected)
	if !ok {
		return "", false
	}
	switch tag {
	case "!!int", "!!float":
		return s, true
	case "!!str":
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			v.Fail(fmt.Sprintf("%s: expected %s, got the text %q", v.name, expected, clip(s)), "leave the quotes out")
			return "", false
		}
	}
	v.Failf("%s: expected %s, got %s", v.name, expected, kind(v))
	return "", false
}

var wholeNumber = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]{0,18})$`)

// Int is a whole number in low … high.
func (v Value) Int(low, high int64) (int64, bool) {
	s, ok := numeral(v, "a whole number")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || !wholeNumber.MatchString(s) {
		v.Failf("%s: %s is not a whole number in decimal digits", v.name, clip(s))
		return 0, false
	}
	switch {
	case n < low && low == 0:
		v.Failf("%s is negative: %d", v.name, n)
	case n < low:
		v.Failf("%s: %d is less than %d", v.name, n, low)
	case n > high:
		v.Failf("%s: %d is more than %d", v.name, n, high)
	default:
		return n, true
	}
	return 0, false
}

// Number is a finite number ≥ 0.
func (v Value) Number() (float64, bool) {
	s, ok := numeral(v, "a number")
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case strings.HasPrefix(strings.TrimLeft(s, "+-"), "."):
		f, err = yamlFloat(s)
	case strings.ContainsAny(s, "xX_"):
		err = strconv.ErrSyntax
	}
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		v.Failf("%s is not finite: %s", v.name, clip(s))
	case err != nil:
		v.Failf("%s: %s is not a decimal number", v.name, clip(s))
	case f < 0:
		v.Failf("%s is negative: %s", v.name, clip(s))
	default:
		return f, true
	}
	return 0, false
}

// yamlFloat reads what YAML writes with a leading point: .5, .inf, .nan.
func yamlFloat(s string) (float64, error) {
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case ".inf":
		return math.Inf(1), nil
	case ".nan":
		return math.NaN(), nil
	}
	return strconv.ParseFloat(s, 64)
}

var decimal = regexp.MustCompile(`^\+?([0-9]{1,15})(?:\.([0-9]+))?$`)

// Milli is a decimal number ≥ 0 in thousandths, exactly: more than three decimals are a problem.
func (v Value) Milli() (int64, bool) {
	if _, ok := v.Number(); !ok {
		return 0, false
	}
	m := decimal.FindStringSubmatch(v.node.Value)
	if m == nil {
		v.Fail(fmt.Sprintf("%s: %s is not a plain decimal number", v.name, clip(v.node.Value)), "for instance 10.25")
		return 0, false
	}
	digits := strings.TrimRight(m[2], "0")
	if len(digits) > 3 {
		v.Fail(fmt.Sprintf("%s: %s has more than three decimals", v.name, clip(v.node.Value)), "units count in thousandths")
		return 0, false
	}
	whole, _ := strconv.ParseInt(m[1], 10, 64)
	part, _ := strconv.ParseInt((digits + "000")[:3], 10, 64)
	return whole*1000 + part, true
}

// Duration is a length of time of at least low, with its unit: 90s, 48h, 2d, 1d12h.
func (v Value) Duration(low time.Duration) (time.Duration, bool) {
	const hint = "for instance 90s, 48h or 1d12h"
	s, _, ok := scalar(v, "a duration")
	if !ok {
		return 0, false
	}
	d, err := ParseDuration(s)
	switch {
	case err != nil:
		v.Fail(fmt.Sprintf("%s: %q is not a duration", v.name, clip(s)), hint)
	case d < 0:
		v.Failf("%s is negative: %s", v.name, clip(s))
	case d < low:
		v.Fail(fmt.Sprintf("%s: %s is less than %s", v.name, clip(s), low), hint)
	default:
		return d, true
	}
	return 0, false
}

var days = regexp.MustCompile(`^([0-9]{1,5})d`)

// ParseDuration is time.ParseDuration with whole days in front: 2d, 1d12h. A bare number has no unit and is
// refused, even 0.
func ParseDuration(s string) (time.Duration, error) {
	m := days.FindStringSubmatch(s)
	if m == nil {
		if strings.Trim(s, "0+-") == "" {
			return 0, fmt.Errorf("%q has no unit", s)
		}
		return time.ParseDuration(s)
	}
	n, _ := strconv.Atoi(m[1])
	d := time.Duration(n) * 24 * time.Hour
	if rest := s[len(m[0]):]; rest != "" {
		more, err := time.ParseDuration(rest)
		if err != nil || more < 0 || d > math.MaxInt64-more {
			return 0, fmt.Errorf("%q is not a duration", s)
		}
		d += more
	}
	return d, nil
}
