package retry_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/shares/retry"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func code(n int) *int { return &n }

// failed and lost are attempts for tests.
func failed(n int, message string) retry.Failure {
	return retry.Failure{Outcome: retry.Failed, ExitCode: code(n), Message: message}
}

var lost = retry.Failure{Outcome: retry.Lost, Message: "lease ran out"}

func TestMatch(t *testing.T) {
	pilot := retry.Failure{Outcome: retry.Failed, Message: "pilot 1099: Failed to stage-in file", Label: "managed",
		Report: map[string]any{"pilotErrorCode": float64(1099), "exeErrorCode": float64(0), "ddmErrorCode": int64(200)}}
	for name, c := range map[string]struct {
		match retry.Match
		of    retry.Failure
		want  bool
	}{
		"all":                     {retry.Match{}, lost, true},
		"outcome":                 {retry.Match{Outcome: "lost"}, lost, true},
		"other outcome":           {retry.Match{Outcome: "lost"}, failed(1, ""), false},
		"code":                    {retry.Match{Codes: []retry.Range{{Low: 130, High: 140}}}, failed(137, ""), true},
		"below the range":         {retry.Match{Codes: []retry.Range{{Low: 130, High: 140}}}, failed(129, ""), false},
		"code of nobody":          {retry.Match{Codes: []retry.Range{{Low: -1000, High: 1000}}}, lost, false},
		"code of anybody":         {retry.Match{Codes: []retry.Range{{Low: 1099, High: 1099}}}, pilot, true},
		"code of another source":  {retry.Match{Source: "payload", Codes: []retry.Range{{Low: 1099, High: 1099}}}, pilot, false},
		"any code of a source":    {retry.Match{Source: "ddm"}, pilot, true},
		"no code of a source":     {retry.Match{Source: "sup"}, pilot, false},
		"zero is no code":         {retry.Match{Source: "payload"}, pilot, false},
		"message":                 {retry.Match{Message: regexp.MustCompile("stage-(in|out)")}, pilot, true},
		"other message":           {retry.Match{Message: regexp.MustCompile("^stage-(in|out)")}, pilot, false},
		"label":                   {retry.Match{Label: regexp.MustCompile("^(?:managed|user)$")}, pilot, true},
		"no label":                {retry.Match{Label: regexp.MustCompile("^(?:managed|user)$")}, lost, false},
		"all of it at once":       {retry.Match{Outcome: "failed", Source: "pilot", Label: regexp.MustCompile("^managed$")}, pilot, true},
		"all of it but the label": {retry.Match{Outcome: "failed", Source: "pilot", Label: regexp.MustCompile("^test$")}, pilot, false},
	} {
		p := retry.Policy{Rules: []retry.Rule{{Name: "r", Match: c.match, Action: retry.NoRetry}}}
		if got := p.Judge(retry.Case{Attempts: []retry.Failure{c.of}}, noon).Over; !cmp.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if may := p.MayMatch(&c.of); c.want && !may {
			t.Errorf("%s: MayMatch says it cannot be", name)
		}
	}
}

