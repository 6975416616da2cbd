package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Outgrow is how much is measured of what a job costs, and of reports beside jobs.
type Outgrow struct {
	Jobs   int           `json:"jobs"`  // that are made and weighed
	Nodes  int           `json:"nodes"` // that pull and finish at the same time
	Batch  int           `json:"batch"` // jobs that a node takes and ends at once
	Round  time.Duration `json:"round"`
	Rounds int           `json:"rounds"`
}

// OutgrowOf takes about two minutes.
func OutgrowOf() Outgrow {
	return Outgrow{Jobs: 400_000, Nodes: 32, Batch: 64, Round: 5 * time.Second, Rounds: 3}
}

func (o Outgrow) check() error {
	if o.Jobs < 1000 || o.Nodes < 1 || o.Batch < 1 || o.Batch > 1000 || o.Round < 100*time.Millisecond || o.Rounds < 1 {
		return fmt.Errorf("these sizes make no sense: 1000 jobs, a node, a batch of 1 to 1000, a round of 100ms at least: %+v", o)
	}
	return nil
}

// OutgrowConfig is what it needs, as in Config. There is no database of one's own: the replica is one of the private cluster.
type OutgrowConfig struct {
	Outgrow
	DaemonCommand []string
	Progress      io.Writer
	Log           *slog.Logger
}

// outgrowRun is one under way.
type outgrowRun struct {
	*stage
	Outgrow
	daemon   *process
	postgres int // process id of the postmaster
	ended    int64
	gone     int // jobs to be made anew before the next round
}

// RunOutgrow measures what each step in the life of a job costs in bytes, WAL and processor time, and how whole lives go on
// beside reports: none, on the same server, on a streaming replica.
func RunOutgrow(ctx context.Context, cfg OutgrowConfig) (report *Report, err error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	sizes := Sizes{Ready: cfg.Jobs, Rounds: 1}
	s := &stage{Sizes: sizes, report: &Report{Began: time.Now(), Sizes: sizes},
		cfg: Config{Sizes: sizes, DaemonCommand: cfg.DaemonCommand, Progress: &inLine{to: cfg.Progress}, Log: cfg.Log}}
	before := machine("at the start")
	s.say("making a database")
	if s.place, err = openPlace(ctx, "", cfg.Log); err != nil {
		return nil, err
	}
	r := &outgrowRun{stage: s, Outgrow: cfg.Outgrow}
	defer func() { err = errors.Join(err, r.stop(context.WithoutCancel(ctx))) }()
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	server, err := s.place.settings(ctx)
	if err != nil {
		return nil, err
	}
	s.report.Settings = append(append(before, machine("at the end")[:1]...), server...)
	s.report.TookS = time.Since(s.report.Began).Seconds()
	return s.report, nil
}

func (r *outgrowRun) stop(ctx context.Context) error {
	var err error
	if r.daemon != nil {
		err = r.daemon.stop()
	}
	return errors.Join(err, r.stage.stop(ctx))
}

func (r *outgrowRun) run(ctx context.Context) (err error) {
	if r.postgres, err = r.place.postmaster(ctx); err != nil {
		return err
	}
	if err := r.costs(ctx); err != nil {
		return err
	}
	if err := r.reports(ctx); err != nil {
		return err
	}
	return r.left(ctx)
}

// costs takes the jobs through their lives, one step after the other.
func (r *outgrowRun) costs(ctx context.Context) error {
	err := r.cost(ctx, "made ready", func() (int, error) { _, err := r.load(ctx); return r.Jobs, err })
	if err != nil {
		return err
	}
	r.say("starting the daemon")
	if r.daemon, err = r.startDaemon(ctx); err != nil {
		return err
	}
	if err := r.place.inLog(ctx); err != nil {
		return err
	}
	idle, _, err := r.daemon.memory()
	if err != nil {
		return err
	}
	nodes := r.newNodes()
	most := r.Jobs * 9 / 10 // the last ones are in few queues
	for _, step := range []struct {
		what string
		take func() (int, error)
	}{
		{"leased", func() (int, error) {
			return nodes.all(ctx, func(n *outgrowNode) error { return n.fill(ctx, most/len(nodes)) })
		}},
		{"renewed", func() (int, error) { return nodes.all(ctx, func(n *outgrowNode) error { return n.renewAll(ctx) }) }},
		{"renewed again", func() (int, error) { return nodes.all(ctx, func(n *outgrowNode) error { return n.renewAll(ctx) }) }},
		{"ended", func() (int, error) { return nodes.all(ctx, func(n *outgrowNode) error { return n.finishAll(ctx) }) }},
	} {
		if err := r.cost(ctx, step.what, step.take); err != nil {
			return err
		}
	}
	r.ended = nodes.finished()
	r.gone = int(r.ended)
	now, peak, err := r.daemon.memory()
	if err != nil {
		return err
	}
	r.report.Costs = append(r.report.Costs, Cost{Step: "daemon", Memory: fmt.Sprintf("%.0f MB resident with %d ready jobs before the first pull, %.0f at the most with %d leases, %.0f when they had ended", idle, r.Jobs, peak, r.ended, now)})
	return nil
}

// left checks that every end that was recorded is there, once, and no lease.
func (r *outgrowRun) left(ctx context.Context) error {
	if err := r.level(ctx); err != nil {
		return err
	}
	var ended, jobs, leases int64
	if err := r.place.pool.QueryRow(ctx, query["outgrow_left"]).Scan(&ended, &jobs, &leases); err != nil {
		return err
	}
	if ended != r.ended || jobs != ended || leases != 0 {
		return &CheckError{[]error{fmt.Errorf("%d ends of %d jobs and %d leases in the database; %d ends were recorded", ended, jobs, leases, r.ended)}}
	}
	r.report.Checks = append(r.report.Checks, fmt.Sprintf("%d ends were recorded and are there, each once; no lease is left", ended))
	return nil
}
