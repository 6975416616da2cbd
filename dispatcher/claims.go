package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// ClaimFilter selects claims; the zero one all that are not over.
type ClaimFilter struct {
	Task     int64
	State    string // released: those that are over
	Node     string
	Resource string // that it takes units of
	After    int64  // ids above this one: the cursor
	Limit    int    // 1 … 1000; 0 = 100
}

// has says whether a live claim is among those that are asked for.
func (f *ClaimFilter) has(c *gate.Shown) bool {
	_, takes := c.Template.Resources[f.Resource]
	return c.ID > f.After && (f.Task == 0 || c.Task == f.Task) && (f.State == "" || string(c.State) == f.State) &&
		(f.Node == "" || c.Place.Node == f.Node) && (f.Resource == "" || takes)
}

// Claims lists claims by ascending id: live ones as the machine of this daemon has them, those that are over as far as they are folded.
func (v *Verbs) Claims(ctx context.Context, f ClaimFilter) ([]explain.ClaimStanding, error) {
	if f.Limit <= 0 || f.Limit > 1000 {
		f.Limit = 100
	}
	if f.State == string(resource.ClaimReleased) {
		return v.released(ctx, "released", pg.Args{"after": f.After, "task": f.Task, "node": f.Node, "resource": f.Resource, "n": f.Limit})
	}
	list := []explain.ClaimStanding{}
	err := v.eye.view(ctx, func(w machine.View) {
		saved := w.Claims()
		if saved == nil {
			return
		}
		for _, c := range saved.Claims { // by rising id
			shown := gate.Shown{Claim: c.Claim, ID: c.ID, Task: c.Task, Key: c.Key, Payer: c.Payer, Queue: c.Queue}
			if f.has(&shown) && len(list) < f.Limit {
				list = append(list, v.standing(&shown))
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	return list, v.addTimes(ctx, list)
}

// standing is a claim as people see it.
func (v *Verbs) standing(c *gate.Shown) explain.ClaimStanding {
	t := c.Template
	st := explain.ClaimStanding{ID: c.ID, Task: c.Task, Key: c.Key, State: string(c.State), LingerS: t.Linger.Seconds(), Node: c.Place.Node, Devices: c.Devices,
		Sharers: c.Sharers, Template: explain.ClaimTakes{Name: t.Name, Resources: t.Resources, Node: t.Node, Devices: t.Devices, MaxSharers: t.MaxSharers,
			Gang: t.Gang, Missing: c.Missing}}
	st.Queue = c.Place.Queue
	if q, ok := v.site.queue(c.Queue); ok {
		st.Queue = q.Name
	}
	if !c.Since.IsZero() {
		st.IdleSince = &c.Since
	}
	return st
}

// addTimes adds what the tables alone know.
func (v *Verbs) addTimes(ctx context.Context, list []explain.ClaimStanding) error {
	ids := make([]int64, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	type times struct {
		ID      int64
		MadeAt  time.Time
		BoundAt *time.Time
	}
	found, err := rowsBy(ctx, v.db, "claim_times", pg.Args{"ids": ids}, func(t times) (int64, times) { return t.ID, t })
	for i := range list {
		if t, ok := found[list[i].ID]; ok {
			if list[i].CreatedAt = t.MadeAt; list[i].State == string(resource.ClaimBound) {
				list[i].BoundAt = t.BoundAt
			}
		}
	}
	return err
}

// endedClaim is a claim that is over, as the fold keeps it.
type endedClaim struct {
	ID, Task int64
	Key      string
	Queue    shares.QueueID
	Node     string
	Devices  []string
	Missing  bool
	MadeAt   time.Time
	EndedAt  *time.Time
	Template shares.ClaimTemplate
}

// released lists claims that are over.
func (v *Verbs) released(ctx context.Context, verb string, args pg.Args) ([]explain.ClaimStanding, error) {
	rows, err := v.db.Query(ctx, query[verb], args)
	if err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[endedClaim])
	if err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	out := make([]explain.ClaimStanding, len(list))
	for i, r := range list {
		out[i] = v.standing(&gate.Shown{ID: r.ID, Task: r.Task, Key: r.Key, Queue: r.Queue, Claim: resource.Claim{State: resource.ClaimReleased, Missing: r.Missing,
			Template: r.Template, Place: resource.Place{Node: r.Node}, Devices: r.Devices}})
		out[i].CreatedAt, out[i].EndedAt = r.MadeAt, r.EndedAt
	}
	return out, nil
}
