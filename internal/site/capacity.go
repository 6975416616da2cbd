package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// capacityRow is a capacity that was set beside the file.
type capacityRow struct {
	Name     string
	Key      string
	QueueID  shares.QueueID `db:"queue_id" json:"queue_id"`
	Capacity int64
}

// SetCapacity asks for another capacity than the file's.
type SetCapacity struct {
	Resource string // with a key, as in table:orders, for one key of a family; without for all
	Queue    string // of a resource per queue; "": all queues
	Capacity *int64 // nil: back to what the file says; of all keys and queues where none is named
	By       string // who asks
}

// SetResourceCapacity changes how many units of a resource there are, at once and in every daemon. Nothing is taken from
// whoever holds some: below what is held, no unit is granted until enough came back. It is kept when the site file
// is applied again, as long as the file has the resource. Errors: ErrUnknownResource, ErrUnknownQueue, ErrCapacity.
func (s *Store) SetResourceCapacity(ctx context.Context, c SetCapacity) error {
	if c.Capacity != nil && (*c.Capacity < 0 || *c.Capacity > shares.MaxResourceUnits) {
		return fmt.Errorf("%w: %d is not in 0 … %d", ErrCapacity, *c.Capacity, shares.MaxResourceUnits)
	}
	return pg.InTx(ctx, s.db, func(tx pgx.Tx) error {
		if err := pg.Lock(ctx, tx, pg.LockSite, 0); err != nil {
			return err
		}
		site, err := s.load(ctx, tx, inForce)
		if err != nil {
			return err
		}
		row, err := site.capacity(c)
		if err != nil {
			return err
		}
		if site.isSet(c, row) {
			return pg.Secure(ctx, tx)
		}
		if err := s.hooks.barrier(ctx, tx); err != nil {
			return err
		}
		record := access.Change{What: "resource.capacity", Object: c.Resource, Before: site.liveText(c), After: "that of the file"}
		if c.Capacity != nil {
			record.After = strconv.FormatInt(*c.Capacity, 10)
		}
		if c.Queue != "" {
			record.Object += " at " + c.Queue
		}
		if err := access.Record(ctx, tx, record); err != nil {
			return err
		}
		args := pgx.StrictNamedArgs{"name": row.Name, "key": row.Key, "queue_id": row.QueueID}
		verb := "reset_capacity"
		if c.Capacity != nil {
			verb, args["capacity"], args["by"] = "set_capacity", *c.Capacity, c.By
		}
		if _, err := exec(ctx, tx, verb, args); err != nil {
			return err
		}
		if err := site.readLive(ctx, tx); err != nil {
			return err
		}
		return s.applied(ctx, tx, site)
	})
}

// capacity finds what a capacity is to be of.
func (s *Site) capacity(c SetCapacity) (row capacityRow, err error) {
	row.Name, row.Key = shares.CutResource(c.Resource)
	i := slices.IndexFunc(s.Resources, func(r shares.Resource) bool { return r.Name == row.Name })
	if i < 0 {
		return row, fmt.Errorf("%w: %q", ErrUnknownResource, row.Name)
	}
	switch r := s.Resources[i]; {
	case !r.Keyed && strings.Contains(c.Resource, ":"):
		return row, fmt.Errorf("%w: %s is not keyed, and %s asks for one key", ErrCapacity, r.Name, c.Resource)
	case r.Keyed && row.Key == "" && strings.Contains(c.Resource, ":"):
		return row, fmt.Errorf("%w: %s has no key after the colon", ErrCapacity, c.Resource)
	case !r.PerQueue && c.Queue != "":
		return row, fmt.Errorf("%w: %s is not per queue: it has the same units everywhere", ErrCapacity, r.Name)
	case c.Queue != "":
		queue, ok := s.Queue(c.Queue)
		if !ok {
			return row, fmt.Errorf("%w: %q", ErrUnknownQueue, c.Queue)
		}
		row.QueueID = queue.ID
	}
	return row, nil
}

