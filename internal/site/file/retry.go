package file

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares/retry"
)

// Bounds of what a file says about attempts.
const (
	maxCode    = 1 << 31
	maxBackoff = 30 * 24 * time.Hour
	maxTimes   = 1000
	maxCodes   = 2000
)

// DefaultAttempts is what holds where the file has no attempts.
func DefaultAttempts() *retry.Policy {
	return &retry.Policy{QuarantineAfter: 5, BlackHole: retry.BlackHole{Fails: 0.95, Sample: 50, Window: 15 * time.Minute, Probe: time.Minute}}
}

// readRetryRules reads what becomes of attempts that did not finish, in order.
func readRetryRules(v strict.Value) []retry.Rule {
	list, _ := v.List()
	if len(list) > retry.MaxRules {
		tooMany(v, len(list), retry.MaxRules)
		return nil
	}
	rules := make([]retry.Rule, len(list))
	names := map[string]int{}
	for i, e := range list {
		var seen strict.Seen
		rules[i], seen = readRetryRule(e)
		once("retry rule", rules[i].Name, seen, names)
	}
	return rules
}

func readRetryRule(v strict.Value) (r retry.Rule, seen strict.Seen) {
	seen = v.Mapping(strict.Fields{
		"name":  func(v strict.Value) { r.Name = readName(v, "\"'", "for instance out-of-memory") },
		"match": func(v strict.Value) { r.Match = readFailureMatch(v) },
		"action": func(v strict.Value) {
			action, _ := v.OneOf(retry.Actions...)
			r.Action = retry.Action(action)
		},
		"factor": func(v strict.Value) {
			f, ok := v.Number()
			if ok && (f <= 1 || f > retry.MaxFactor) {
				v.Failf("factor: %g is not above 1 and at most %d", f, retry.MaxFactor)
			}
			r.Factor = f
		},
		"times": func(v strict.Value) {
			n, _ := v.Int(1, maxTimes)
			r.Times = int(n)
		},
		"backoff": func(v strict.Value) { r.Backoff = readBackoff(v) },
		"dry_run": func(v strict.Value) { r.DryRun, _ = v.Bool() },
		"expires": func(v strict.Value) { r.Expires = readDay(v) },
	})
	seen.Require("name", "match", "action")
	checkRetryRule(r, seen)
	return r, seen
}

// checkRetryRule holds the figures of a rule against its action.
func checkRetryRule(r retry.Rule, seen strict.Seen) {
	if !seen.Has("action") || seen.At("action").Failed() {
		return
	}
	grows := r.Action == retry.IncreaseMemory || r.Action == retry.IncreaseWalltime
	for _, f := range []struct {
		key    string
		wanted bool
		only   string
	}{
		{"factor", grows, "increase_memory and increase_walltime"}, {"times", r.Action == retry.Limit, "limit"},
		{"backoff", r.Action == retry.Wait, ""},
	} {
		switch {
		case f.wanted && !seen.Has(f.key):
			seen.Failf("%s is missing: %s needs it", f.key, r.Action)
		case !f.wanted && f.only != "" && seen.Has(f.key):
			seen.At(f.key).Failf("%s is for %s only", f.key, f.only)
		}
	}
	if r.Action == retry.NoRetry && seen.Has("backoff") {
		seen.At("backoff").Fail("backoff: there is no attempt to wait for", "no_retry fails the job")
	}
}

func readFailureMatch(v strict.Value) (m retry.Match) {
	seen := v.Mapping(strict.Fields{
		"outcome": func(v strict.Value) { m.Outcome, _ = v.OneOf(retry.Failed, retry.Lost) },
		"source": func(v strict.Value) {
			m.Source = readName(v, " :\"'", "payload, pilot, or what stands before ErrorCode in the pilot's report")
		},
		"code": func(v strict.Value) {
			if !v.IsList() {
				m.Codes = []retry.Range{readCodes(v)}
				return
			}
			list, ok := v.List()
			if ok && len(list) == 0 {
				v.Fail("code is empty", "leave it out, that means any end, with a code or without")
			}
			for _, e := range list {
				m.Codes = append(m.Codes, readCodes(e))
			}
		},
		"message": func(v strict.Value) { m.Message = readPattern(v, "%s") },
		"label":   func(v strict.Value) { m.Label = readPattern(v, `^(?:%s)$`) },
	})
	if m.Outcome == retry.Lost && (m.Source == "" || m.Source == retry.Payload) && seen.Has("code") {
		seen.At("code").Fail("code: a lost attempt has none of the payload", "outcome failed; or the source of a code that pilots send while they run")
	}
	return m
}

