package dispatcher

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// claimTemplate is a template as a claim's row has it.
type claimTemplate struct {
	Name       string           `json:"name"`
	Resources  map[string]int64 `json:"resources,omitempty"`
	Node       bool             `json:"node,omitempty"`
	Devices    map[string]int   `json:"devices,omitempty"`
	MaxSharers int              `json:"max_sharers,omitempty"`
	Missing    bool             `json:"missing,omitempty"` // there is no such template, or no such claim
	Payer      *claimPayer      `json:"payer,omitempty"`   // of a missing one: whose units it will hold when there is one
	Gang       bool             `json:"gang,omitempty"`
	Members    int              `json:"members,omitempty"` // with gang, or of a missing one: jobs that share the claim
}

// rowTemplate is a template as a row has it.
func rowTemplate(t shares.ClaimTemplate) claimTemplate {
	return claimTemplate{Name: t.Name, Resources: t.Resources, Node: t.Node, Devices: t.Devices, MaxSharers: t.MaxSharers, Gang: t.Gang}
}

// template is the same as package resource takes it.
func (t claimTemplate) template() shares.ClaimTemplate {
	return shares.ClaimTemplate{Name: t.Name, Resources: t.Resources, Node: t.Node, Devices: t.Devices, MaxSharers: t.MaxSharers, Gang: t.Gang}
}

// NewClaim is a claim that jobs of a task are about to refer to.
type NewClaim struct {
	Key       string // resource.ClaimKey.Name; of one that people make its name
	Template  shares.ClaimTemplate
	Missing   bool   // there is no such template: its jobs wait until the site has it
	Outside   bool   // people make it; there is no template. Until they do its jobs wait
	SharingID string // whom its units of resources are counted for, beside the share of the job that binds it,
	Label     string // or this label, whichever the resource is split by
	Members   int    // jobs that share it, made or not; of one that is made for jobs that try others again: these
	Made      int    // of them, that are about to be made
}

// payer is whom its units are counted for.
func (c NewClaim) payer() claimPayer { return claimPayer{c.SharingID, c.Label} }

// row is its template as its row has it.
func (c NewClaim) row() claimTemplate {
	t := rowTemplate(c.Template)
	t.Members = c.members()
	if t.Missing = c.Missing || c.Outside; c.Missing {
		payer := c.payer()
		t.Payer = &payer
	}
	return t
}

// task is whose claim it is.
func (c NewClaim) task(task int64) int64 {
	if c.Outside {
		return 0
	}
	return task
}

// MakeClaims finds or makes claims of a task, in the transaction that enqueues jobs of them, and returns their ids in the
// order of all. Of those that are released new ones are made.
func MakeClaims(ctx context.Context, tx pgx.Tx, task int64, all []NewClaim) (ids []int64, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	tasks, keys, templates, lingers := make([]int64, len(all)), make([]string, len(all)), make([]string, len(all)), make([]float64, len(all))
	charges, costs := make([]int32, len(all)), charger{tx: tx}
	for i, c := range all {
		t := c.Template
		text, err := json.Marshal(c.row())
		if err != nil {
			return nil, fmt.Errorf("claim %s: %w", c.Key, err)
		}
		tasks[i], keys[i], templates[i], lingers[i] = c.task(task), c.Key, string(text), lingerOf(t).Seconds()
		if charges[i], err = costs.shape(ctx, t, c.payer()); err != nil {
			return nil, fmt.Errorf("claim %s: %w", c.Key, err)
		}
	}
	rows, err := tx.Query(ctx, query["make_claims"], pgx.StrictNamedArgs{"tasks": tasks, "keys": keys, "templates": templates, "lingers": lingers,
		"charges": charges})
	if err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	type name struct {
		task int64
		key  string
	}
	var of name
	var id int64
	byName := make(map[name]int64, len(all))
	if _, err := pgx.ForEachRow(rows, []any{&of.task, &of.key, &id}, func() error { byName[of] = id; return nil }); err != nil {
		return nil, fmt.Errorf("claims: %w", err)
	}
	ids = make([]int64, len(all))
	for i, key := range keys {
		ids[i] = byName[name{tasks[i], key}]
	}
	return ids, makeGangs(ctx, tx, all, ids)
}

// claimRow is a claim as it is read.
type claimRow struct {
	ID       int64
	TaskID   int64
	Key      string
	Template claimTemplate
	State    string
	QueueID  shares.QueueID
	Queue    string
	Node     string
	Devices  []string
	Sharers  int
	ChargeID int32   // shape of its units; 0: it has none
	charge   *shape  // the same
	Upto     *string // the snapshot that it was read by; NULL: it was asked for by id
}

// claim is the row as package resource takes it.
func (r *claimRow) claim() resource.Claim {
	t := r.Template.template()
	c := resource.NewClaim(t, max(1, r.Template.Members))
	c.State, c.Sharers, c.Missing, c.External = resource.ClaimState(r.State), r.Sharers, r.Template.Missing, r.TaskID == 0
	if c.State == resource.ClaimBound || c.State == resource.ClaimDraining {
		c.Place, c.Devices, c.Local = resource.Place{Queue: r.Queue, Node: r.Node}, r.Devices, r.Node != "" && (c.External || resource.Local(t))
	}
	return c
}

