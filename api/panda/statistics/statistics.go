package statistics

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/view"
)

// Work sums jobs over the tasks that are not over; *view.Reader is one.
type Work interface {
	Work(context.Context) ([]view.Work, error)
}

var _ Work = (*view.Reader)(nil)

// Jobs are counted as they stand; *dispatcher.Dispatcher is one.
type Jobs interface {
	// Loaded says whether the daemon has read its state: before that, Counts and Queues have nothing.
	Loaded(context.Context) error
	// Counts returns live jobs by kind; Ended, the jobs that ended within a time.
	Counts() []dispatcher.Count
	Ended(ctx context.Context, within time.Duration) ([]dispatcher.Count, error)
	Queues() []dispatcher.QueueStanding
}

var _ Jobs = (*dispatcher.Dispatcher)(nil)

// Calls serves monitors, and Harvesters that want to know where jobs wait. Without Jobs or Work there are no calls.
type Calls struct {
	wire.Below
	Jobs Jobs
	Work Work
}

// Endpoints answer from the state of the machine; no job is looked at. A ready job is not at a queue here as it is in PanDA: it
// counts as activated at each queue that it may run at. Every job that has a lease counts as running, and who ended as in
// the hours of the window. The cloud of a queue is its pool.
func (s Calls) Endpoints() []wire.Endpoint {
	if s.Jobs == nil || s.Work == nil {
		return nil
	}
	window := wire.Params{"time_window": wire.Integer}
	return []wire.Endpoint{
		wire.ByGet("/statistics/job_stats_by_cloud", wire.Params{"type": wire.Text}, s.statsByCloud),
		wire.ByGet("/statistics/production_job_stats_by_cloud_and_processing_type", wire.Params{}, s.statsByProcessingType),
		wire.ByGet("/statistics/active_job_stats_by_site", wire.Params{}, s.activeBySite),
		wire.ByGet("/statistics/active_job_detailed_stats_by_site", wire.Params{}, s.activeDetailed),
		wire.ByGet("/statistics/job_stats_by_site_and_resource_type", window, s.statsBy(false)),
		wire.ByGet("/statistics/job_stats_by_site_share_and_resource_type", window, s.statsBy(true)),
	}
}

// Windows of time for jobs that are over.
const (
	usualWindow = 12 * time.Hour
	mostMinutes = 7 * 24 * 60
)

// The states that are named even when no job is in them.
var (
	activeStates = []string{"assigned", "activated", "running"}
	namedStates  = []string{"assigned", "activated", "running", "finished", "failed"}
)

// countState is PanDA's word for the state of counted jobs.
func countState(c dispatcher.Count) string { return wire.StatusOf(c.State, dispatcher.Running) }

// analysisLabels are the labels of users' jobs; all other labels are production.
var analysisLabels = []string{"user", "panda"}

func isAnalysis(c dispatcher.Count) bool { return slices.Contains(analysisLabels, c.Label) }

// counts holds live jobs, and jobs that ended within a time.
func (s Calls) counts(ctx context.Context, within time.Duration) ([]dispatcher.Count, error) {
	ended, err := s.Jobs.Ended(ctx, within)
	return append(s.Jobs.Counts(), ended...), cmp.Or(s.Jobs.Loaded(ctx), err)
}

func (s Calls) statsByCloud(r *http.Request, a wire.Args) wire.Envelope {
	analysis := a.Text("type") == "analysis"
	if t := a.Text("type"); t != "" && t != "production" && !analysis {
		return wire.Envelope{Message: `Parameter "type" needs to be either "production" or "analysis" `, Data: wire.Tally{}}
	}
	return wire.Answer(s.Below, r, "job_stats_by_cloud", func(ctx context.Context) (wire.Tally, error) {
		all := wire.Tally{}
		counts, err := s.counts(ctx, usualWindow)
		for _, c := range together(counts) {
			if isAnalysis(c) == analysis {
				for _, pool := range c.Pools {
					all.Add(c.N, pool, countState(c))
				}
			}
		}
		return all, err
	})
}

