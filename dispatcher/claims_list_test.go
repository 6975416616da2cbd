package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// What a list selects, page by page, and what is shown of one claim.
func TestListAndShowClaims(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.tending(d)
	names := f.enqueueLayout("A", g3())
	first := pullAt(t, d, slotAt("q", "n1", gpus(4)...))
	list := func(filter ClaimFilter) (keys []string) {
		all, err := d.Claims(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			keys = append(keys, c.State+" "+c.Key)
		}
		return keys
	}
	for name, row := range map[string]struct {
		ClaimFilter
		want []string
	}{
		"all":        {want: []string{"bound 0/g/0/pool(pre,train)", "pending 0/g/1/pool(pre,train)", "pending 0/g/2/pool(pre,train)"}},
		"a state":    {ClaimFilter{State: "bound"}, []string{"bound 0/g/0/pool(pre,train)"}},
		"over":       {ClaimFilter{State: "released"}, nil},
		"a task":     {ClaimFilter{Task: f.tasks + 1}, nil},
		"its task":   {ClaimFilter{Task: f.tasks, Limit: 1}, []string{"bound 0/g/0/pool(pre,train)"}},
		"a node":     {ClaimFilter{Node: "n1"}, []string{"bound 0/g/0/pool(pre,train)"}},
		"a resource": {ClaimFilter{Resource: "maya"}, nil},
	} {
		if diff := cmp.Diff(row.want, list(row.ClaimFilter)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	all, err := d.Claims(t.Context(), ClaimFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if next := list(ClaimFilter{After: all[0].ID}); len(next) != 2 {
		t.Errorf("%v follow the first", next)
	}
	c, err := d.Claim(t.Context(), all[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if c.Queue != "q" || c.Node != "n1" || len(c.Devices) != 4 || c.BoundAt == nil || c.Sharers != 1 || len(c.Holders) != 1 || c.Waiting != 4 ||
		len(c.Waiters) != 4 || c.LingerS != 60 || c.Template.Devices["gpu"] != 4 {
		t.Errorf("%+v", c)
	}
	if h := c.Holders[0]; h.Job != first.Job || h.Name != names[first.Job] || h.Attempt != 1 || h.Pilot != "p-n1" || h.State != "granted" {
		t.Errorf("%+v", h)
	}
	if !strings.HasPrefix(c.Waiters[0].Name, "0/g/0/") || c.Waiters[0].State != "ready" {
		t.Errorf("%+v", c.Waiters[0])
	}
	if _, err := d.Claim(t.Context(), 999); !errors.Is(err, ErrNoClaim) {
		t.Errorf("%v", err)
	}
	finish(t, d, Finished, first)
	if c, err = d.Claim(t.Context(), c.ID); err != nil || c.IdleSince == nil || c.Holders != nil || c.Waiting != 4 {
		t.Errorf("%+v %v", c, err)
	}
}

// A resource names the claims that hold its units, and says how many of an ID's are held by them.
func TestResourceNamesItsClaims(t *testing.T) {
	f := gpuSite(t, 10)
	d := f.daemon()
	f.tending(d)
	l := paired(pool4())
	l.Templates[0].Resources, l.Groups[0].Replicas = map[string]int64{"gpu": 4}, 3
	names := f.enqueueLayout("A", l)
	f.want("bob", 1, map[string]int64{"gpu": 1})
	for range 5 {
		pullAt(t, d, slotAt("q", "n1"))
	}
	list, err := d.Resources(t.Context(), "gpu")
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	st := list[0]
	if st.Held != 9 || len(st.Claims) != 2 || st.Claims[0].Units != 4 || st.Claims[0].Node != "n1" || st.Claims[0].Queue != "q" || st.Claims[0].Sharers != 2 ||
		!strings.HasPrefix(st.Claims[0].Key, "0/g/") || st.Claims[0].Task != f.tasks-1 {
		t.Errorf("%+v", st)
	}
	byClaims := map[string][2]int64{}
	for _, id := range st.IDs {
		byClaims[id.ID] = [2]int64{id.Held, id.ByClaims}
	}
	if diff := cmp.Diff(map[string][2]int64{st.Claims[0].SharingID: {8, 8}, "bob": {1, 0}}, byClaims); diff != "" {
		t.Error(diff)
	}
	if all, err := d.Resources(t.Context(), ""); err != nil || all[0].Claims != nil {
		t.Errorf("%+v %v", all, err)
	}
	for job := range names { // the last pair waits for the units of its claim
		e, err := d.Explain(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if g := gateAt(e, "q"); e.State == "ready" && (g.Gate != GateResourceCapacity || !strings.Contains(g.Reason, "9 of 10 units of gpu are held, it needs 4")) {
			t.Errorf("%+v", g)
		}
	}
}

// Lists and shows read by index, whatever there is: 100,000 live claims among as many that are over, 200,000 jobs.
func TestClaimsAreReadByIndex(t *testing.T) {
	n := min(pgtest.Draws(200_000), 200_000)
	one := int64(n / 4 * 3)
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	f.exec(`INSERT INTO resource_claims (task_id, key, template, linger_s, state, queue_id, node, bound_at, ended_at)
		SELECT i / 100, i::text, '{"name": "pool"}', 60, s, CASE s WHEN 'bound' THEN 1 ELSE 0 END, CASE s WHEN 'bound' THEN 'n' || i ELSE '' END,
			CASE s WHEN 'bound' THEN now() END, CASE s WHEN 'released' THEN now() END
		FROM generate_series(1, $1::int) AS i, LATERAL (SELECT (ARRAY['released', 'released', 'bound', 'pending'])[1 + i % 4]) AS x (s)`, n)
	f.exec(`INSERT INTO jobs (task_id, share_id, shape_id, place, priority, max_attempts, idx, claims)
		SELECT i / 200, 1, 1, 0, 0, 3, i, ARRAY[1 + i % $1::int] FROM generate_series(1, $1::int) AS i`, n)
	f.exec("ANALYZE resource_claims, jobs, leases")
	for name, c := range map[string]struct {
		verb string
		args map[string]any
		most float64 // buffers
	}{
		"a page":   {"list_claims", claimArgsOf(ClaimFilter{After: one}), 60},
		"a state":  {"list_claims", claimArgsOf(ClaimFilter{State: "bound"}), 60},
		"a task":   {"list_claims", claimArgsOf(ClaimFilter{Task: one / 100}), 300},
		"a node":   {"list_claims", claimArgsOf(ClaimFilter{Node: fmt.Sprint("n", one+2)}), 6000}, // all live ones: for people, now and then
		"one":      {"get_claim", map[string]any{"id": one}, 60},
		"holders":  {"claim_holders", map[string]any{"claim": one, "n": mostShown}, 60},
		"waiters":  {"claim_waiters", map[string]any{"claim": one, "n": mostShown, "most": mostLookedAt}, 60},
		"explains": {"explain_claims", map[string]any{"ids": []int64{one, 3}}, 60},
	} {
		if got := f.buffers(c.verb, c.args); got > c.most {
			t.Errorf("%s: %v blocks are read, want %v at most", name, got, c.most)
		}
	}
}

func claimArgsOf(f ClaimFilter) map[string]any {
	return map[string]any{"after": f.After, "n": 100, "state": f.State, "task": f.Task, "node": f.Node, "resource": f.Resource}
}

// buffers is how many blocks a statement touches.
func (f *fixture) buffers(verb string, args map[string]any) float64 {
	f.t.Helper()
	var plan []struct {
		Plan map[string]any
	}
	err := f.pool.QueryRow(context.Background(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+query[verb], pgx.NamedArgs(args)).Scan(&plan)
	if err != nil {
		f.t.Fatal(fmt.Errorf("%s: %w", verb, err))
	}
	return plan[0].Plan["Shared Hit Blocks"].(float64) + plan[0].Plan["Shared Read Blocks"].(float64)
}
