package site

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares/retry"
)

// ruleEntries are retry rules under the keys of the site file. Their order counts.
func ruleEntries(p *retry.Policy) []entry {
	if p == nil {
		return nil
	}
	out := make([]entry, len(p.Rules))
	for i, r := range p.Rules {
		e := &out[i]
		e.name = r.Name
		e.add("position", strconv.Itoa(i+1))
		e.add("match.outcome", r.Match.Outcome)
		e.add("match.source", r.Match.Source)
		codes := make([]string, len(r.Match.Codes))
		for k, c := range r.Match.Codes {
			codes[k] = codeText(c)
		}
		e.add("match.code", strings.Join(codes, ", "))
		e.add("match.message", patternText(r.Match.Message))
		e.add("match.label", patternText(r.Match.Label))
		e.add("action", r.String())
		e.add("backoff", r.Backoff.String())
		e.add("dry_run", strconv.FormatBool(r.DryRun))
		expires := ""
		if !r.Expires.IsZero() {
			expires = r.Expires.UTC().Format(time.RFC3339)
		}
		e.add("expires", expires)
	}
	return out
}

// attemptEntries is what a site says of attempts beside the rules.
func attemptEntries(p *retry.Policy) []entry {
	if p == nil {
		p = file.DefaultAttempts()
	}
	e := entry{name: "attempts"}
	e.add("quarantine_after", strconv.Itoa(p.QuarantineAfter))
	b := p.BlackHole
	e.add("black_hole", fmt.Sprintf("fails %g of %d in %s, probe %s", b.Fails, b.Sample, b.Window, b.Probe))
	for _, c := range p.Codes {
		e.add("exit_codes."+c.Source+":"+codeText(c.Range), c.Text)
	}
	return []entry{e}
}

func codeText(r retry.Range) string {
	if r.Low == r.High {
		return strconv.FormatInt(r.Low, 10)
	}
	return fmt.Sprintf("%d-%d", r.Low, r.High)
}

func patternText(re *regexp.Regexp) string {
	if re == nil {
		return ""
	}
	return re.String()
}
