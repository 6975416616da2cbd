package retry_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/retry"
	policy "github.com/divvyhq/divvy/shares/retry"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func attempt(outcome, message string) retry.Attempt {
	return retry.Attempt{Failure: policy.Failure{Outcome: outcome, Message: message}, Queue: 1}
}

func TestAfter(t *testing.T) {
	ruled := &policy.Policy{Rules: []policy.Rule{
		{Name: "bug", Match: policy.Match{Message: regexp.MustCompile("syntax")}, Action: policy.NoRetry},
		{Name: "wait", Match: policy.Match{Message: regexp.MustCompile("busy")}, Action: policy.Wait, Backoff: time.Minute},
		{Name: "big", Match: policy.Match{Message: regexp.MustCompile("large")}, Action: policy.SplitSmaller},
		{Name: "oom", Match: policy.Match{Message: regexp.MustCompile("memory")}, Action: policy.IncreaseMemory, Factor: 2},
		{Name: "labelled", Match: policy.Match{Label: regexp.MustCompile("^mc$"), Message: regexp.MustCompile("odd")}, Action: policy.NoRetry},
	}}
	said := func(message string) retry.Attempt { return attempt("", message) }
	for name, c := range map[string]struct {
		end    retry.End
		policy *policy.Policy
		want   retry.Next
	}{
		"finished":              {end: retry.End{Said: entry.Finished, Number: 1, Most: 3}, want: retry.Next{Is: entry.Over, Final: entry.Finished}},
		"finished though told":  {end: retry.End{Said: entry.Finished, Told: true, Unwanted: true, Number: 3, Most: 3}, want: retry.Next{Is: entry.Over, Final: entry.Finished}},
		"failed":                {end: retry.End{Said: entry.Failed, Number: 1, Most: 3}, want: retry.Next{Outcome: entry.Failed, Is: entry.Again}},
		"lost":                  {end: retry.End{Said: entry.Lost, Number: 2, Most: 3}, want: retry.Next{Outcome: entry.Lost, Is: entry.Again}},
		"cancelled by itself":   {end: retry.End{Said: entry.Cancelled, Number: 1, Most: 3}, want: retry.Next{Outcome: entry.Cancelled, Is: entry.Again}},
		"failed at last":        {end: retry.End{Said: entry.Failed, Number: 3, Most: 3}, want: retry.Next{Outcome: entry.Failed, Is: entry.Over, Final: entry.Failed}},
		"killed":                {end: retry.End{Said: entry.Lost, Killed: true, Number: 3, Most: 3}, want: retry.Next{Outcome: entry.Lost, Is: entry.Over, Final: entry.Cancelled}},
		"killed and told":       {end: retry.End{Said: entry.Cancelled, Killed: true, Told: true, Number: 1, Most: 3}, want: retry.Next{Outcome: entry.Cancelled, Is: entry.Over, Final: entry.Cancelled}},
		"scaled away":           {end: retry.End{Said: entry.Failed, Unwanted: true, Number: 1, Most: 3}, want: retry.Next{Outcome: entry.Failed, Is: entry.Over, Final: entry.Cancelled}},
		"scaled away at last":   {end: retry.End{Said: entry.Failed, Unwanted: true, Number: 3, Most: 3}, want: retry.Next{Outcome: entry.Failed, Is: entry.Over, Final: entry.Failed}},
		"scaled away, returned": {end: retry.End{Said: entry.Cancelled, Told: true, Unwanted: true, Number: 3, Most: 3}, want: retry.Next{Outcome: entry.Returned, Is: entry.Over, Final: entry.Cancelled}},
		"returned":              {end: retry.End{Said: entry.Cancelled, Told: true, Number: 3, Most: 3}, want: retry.Next{Outcome: entry.Returned, Is: entry.Again, Most: 4}},
		"failed after the word": {end: retry.End{Said: entry.Failed, Told: true, Number: 1, Most: 3}, want: retry.Next{Outcome: entry.Returned, Is: entry.Again, Most: 4}},
		"grace is over":         {end: retry.End{Said: entry.Returned, Told: true, Number: 1, Most: 1}, want: retry.Next{Outcome: entry.Returned, Is: entry.Again, Most: 2}},
		"lost after the word":   {end: retry.End{Said: entry.Lost, Told: true, Number: 1, Most: 3}, want: retry.Next{Outcome: entry.Lost, Is: entry.Again}},
		"no rule matches":       {end: retry.End{Said: entry.Failed, Number: 2, Most: 3, Attempt: said("odd")}, policy: &policy.Policy{Rules: ruled.Rules[:1]}, want: retry.Next{Is: entry.Again}},
		"returned under rules":  {end: retry.End{Said: entry.Failed, Told: true, Number: 1, Most: 3, Attempt: said("syntax")}, policy: ruled, want: retry.Next{Outcome: entry.Returned, Is: entry.Again, Most: 4}},
		"a rule, not read":      {end: retry.End{Said: entry.Failed, Number: 2, Most: 3, Attempt: said("syntax")}, policy: ruled, want: retry.Next{Is: entry.Waits}},
		"a rule ends it":        {end: retry.End{Said: entry.Failed, Number: 1, Most: 3, Attempt: said("syntax")}, policy: ruled, want: retry.Next{Is: entry.Over, Final: entry.Failed, Note: "failed for good: rule bug: no_retry"}},
		"a rule waits":          {end: retry.End{Said: entry.Failed, Number: 1, Most: 3, Attempt: said("busy")}, policy: ruled, want: retry.Next{Is: entry.Waits, Until: noon.Add(time.Minute), Note: "rule wait: wait: again after 1m0s"}},
		"a rule splits":         {end: retry.End{Said: entry.Failed, Number: 1, Most: 3, Attempt: said("large")}, policy: ruled, want: retry.Next{Is: entry.Waits, Until: noon, Split: true, Note: "rule big: split_smaller"}},
		"a rule asks for more": {end: retry.End{Said: entry.Failed, Number: 1, Most: 3, Attempt: said("memory"), Need: job.Requirements{MemoryMB: 100}}, policy: ruled,
			want: retry.Next{Is: entry.Again, Need: &job.Requirements{MemoryMB: 200}, Note: "rule oom: increase_memory ×2: memory 100 → 200 MB"}},
		"another label": {end: retry.End{Said: entry.Failed, Number: 1, Most: 3, Attempt: said("odd")}, policy: ruled, want: retry.Next{Is: entry.Again}},
		"that label":    {end: retry.End{Said: entry.Failed, Number: 1, Most: 3, Attempt: said("odd"), Need: job.Requirements{Label: "mc"}}, policy: ruled, want: retry.Next{Is: entry.Over, Final: entry.Failed, Note: "failed for good: rule labelled: no_retry"}},
		"terms, not read": {end: retry.End{Said: entry.Cancelled, Number: 2, Most: 3, Terms: &policy.Terms{BackoffS: 60}},
			want: retry.Next{Outcome: entry.Cancelled, Is: entry.Waits}},
		"terms": {end: retry.End{Said: entry.Lost, Number: 3, Most: 9, Terms: &policy.Terms{BackoffS: 60}, Read: true, Earlier: []retry.Attempt{attempt("failed", ""), attempt("lost", "")}},
			want: retry.Next{Outcome: entry.Lost, Is: entry.Waits, Until: noon.Add(4 * time.Minute), Note: "again after 4m0s"}},
		"failed too often": {end: retry.End{Said: entry.Failed, Number: 2, Most: 9, Terms: &policy.Terms{MaxFailures: 2}, Read: true, Earlier: []retry.Attempt{attempt("failed", "")}},
			want: retry.Next{Is: entry.Over, Final: entry.Failed, Note: "failed for good: failed 2 times, max_failures is 2"}},
		"not lost often enough": {end: retry.End{Said: entry.Lost, Number: 2, Most: 9}, policy: &policy.Policy{QuarantineAfter: 3}, want: retry.Next{Outcome: entry.Lost, Is: entry.Again}},
		"maybe lost too often":  {end: retry.End{Said: entry.Lost, Number: 3, Most: 9}, policy: &policy.Policy{QuarantineAfter: 3}, want: retry.Next{Outcome: entry.Lost, Is: entry.Waits}},
		"lost too often": {end: retry.End{Said: entry.Lost, Number: 3, Most: 9, Read: true, Earlier: []retry.Attempt{attempt("lost", ""), attempt("lost", "")}}, policy: &policy.Policy{QuarantineAfter: 3},
			want: retry.Next{Outcome: entry.Lost, Is: entry.Over, Final: entry.Failed, Note: "failed for good: quarantined: 3 attempts were lost in a row"}},
		"one of them was returned": {end: retry.End{Said: entry.Lost, Number: 3, Most: 9, Read: true, Earlier: []retry.Attempt{attempt("lost", "")}}, policy: &policy.Policy{QuarantineAfter: 3},
			want: retry.Next{Outcome: entry.Lost, Is: entry.Again}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want.Outcome == 0 {
				c.want.Outcome = c.end.Said
			}
			if c.want.Most == 0 {
				c.want.Most = c.end.Most
			}
			got := retry.After(c.end, retry.Site{Policy: c.policy, Now: noon})
			if c.want.Note != "" && got.Judged == nil || got.Judged != nil && got.Judged.Over != (c.want.Is == entry.Over) {
				t.Errorf("judged %+v, and it is %c", got.Judged, c.want.Is)
			}
			got.Judged = nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// drawEnd is any end, under rules and terms that come up often enough.
func drawEnd(t *rapid.T) (retry.End, retry.Site) {
	messages := rapid.SampledFrom([]string{"", "syntax", "busy", "large", "memory"})
	draw := func() retry.Attempt {
		return attempt(rapid.SampledFrom([]string{"failed", "lost", "cancelled"}).Draw(t, "outcome"), messages.Draw(t, "message"))
	}
	e := retry.End{Said: rapid.SampledFrom([]entry.Outcome{entry.Finished, entry.Failed, entry.Lost, entry.Cancelled, entry.Returned}).Draw(t, "said"),
		Told: rapid.Bool().Draw(t, "told"), Killed: rapid.Bool().Draw(t, "killed"), Unwanted: rapid.Bool().Draw(t, "unwanted"),
		Number: rapid.Int32Range(1, 5).Draw(t, "number"), Read: rapid.Bool().Draw(t, "read"),
		Need: job.Requirements{MemoryMB: 100}, Attempt: attempt("", messages.Draw(t, "message"))}
	e.Most = rapid.Int32Range(e.Number, 6).Draw(t, "most")
	if rapid.Bool().Draw(t, "terms") {
		e.Terms = &policy.Terms{MaxFailures: rapid.IntRange(0, 4).Draw(t, "max_failures"), BackoffS: rapid.SampledFrom([]float64{0, 60}).Draw(t, "backoff_s")}
	}
	if e.Read {
		for range rapid.IntRange(0, int(e.Number)-1).Draw(t, "earlier") {
			e.Earlier = append(e.Earlier, draw())
		}
	}
	site := retry.Site{Now: noon}
	if rapid.Bool().Draw(t, "policy") {
		actions := rapid.SampledFrom([]policy.Action{policy.NoRetry, policy.Limit, policy.IncreaseMemory, policy.Wait, policy.SplitSmaller})
		site.Policy = &policy.Policy{QuarantineAfter: rapid.IntRange(0, 4).Draw(t, "quarantine_after"), Rules: []policy.Rule{
			{Name: "r", Match: policy.Match{Message: regexp.MustCompile("syntax|memory")}, Action: actions.Draw(t, "action"), Factor: 2, Times: 2, Backoff: time.Minute},
		}}
	}
	return e, site
}

// The invariants of doc.go that are about retries, for any end.
func TestAfterIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, site := drawEnd(t)
		n := retry.After(e, site)
		if again := retry.After(e, site); !cmp.Equal(n, again) {
			t.Fatalf("not the same twice: %+v, %+v", n, again)
		}
		over := n.Is == entry.Over
		switch {
		case n.Is != entry.Over && n.Is != entry.Again && n.Is != entry.Waits:
			t.Fatalf("undecided: %+v", n)
		case over != (n.Final != 0):
			t.Fatalf("a final state without an end, or the other way round: %+v", n)
		case (n.Final == entry.Finished) != (e.Said == entry.Finished):
			t.Fatalf("finished: %+v", n)
		case !over && (e.Killed || e.Unwanted):
			t.Fatalf("a job that is not wanted goes on: %+v", n)
		case !over && (n.Most-e.Number < 1 || (n.Outcome == entry.Returned) != (n.Most == e.Most+1)):
			t.Fatalf("attempts left: %+v of %+v", n, e)
		case n.Outcome == entry.Returned && (n.Note != "" || n.Need != nil || n.Is == entry.Waits):
			t.Fatalf("judged though it was not charged: %+v", n)
		case e.Terms == nil && site.Policy == nil && n.Is == entry.Waits:
			t.Fatalf("waits though nothing can have a say: %+v", n)
		case over && (n.Need != nil || !n.Until.IsZero()):
			t.Fatalf("over, with a next attempt: %+v", n)
		}
	})
}

// What waits for its attempts to be read is decided once they have been, by the same function.
func TestWaitsForItsAttempts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, site := drawEnd(t)
		unread := e
		unread.Read, unread.Earlier = false, nil
		n := retry.After(unread, site)
		if n.Is != entry.Waits || !n.Until.IsZero() {
			return
		}
		e.Read = true
		if got := retry.After(e, site); got.Is == entry.Waits && got.Until.IsZero() {
			t.Fatalf("still undecided: %+v", got)
		}
	})
}
