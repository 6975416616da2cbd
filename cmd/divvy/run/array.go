package run

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// Bounds of --array.
const (
	maxListed = 100_000 // numbers that are not a plain range
	maxIndex  = 1 << 40
)

// arrayAxis is the axis of the numbers of an array that is no plain range.
const arrayAxis = "Array"

var arrayPart = regexp.MustCompile(`^(\d{1,12})(?:-(\d{1,12})(?::(\d{1,12}))?)?$`)

// array reads 1-100, 1-99:2, 1,3,8-10, and behind % how many run at once. A plain range is a count whose
// index is shifted; other numbers are an axis of a matrix.
func (a *Ask) array(s *wire.TaskSpec) error {
	text, most, bounded := strings.Cut(a.Array, "%")
	if bounded {
		n, err := strconv.ParseInt(most, 10, 32)
		if err != nil || n < 1 {
			return fail.Usagef("--array %s: expected how many run at once after %%, such as 1-100%%10", a.Array)
		}
		s.MaxRunning = int(n)
	}
	wrong := fail.Usagef("--array %s: expected numbers such as 1-100, 0-99:3, 1,5,9-12 or 1-100%%10", a.Array)
	parts := strings.Split(text, ",")
	var numbers []string
	for _, part := range parts {
		m := arrayPart.FindStringSubmatch(part)
		if m == nil {
			return wrong
		}
		low, _ := strconv.ParseInt(m[1], 10, 64)
		high, step := low, int64(1)
		if m[2] != "" {
			high, _ = strconv.ParseInt(m[2], 10, 64)
		}
		if m[3] != "" {
			step, _ = strconv.ParseInt(m[3], 10, 64)
		}
		switch {
		case high < low || step < 1 || high > maxIndex:
			return wrong
		case len(parts) == 1 && step == 1:
			s.Count, a.first = high-low+1, low
			return a.renumber(s, func(more int64) (string, bool) { return fmt.Sprintf("Index+%d", low+more), true })
		case int64(len(numbers))+(high-low)/step >= maxListed:
			return fail.Usagef("--array %s: more than %d numbers that are no plain range", a.Array, maxListed)
		}
		for n := low; n <= high; n += step {
			numbers = append(numbers, strconv.FormatInt(n, 10))
		}
	}
	a.listed = numbers
	s.Matrix = []wire.Axis{{Name: arrayAxis, Values: numbers}}
	return a.renumber(s, func(more int64) (string, bool) { return arrayAxis, more == 0 })
}

// number is the number of the job with this index, for people.
func (a *Ask) number(index int64) string {
	if index >= 0 && index < int64(len(a.listed)) {
		return a.listed[index]
	}
	return strconv.FormatInt(a.first+index, 10)
}

// renumber has {{.Index}} stand for the numbers of the array. as is the placeholder for an index and so many more; false: there is none.
func (a *Ask) renumber(s *wire.TaskSpec, as func(more int64) (string, bool)) error {
	refused := ""
	change := func(text *string) {
		*text = job.Renamed(*text, func(name string) string {
			more, is := job.IndexPlus(name)
			if !is {
				return name
			}
			to, ok := as(more)
			if !ok {
				refused = name
			}
			return to
		})
	}
	for i := range s.Command {
		change(&s.Command[i])
	}
	for name, value := range s.Env {
		change(&value)
		s.Env[name] = value
	}
	for _, path := range []*string{&s.Dir, &s.Stdout, &s.Stderr} {
		change(path)
	}
	if refused != "" {
		return fail.Usagef("--array %s: {{.%s}} is for plain ranges such as 1-100; use {{.Index}}", a.Array, refused)
	}
	return nil
}