func TestJudge(t *testing.T) {
	oom := retry.Match{Codes: []retry.Range{{Low: 137, High: 137}}}
	rules := []retry.Rule{
		{Name: "old", Match: oom, Action: retry.NoRetry, Expires: noon},
		{Name: "maybe", Match: oom, Action: retry.SplitSmaller, DryRun: true},
		{Name: "oom", Match: oom, Action: retry.IncreaseMemory, Factor: 1.5, Backoff: time.Minute},
		{Name: "never", Match: oom, Action: retry.NoRetry},
		{Name: "twice", Match: retry.Match{Message: regexp.MustCompile("stage-in")}, Action: retry.Limit, Times: 2},
		{Name: "elsewhere", Match: retry.Match{Outcome: retry.Lost, Label: regexp.MustCompile("^far$")}, Action: retry.AvoidQueue},
		{Name: "long", Match: retry.Match{Message: regexp.MustCompile("too long")}, Action: retry.IncreaseWalltime, Factor: 2},
		{Name: "halve", Match: retry.Match{Message: regexp.MustCompile("too large")}, Action: retry.SplitSmaller},
	}
	far := lost
	far.Label = "far"
	for name, c := range map[string]struct {
		terms    retry.Terms
		attempts []retry.Failure
		want     retry.Judgement
	}{
		"nothing said": {attempts: []retry.Failure{failed(1, "")}},
		"first active rule": {attempts: []retry.Failure{failed(137, "")}, want: retry.Judgement{Memory: 1.5, Backoff: time.Minute, Rule: "oom", Rehearsed: []string{"maybe"},
			Reason: "rule maybe would say split_smaller; rule oom: increase_memory ×1.5"}},
		"limit, once": {attempts: []retry.Failure{failed(1, "stage-in"), failed(2, "")}},
		"limit, the first": {attempts: []retry.Failure{failed(2, ""), failed(1, "stage-in")},
			want: retry.Judgement{Rule: "twice", Reason: "rule twice: limit 2"}},
		"limit, reached": {attempts: []retry.Failure{failed(1, "stage-in"), lost, failed(1, "stage-in")},
			want: retry.Judgement{Over: true, Rule: "twice", Reason: "rule twice: limit 2"}},
		"elsewhere":            {attempts: []retry.Failure{far}, want: retry.Judgement{Avoid: true, Rule: "elsewhere", Reason: "rule elsewhere: avoid_queue"}},
		"longer":               {attempts: []retry.Failure{failed(1, "too long")}, want: retry.Judgement{Walltime: 2, Rule: "long", Reason: "rule long: increase_walltime ×2"}},
		"split":                {attempts: []retry.Failure{failed(1, "too large")}, want: retry.Judgement{Split: true, Rule: "halve", Reason: "rule halve: split_smaller"}},
		"failures count apart": {terms: retry.Terms{MaxFailures: 2}, attempts: []retry.Failure{lost, lost, failed(1, ""), lost}},
		"failures reached": {terms: retry.Terms{MaxFailures: 2}, attempts: []retry.Failure{failed(1, ""), lost, failed(1, "")},
			want: retry.Judgement{Over: true, Reason: "failed 2 times, max_failures is 2"}},
		"a bound goes before a rule": {terms: retry.Terms{MaxFailures: 1}, attempts: []retry.Failure{failed(1, "too large")},
			want: retry.Judgement{Over: true, Rule: "halve", Reason: "rule halve: split_smaller; failed 1 times, max_failures is 1"}},
		"lost, not in a row": {terms: retry.Terms{QuarantineAfter: 2}, attempts: []retry.Failure{lost, failed(1, ""), lost}},
		"quarantined": {terms: retry.Terms{QuarantineAfter: 2}, attempts: []retry.Failure{failed(1, ""), lost, lost},
			want: retry.Judgement{Over: true, Quarantine: true, Reason: "quarantined: 2 attempts were lost in a row"}},
		"quarantined by the site": {attempts: []retry.Failure{lost, lost, lost},
			want: retry.Judgement{Over: true, Quarantine: true, Reason: "quarantined: 3 attempts were lost in a row"}},
		"backoff":       {terms: retry.Terms{BackoffS: 60}, attempts: []retry.Failure{lost}, want: retry.Judgement{Backoff: time.Minute}},
		"backoff grows": {terms: retry.Terms{BackoffS: 60}, attempts: []retry.Failure{lost, failed(1, ""), lost}, want: retry.Judgement{Backoff: 4 * time.Minute}},
		"backoff is bounded": {terms: retry.Terms{BackoffS: 60, MaxBackoffS: 90}, attempts: []retry.Failure{lost, failed(1, ""), lost},
			want: retry.Judgement{Backoff: 90 * time.Second}},
		"a long backoff stays": {terms: retry.Terms{BackoffS: 100_000}, attempts: []retry.Failure{lost}, want: retry.Judgement{Backoff: 100_000 * time.Second}},
	} {
		p := retry.Policy{Rules: rules, QuarantineAfter: 3}
		if got := p.Judge(retry.Case{Terms: c.terms, Attempts: c.attempts}, noon); !cmp.Equal(got, c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", name, got, c.want)
		}
	}
	var none *retry.Policy
	if got := none.Judge(retry.Case{Attempts: []retry.Failure{lost, lost, lost}}, noon); !cmp.Equal(got, retry.Judgement{}) || none.MayMatch(&lost) || none.Quarantine() != 0 {
		t.Errorf("no policy says %+v", got)
	}
}

func TestCodes(t *testing.T) {
	own := retry.Codes{{Source: retry.Payload, Range: retry.Range{Low: 100, High: 109}, Text: "stage-in"},
		{Source: "pilot", Range: retry.Range{Low: 1098, High: 1098}, Text: "scratch is full: call Bob"}}
	for _, c := range []struct {
		source string
		code   int64
		want   string
	}{
		{"payload", 104, "stage-in"}, {"pilot", 104, ""}, {"pilot", 1098, "scratch is full: call Bob"}, {"pilot", 1099, "an input could not be fetched"},
		{"payload", 137, "ended by SIGKILL: often out of memory, or killed by the batch system"}, {"payload", -9, "ended by SIGKILL: often out of memory, or killed by the batch system"},
		{"payload", 138, "ended by SIGUSR1"}, {"payload", 127, "the program was not found"}, {"payload", 200, ""}, {"ddm", 1, ""},
	} {
		if got := own.Of(c.source, c.code); !cmp.Equal(got, c.want) {
			t.Errorf("%s %d: %q, want %q", c.source, c.code, got, c.want)
		}
	}
	f := retry.Failure{ExitCode: code(65), Report: map[string]any{"pilotErrorCode": int64(1305), "exeErrorCode": int64(7), "ddmErrorCode": int64(3)}}
	if got, want := own.Explain(&f), "wrong input; pilot: the payload failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