// readClaims follows the claims, once there are some. What it reads is at least as new as all jobs that were read before.
func (d *Dispatcher) readClaims(ctx context.Context) error {
	d.readingClaims.Lock() // an older read must not be taken over after a newer one
	defer d.readingClaims.Unlock()
	d.mu.Lock()
	s := d.state
	some, since, again := s.claims.shapes > 0, s.claims.since, slices.Collect(maps.Keys(s.claims.again))
	clear(s.claims.again)
	d.mu.Unlock()
	if !some {
		return nil
	}
	rows, err := collect[claimRow](ctx, d.cfg.Pool, "read_claims", pgx.StrictNamedArgs{"since": since, "first": since == beforeAll, "ids": append([]int64{}, again...)})
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		err = s.knowCharges(ctx, d.cfg.Pool, rows)
	}
	if err != nil {
		for _, id := range again {
			s.claims.again[id] = true
		}
		return err
	}
	if s.claims.follow(rows) {
		s.recountCosts()
		for place := range s.claims.moved { // jobs are told of by their moves, devices are not
			d.line.stirAt(place)
		}
		clear(s.claims.moved)
		d.kick()
	}
	for _, w := range s.claims.unpark() {
		s.check(w)
		d.stirWindow(w)
		d.kick()
	}
	return nil
}

// hearOfClaims has the claims read soon: some of them have sharers less, and others may wait for that. d.mu is held.
func (d *Dispatcher) hearOfClaims() {
	if d.state.claims.hearing || d.stopping {
		return
	}
	d.state.claims.hearing = true
	d.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Timing.Statement)
		defer cancel()
		d.mu.Lock()
		d.state.claims.hearing = false
		d.mu.Unlock()
		if err := d.readClaims(ctx); err != nil {
			d.cfg.Log.Warn("claims cannot be read", "err", err)
		}
	})
}

// follow takes over what was read. It says whether something has changed that pulls may wait for.
func (cs *claims) follow(rows []claimRow) (changed bool) {
	for i := range rows {
		r := &rows[i]
		if r.Upto != nil {
			cs.since = *r.Upto
		}
		if r.ID == 0 {
			continue // nothing has changed
		}
		c := cs.by[r.ID]
		if c != nil && c.inflight > 0 {
			cs.again[r.ID] = true // what is under way here is not in it
			continue
		}
		changed = cs.take(c, r) || changed
	}
	return changed
}

// beforeAll is a snapshot that saw nothing.
const beforeAll = "1:1:"

// take takes over one row; c is the claim as it was, or nil.
func (cs *claims) take(c *liveClaim, r *claimRow) (changed bool) {
	now := r.claim()
	if now.State == resource.ClaimReleased {
		if c != nil {
			cs.moved[c.Place] = true
			cs.put(c, now.State, resource.Place{}, nil)
			delete(cs.by, r.ID)
			delete(cs.missing, r.ID)
		}
		return c != nil
	}
	if c == nil {
		c = &liveClaim{Claim: resource.NewClaim(now.Template, 1), id: r.ID, task: r.TaskID, key: r.Key}
		cs.by[r.ID] = c
		cs.counts[c.State]++
		changed = true
	}
	changed = changed || c.unsure || c.Missing != now.Missing || c.State != now.State || c.Place != now.Place || !slices.Equal(c.Devices, now.Devices)
	c.unsure, c.Sharers, c.Jobs, c.Missing, c.External, c.Template = false, now.Sharers, now.Jobs, now.Missing, now.External, now.Template
	c.queue, c.payer = r.QueueID, r.Template.Payer
	if c.charge == nil { // it may have a template from now on
		c.charge = r.charge
	}
	cs.lack(c)
	if changed {
		cs.moved[c.Place], cs.moved[now.Place] = true, true
		cs.put(c, now.State, now.Place, now.Devices)
	}
	return changed
}

// reclass puts pulls that wait into classes by node: since there are jobs with claims, what one node may run another may not.
// d.mu is held.
func (d *Dispatcher) reclass() {
	d.state.claims.news = false
	for _, c := range slices.Collect(maps.Values(d.line.classes)) {
		var moves []*pull
		for e := c.pulls.Front(); e != nil; e = e.Next() {
			if p := e.Value.(*pull); p.nodeClass() != "" {
				moves = append(moves, p)
			}
		}
		for _, p := range moves {
			_, overdue := c.overdue[p]
			d.line.remove(p)
			p.class += p.nodeClass()
			p.byNode = true
			d.line.add(d, p)
			if at := d.line.classes[p.class]; overdue {
				at.overdue.add(p)
			}
		}
	}
}

// nodeClass is what tells the pull from those of other nodes.
func (p *pull) nodeClass() string {
	if p.byNode || p.req.Node == "" && len(p.req.Devices) == 0 {
		return ""
	}
	return " at " + p.req.Node + " " + strings.Join(p.req.Devices, ",")
}

// recallClaims are the claims that a job with a lease holds.
func (d *Dispatcher) recallClaims(ctx context.Context, ids []int64) (held []heldClaim, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := collect[claimRow](ctx, d.cfg.Pool, "claims_of", pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		h := heldClaim{template: r.Template.Name, devices: r.Devices}
		if r.claim().Local {
			h.node = r.Node
		}
		held = append(held, h)
	}
	return held, nil
}
