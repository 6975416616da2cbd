package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/stored"
	"github.com/divvyhq/divvy/internal/pg"
)

// endedJob is a job of a needed task that has ended.
type endedJob struct {
	ID       int64
	Attempt  int32 // that finished; 0: it had no lease in the end
	Idx      int64
	Finished bool
	EndedAt  time.Time
}

// follow takes note of the next jobs of the needed task that have ended, and gives the task what follows from them. Jobs do
// not end in the order of their ids, and what ends at the same time is seen in any order: so rounds go over all that have
// ended behind the first that has not, and a bit for each piece says which are known already. through: a round that began when
// the needed task was over has come to its end, so that nothing more comes.
func (d *dueNeed) follow(ctx context.Context, tx pgx.Tx) (n int, through bool, err error) {
	seen := int64(0) // what this round finds at least; said when it begins
	if d.LowNext == nil {
		seen = d.NeedsEnded
		if err := tx.QueryRow(ctx, query["begin_round"], pgx.StrictNamedArgs{"task": d.NeedsID, "low": d.Low}).Scan(&d.LowNext); err != nil {
			return 0, false, err
		}
		d.After, d.WasOver = d.Low, d.Over
	}
	ended, err := pg.Collect[endedJob](ctx, tx, query["read_ended"], pgx.StrictNamedArgs{"task": d.NeedsID, "after": d.After,
		"any": d.Condition == spec.WhenAny && d.Outputs == "", "limit": Ends})
	if err != nil {
		return 0, false, err
	}
	low, full := d.Low, len(ended) == Ends
	if full {
		d.After = ended[Ends-1].ID // before take leaves out what is known
	}
	n = len(ended)
	if err := d.take(ctx, tx, ended); err != nil {
		return 0, false, err
	}
	if !full {
		through, low, d.After, d.LowNext = d.WasOver, *d.LowNext, 0, nil
	}
	d.missing(through)
	_, err = tx.Exec(ctx, query["advance_need"], pgx.StrictNamedArgs{"task": d.TaskID, "place": d.Place, "low": low,
		"after": d.After, "low_next": d.LowNext, "was_over": d.WasOver, "n_taken": d.NTaken, "seen": seen})
	return n, through || d.fault != "", err
}

// missing notices that jobs of the needed task have finished of which nothing is known any more.
func (d *dueNeed) missing(through bool) {
	if through && d.fault == "" && d.NTaken < d.NeedsFinished {
		d.fault = fmt.Sprintf("needs task %d (%s), of which the history of %d jobs is gone", d.NeedsID, d.NeedsName, d.NeedsFinished-d.NTaken)
	}
}

// take does what follows from jobs that have ended, and are not known yet.
func (d *dueNeed) take(ctx context.Context, tx pgx.Tx, ended []endedJob) error {
	if len(ended) == 0 {
		return nil
	}
	var w bitsWanted
	for _, e := range ended {
		w.add(d.Place, e.Idx)
	}
	known, err := w.read(ctx, tx, d.TaskID)
	if err != nil {
		return err
	}
	taken := known[d.Place]
	fresh := slices.DeleteFunc(ended, func(e endedJob) bool { return !taken.add(e.Idx) })
	if len(fresh) == 0 {
		return nil
	}
	d.NTaken += int64(len(fresh))
	if err := writeBits(ctx, tx, d.TaskID, d.Place, taken.touched(fresh)); err != nil {
		return err
	}
	if d.Outputs != "" {
		return d.feed(ctx, tx, fresh)
	}
	return d.release(ctx, tx, fresh)
}

func (d *dueNeed) feed(ctx context.Context, tx pgx.Tx, fresh []endedJob) error {
	names, err := d.outputs(ctx, tx, fresh)
	if err != nil || len(names) == 0 {
		return err
	}
	if n := d.NInputs + int64(len(names)); n > spec.MaxInputs || spec.Ceil(n, d.PerJob) > spec.MaxPieces {
		d.fault = fmt.Sprintf("the outputs of task %d (%s) are more than %d, or make more than %d jobs", d.NeedsID, d.NeedsName, spec.MaxInputs, spec.MaxPieces)
		return nil
	}
	if _, err := tx.Exec(ctx, query["feed"], pgx.StrictNamedArgs{"task": d.TaskID, "n": len(names)}); err != nil {
		return err
	}
	return stored.Copy(ctx, tx, []stored.Chunk{{Task: d.TaskID, Offset: d.NInputs, Inputs: spec.Named(names...)}})
}

// outputs are the names that jobs reported and that the need asks for, in the order of the jobs.
func (d *dueNeed) outputs(ctx context.Context, tx pgx.Tx, fresh []endedJob) (names []string, err error) {
	ids, attempts := make([]int64, len(fresh)), make([]int32, len(fresh))
	first, last := fresh[0].EndedAt, fresh[0].EndedAt
	for i, e := range fresh {
		ids[i], attempts[i] = e.ID, e.Attempt
		if e.EndedAt.Before(first) {
			first = e.EndedAt
		}
		if e.EndedAt.After(last) {
			last = e.EndedAt
		}
	}
	rows, _ := tx.Query(ctx, query["read_outputs"], pgx.StrictNamedArgs{"jobs": ids, "attempts": attempts, "low": first.UTC(), "high": last.UTC()}) // its error is ForEachRow's
	made := map[int64]map[string]json.RawMessage{}
	var job int64
	var outputs map[string]json.RawMessage
	if _, err := pgx.ForEachRow(rows, []any{&job, &outputs}, func() error {
		made[job], outputs = outputs, nil
		return nil
	}); err != nil {
		return nil, err
	}
	for _, id := range ids {
		for _, name := range slices.Sorted(maps.Keys(made[id])) {
			if !d.wants(name) {
				continue
			}
			if err := spec.CheckInput(name); err != nil {
				d.fault = fmt.Sprintf("an output of job %d of task %d (%s) can be no input: its name %v", id, d.NeedsID, d.NeedsName, err)
				return nil, nil
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// wants says whether an output is to be an input: the glob is about all of its name, or what follows the last slash.
func (d *dueNeed) wants(name string) bool {
	whole, _ := path.Match(d.Outputs, name)
	last, _ := path.Match(d.Outputs, path.Base(name))
	return whole || last
}
