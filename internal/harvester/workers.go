package harvester

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// Worker is a batch job of a Harvester.
type Worker struct {
	ID           int64
	Queue        string
	Status       string
	JobType      string
	ResourceType string
	Submitted    *time.Time
	Started      *time.Time
	Ended        *time.Time
	Fields       map[string]any // what was said beside that
}

// Update keeps workers as their Harvester describes them. A worker that it names twice is as it says last.
func (s *Store) Update(ctx context.Context, harvester string, workers []Worker) error {
	var a columns
	last := map[int64]int{}
	for i, w := range workers {
		last[w.ID] = i
	}
	for i, w := range workers {
		if last[w.ID] == i {
			a.add(w)
		}
	}
	return s.exec(ctx, "update_workers", pgx.StrictNamedArgs{"harvester": harvester, "ids": a.ids, "queues": a.queues,
		"statuses": a.statuses, "job_types": a.jobTypes, "resource_types": a.resourceTypes, "fields": a.fields,
		"submitted": a.submitted, "started": a.started, "ended": a.ended})
}

// columns are workers, one array a column.
type columns struct {
	ids                                       []int64
	queues, statuses, jobTypes, resourceTypes []string
	fields                                    []map[string]any
	submitted, started, ended                 []*time.Time
}

func (a *columns) add(w Worker) {
	if w.Fields == nil {
		w.Fields = map[string]any{}
	}
	a.ids, a.queues, a.statuses = append(a.ids, w.ID), append(a.queues, w.Queue), append(a.statuses, w.Status)
	a.jobTypes, a.resourceTypes = append(a.jobTypes, w.JobType), append(a.resourceTypes, w.ResourceType)
	a.fields = append(a.fields, w.Fields)
	a.submitted, a.started, a.ended = append(a.submitted, w.Submitted), append(a.started, w.Started), append(a.ended, w.Ended)
}

// Said is what the pilot of a worker says of itself.
type Said struct {
	Harvester string
	Worker    int64
	Status    string // started or finished
	Node      string // "" = not said
}

// PilotStatus notes what a worker's pilot said. known is false when its Harvester has not told of such a worker.
func (s *Store) PilotStatus(ctx context.Context, p Said) (known bool, err error) {
	tag, err := s.db.Exec(ctx, query["pilot_status"], pgx.StrictNamedArgs{"harvester": p.Harvester, "worker": p.Worker, "status": p.Status, "node": p.Node})
	return tag.RowsAffected() > 0, pg.Named("pilot_status", err)
}

// LastID is the highest id of a Harvester's workers; 0 when it has none.
func (s *Store) LastID(ctx context.Context, harvester string) (id int64, err error) {
	err = s.db.QueryRow(ctx, query["last_id"], pgx.StrictNamedArgs{"harvester": harvester}).Scan(&id)
	return id, pg.Named("last_id", err)
}

// Number is how many workers that are alike there are.
type Number struct {
	Harvester    string `db:"harvester_id"`
	Queue        string
	JobType      string
	ResourceType string
	Status       string
	N            int64
}

// Report replaces all numbers of a Harvester at a queue.
func (s *Store) Report(ctx context.Context, harvester, queue string, numbers []Number) error {
	var jobTypes, resourceTypes, statuses []string
	var ns []int64
	for _, n := range numbers {
		jobTypes, resourceTypes = append(jobTypes, n.JobType), append(resourceTypes, n.ResourceType)
		statuses, ns = append(statuses, n.Status), append(ns, n.N)
	}
	return s.exec(ctx, "report", pgx.StrictNamedArgs{"harvester": harvester, "queue": queue, "job_types": jobTypes,
		"resource_types": resourceTypes, "statuses": statuses, "ns": ns})
}

// Numbers is how many workers there are: as their Harvester counted them within four hours, and where it did not count those
// of a queue, the workers that it told of and that are not over.
func (s *Store) Numbers(ctx context.Context) ([]Number, error) {
	return pg.Collect[Number](ctx, s.db, query["numbers"])
}
