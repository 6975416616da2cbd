package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/internal/pg"
)

// panda is the other side of S10: the dispatch that sites use today, in SQL, on a copy of the same jobs. All leaves
// are ranked by usage over target, the ready jobs of a site are sorted by that rank, and the first ten are tried one
// by one with FOR UPDATE NOWAIT. As there, the rank is kept for ten seconds in a process: that is in its favour.
type panda struct {
	r *run

	mu     sync.Mutex
	rank   []int32
	ranked time.Time
}

const (
	pandaRankFor  = 10 * time.Second
	codeLockTaken = "55P03"
)

func newPanda(r *run) *panda {
	r.Book.Command("PanDA's way: cmd/divvy-bench/suite/peers/panda_{rank,candidates,lock,take}.sql, rank kept for 10 s, best of 8 and 32 connections")
	return &panda{r: r}
}

func (p *panda) id() string   { return "S10" }
func (p *panda) what() string { return "PanDA's way" }

// fill copies the jobs.
func (p *panda) fill(ctx context.Context) error {
	p.r.Book.Say("copying the jobs for PanDA's way")
	if err := p.r.Place.Level(ctx); err != nil {
		return err
	}
	pool := p.r.Place.Pool
	if _, err := pool.Exec(ctx, peer("panda_make")); err != nil {
		return err
	}
	for _, l := range p.r.Leaves {
		if _, err := pool.Exec(ctx, peer("panda_target"), int32(l.ID), l.Part); err != nil {
			return err
		}
	}
	_, err := pool.Exec(ctx, "VACUUM ANALYZE panda_jobs")
	return err
}

// measure notes the best of the numbers of clients, in claims a second, and its p99.
func (p *panda) measure(ctx context.Context, rounds *figure.Rounds) error {
	var best, p99 float64
	for _, n := range clients {
		rate, slow, err := p.claimFor(ctx, n)
		if err != nil {
			return fmt.Errorf("PanDA's way: %w", err)
		}
		if rate > best {
			best, p99 = rate, slow
		}
	}
	if best == 0 {
		return figure.TooShort("PanDA's way claimed nothing in a round")
	}
	rounds.Add("PanDA's way", "jobs/s", best)
	rounds.Add("p99 of PanDA's way", "ms", p99)
	return nil
}

func (p *panda) figure(mine, slow figure.Series, all *figure.Rounds) figure.Figure {
	theirs := all.Of("PanDA's way")
	return figure.AtLeast("S10", "ratio", mine.Median/theirs.Median, 1000, mine, slow, theirs, all.Of("p99 of PanDA's way"))
}

func (p *panda) claimFor(ctx context.Context, clients int) (perSecond, p99 float64, err error) {
	got := newTaken(clients)
	began := time.Now()
	until := began.Add(p.r.Round)
	got.all(func(i int, t *taken) {
		for time.Now().Before(until) && t.err == nil {
			from := time.Now()
			var job int64
			if job, t.err = p.pull(ctx, fmt.Sprint("p", i)); job != 0 {
				t.times, t.claims = append(t.times, time.Since(from)), append(t.claims, load.Claim{Job: job})
			}
		}
	})
	elapsed := time.Since(began)
	claims, times, err := got.gathered()
	var seen recount.Once
	for _, c := range claims {
		err = errors.Join(err, seen.Add(c.Job))
	}
	return float64(len(claims)) / elapsed.Seconds(), figure.Quantile(times, 0.99), err
}

// pull is one request; 0 when all ten candidates were in other hands, which a pilot there is told as "no jobs".
func (p *panda) pull(ctx context.Context, pilot string) (job int64, err error) {
	rank, err := p.leaves(ctx)
	if err != nil {
		return 0, err
	}
	pool := p.r.Place.Pool
	candidates, err := pg.CollectTo(ctx, pgx.RowTo[int64], pool, peer("panda_candidates"), rand.IntN(p.r.Plan.Queues), rank)
	if err != nil {
		return 0, err
	}
	for _, id := range candidates {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if err := tx.QueryRow(ctx, peer("panda_lock"), id).Scan(&job); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, peer("panda_take"), id, pilot)
			return err
		})
		switch {
		case err == nil:
			return job, nil
		case errors.Is(err, pgx.ErrNoRows), pg.Code(err) == codeLockTaken:
		default:
			return 0, err
		}
	}
	return 0, nil
}

// leaves in the order of the rank.
func (p *panda) leaves(ctx context.Context) (rank []int32, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rank == nil || time.Since(p.ranked) >= pandaRankFor {
		if p.rank, err = pg.CollectTo(ctx, pgx.RowTo[int32], p.r.Place.Pool, peer("panda_rank")); err != nil {
			return nil, err
		}
		p.ranked = time.Now()
	}
	return p.rank, nil
}
