package site

import (
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares/retry"
)

func TestRetryRulesAreRead(t *testing.T) {
	s, err := Parse("f", samples(t, "good.every_key.yml")["good.every_key.yml"])
	if err != nil {
		t.Fatal(err)
	}
	p := s.Version().Attempts
	if want := (retry.BlackHole{Fails: 0.9, Sample: 30, Window: 10 * time.Minute, Probe: 2 * time.Minute}); p.QuarantineAfter != 4 || p.BlackHole != want {
		t.Errorf("attempts: %+v", p)
	}
	got := fmt.Sprint(ruleEntries(p))
	want := "[{oom [[position 1] [match.outcome failed] [match.source payload] [match.code 137, 9-11, -9] [match.message (?i)memory] [match.label ^(?:a|b)$] " +
		"[action increase_memory ×1.5] [backoff 5m0s] [dry_run true] [expires 2027-04-01T00:00:00Z]]} " +
		"{twice [[position 2] [match.outcome ] [match.source pilot] [match.code 1098-1099] [match.message ] [match.label ] [action limit 2] [backoff 0s] [dry_run false] [expires 2027-03-31T12:00:00Z]]} " +
		"{gone [[position 3] [match.outcome lost] [match.source ] [match.code ] [match.message ] [match.label ] [action avoid_queue] [backoff 0s] [dry_run false] [expires ]]}]"
	if got != want {
		t.Errorf("rules\n%s\nwant\n%s", got, want)
	}
	if got := p.Codes.Of("payload", 105) + ", " + p.Codes.Of("payload", 65) + ", " + p.Codes.Of("pilot", 1098); got != "an input is broken, nothing selected, scratch is full" {
		t.Errorf("codes: %s", got)
	}
}
