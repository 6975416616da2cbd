package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/local"
)

// Config says where the daemon is and what the demo may use.
type Config struct {
	Client  *client.Client
	Read    string        // DSN of the database, for the report views
	Binary  string        // a divvy that has the payload subcommand
	Inputs  string        // folder with input files
	Folder  string        // of the report: made new or empty
	Window  time.Duration // how long is measured
	Slots   int           // those of the site file
	Screen  Screen
	Log     *slog.Logger
	Refresh time.Duration // of the live view; 0 = 250 ms
}

// Bounds of the phases around the window. The slots of a busy machine may never be all held at a moment: then the
// window opens after fillWithin, once each leaf with work has got a job.
const (
	fillWithin  = 20 * time.Second // from the start of the pilots until all slots are held
	fillAtMost  = 5 * time.Minute  // until each leaf with work has got a job
	drainWithin = 5 * time.Minute  // from the end of the window until all tasks are over
	spareWork   = 12 * time.Second // work that tasks have beyond the window
)

// ErrStopped is the end by Ctrl-C: what the demo made is gone again.
var ErrStopped = errors.New("stopped before its end; nothing was kept")

// Run shows and checks. The report is complete when the error is nil, whatever the verdict; look at Passed.
func Run(ctx context.Context, cfg Config) (report *Report, err error) {
	if cfg.Refresh == 0 {
		cfg.Refresh = 250 * time.Millisecond
	}
	if err := newFolder(cfg.Folder); err != nil {
		return nil, err
	}
	defer func() {
		if report == nil {
			err = errors.Join(err, os.RemoveAll(cfg.Folder))
		}
	}()
	r := &runner{Config: cfg, view: newView(cfg.Screen), report: &Report{Slots: cfg.Slots, Inputs: cfg.Inputs, Folder: cfg.Folder}}
	if err := r.all(ctx); err != nil {
		if ctx.Err() != nil {
			err = ErrStopped
		}
		return nil, err
	}
	return r.report, nil
}

// runner is one run of the demo.
type runner struct {
	Config
	view    *view
	report  *Report
	folders []string
	tasks   []int64
	story   string
}

func (r *runner) all(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	slots, err := startSlots(r.Config)
	if err != nil {
		return err
	}
	defer slots.Kill()
	if err := r.measure(ctx); err != nil {
		return err
	}
	if err := r.wrapUp(ctx, slots); err != nil {
		return err
	}
	r.view.say("checking: report views, outputs …")
	if err := r.check(ctx); err != nil {
		return err
	}
	return r.report.write()
}

// prepare applies the site and submits everything but the work of the late leaf.
func (r *runner) prepare(ctx context.Context) (err error) {
	long := r.Window + fillWithin + spareWork
	if r.folders, err = Folders(r.Inputs, r.Slots*int(long/shortestJob+1)); err != nil {
		return err
	}
	applied, err := r.Client.Site().Apply(ctx, Site, client.ApplyOptions{File: "demo.yml", By: "divvy demo"})
	if err != nil {
		return fmt.Errorf("site: %w", err)
	}
	r.view.say("site version %d: %d shares on %d slots; inputs: %d folders of %s", applied.Version, len(Leaves), r.Slots, len(r.folders), r.Inputs)
	return r.submit(ctx, func(leaf string) bool { return leaf != lateLeaf })
}

func (r *runner) submit(ctx context.Context, which func(leaf string) bool) error {
	outputs := filepath.Join(r.Folder, "outputs")
	for _, a := range activities {
		if !which(a.leaf) {
			continue
		}
		spec := a.task(r.Binary, outputs, inputsFor(r.folders, r.Slots, r.Window+fillWithin+spareWork))
		t, err := r.Client.Tasks().Submit(ctx, spec, "")
		if err != nil {
			return fmt.Errorf("task %s: %w", a.name, err)
		}
		if t.Share != a.leaf {
			return fmt.Errorf("task %s was tagged %q, expected %s", a.name, t.Share, a.leaf)
		}
		r.tasks = append(r.tasks, t.ID)
	}
	return nil
}