// readPattern compiles a pattern within a frame.
func readPattern(v strict.Value, frame string) *regexp.Regexp {
	text, ok := v.NonEmpty()
	switch {
	case !ok:
		return nil
	case len(text) > retry.MaxPattern:
		v.Failf("%s: the pattern has %d bytes; at most %d", v.Name(), len(text), retry.MaxPattern)
		return nil
	}
	if _, err := regexp.Compile(text); err != nil { // by itself: "a)|(b" is no pattern, though "(?:a)|(b)" is one
		v.Failf("%s: %v", v.Name(), err)
		return nil
	}
	re, err := regexp.Compile(fmt.Sprintf(frame, text))
	if err != nil {
		v.Failf("%s: %v", v.Name(), err)
	}
	return re
}

// readCodes reads one code or, as in 100-109, some.
func readCodes(v strict.Value) retry.Range {
	text, ok := v.NonEmpty()
	if !ok {
		return retry.Range{}
	}
	r, err := parseCodes(text)
	if err != nil {
		v.Fail(fmt.Sprintf("%s: %v", v.Name(), err), `for instance 137, or "100-109"`)
	}
	return r
}

func parseCodes(text string) (r retry.Range, err error) {
	low, high, several := strings.Cut(text, "-")
	if low == "" { // -9
		low, several = text, false
	}
	if r.Low, err = strconv.ParseInt(low, 10, 64); err != nil {
		return r, fmt.Errorf("%.40q is no code", text)
	}
	if r.High = r.Low; several {
		r.High, err = strconv.ParseInt(high, 10, 64)
	}
	switch {
	case err != nil || r.Low >= maxCode || r.High >= maxCode || r.Low <= -maxCode:
		return r, fmt.Errorf("%.40q is no code", text)
	case r.High < r.Low:
		return r, fmt.Errorf("%.40q: the first is the larger one", text)
	}
	return r, nil
}

func readBackoff(v strict.Value) time.Duration {
	d, ok := v.Duration(time.Second)
	if ok && d > maxBackoff {
		v.Failf("%s: %s is more than %s", v.Name(), d, maxBackoff)
	}
	return d
}

// readDay reads a day, at whose end in UTC something is over, or a moment.
func readDay(v strict.Value) time.Time {
	text, ok := v.NonEmpty()
	if !ok {
		return time.Time{}
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1)
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		v.Fail(fmt.Sprintf("%s: %.40q is no day", v.Name(), text), "for instance 2027-03-31, or 2027-03-31T12:00:00Z")
	}
	return at
}

// readExitCodes reads what codes mean, by code: of the payload, or as in pilot:1305 of another source.
func readExitCodes(v strict.Value) (codes retry.Codes) {
	v.Entries(func(name string, key, means strict.Value) {
		if len(codes) == maxCodes {
			key.Failf("%s: more than %d entries", v.Name(), maxCodes)
		}
		m := retry.Meaning{Source: retry.Payload}
		text := name
		if source, rest, other := strings.Cut(name, ":"); other {
			m.Source, text = source, rest
		}
		var err error
		if m.Range, err = parseCodes(text); err != nil || m.Source == "" {
			key.Fail(fmt.Sprintf("%s: %.40q is no code", v.Name(), name), `for instance 65, "100-109" or pilot:1305`)
		}
		if m.Text, _ = means.Text(); m.Text == "" && !means.Failed() {
			means.Fail(fmt.Sprintf("%s: nothing is said of %s", v.Name(), name), "what the code means, in words")
		}
		codes = append(codes, m)
	})
	return codes
}

// readAttempts reads what holds for the attempts of all jobs.
func readAttempts(v strict.Value, p *retry.Policy) {
	v.Mapping(strict.Fields{
		"quarantine_after": func(v strict.Value) {
			n, _ := v.Int(0, maxTimes)
			p.QuarantineAfter = int(n)
		},
		"black_hole": func(v strict.Value) {
			if v.Is("false") {
				p.BlackHole = retry.BlackHole{}
				return
			}
			if v.Is("true") {
				v.Fail("black_hole: true says nothing", "leave it out for what holds anyway, false for never, or say fails, sample, window and probe")
				return
			}
			readBlackHole(v, &p.BlackHole)
		},
	})
}

func readBlackHole(v strict.Value, b *retry.BlackHole) {
	v.Mapping(strict.Fields{
		"fails": func(v strict.Value) {
			f, ok := v.Number()
			if ok && (f < 0.5 || f > 1) {
				v.Fail(fmt.Sprintf("fails: %g is not in 0.5 … 1", f), "the part of what ends at the queue that fails or is lost")
			}
			b.Fails = f
		},
		"sample": func(v strict.Value) {
			n, _ := v.Int(5, maxAmount)
			b.Sample = int(n)
		},
		"window": func(v strict.Value) { b.Window, _ = v.Duration(time.Minute) },
		"probe":  func(v strict.Value) { b.Probe, _ = v.Duration(time.Second) },
	})
}
