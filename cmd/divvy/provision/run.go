package provision

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"
)

// Config is what a provisioner works with.
type Config struct {
	Prefix string // of names
	Ask    func(ctx context.Context) (w Wanted, seen []string, reason string, err error)
	Site   *Site
	Folder *Folder
	Grace  time.Duration
	Every  time.Duration
	Log    *slog.Logger
}

// Provisioner keeps the number of pilots of a queue at what the daemon wants.
type Provisioner struct {
	Config
	table Table
	told  string // the last trouble, so that it is not said again each second
}

// New reads the pilots that an earlier provisioner asked for.
func New(cfg Config) (*Provisioner, error) {
	pilots, err := Read(cfg.Folder.dir)
	if err != nil {
		return nil, err
	}
	return &Provisioner{Config: cfg, table: Table{Pilots: pilots, Grace: cfg.Grace}}, nil
}

// Run goes on until its context ends. Pilots stay as they are then.
func (p *Provisioner) Run(ctx context.Context) error {
	tick := time.NewTicker(p.Every)
	defer tick.Stop()
	for {
		p.trouble(p.Step(ctx, time.Now()))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// trouble says once what keeps the provisioner from its work.
func (p *Provisioner) trouble(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said == p.told {
		return
	}
	if p.told = said; err != nil {
		p.Log.Warn("nothing is started or cancelled", "why", said)
	} else {
		p.Log.Info("works again")
	}
}

// Step looks once, and starts and cancels what is due.
func (p *Provisioner) Step(ctx context.Context, now time.Time) error {
	w, seen, reason, err := p.Ask(ctx)
	if err != nil {
		return fmt.Errorf("ask the daemon: %w", err)
	}
	if len(p.table.Pilots) > 0 {
		if err := p.look(ctx, now, seen); err != nil {
			return err
		}
	}
	start, stop := p.table.Plan(now, w)
	if len(stop) > 0 {
		if err := p.cancel(ctx, stop, reason); err != nil {
			return err
		}
	}
	if start == 0 {
		return nil
	}
	return p.start(ctx, now, start, reason)
}

// look compares the table with the batch system.
func (p *Provisioner) look(ctx context.Context, now time.Time, seen []string) error {
	listed, err := p.Site.List(ctx)
	if err != nil {
		return err
	}
	before := map[string]State{}
	for _, each := range p.table.Pilots {
		before[each.Name] = each.State
	}
	_, pauses := p.table.Backoff()
	left := p.table.Update(now, listed, seen)
	lost := 0
	for _, each := range left {
		if each.State == Lost {
			lost++
		}
	}
	if until, n := p.table.Backoff(); lost > 0 && n > pauses {
		p.Log.Warn("pilots were started and never asked for a job; the next start waits", "lost", lost, "until", until.Format(time.TimeOnly), "pauses", n)
	}
	var moved []Pilot
	for _, each := range p.table.Pilots {
		if before[each.Name] != each.State {
			moved = append(moved, each)
		}
	}
	if err := p.Folder.Write(moved...); err != nil {
		return err
	}
	return p.Folder.Forget(left...)
}

// start writes new names, then has them started. The command outlives this program's end: a name is asked for once.
func (p *Provisioner) start(ctx context.Context, now time.Time, n int, reason string) error {
	fresh, names := make([]Pilot, n), make([]string, n)
	for i := range fresh {
		var id [6]byte
		_, _ = rand.Read(id[:])
		names[i] = p.Prefix + hex.EncodeToString(id[:])
		fresh[i] = Pilot{Name: names[i], Asked: now, State: Asked}
	}
	if err := p.Folder.Write(fresh...); err != nil {
		return err
	}
	p.table.Pilots = append(p.table.Pilots, fresh...)
	p.Log.Info("starts pilots", "pilots", n, "why", reason)
	_, err := p.Site.Do(context.WithoutCancel(ctx), "start", names)
	return err
}

func (p *Provisioner) cancel(ctx context.Context, names []string, reason string) error {
	var stopped []Pilot
	for i := range p.table.Pilots {
		for _, name := range names {
			if each := &p.table.Pilots[i]; each.Name == name {
				each.Stopped = true
				stopped = append(stopped, *each)
			}
		}
	}
	if err := p.Folder.Write(stopped...); err != nil {
		return err
	}
	p.Log.Info("cancels queued pilots", "pilots", len(names), "why", reason)
	_, err := p.Site.Do(context.WithoutCancel(ctx), "stop", names)
	return err
}