// measure opens the window once all slots are held, changes the demand half way, and closes it.
func (r *runner) measure(ctx context.Context) error {
	began := time.Now()
	r.story = "filling the slots"
	served := map[string]bool{}
	err := r.watch(ctx, began, func(f frame) (bool, error) {
		full := r.filled(f, served)
		switch waited := time.Since(began); {
		case full, len(served) == len(Leaves)-1 && waited > fillWithin:
			return true, nil
		case waited > fillAtMost:
			return false, fmt.Errorf("after %s %d of %d shares with work have got a job: see the log above", fillAtMost, len(served), len(Leaves)-1)
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	r.report.From = time.Now()
	half := r.report.From.Add(r.Window / 2)
	r.story = lateLeaf + " is idle: its siblings use its slots"
	if err := r.watch(ctx, r.report.From, until(half)); err != nil {
		return err
	}
	r.report.Switch = time.Now()
	if err := r.submit(ctx, func(leaf string) bool { return leaf == lateLeaf }); err != nil {
		return err
	}
	r.story = lateLeaf + " has work: freed slots go to it, nothing is killed"
	end := r.report.From.Add(r.Window)
	err = r.watch(ctx, r.report.From, until(end))
	r.report.To = time.Now()
	return err
}

// filled says that all slots are held and every leaf with work has its part. It notes in served which leaves hold a job.
func (r *runner) filled(f frame, served map[string]bool) bool {
	held, each := 0.0, true
	for _, s := range leavesOf(f.standing) {
		held += s.Held
		if s.Path == lateLeaf {
			continue
		}
		if s.Held >= 1 {
			served[s.Path] = true
		} else {
			each = false
		}
	}
	return each && held >= float64(r.Slots)
}

func until(t time.Time) func(frame) (bool, error) {
	return func(frame) (bool, error) { return !time.Now().Before(t), nil }
}

// watch shows the standing until done says so.
func (r *runner) watch(ctx context.Context, since time.Time, done func(frame) (bool, error)) error {
	tick := time.NewTicker(r.Refresh)
	defer tick.Stop()
	for {
		f, err := r.look(ctx, since)
		if err != nil {
			return err
		}
		r.view.show(f)
		if ok, err := done(f); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (r *runner) look(ctx context.Context, since time.Time) (frame, error) {
	f := frame{elapsed: time.Since(since), total: r.Window, story: r.story}
	var err error
	if f.standing, err = r.Client.Shares().Standing(ctx); err != nil {
		return f, err
	}
	tasks, err := r.Client.Tasks().List(ctx, client.TaskFilter{Limit: 100})
	for _, t := range tasks.Items {
		f.finished += t.Jobs.Finished
		f.failed += t.Jobs.Failed
	}
	return f, err
}

// nPilots share the slots between them.
const nPilots = 4

func startSlots(cfg Config) (*local.Slots, error) {
	return local.StartSlots(local.SlotsConfig{Client: cfg.Client, Queue: queue, Name: "demo", Slots: cfg.Slots, Pilots: nPilots, Log: cfg.Log})
}

// Keep offers the demo's slots to whatever is submitted from now on, until ctx ends; then it kills what runs.
func Keep(ctx context.Context, cfg Config) error {
	s, err := startSlots(cfg)
	if err != nil {
		return err
	}
	<-ctx.Done()
	s.Kill()
	return s.Err()
}

// wrapUp ends the tasks softly: no more jobs, those that run end as they are. Then the slots go.
func (r *runner) wrapUp(ctx context.Context, slots *local.Slots) error {
	r.story = "done: the last jobs end"
	for _, id := range r.tasks {
		if _, err := r.Client.Tasks().Finish(ctx, id); err != nil {
			return fmt.Errorf("finish task %d: %w", id, err)
		}
	}
	if err := slots.Drain(ctx, drainWithin); err != nil {
		return err
	}
	began := time.Now()
	return r.watch(ctx, r.report.From, func(frame) (bool, error) {
		page, err := r.Client.Tasks().List(ctx, client.TaskFilter{Limit: 100})
		for _, t := range page.Items {
			if t.EndedAt != nil {
				continue
			}
			if time.Since(began) > drainWithin {
				err = fmt.Errorf("task %d is not over but %s", t.ID, t.State)
			}
			return false, err
		}
		return err == nil, err
	})
}
