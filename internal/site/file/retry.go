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
	maxCode  = 1 << 31
	maxCodes = 2000
)

// DefaultAttempts is what holds where the file has no attempts.
func DefaultAttempts() *retry.Policy {
	return &retry.Policy{QuarantineAfter: 5, BlackHole: retry.BlackHole{Fails: 0.95, Sample: 50, Window: 15 * time.Minute, Probe: time.Minute}}
}

// checkRetryRule holds the figures of a rule against its action, and what it matches against itself.
func checkRetryRule(r *retry.Rule, v strict.Value) {
	if r.Match.Label != nil { // as a whole
		r.Match.Label = regexp.MustCompile("^(?:" + r.Match.Label.String() + ")$")
	}
	if m := r.Match; m.Outcome == retry.Lost && (m.Source == "" || m.Source == retry.Payload) && v.At("match").Has("code") {
		v.At("match.code").Fail("code: a lost attempt has none of the payload", "outcome failed; or the source of a code that pilots send while they run")
	}
	if v.Has("factor") && !v.At("factor").Failed() && (r.Factor <= 1 || r.Factor > retry.MaxFactor) {
		v.At("factor").Failf("factor: %g is not above 1 and at most %d", r.Factor, retry.MaxFactor)
	}
	if r.Action == "" {
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
		case f.wanted && !v.Has(f.key):
			v.Failf("%s is missing: %s needs it", f.key, r.Action)
		case !f.wanted && f.only != "" && v.Has(f.key):
			v.At(f.key).Failf("%s is for %s only", f.key, f.only)
		}
	}
	if r.Action == retry.NoRetry && v.Has("backoff") {
		v.At("backoff").Fail("backoff: there is no attempt to wait for", "no_retry fails the job")
	}
}

func readPattern(_ *strict.Decoder, v strict.Value, to **regexp.Regexp) {
	text, ok := v.NonEmpty()
	switch {
	case !ok:
		return
	case len(text) > retry.MaxPattern:
		v.Failf("%s: the pattern has %d bytes; at most %d", v.Name(), len(text), retry.MaxPattern)
		return
	}
	re, err := regexp.Compile(text)
	if *to = re; err != nil {
		v.Failf("%s: %v", v.Name(), err)
	}
}

// readCodes reads codes, one or a list, each alone or as in 100-109.
func readCodes(_ *strict.Decoder, v strict.Value, to *[]retry.Range) {
	list := []strict.Value{v}
	if v.IsList() {
		var ok bool
		if list, ok = v.List(); ok && len(list) == 0 {
			v.Fail("code is empty", "leave it out, that means any end, with a code or without")
		}
	}
	for _, e := range list {
		text, ok := e.NonEmpty()
		if !ok {
			continue
		}
		r, err := parseCodes(text)
		if err != nil {
			e.Fail(fmt.Sprintf("%s: %v", e.Name(), err), `for instance 137, or "100-109"`)
		}
		*to = append(*to, r)
	}
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

// readDay reads a day, at whose end in UTC something is over, or a moment.
func readDay(_ *strict.Decoder, v strict.Value, to *time.Time) {
	text, ok := v.NonEmpty()
	if !ok {
		return
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		*to = day.AddDate(0, 0, 1)
		return
	}
	at, err := time.Parse(time.RFC3339, text)
	if *to = at; err != nil {
		v.Fail(fmt.Sprintf("%s: %.40q is no day", v.Name(), text), "for instance 2027-03-31, or 2027-03-31T12:00:00Z")
	}
}

// readExitCodes reads what codes mean, by code: of the payload, or as in pilot:1305 of another source.
func readExitCodes(_ *strict.Decoder, v strict.Value, to *retry.Codes) {
	v.Entries(func(name string, key, means strict.Value) {
		if len(*to) == maxCodes {
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
		*to = append(*to, m)
	})
}

// readBlackHole takes false for never.
func readBlackHole(d *strict.Decoder, v strict.Value, to *retry.BlackHole) {
	switch {
	case v.Is("false"):
		*to = retry.BlackHole{}
	case v.Is("true"):
		v.Fail("black_hole: true says nothing", "leave it out for what holds anyway, false for never, or say fails, sample, window and probe")
	default:
		d.Fields(v, to)
	}
}
