package site

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// writeShares brings the table of shares to the new tree. Removed paths are free first, then those that
// change, then new shares get ids; the last statement writes every share as the file has it.
func (c *transition) writeShares(ctx context.Context, tx pgx.Tx) error {
	gone, moved, added := []int32{}, []int32{}, []string{}
	for _, l := range c.gone {
		gone = append(gone, int32(l.ID))
	}
	for i, n := range c.next.Tree.Nodes[1:] {
		switch former := c.shares[i+1]; {
		case former.ID == 0:
			added = append(added, n.Path)
		case former.Path != n.Path:
			moved = append(moved, int32(former.ID))
		}
	}
	if _, err := exec(ctx, tx, "remove_shares", pgx.StrictNamedArgs{"version": c.next.Number, "ids": gone}); err != nil {
		return err
	}
	if _, err := exec(ctx, tx, "park_shares", pgx.StrictNamedArgs{"ids": moved}); err != nil {
		return err
	}
	type made struct {
		ID   shares.ShareID
		Path string
	}
	fresh, err := many[made](ctx, tx, "insert_shares", pgx.StrictNamedArgs{"paths": added})
	if err != nil {
		return err
	}
	ids := map[string]shares.ShareID{}
	for _, m := range fresh {
		ids[m.Path] = m.ID
	}
	for i, n := range c.next.Tree.Nodes {
		if c.shares[i].ID != 0 {
			ids[n.Path] = c.shares[i].ID
		}
	}
	c.next.Tree.SetIDs(func(path string) shares.ShareID { return ids[path] })
	return c.updateShares(ctx, tx)
}

func (c *transition) updateShares(ctx context.Context, tx pgx.Tx) error {
	t := c.next.Tree
	var ids, positions, tiers []int32
	var parents []*int32
	var names, paths, plans []string
	var leaves []bool
	var weights []float64
	for i := range t.Nodes[1:] {
		n := &t.Nodes[i+1]
		plan, err := json.Marshal(n.Plan)
		if err != nil {
			return fmt.Errorf("site: plan of %s: %w", n.Path, err)
		}
		var parent *int32
		if n.Parent > 0 {
			id := int32(t.Nodes[n.Parent].ID)
			parent = &id
		}
		ids, parents, positions = append(ids, int32(n.ID)), append(parents, parent), append(positions, int32(i))
		names, paths, plans = append(names, n.Name), append(paths, n.Path), append(plans, string(plan))
		leaves = append(leaves, t.Leaf(i+1))
		weights, tiers = append(weights, n.Plan.Weight), append(tiers, int32(n.Plan.Tier))
	}
	rows, err := exec(ctx, tx, "update_shares", pgx.StrictNamedArgs{"ids": ids, "parent_ids": parents, "names": names, "paths": paths,
		"positions": positions, "leaves": leaves, "weights": weights, "tiers": tiers, "plans": plans})
	if err == nil && rows != int64(len(ids)) {
		err = fmt.Errorf("site: %d of %d shares were written", rows, len(ids))
	}
	return err
}

func (c *transition) writeQueues(ctx context.Context, tx pgx.Tx) error {
	gone, renamed, added := []int32{}, []int32{}, []string{}
	for _, l := range c.goneQueues {
		gone = append(gone, int32(l.ID))
	}
	for i, queue := range c.next.Queues {
		switch former := c.queues[i]; {
		case former.ID == 0:
			added = append(added, queue.Name)
		case former.Name != queue.Name:
			renamed = append(renamed, int32(former.ID))
		}
	}
	if _, err := exec(ctx, tx, "remove_queues", pgx.StrictNamedArgs{"version": c.next.Number, "ids": gone}); err != nil {
		return err
	}
	if _, err := exec(ctx, tx, "park_queues", pgx.StrictNamedArgs{"ids": renamed}); err != nil {
		return err
	}
	type made struct {
		ID   shares.QueueID
		Name string
	}
	fresh, err := many[made](ctx, tx, "insert_queues", pgx.StrictNamedArgs{"names": added})
	if err != nil {
		return err
	}
	ids := map[string]shares.QueueID{}
	for _, m := range fresh {
		ids[m.Name] = m.ID
	}
	for i := range c.next.Queues {
		c.next.Queues[i].ID = c.queues[i].ID
		if c.queues[i].ID == 0 {
			c.next.Queues[i].ID = ids[c.next.Queues[i].Name]
		}
	}
	return c.updateQueues(ctx, tx)
}

func (c *transition) updateQueues(ctx context.Context, tx pgx.Tx) error {
	var ids, cores, positions []int32
	var slots []*int32
	var powers, memories, disks, walltimes []int64
	var names, pools, labels, prefers []string
	for i, queue := range c.next.Queues {
		var limit *int32
		if queue.Slots != nil {
			n := int32(*queue.Slots)
			limit = &n
		}
		tags, err := json.Marshal(queue.Labels)
		if err != nil {
			return fmt.Errorf("site: labels of %s: %w", queue.Name, err)
		}
		if queue.Labels == nil {
			tags = []byte("{}")
		}
		ids, cores, positions = append(ids, int32(queue.ID)), append(cores, int32(queue.Cores)), append(positions, int32(i))
		slots, powers = append(slots, limit), append(powers, queue.CorePowerMilli)
		memories, disks, walltimes = append(memories, queue.MemoryMB), append(disks, queue.DiskMB), append(walltimes, queue.WalltimeS)
		names, pools = append(names, queue.Name), append(pools, queue.Pool)
		labels, prefers = append(labels, string(tags)), append(prefers, queue.Prefer)
	}
	rows, err := exec(ctx, tx, "update_queues", pgx.StrictNamedArgs{"ids": ids, "names": names, "pools": pools, "slots": slots,
		"core_powers": powers, "cores": cores, "memories": memories, "disks": disks, "walltimes": walltimes,
		"labels": labels, "prefers": prefers, "positions": positions})
	if err == nil && rows != int64(len(ids)) {
		err = fmt.Errorf("site: %d of %d queues were written", rows, len(ids))
	}
	return err
}