// statsByProcessingType splits what shares have among the processing types of their tasks: exact where a share has tasks of
// one type only, or lives in one pool.
func (s Calls) statsByProcessingType(r *http.Request, _ wire.Args) wire.Envelope {
	return wire.Answer(s.Below, r, "production_job_stats_by_cloud_and_processing_type", func(ctx context.Context) (wire.Tally, error) {
		all := wire.Tally{}
		counts, err := s.counts(ctx, usualWindow)
		if err != nil {
			return nil, err
		}
		work, err := s.Work.Work(ctx)
		for _, c := range counts {
			if isAnalysis(c) {
				continue
			}
			for _, pool := range c.Pools {
				for kind, n := range split(c, work) {
					all.Add(n, pool, kind, countState(c))
				}
			}
		}
		return all, err
	})
}

// split divides a count among processing types, in proportion to what tasks of each have, to the last job.
func split(c dispatcher.Count, work []view.Work) map[string]int64 {
	weight := func(w view.Work) int64 {
		switch {
		case w.Share != c.Share || w.Label != c.Label:
			return 0
		case c.State == "ready":
			return w.Ready
		case c.State == "leased":
			return w.Leased
		}
		return w.Ended
	}
	var total, before, given int64
	for _, w := range work {
		total += weight(w)
	}
	if total == 0 {
		return map[string]int64{"unknown": c.N}
	}
	parts := map[string]int64{}
	for _, w := range work {
		if before += weight(w); weight(w) > 0 {
			upTo := int64(float64(c.N)*float64(before)/float64(total) + 0.5)
			if n := upTo - given; n > 0 {
				parts[w.ProcessingType] += n
			}
			given = upTo
		}
	}
	return parts
}

// activeBySite tells Harvester where pilots are needed; it names every queue.
func (s Calls) activeBySite(r *http.Request, _ wire.Args) wire.Envelope {
	return wire.Answer(s.Below, r, "active jobs", func(ctx context.Context) (wire.Tally, error) {
		all := wire.Tally{}
		if err := s.Jobs.Loaded(ctx); err != nil {
			return nil, err
		}
		for _, q := range s.Jobs.Queues() {
			all.At(q.Name)
		}
		for _, c := range together(s.Jobs.Counts()) {
			for _, queue := range c.Queues {
				all.Add(c.N, queue, countState(c))
			}
		}
		for queue := range all {
			all.At(queue).Fill(activeStates...)
		}
		return all, nil
	})
}

// activeDetailed counts by queue, resource type and label.
func (s Calls) activeDetailed(r *http.Request, _ wire.Args) wire.Envelope {
	return wire.Answer(s.Below, r, "active jobs in detail", func(ctx context.Context) (wire.Tally, error) {
		all := wire.Tally{}
		if err := s.Jobs.Loaded(ctx); err != nil {
			return nil, err
		}
		for _, c := range together(s.Jobs.Counts()) {
			for _, queue := range c.Queues {
				all.At(queue, c.Class, c.Label).Add(c.N, countState(c))
				all.At(queue, c.Class, c.Label).Fill(activeStates...)
			}
		}
		return all, nil
	})
}

// statsBy counts by queue, perhaps share, class and state.
func (s Calls) statsBy(share bool) func(*http.Request, wire.Args) wire.Envelope {
	return func(r *http.Request, a wire.Args) wire.Envelope {
		within := usualWindow
		if _, said := a["time_window"]; said {
			minutes := a.Integer("time_window")
			if minutes < 0 || minutes > mostMinutes {
				return wire.Envelope{Message: `Parameter "time_window" needs to be a positive integer smaller than 10080 min (7 days)`, Data: wire.Tally{}}
			}
			within = time.Duration(minutes) * time.Minute
		}
		return wire.Answer(s.Below, r, "job statistics", func(ctx context.Context) (json.RawMessage, error) {
			counts, err := s.counts(ctx, within)
			if !share {
				counts = together(counts)
			}
			return table(counts, share), err
		})
	}
}

// together sums counts that differ only in the share, for answers that do not show shares.
func together(counts []dispatcher.Count) (all []dispatcher.Count) {
	type kind struct {
		at                  *string
		state, class, label string
	}
	first := map[kind]int{}
	for _, c := range counts {
		if len(c.Queues) == 0 {
			continue
		}
		k := kind{&c.Queues[0], c.State, c.Class, c.Label}
		if i, there := first[k]; there {
			all[i].N += c.N
			continue
		}
		first[k] = len(all)
		all = append(all, c)
	}
	return all
}
