package dispatcher

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// Jobs that pilots have, by whose they are, by share and by queue, page by page.
func TestLeasedJobs(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("AB", 1)}, slots("q", 8), slots("r", 8))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 3, user: "ann"})
	f.enqueue(batch{share: "AB", n: 3, user: "bob"})
	f.enqueue(batch{share: "A", n: 2, user: "bob"})
	for _, queue := range []string{"q", "q", "q", "r", "r", "r"} {
		pull1(t, d, queue)
	}
	all, _, err := d.LeasedJobs(t.Context(), JobFilter{})
	if err != nil || len(all) != 6 {
		t.Fatalf("%d leased jobs, %v", len(all), err)
	}
	// How far was looked comes from the statement that looked: leases that end behind it change nothing.
	for most, want := range map[int]int64{2: all[1].ID, 6: all[5].ID, 7: 0} {
		rows, err := collect[leasedRow](t.Context(), f.pool, "list_leased_jobs", pgx.StrictNamedArgs{"user": "eve", "share": "", "queue": "", "after": 0, "n": 5, "most": most})
		if err != nil || len(rows) != 1 || rows[0].ID != 0 || (want == 0) != (rows[0].Looked == nil) || want != 0 && *rows[0].Looked != want {
			t.Errorf("at most %d: %+v, want %d, %v", most, rows, want, err)
		}
	}
	owner := map[int64]string{1: "ann", 2: "bob", 3: "bob"}
	for _, c := range []JobFilter{{User: "ann"}, {User: "bob"}, {User: "eve"}, {Share: "A"}, {Share: "AB"}, {Queue: "q"}, {Queue: "r"}, {User: "bob", Share: "A"}, {Share: "AB", Queue: "r"}} {
		var want, got []int64
		for _, j := range all {
			if (c.User == "" || owner[j.Task] == c.User) && (c.Share == "" || j.Share == c.Share) && (c.Queue == "" || j.Queue == c.Queue) {
				want = append(want, j.ID)
			}
		}
		for _, limit := range []int{1, 100} {
			got = nil
			for c.After, c.Limit = 0, limit; ; {
				jobs, next, err := d.LeasedJobs(t.Context(), c)
				if err != nil || len(jobs) > limit {
					t.Fatalf("%+v: %d jobs, %v", c, len(jobs), err)
				}
				for _, j := range jobs {
					got = append(got, j.ID)
					if j.State != "leased" || j.Pilot != "p" {
						t.Errorf("%+v: %+v", c, j)
					}
				}
				if c.After = next; next == 0 {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
	}
}
