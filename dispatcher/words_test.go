package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// A pilot reports while Expire finds that its lease ran out, in the same batch: one word is written down, and who
// said another is told so.
func TestTwoWordsOnOneAttempt(t *testing.T) {
	for _, c := range []struct {
		name       string
		late       bool // the lease has run out
		words      [2]Outcome
		verdicts   [2]string
		finalState string
	}{
		{"lost, then finished", true, [2]Outcome{Lost, Finished}, [2]string{LeaseLost, Recorded}, "finished"},
		{"finished, then lost", true, [2]Outcome{Finished, Lost}, [2]string{Recorded, LeaseLost}, "finished"},
		{"lost, though it was renewed", false, [2]Outcome{Lost, Finished}, [2]string{LeaseLost, Recorded}, "finished"},
		{"finished, then failed", false, [2]Outcome{Finished, Failed}, [2]string{Recorded, LeaseLost}, "finished"},
		{"failed twice", false, [2]Outcome{Failed, Failed}, [2]string{Recorded, Recorded}, "ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
			d := f.daemon()
			f.enqueue(batch{share: "A", n: 1})
			l := pull1(t, d, "q")
			if c.late {
				pgtest.Age(t, f.pool, "leases", "expires_at", time.Hour)
			}
			key, _ := parseLease(l.Lease)
			got, err := d.end(context.Background(), []ended{{key: key, outcome: c.words[0]}, {key: key, outcome: c.words[1]}})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if v.verdict != c.verdicts[i] || v.jobState != c.finalState {
					t.Errorf("%s: %s, job %s; want %s, %s", c.words[i], v.verdict, v.jobState, c.verdicts[i], c.finalState)
				}
			}
			f.recount()
		})
	}
}
