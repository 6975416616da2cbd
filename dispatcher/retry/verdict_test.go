package retry_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/retry"
	policy "github.com/divvyhq/divvy/shares/retry"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func attempt(outcome, message string) retry.Attempt {
	return retry.Attempt{Failure: policy.Failure{Outcome: outcome, Message: message}, Queue: 1}
}

// tried is a job with so many attempts, the last of them with a message.
func tried(number, most int32, message string, outcomes ...string) retry.Tried {
	t := retry.Tried{Number: number, Most: most}
	for _, o := range outcomes {
		t.Attempts = append(t.Attempts, attempt(o, ""))
	}
	t.Attempts[len(outcomes)-1].Message = message
	return t
}

func TestJudge(t *testing.T) {
	ruled := &policy.Policy{Rules: []policy.Rule{
		{Name: "bug", Match: policy.Match{Message: regexp.MustCompile("syntax")}, Action: policy.NoRetry},
		{Name: "wait", Match: policy.Match{Message: regexp.MustCompile("busy")}, Action: policy.Wait, Backoff: time.Minute},
		{Name: "big", Match: policy.Match{Message: regexp.MustCompile("large")}, Action: policy.SplitSmaller},
		{Name: "oom", Match: policy.Match{Message: regexp.MustCompile("memory")}, Action: policy.IncreaseMemory, Factor: 2},
		{Name: "labelled", Match: policy.Match{Label: regexp.MustCompile("^mc$"), Message: regexp.MustCompile("odd")}, Action: policy.NoRetry},
	}}
	lost := &policy.Policy{QuarantineAfter: 3}
	for name, c := range map[string]struct {
		tried  retry.Tried
		terms  *policy.Terms
		need   job.Requirements
		policy *policy.Policy
		want   retry.Verdict // without the judgement, but for what is over, split or later
	}{
		"failed":              {tried: tried(1, 3, "", "failed")},
		"lost":                {tried: tried(2, 3, "", "failed", "lost")},
		"cancelled by itself": {tried: tried(1, 3, "", "cancelled")},
		"failed at last":      {tried: tried(3, 3, "", "failed", "failed", "failed"), want: retry.Verdict{Judgement: policy.Judgement{Over: true}}},
		"at last under rules": {tried: tried(2, 2, "busy", "failed", "failed"), policy: ruled, want: retry.Verdict{Judgement: policy.Judgement{Over: true}}},
		"one was returned":    {tried: tried(3, 4, "", "failed", "failed")},
		"no rule matches":     {tried: tried(2, 3, "odd", "failed", "failed"), policy: &policy.Policy{Rules: ruled.Rules[:1]}},
		"a rule, cancelled":   {tried: tried(1, 3, "syntax", "cancelled"), policy: ruled},
		"a rule ends it": {tried: tried(1, 3, "syntax", "failed"), policy: ruled,
			want: retry.Verdict{Judgement: policy.Judgement{Over: true}, Asked: true, Note: "failed for good: rule bug: no_retry"}},
		"a rule waits": {tried: tried(1, 3, "busy", "failed"), policy: ruled,
			want: retry.Verdict{Judgement: policy.Judgement{Backoff: time.Minute}, Asked: true, Note: "rule wait: wait: again after 1m0s"}},
		"a rule splits": {tried: tried(1, 3, "large", "failed"), policy: ruled,
			want: retry.Verdict{Judgement: policy.Judgement{Split: true}, Asked: true, Note: "rule big: split_smaller"}},
		"a rule asks for more": {tried: tried(1, 3, "memory", "failed"), need: job.Requirements{MemoryMB: 100}, policy: ruled,
			want: retry.Verdict{Asked: true, Need: &job.Requirements{MemoryMB: 200}, Note: "rule oom: increase_memory ×2: memory 100 → 200 MB"}},
		"another label": {tried: tried(1, 3, "odd", "failed"), policy: ruled, want: retry.Verdict{Asked: true}},
		"that label": {tried: tried(1, 3, "odd", "failed"), need: job.Requirements{Label: "mc"}, policy: ruled,
			want: retry.Verdict{Judgement: policy.Judgement{Over: true}, Asked: true, Note: "failed for good: rule labelled: no_retry"}},
		"terms": {tried: tried(3, 9, "", "failed", "lost", "lost"), terms: &policy.Terms{BackoffS: 60},
			want: retry.Verdict{Judgement: policy.Judgement{Backoff: 4 * time.Minute}, Asked: true, Note: "again after 4m0s"}},
		"terms, cancelled": {tried: tried(1, 3, "", "cancelled"), terms: &policy.Terms{BackoffS: 60},
			want: retry.Verdict{Judgement: policy.Judgement{Backoff: time.Minute}, Asked: true, Note: "again after 1m0s"}},
		"failed too often": {tried: tried(2, 9, "", "failed", "failed"), terms: &policy.Terms{MaxFailures: 2},
			want: retry.Verdict{Judgement: policy.Judgement{Over: true}, Asked: true, Note: "failed for good: failed 2 times, max_failures is 2"}},
		"not lost often enough": {tried: tried(2, 9, "", "lost", "lost"), policy: lost},
		"lost too often": {tried: tried(3, 9, "", "lost", "lost", "lost"), policy: lost,
			want: retry.Verdict{Judgement: policy.Judgement{Over: true}, Asked: true, Note: "failed for good: quarantined: 3 attempts were lost in a row"}},
		"one of them was returned": {tried: tried(3, 9, "", "lost", "lost"), policy: lost, want: retry.Verdict{Asked: true}},
	} {
		t.Run(name, func(t *testing.T) {
			c.tried.Terms, c.tried.Need = c.terms, c.need
			got := retry.Judge(c.tried, retry.Site{Policy: c.policy, Now: noon})
			got.Judgement = policy.Judgement{Over: got.Over, Split: got.Split, Backoff: got.Backoff}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// drawTried is any job, under rules and terms that come up often enough.
func drawTried(t *rapid.T) (retry.Tried, retry.Site) {
	j := retry.Tried{Number: rapid.Int32Range(1, 5).Draw(t, "number"), Need: job.Requirements{MemoryMB: 100}}
	j.Most = rapid.Int32Range(j.Number, 6).Draw(t, "most")
	for range rapid.IntRange(1, int(j.Number)).Draw(t, "charged") {
		j.Attempts = append(j.Attempts, attempt(rapid.SampledFrom([]string{"failed", "lost", "cancelled"}).Draw(t, "outcome"),
			rapid.SampledFrom([]string{"", "syntax", "busy", "large", "memory"}).Draw(t, "message")))
	}
	if rapid.Bool().Draw(t, "terms") {
		j.Terms = &policy.Terms{MaxFailures: rapid.IntRange(0, 4).Draw(t, "max_failures"), BackoffS: rapid.SampledFrom([]float64{0, 60}).Draw(t, "backoff_s")}
	}
	site := retry.Site{Now: noon}
	if rapid.Bool().Draw(t, "policy") {
		actions := rapid.SampledFrom([]policy.Action{policy.NoRetry, policy.Limit, policy.IncreaseMemory, policy.Wait, policy.SplitSmaller})
		site.Policy = &policy.Policy{QuarantineAfter: rapid.IntRange(0, 4).Draw(t, "quarantine_after"), Rules: []policy.Rule{
			{Name: "r", Match: policy.Match{Message: regexp.MustCompile("syntax|memory")}, Action: actions.Draw(t, "action"), Factor: 2, Times: 2, Backoff: time.Minute},
		}}
	}
	return j, site
}

// The invariants of doc.go that are about retries, for any job.
func TestJudgeIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, site := drawTried(t)
		v := retry.Judge(j, site)
		if again := retry.Judge(j, site); !cmp.Equal(v, again) {
			t.Fatalf("not the same twice: %+v, %+v", v, again)
		}
		switch {
		case j.Number >= j.Most && (!v.Over || v.Asked):
			t.Fatalf("goes on though its attempts are used up, or somebody was asked: %+v", v)
		case !v.Asked && (v.Note != "" || v.Need != nil || v.Split || v.Backoff != 0):
			t.Fatalf("judged though nobody was asked: %+v", v)
		case j.Terms == nil && site.Policy == nil && v.Asked:
			t.Fatalf("asked though nothing can have a say: %+v", v)
		case !v.Asked && j.Number < j.Most && j.Attempts[len(j.Attempts)-1].Outcome != "cancelled" && !cmp.Equal(site.Policy.Judge(policy.Case{Attempts: failures(j)}, noon), policy.Judgement{}):
			t.Fatalf("not asked though there is something to say: %+v", j)
		case v.Over && (v.Need != nil || v.Backoff != 0 || v.Split):
			t.Fatalf("over, with a next attempt: %+v", v)
		}
	})
}

func failures(j retry.Tried) (all []policy.Failure) {
	for _, a := range j.Attempts {
		all = append(all, a.Failure)
	}
	return all
}
