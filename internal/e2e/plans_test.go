package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

const owners = `
shares:
  - {name: A, weight: 1, owned: 40, lend: 30, borrow: all}
  - {name: B, weight: 1, owned: 40, lend: none, borrow: 10}
on_no_match: reject
queues: [{name: Q, slots: 100}]
`

// shown is what the API shows of the shares of the default pool, by path.
func shown(t testing.TB, c *client.Client) map[string]wire.ShareStanding {
	t.Helper()
	st, err := c.Shares().Standing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]wire.ShareStanding{}
	for _, s := range st.Pools[0].Shares {
		all[s.Path] = s
	}
	return all
}

// E9: owned units are lent and borrowed up to their limits, no further; units that nobody may use stay idle, and their
// owner takes them up at once.
func TestE9(t *testing.T) {
	t.Parallel()
	for _, e := range []struct {
		a, b         int64
		heldA, heldB int
		lent         float64 // by A
	}{{5, 200, 5, 70, 10}, {45, 200, 45, 55, 0}, {200, 200, 50, 50, 0}, {200, 30, 60, 30, 0}} {
		t.Run(fmt.Sprintf("A %d B %d", e.a, e.b), func(t *testing.T) {
			t.Parallel()
			c := serve(t, pgtest.DSN(t)).client
			apply(t, c, owners)
			submit(t, c, "A", e.a, nil)
			submit(t, c, "B", e.b, nil)
			waitReady(t, c, map[string]int64{"A": e.a, "B": e.b})
			held := fill(t, c, e.heldA+e.heldB)
			pullNone(t, c, "the rest is idle on purpose")
			if diff := cmp.Diff(map[string]int{"A": e.heldA, "B": e.heldB}, counts(held)); diff != "" {
				t.Fatalf("held (-want +got):\n%s", diff)
			}
			a, b := shown(t, c)["A"], shown(t, c)["B"]
			if a.Deserved != 50 || b.Deserved != 50 || a.Lent != e.lent || b.Borrowed != e.lent {
				t.Errorf("shown: A %+v, B %+v; want deserved 50 each, %v lent", a, b, e.lent)
			}
			if e.lent == 0 {
				return
			}
			submit(t, c, "A", 200, nil)
			for i := range 25 {
				if l := pullOne(t, c, nil); l.Share != "A" {
					t.Fatalf("idle unit %d of A went to %s", i, l.Share)
				}
			}
			pullNone(t, c, "all is held")
			finishAll(t, c, held["B"][:20]...)
			for i := range 20 {
				if l := pullOne(t, c, nil); l.Share != "A" {
					t.Fatalf("unit %d above B's half went to %s, want A", i, l.Share)
				}
			}
		})
	}
}

// W2: A:B 1:1 becomes 1:3 on 100 full slots. Nothing is killed; the next 25 ends of A go to B, and those after them to
// whom they come from.
func TestW2(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	apply(t, c, fmt.Sprintf(halves, 100))
	submit(t, c, "A", 200, nil)
	submit(t, c, "B", 200, nil)
	waitReady(t, c, map[string]int64{"A": 200, "B": 200})
	held := fill(t, c, 100)
	if diff := cmp.Diff(map[string]int{"A": 50, "B": 50}, counts(held)); diff != "" {
		t.Fatalf("before (-want +got):\n%s", diff)
	}
	apply(t, c, "shares: [{name: A, weight: 1}, {name: B, weight: 3}]\non_no_match: reject\nqueues: [{name: Q, slots: 100}]\n")
	eventually(t, 10*time.Second, "the new targets", func() bool { return shown(t, c)["B"].Target == 75 })
	if kept := renewAll(t, c, append(held["A"], held["B"]...)); kept != 100 {
		t.Fatalf("%d of 100 leases outlived the change", kept)
	}
	for i := range 25 {
		finishAll(t, c, held["A"][i])
		if l := pullOne(t, c, nil); l.Share != "B" {
			t.Fatalf("end %d of A went to %s, want B", i, l.Share)
		}
	}
	for i := range 5 {
		finishAll(t, c, held["A"][25+i])
		if l := pullOne(t, c, nil); l.Share != "A" {
			t.Fatalf("at rest an end of A went to %s, want A", l.Share)
		}
	}
}
