package dispatcher

import (
	"context"
	"maps"
	"sync"

	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/internal/pg"
)

// mostReported bounds the leases of which reports wait to be written, where the database is away.
const mostReported = 100_000

// reported is what renewals brought beside the usual: the last value of each name, until it is written once a second for all of them. An end
// takes what waits of its attempt with it. What is lost, with the daemon or because there is too much, comes again, at the latest with the end.
type reported struct {
	mu   sync.Mutex
	said map[lease.Key]map[string]any
}

// note takes a report, over what waits of the attempt.
func (r *reported) note(key lease.Key, report map[string]any) {
	if len(report) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch before, waits := r.said[key]; {
	case waits:
		r.said[key] = below(before, report)
	case r.said == nil:
		r.said = map[lease.Key]map[string]any{key: report}
	case len(r.said) < mostReported:
		r.said[key] = report
	}
}

// under is a report with what waits of the attempt below it.
func (r *reported) under(key lease.Key, report map[string]any) map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return below(r.said[key], report)
}

// over forgets what waits of attempts whose ends were written with it.
func (r *reported) over(ends []lease.End) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range ends {
		delete(r.said, e.Key)
	}
}

// below is a report with the values of an earlier one where it has none.
func below(before, report map[string]any) map[string]any {
	if len(before) == 0 {
		return report
	}
	whole := maps.Clone(before)
	maps.Copy(whole, report)
	return whole
}

// take is all that waits.
func (r *reported) take() map[lease.Key]map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.said
	r.said = nil
	return all
}

// back has what could not be written wait again, below what has come since.
func (r *reported) back(all map[lease.Key]map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, report := range r.said {
		all[key] = below(all[key], report)
	}
	r.said = all
}

// report writes down what pilots reported of attempts that run.
func (b background) report(ctx context.Context) (n int, err error) {
	all := b.reported.take()
	if len(all) == 0 {
		return 0, nil
	}
	jobs, attempts, reports := make([]int64, 0, len(all)), make([]int32, 0, len(all)), make([][]byte, 0, len(all))
	for key, said := range all {
		jobs, attempts, reports = append(jobs, key.Job), append(attempts, key.Attempt), append(reports, packReport(said))
	}
	if _, err := b.cfg.Pool.Exec(ctx, query["keep_reports"], pg.Args{"jobs": jobs, "attempts": attempts, "reports": reports}); err != nil {
		b.reported.back(all)
		return 0, pg.Named("reports of running attempts", err)
	}
	return len(jobs), nil
}
