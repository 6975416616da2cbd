package generator

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/split"
	"github.com/divvyhq/divvy/generator/stored"
	"github.com/divvyhq/divvy/shares"
)

// maxLots bounds the sets of locations of a task.
const maxLots = 1000

// readLots returns the lots of locked tasks.
func readLots(ctx context.Context, tx pgx.Tx, tasks []int64) (map[int64][]*split.Lot, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, query["read_lots"], pgx.StrictNamedArgs{"tasks": tasks})
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[split.Lot])
	lots := map[int64][]*split.Lot{}
	for _, l := range all {
		lots[l.TaskID] = append(lots[l.TaskID], l)
	}
	return lots, err
}

// addToLots stores inputs in the lots of their locations; inLots says whether the task had lots before.
func addToLots(ctx context.Context, tx pgx.Tx, c stored.Chunk, inLots bool) error {
	if !inLots {
		if _, err := tx.Exec(ctx, query["into_lots"], pgx.StrictNamedArgs{"task": c.Task, "n": len(c.Inputs)}); err != nil {
			return err
		}
	}
	read, err := readLots(ctx, tx, []int64{c.Task})
	if err != nil {
		return err
	}
	s := sorter{task: c.Task, at: map[string]int{}}
	for _, l := range read[c.Task] {
		s.add(l.Number, strings.Join(l.Locations, "\n"), l.N)
	}
	for _, in := range c.Inputs {
		if err := s.sort(in); err != nil {
			return err
		}
	}
	if err := stored.Copy(ctx, tx, s.chunks); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, query["add_to_lots"], pgx.StrictNamedArgs{"task": c.Task, "lots": s.lots, "locations": s.locations,
		"ns": s.ns, "bytes": s.bytes, "events": s.events})
	return err
}

// insertLots stores what a new task is cut from, and opens it, unless its inputs are still to come.
func insertLots(ctx context.Context, tx pgx.Tx, id int64, n *newTask) error {
	switch s := &n.spec; {
	case s.Events != nil:
		_, err := tx.Exec(ctx, query["add_to_lots"], pgx.StrictNamedArgs{"task": id, "lots": []int32{0}, "locations": []string{""},
			"ns": []int64{s.Events.Total}, "bytes": []int64{0}, "events": []int64{s.Events.Total}})
		if err != nil {
			return err
		}
	case s.InputsStreamed:
		return nil
	default:
		if err := addToLots(ctx, tx, stored.Chunk{Task: id, Inputs: s.Inputs}, true); err != nil {
			return err
		}
	}
	_, err := openLots(ctx, tx, &n.spec, id, n.queues)
	return err
}

// commitLots opens the lots of a task whose inputs were streamed.
func (g *Submissions) commitLots(ctx context.Context, tx pgx.Tx, id int64) (pieces int64, err error) {
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return 0, fmt.Errorf("site: %w", err)
	}
	s, err := readSized(ctx, tx, id)
	if err != nil {
		return 0, err
	}
	return openLots(ctx, tx, s, id, st.Queues)
}

// sorter puts inputs into lots: one a set of locations. The first lot is that of inputs without any.
type sorter struct {
	task   int64
	at     map[string]int // by locations, in the arrays below
	next   int32
	lots   []int32
	chunks []stored.Chunk

	locations         []string
	ns, bytes, events []int64 // that are added
}

func (s *sorter) add(lot int32, locations string, n int64) int {
	i := len(s.lots)
	s.at[locations], s.next = i, max(s.next, lot+1)
	s.lots, s.locations = append(s.lots, lot), append(s.locations, locations)
	s.chunks = append(s.chunks, stored.Chunk{Task: s.task, Offset: int64(lot)<<split.LotShift + n})
	s.ns, s.bytes, s.events = append(s.ns, 0), append(s.bytes, 0), append(s.events, 0)
	return i
}

func (s *sorter) sort(in spec.Input) error {
	key := strings.Join(in.Locations, "\n")
	i, known := s.at[key]
	if !known {
		number := max(s.next, 1)
		if key == "" {
			number = 0
		}
		if number >= maxLots {
			return spec.Invalid("inputs", "are in more than 1000 different sets of locations", "leave the locations out, or make several tasks")
		}
		i = s.add(number, key, 0)
	}
	s.chunks[i].Inputs = append(s.chunks[i].Inputs, in)
	s.ns[i], s.bytes[i], s.events[i] = s.ns[i]+1, s.bytes[i]+in.Size, s.events[i]+max(in.Events, 1)
	return nil
}

// openLots makes the lots of a task ready to be cut: their shapes, and how many pieces they make. It returns the sum of these.
func openLots(ctx context.Context, tx pgx.Tx, s *spec.Spec, task int64, queues []shares.Queue) (pieces int64, err error) {
	read, err := readLots(ctx, tx, []int64{task})
	if err != nil {
		return 0, err
	}
	lots := read[task]
	for _, l := range lots {
		p, err := planLot(ctx, tx, l, s, queues)
		if err != nil {
			return 0, err
		}
		l.Estimate(s, &p)
		pieces += l.PiecesLeft
	}
	if err := writeLots(ctx, tx, lots); err != nil {
		return 0, err
	}
	if pieces > spec.MaxPieces {
		return 0, spec.Invalid("split", fmt.Sprintf("makes about %d jobs, more than %d", pieces, spec.MaxPieces), "make them larger")
	}
	_, err = tx.Exec(ctx, query["open_lots"], pgx.StrictNamedArgs{"task": task, "lots": len(lots), "n_pieces": pieces})
	return pieces, err
}

// writeLots writes down how far lots are cut, and what they are cut by.
func writeLots(ctx context.Context, tx pgx.Tx, lots []*split.Lot) error {
	var tasks, cuts, bytes, events, skips, left []int64
	var numbers []int32
	var shapes []string
	for _, l := range lots {
		tasks, numbers, cuts = append(tasks, l.TaskID), append(numbers, l.Number), append(cuts, l.Cut)
		bytes, events, skips = append(bytes, l.CutBytes), append(events, l.CutEvents), append(skips, l.Skip)
		left, shapes = append(left, l.PiecesLeft), append(shapes, intArray(l.ShapeIDs))
	}
	_, err := tx.Exec(ctx, query["write_lots"], pgx.StrictNamedArgs{"tasks": tasks, "lots": numbers, "cuts": cuts, "bytes": bytes,
		"events": events, "skips": skips, "lefts": left, "shapes": shapes})
	return err
}

// intArray is an array as PostgreSQL reads it from text: rows of a statement have arrays of different lengths.
func intArray(ids []int32) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.Itoa(int(id))
	}
	return "{" + strings.Join(texts, ",") + "}"
}
