package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// gangRow is a job of a gang, in whatever state it is.
type gangRow struct {
	ClaimID int64
	narrowRow
	Ready   bool // and nobody has it
	Leased  bool
	Unmade  int64 // jobs of the gang that are still to be made
	HasAJob bool
}

func scanGang(row pgx.CollectableRow) (r gangRow, err error) {
	err = row.Scan(&r.ClaimID, &r.Unmade, &r.HasAJob, &r.Row, &r.ID, &r.Place, &r.TaskID, &r.Attempt, &r.Priority, &r.Idx, &r.Inputs,
		&r.FirstEvent, &r.NEvents, &r.Claims, &r.FirstMade, &r.ShareID, &r.ShapeID, &r.Ready, &r.Leased)
	return r, err
}

// gangReads is what decisions wait for of gangs; one read of each kind at a time. Guarded by Dispatcher.mu.
type gangReads struct {
	gangs   map[*gang]bool
	nodes   map[*gangNode]bool
	reading bool
	resting bool // nodes were just read: those that are asked for wait
}

// readGangs starts what decisions about gangs wait for. d.mu is held.
func (d *Dispatcher) readGangs(n *needs) {
	r := &d.gangReads
	if len(n.gangs) == 0 && len(n.nodes) == 0 {
		return
	}
	if r.gangs == nil {
		r.gangs, r.nodes = map[*gang]bool{}, map[*gangNode]bool{}
	}
	for g := range n.gangs {
		r.gangs[g] = true
	}
	for node := range n.nodes {
		r.nodes[node] = true
	}
	d.startGangReads()
}

// startGangReads starts what may be read now. d.mu is held.
func (d *Dispatcher) startGangReads() {
	if r := &d.gangReads; !r.reading && !d.stopping && r.due() {
		r.reading = true
		d.work.Go(d.fillGangs)
	}
}

// due says whether there is something that may be read now.
func (r *gangReads) due() bool { return len(r.gangs) > 0 || len(r.nodes) > 0 && !r.resting }

// take hands out what may be read now.
func (r *gangReads) take() (gangs map[*gang]bool, nodes map[*gangNode]bool) {
	gangs, r.gangs = r.gangs, map[*gang]bool{}
	if !r.resting {
		nodes, r.nodes = r.nodes, map[*gangNode]bool{}
	}
	return gangs, nodes
}

// fillGangs reads who the jobs of gangs are, and what runs at nodes, until nobody waits for it any more.
func (d *Dispatcher) fillGangs() {
	for {
		d.mu.Lock()
		r := &d.gangReads
		if !r.due() {
			r.reading = false
			d.mu.Unlock()
			return
		}
		gangs, nodes := r.take()
		for g := range gangs {
			g.read, g.reading = true, true // what changes from now on has it read again
		}
		d.mu.Unlock()

		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Timing.Statement)
		err := d.readMembers(ctx, gangs)
		if err == nil {
			err = d.readBusy(ctx, nodes)
		}
		cancel()

		d.mu.Lock()
		for g := range gangs {
			g.read, g.reading = g.read && err == nil, false
		}
		if err != nil {
			d.cfg.Log.Warn("jobs that start together cannot be read", "err", err)
		}
		d.line.unblock(d, err)
		d.kick()
		if len(nodes) > 0 {
			r.resting = true
			time.AfterFunc(min(busyRest*time.Since(began), time.Second), d.gangsRested)
		}
		d.mu.Unlock()
	}
}

// gangsRested lets nodes be read again.
func (d *Dispatcher) gangsRested() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gangReads.resting = false
	d.startGangReads()
}

// busyRest is the rest after a read of what runs at nodes, in times of what it took: all leases are read for it.
const busyRest = 5

// readMembers reads the jobs of gangs.
func (d *Dispatcher) readMembers(ctx context.Context, gangs map[*gang]bool) error {
	if len(gangs) == 0 {
		return nil
	}
	var ids []int64
	for g := range gangs {
		ids = append(ids, g.claim.id)
	}
	slices.Sort(ids)
	rows, err := byKeyTo(ctx, d, statement{"read_gangs", pgx.StrictNamedArgs{"claims": ids}}, scanGang)
	if err != nil {
		return err
	}
	var ready []readyRow
	for _, r := range rows {
		if r.HasAJob {
			ready = append(ready, r.readyRow)
		}
	}
	if err := d.preload(ctx, ready); err != nil {
		return err
	}
	of := map[int64][]gangRow{}
	for _, r := range rows {
		of[r.ClaimID] = append(of[r.ClaimID], r)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.ContainsFunc(rows, func(r gangRow) bool { return r.HasAJob && d.state.shapes[r.ShapeID] == nil }) {
		if err := d.state.loadShapes(ctx, d.cfg.Pool); err != nil {
			return err
		}
	}
	for g := range gangs {
		g.take(of[g.claim.id], d.state)
	}
	return nil
}

// take takes over what was read of a gang.
func (g *gang) take(rows []gangRow, s *state) {
	g.members, g.lacks, g.at = nil, "", s.now()
	var unmade, held, running int
	for _, r := range rows {
		unmade = int(r.Unmade)
		if !r.HasAJob {
			continue
		}
		sh := s.shapes[r.ShapeID]
		key := windowKey{r.ShareID, r.ShapeID}
		switch {
		case r.Leased || s.inflight[r.ID] != nil:
			running++
		case !r.Ready || sh == nil || s.window(key) == nil:
			held++
		default:
			g.members = append(g.members, gangMember{job: r.job(), key: key, sh: sh})
		}
	}
	g.unmade = unmade > 0
	switch {
	case g.unmade:
		g.lacks = fmt.Sprintf("%d of its jobs are not made yet", unmade)
	case held > 0:
		g.lacks = fmt.Sprintf("%d of its jobs may not run now: their task is held back", held)
	case running > 0:
		g.lacks = fmt.Sprintf("%d of its jobs are being started", running)
	case len(g.members) == 0:
		g.lacks = "none of its jobs is left"
	case slices.ContainsFunc(g.members, func(m gangMember) bool { return m.key.share != g.share() }):
		g.lacks = "its task is on its way to another share"
	}
}

// busyRow is what the jobs of a pilot take.
type busyRow struct {
	QueueID  shares.QueueID
	Node     string
	Pilot    string
	Jobs     int64
	Cores    int64
	MemoryMB int64
	DiskMB   int64
}

// readBusy reads what runs at nodes.
func (d *Dispatcher) readBusy(ctx context.Context, nodes map[*gangNode]bool) error {
	if len(nodes) == 0 {
		return nil
	}
	type place struct {
		queue shares.QueueID
		node  string
	}
	at, queues, names := map[place]*gangNode{}, []int32{}, []string{}
	d.mu.Lock()
	for n := range nodes {
		if q := d.state.byName[n.place.Queue]; q != nil {
			at[place{q.ID, n.place.Node}] = n
			queues, names = append(queues, int32(q.ID)), append(names, n.place.Node)
		}
	}
	d.mu.Unlock()
	rows, err := collect[busyRow](ctx, d.cfg.Pool, "busy_nodes", pgx.StrictNamedArgs{"queues": queues, "nodes": names})
	if err != nil {
		return err
	}
	d.mu.Lock()
	for n := range nodes {
		n.busy, n.read = map[string]resource.Room{}, d.state.now()
	}
	for _, r := range rows {
		at[place{r.QueueID, r.Node}].busy[r.Pilot] = resource.Room{Cores: r.Cores, MemoryMB: r.MemoryMB, DiskMB: r.DiskMB, Jobs: r.Jobs}
	}
	d.mu.Unlock()
	return nil
}
