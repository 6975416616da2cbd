package holdings

import (
	"context"
	"fmt"
	"time"

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
func (b *Book) Claims(ctx context.Context, f ClaimFilter) ([]explain.ClaimStanding, error) {
	if f.Limit <= 0 || f.Limit > 1000 {
		f.Limit = 100
	}
	if f.State == string(resource.ClaimReleased) {
		return b.released(ctx, "released", pg.Args{"after": f.After, "task": f.Task, "node": f.Node, "resource": f.Resource, "n": f.Limit})
	}
	list := []explain.ClaimStanding{}
	err := b.cfg.View(ctx, func(w machine.View) {
		saved := w.Claims()
		if saved == nil {
			return
		}
		for _, c := range saved.Claims { // by rising id
			shown := gate.Shown{SavedClaim: c}
			if f.has(&shown) && len(list) < f.Limit {
				list = append(list, b.Standing(&shown))
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	return list, b.addTimes(ctx, list)
}

// Standing is a claim as people see it.
func (b *Book) Standing(c *gate.Shown) explain.ClaimStanding {
	t := c.Template
	st := explain.ClaimStanding{ID: c.ID, Task: c.Task, Key: c.Key, State: string(c.State), LingerS: t.Linger.Seconds(), Node: c.Place.Node, Devices: c.Devices,
		Sharers: c.Sharers, Template: explain.ClaimTakes{Name: t.Name, Resources: t.Resources, Node: t.Node, Devices: t.Devices, MaxSharers: t.MaxSharers,
			Gang: t.Gang, Missing: c.Missing}}
	st.Queue = c.Place.Queue
	if q, ok := b.cfg.Queue(c.Queue); ok {
		st.Queue = q.Name
	}
	if !c.Since.IsZero() {
		st.IdleSince = &c.Since
	}
	return st
}

// addTimes adds what the tables alone know.
func (b *Book) addTimes(ctx context.Context, list []explain.ClaimStanding) error {
	ids := make([]int64, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	type times struct {
		ID      int64
		MadeAt  time.Time
		BoundAt *time.Time
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := collect[times](ctx, b, "claim_times", pg.Args{"ids": ids})
	found := make(map[int64]times, len(rows))
	for _, t := range rows {
		found[t.ID] = t
	}
	for i := range list {
		if t, ok := found[list[i].ID]; ok && list[i].EndedAt == nil {
			if list[i].CreatedAt = t.MadeAt; list[i].State == string(resource.ClaimBound) {
				list[i].BoundAt = t.BoundAt
			}
		}
	}
	return err
}

// ClaimsOf returns claims by their ids, in their order: live ones as the machine of this daemon has them, those that are over as far as they
// are folded and kept. Others are left out.
func (b *Book) ClaimsOf(ctx context.Context, ids []int64) ([]explain.ClaimStanding, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return b.claimsOf(ctx, ids, func(machine.View) {})
}

// claimsOf is ClaimsOf that also looks at the machine at the same moment.
func (b *Book) claimsOf(ctx context.Context, ids []int64, also func(machine.View)) ([]explain.ClaimStanding, error) {
	live := map[int64]explain.ClaimStanding{}
	if err := b.cfg.View(ctx, func(w machine.View) {
		for _, id := range ids {
			if c, ok := w.Claim(id); ok {
				live[id] = b.Standing(&c)
			}
		}
		also(w)
	}); err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	var list []explain.ClaimStanding
	for _, id := range ids {
		if c, ok := live[id]; ok {
			list = append(list, c)
			continue
		}
		ended, err := b.released(ctx, "ended_claim", pg.Args{"id": id})
		if err != nil {
			return nil, err
		}
		list = append(list, ended...)
	}
	return list, b.addTimes(ctx, list)
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

func (b *Book) released(ctx context.Context, verb string, args pg.Args) ([]explain.ClaimStanding, error) {
	list, err := collect[endedClaim](ctx, b, verb, args)
	if err != nil {
		return nil, err
	}
	out := make([]explain.ClaimStanding, len(list))
	for i, r := range list {
		c := resource.Claim{State: resource.ClaimReleased, Missing: r.Missing, Template: r.Template, Place: resource.Place{Node: r.Node}, Devices: r.Devices}
		out[i] = b.Standing(&gate.Shown{SavedClaim: gate.SavedClaim{ID: r.ID, Task: r.Task, Key: r.Key, Queue: r.Queue, Claim: c}})
		out[i].CreatedAt, out[i].EndedAt = r.MadeAt, r.EndedAt
	}
	return out, nil
}
