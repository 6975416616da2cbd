package dispatcher

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	logentry "github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
	retrypolicy "github.com/divvyhq/divvy/shares/retry"
)

// endCase is an attempt that is about to end, and what is true of its job.
type endCase struct {
	said                          Outcome
	told, killed, unwanted, ruled bool
	terms                         bool
	number, most                  int32
}

// endCases are all that there are, but for attempts that the room decides without reading: first ones.
func endCases() (all []endCase) {
	bools := []bool{false, true}
	for _, said := range []Outcome{Finished, Failed, Lost, Cancelled, reclaimed} {
		for _, told := range bools {
			if said == reclaimed && !told {
				continue
			}
			for flags := range 16 {
				for _, n := range [][2]int32{{2, 4}, {3, 3}, {3, 4}} {
					all = append(all, endCase{said: said, told: told, killed: flags&1 > 0, unwanted: flags&2 > 0, ruled: flags&4 > 0, terms: flags&8 > 0,
						number: n[0], most: n[1]})
				}
			}
		}
	}
	return all
}

// became is what is written down of an end.
type became struct {
	Recorded string
	State    string
	Attempt  int32
	Most     int32
}

// after is what the room makes of it.
func (c endCase) after(p *retrypolicy.Policy) became {
	e := retry.End{Said: outcomeLetters[c.said], Told: c.told, Killed: c.killed, Unwanted: c.unwanted, Number: c.number, Most: c.most}
	if c.said == reclaimed {
		e.Said = logentry.Returned
	}
	if c.terms {
		e.Terms = &retrypolicy.Terms{BackoffS: 60}
	}
	if c.ruled {
		e.Attempt.Message = "ruled"
	}
	n := retry.After(e, retry.Site{Policy: p})
	words := map[logentry.Outcome]string{}
	for word, letter := range outcomeLetters {
		words[letter] = string(word)
	}
	out := became{Recorded: words[n.Outcome], State: words[n.Final], Attempt: c.number, Most: n.Most}
	if n.Is != logentry.Over {
		out.State, out.Attempt = map[logentry.Next]string{logentry.Again: "ready", logentry.Waits: "waiting"}[n.Is], c.number+1
	}
	return out
}

// What the statement makes of every end is what the room says.
func TestEndsAsTheRoomSays(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 1000))
	policy := &retrypolicy.Policy{QuarantineAfter: 3, Rules: []retrypolicy.Rule{{Name: "r", Match: retrypolicy.Match{Message: regexp.MustCompile("ruled")}, Action: retrypolicy.NoRetry}}}
	f.apply(func(v *shares.Version) { v.Attempts = policy })
	d := f.daemon()
	cases, in := endCases(), []ended(nil)
	of := map[int64]endCase{}
	for _, terms := range []bool{false, true} {
		jobs := f.enqueue(batch{share: "A", n: len(cases) / 2, attempts: 9})
		if terms {
			f.terms(f.tasks, retrypolicy.Terms{BackoffS: 60})
		}
		for _, c := range cases {
			if c.terms == terms {
				of[jobs[0]], jobs = c, jobs[1:]
			}
		}
	}
	for n := 0; n < len(cases); {
		reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 48}, Max: 48, WaitS: 5})
		if err != nil {
			t.Fatal(err)
		}
		n += len(reply.Leases)
		for _, l := range reply.Leases {
			c := of[l.Job]
			key, _ := parseLease(l.Lease)
			key.attempt = c.number
			e := ended{key: key, outcome: c.said}
			if c.ruled {
				e.message = "ruled"
			}
			in = append(in, e)
			f.exec("UPDATE jobs SET attempt = $2, max_attempts = $3, scaled_away = nullif($4, false) WHERE id = $1", l.Job, c.number, c.most, c.unwanted)
			f.exec(`UPDATE leases SET attempt = $2, expires_at = now() - interval '1 hour', cancel_reason = CASE WHEN $3 THEN 'killed' END,
				told_at = CASE WHEN $4 THEN now() - interval '1 hour' END, reclaim_grace_s = CASE WHEN $4 THEN 1 END WHERE job_id = $1`, l.Job, c.number, c.killed, c.told)
		}
	}
	verdicts, err := d.end(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range in {
		c := of[e.key.job]
		var got became
		f.scan(&got.Recorded, fmt.Sprintf("SELECT outcome FROM attempts WHERE job_id = %d", e.key.job))
		f.scan(&got.Attempt, fmt.Sprintf("SELECT attempt FROM jobs WHERE id = %d UNION ALL SELECT attempt FROM ended_jobs WHERE id = %[1]d", e.key.job))
		f.scan(&got.Most, fmt.Sprintf("SELECT max_attempts FROM jobs WHERE id = %d UNION ALL SELECT max_attempts FROM ended_jobs WHERE id = %[1]d", e.key.job))
		got.State = verdicts[i].jobState
		if diff := cmp.Diff(c.after(policy), got); diff != "" || verdicts[i].verdict != Recorded {
			t.Errorf("%+v is %s (-room +statement):\n%s", c, verdicts[i].verdict, diff)
		}
	}
}