// isSet says whether a change of a capacity would change nothing: scripts repeat them, and each that does something makes
// every daemon read its limits again.
func (s *Site) isSet(c SetCapacity, row capacityRow) bool {
	i := slices.IndexFunc(s.Resources, func(r shares.Resource) bool { return r.Name == row.Name })
	return c.Capacity != nil == slices.ContainsFunc(s.Resources[i].Live, func(l shares.LiveCapacity) bool {
		if c.Capacity == nil { // all of its keys, all of its queues
			return (row.Key == "" || l.Key == row.Key) && (c.Queue == "" || l.Queue == c.Queue)
		}
		return l == shares.LiveCapacity{Key: row.Key, Queue: c.Queue, Capacity: *c.Capacity}
	})
}

// liveText is what a capacity was set to, for the audit.
func (s *Site) liveText(c SetCapacity) string {
	name, key := shares.CutResource(c.Resource)
	for _, r := range s.Resources {
		for _, l := range r.Live {
			if r.Name == name && l.Key == key && l.Queue == c.Queue {
				return strconv.FormatInt(l.Capacity, 10)
			}
		}
	}
	return "that of the file"
}

func (s *Site) readLive(ctx context.Context, tx pgx.Tx) error {
	rows, err := many[capacityRow](ctx, tx, "list_capacities", pgx.StrictNamedArgs{})
	if err == nil {
		s.setLive(rows)
	}
	return err
}

// setLive replaces the resources by such as have the capacities that are set; those of the parsed file are shared.
func (s *Site) setLive(rows []capacityRow) {
	s.Resources = slices.Clone(s.Resources)
	for i := range s.Resources {
		s.Resources[i].Live = nil
	}
	for _, row := range rows {
		i := slices.IndexFunc(s.Resources, func(r shares.Resource) bool { return r.Name == row.Name })
		q := slices.IndexFunc(s.Queues, func(q shares.Queue) bool { return q.ID == row.QueueID })
		if i < 0 || row.QueueID != 0 && q < 0 {
			continue
		}
		live := shares.LiveCapacity{Key: row.Key, Capacity: row.Capacity}
		if row.QueueID != 0 {
			live.Queue = s.Queues[q].Name
		}
		s.Resources[i].Live = append(s.Resources[i].Live, live)
	}
}

// writeResources keeps the resources of the new version, and drops capacities that were set for what it does not have.
func (c *transition) writeResources(ctx context.Context, tx pgx.Tx) error {
	var positions []int32
	var names, splits []string
	var capacities []int64
	var perQueues, keyeds []bool
	var expires []float64
	for i, r := range c.next.Resources {
		positions, names, splits = append(positions, int32(i)), append(names, r.Name), append(splits, r.Split.By)
		capacities, expires = append(capacities, r.Capacity), append(expires, r.ExternalExpires.Seconds())
		perQueues, keyeds = append(perQueues, r.PerQueue), append(keyeds, r.Keyed)
	}
	n, err := exec(ctx, tx, "insert_resources", pgx.StrictNamedArgs{"version": c.next.Number, "positions": positions, "names": names,
		"capacities": capacities, "per_queues": perQueues, "keyeds": keyeds, "splits": splits, "expires_s": expires})
	if err == nil && n != int64(len(names)) {
		err = errors.New("site: not all resources were written")
	}
	if err != nil {
		return err
	}
	if _, err := exec(ctx, tx, "drop_capacities", pgx.StrictNamedArgs{"version": c.next.Number}); err != nil {
		return err
	}
	return c.next.readLive(ctx, tx)
}

// noteCapacities says where a capacity that was set hides the one that the file changes, or goes with its resource.
func (c *transition) noteCapacities() {
	for _, old := range c.before.Resources {
		if len(old.Live) == 0 {
			continue
		}
		i := slices.IndexFunc(c.next.Resources, func(r shares.Resource) bool { return r.Name == old.Name })
		switch {
		case i < 0:
			c.notes = append(c.notes, fmt.Sprintf("resource %s: the capacity that was set for it goes with it", old.Name))
		case c.next.Resources[i].Capacity != old.Capacity:
			c.notes = append(c.notes, fmt.Sprintf("resource %s: another capacity than the file's is set and stays in force until divvy resource set %s --reset", old.Name, old.Name))
		}
	}
}
