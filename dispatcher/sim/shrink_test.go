package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Shrink takes away from a plan what its failure does not need, and returns what is left of it. Fails plays a plan; most bounds how often.
func Shrink(p Plan, most int, fails func(Plan) bool) (Plan, string) {
	try := func(smaller Plan) bool {
		if most <= 0 {
			return false
		}
		most--
		if !fails(smaller) {
			return false
		}
		p = smaller
		return true
	}
	var less []string
	keep := [3][]int{numbers(len(p.Faults)), numbers(len(p.Deeds)), numbers(len(p.Habits))}
	for again := true; again; {
		n := len(less)
		less = append(less, plainer(&p, try)...)
		again = len(less) > n
		for list := range keep {
			for i := len(keep[list]) - 1; i >= 0; i-- {
				smaller := p
				switch list {
				case 0:
					smaller.Faults = without(p.Faults, i)
				case 1:
					smaller.Deeds = without(p.Deeds, i)
				default:
					smaller.Habits = without(p.Habits, i)
				}
				if try(smaller) {
					keep[list], again = without(keep[list], i), true
				}
			}
		}
		for _, calm := range []func(*Plan){func(p *Plan) { p.Loss = 0 }, func(p *Plan) { p.Twice = 0 }} {
			smaller := p
			if calm(&smaller); (smaller.Loss != p.Loss || smaller.Twice != p.Twice) && try(smaller) {
				again = true
			}
		}
		if smaller := p; smaller.Span > time.Second {
			if smaller.Span = p.Span * 3 / 4; try(smaller) {
				again = true
			}
		}
	}
	return p, fmt.Sprintf("faults=%s;deeds=%s;pilots=%s;span=%v;loss=%v;twice=%v;less=%s", list(keep[0]), list(keep[1]), list(keep[2]), p.Span, p.Loss,
		p.Twice, strings.Join(less, ","))
}

// plainer leaves out parts of a plan that try takes to change, and returns which.
func plainer(p *Plan, try func(Plan) bool) (less []string) {
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		if smaller := *p; p.has(part) {
			if parts[part](&smaller); try(smaller) {
				less = append(less, part)
			}
		}
	}
	return less
}

// Keep makes a plan the one that Shrink has left of it.
func (p *Plan) Keep(text string) error {
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(part, "=")
		var err error
		switch name {
		case "faults":
			p.Faults, err = only(p.Faults, value)
		case "deeds":
			p.Deeds, err = only(p.Deeds, value)
		case "pilots":
			p.Habits, err = only(p.Habits, value)
		case "span":
			p.Span, err = time.ParseDuration(value)
		case "loss":
			p.Loss, err = strconv.ParseFloat(value, 64)
		case "twice":
			p.Twice, err = strconv.ParseFloat(value, 64)
		case "less":
			for of := range strings.SplitSeq(value, ",") {
				if leave := parts[of]; leave != nil {
					leave(p)
				} else if of != "" {
					err = fmt.Errorf("keep: a plan has no %q", of)
				}
			}
		default:
			err = fmt.Errorf("keep %q: it is one of faults, deeds, pilots, span, loss, twice, less", part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func without[T any](all []T, i int) []T { return slices.Delete(slices.Clone(all), i, i+1) }

func list(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

func only[T any](all []T, list string) (kept []T, err error) {
	for word := range strings.SplitSeq(list, ",") {
		if word == "" {
			continue
		}
		i, err := strconv.Atoi(word)
		if err != nil || i < 0 || i >= len(all) {
			return nil, fmt.Errorf("keep: there is no number %q", word)
		}
		kept = append(kept, all[i])
	}
	return kept, nil
}
