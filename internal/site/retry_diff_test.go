package site

import (
	"fmt"
	"testing"
)

func TestAttemptsDiffer(t *testing.T) {
	parse := func(more string) *Site {
		s, err := Parse("f", []byte("shares: [{name: A}]\n"+more))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain := parse("")
	if d := diff(plain, parse("attempts: {quarantine_after: 5}")); !d.None() {
		t.Errorf("what holds anyway is a change: %+v", d)
	}
	d := diff(plain, parse("attempts: {black_hole: false}\nexit_codes: {3: x}\nretry_rules: [{name: r, match: {}, action: no_retry}]"))
	if d.None() || fmt.Sprint(d.RetryRules, d.Attempts) != "[{added r   }] [{changed attempts black_hole fails 0.95 of 50 in 15m0s, probe 1m0s fails 0 of 0 in 0s, probe 0s} {changed attempts exit_codes.payload:3  x}]" {
		t.Errorf("changes %+v %+v", d.RetryRules, d.Attempts)
	}
}
