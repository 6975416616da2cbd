package site

import (
	"strings"
	"testing"
)

// What is promised beyond what there is, and what counts in several pools without saying so, is named when it is applied.
func TestApplyNamesPromises(t *testing.T) {
	const one = "queues: [{name: q, slots: 100}]\n"
	const two = "queues: [{name: q, slots: 100, pool: cpu}, {name: g, slots: 50, pool: gpu}]\n"
	const always = `plans: [{when: "00:00-24:00", min: 60}]`
	for _, c := range []struct {
		name, src string
		want      []string
	}{
		{"all fits", "shares: [{name: P, children: [{name: a, min: 40}, {name: b}]}, {name: Q, min: 60}]\n" + one, nil},
		{"more than the pool", "shares: [{name: P, children: [{name: a, min: 40}, {name: b, owned: 30}]}, {name: Q, min: 50}]\n" + one,
			[]string{"pool default: min and owned add up to 120 units and its queues have 100: the min of P/a, Q will not be served in full while all want everything; lower them"}},
		{"more than a max", "shares: [{name: P, max: 50, children: [{name: a, min: 40}, {name: b, min: 20}]}, {name: Q, min: 50}]\n" + one,
			[]string{"share P: min and owned add up to 60 units and its max is 50 in pool default: the min of P/a, P/b will not be served in full while all want everything; lower them"}},
		{"at other times", "shares: [{name: P, min: 50, " + always + "}, {name: Q, min: 50}]\n" + one,
			[]string{"pool default: min and owned add up to 110 units"}},
		{"owned alone", "shares: [{name: P, owned: 70}, {name: Q, owned: 50}]\n" + one, nil},
		{"no end of slots", "shares: [{name: P, min: 70}, {name: Q, min: 50}]\nqueues: [{name: q}]\n", nil},
		{"in every pool", "shares: [{name: P, owned: 40}, {name: Q, min: {cpu: 5}, plans: [{when: Mon, min: 7}]}]\n" + two,
			[]string{`figures without a pool count in each of the pools cpu, gpu: owned of P 40 (80 in all), plans[0].min of Q 7 (14 in all); write {cpu: N} for one pool, {"*": N} to mean each`}},
		{"in every pool on purpose", "shares: [{name: P, owned: {'*': 40}}, {name: Q}]\n" + two, nil},
		{"one pool", "shares: [{name: P, owned: 40}, {name: Q}]\n" + one, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			notes := b.apply(c.src).Notes
			if len(notes) != len(c.want) {
				t.Fatalf("notes %q, want %q", notes, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(notes[i], want) {
					t.Errorf("note %q\nwant %q", notes[i], want)
				}
			}
		})
	}
}
