package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// panda is the other side of S10: the dispatch that sites use today, in SQL, on a copy of the same jobs. All leaves
// are ranked by usage over target, the ready jobs of a site are sorted by that rank, and the first ten are tried one
// by one with FOR UPDATE NOWAIT. As there, the rank is kept for ten seconds in a process: that is in its favour.
type panda struct {
	s       *stage
	clients []int

	mu     sync.Mutex
	rank   []int32
	ranked time.Time
}

const (
	pandaRankFor  = 10 * time.Second
	codeLockTaken = "55P03"
)

func (s *stage) newPanda() *panda {
	s.command("PanDA's way: cmd/divvy-bench/suite/peers/panda_{rank,candidates,lock,take}.sql, rank kept for 10 s, best of 8 and 32 connections")
	return &panda{s: s, clients: []int{8, 32}}
}

// fill copies the jobs.
func (p *panda) fill(ctx context.Context) error {
	p.s.say("copying the jobs for PanDA's way")
	if err := p.s.level(ctx); err != nil {
		return err
	}
	pool := p.s.place.pool
	if _, err := pool.Exec(ctx, peer("panda_make")); err != nil {
		return err
	}
	for _, l := range p.s.leaves {
		if _, err := pool.Exec(ctx, peer("panda_target"), int32(l.id), l.part); err != nil {
			return err
		}
	}
	_, err := pool.Exec(ctx, "VACUUM ANALYZE panda_jobs")
	return err
}

// measure is the best of the numbers of clients, in claims a second, and its p99 in ms.
func (p *panda) measure(ctx context.Context) (best, p99 float64, err error) {
	for _, clients := range p.clients {
		rate, slow, err := p.claimFor(ctx, clients)
		if err != nil {
			return 0, 0, fmt.Errorf("PanDA's way: %w", err)
		}
		if rate > best {
			best, p99 = rate, slow
		}
	}
	if best == 0 {
		return 0, 0, &unmeasured{"PanDA's way claimed nothing in a round: " + tooShort}
	}
	return best, p99, nil
}

func (p *panda) claimFor(ctx context.Context, clients int) (perSecond, p99 float64, err error) {
	results := make([]pulled, clients)
	began := time.Now()
	until := began.Add(p.s.Round)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			r := &results[i]
			for time.Now().Before(until) && r.err == nil {
				from := time.Now()
				job, err := p.pull(ctx, fmt.Sprint("p", i))
				r.err = err
				if job != 0 {
					r.times = append(r.times, time.Since(from))
					r.claims = append(r.claims, claim{job: job})
				}
			}
		})
	}
	all.Wait()
	elapsed := time.Since(began)
	claims, times, err := gather(results)
	if err != nil {
		return 0, 0, err
	}
	seen := map[int64]bool{}
	for _, c := range claims {
		if seen[c.job] {
			return 0, 0, fmt.Errorf("job %d was claimed twice", c.job)
		}
		seen[c.job] = true
	}
	return float64(len(claims)) / elapsed.Seconds(), quantile(times, 0.99), nil
}

// pull is one request; 0 when all ten candidates were in other hands, which a pilot there is told as "no jobs".
func (p *panda) pull(ctx context.Context, pilot string) (job int64, err error) {
	rank, err := p.leaves(ctx)
	if err != nil {
		return 0, err
	}
	rows, err := p.s.place.pool.Query(ctx, peer("panda_candidates"), rand.IntN(queues), rank)
	if err != nil {
		return 0, err
	}
	candidates, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, err
	}
	for _, id := range candidates {
		err := pgx.BeginFunc(ctx, p.s.place.pool, func(tx pgx.Tx) error {
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
func (p *panda) leaves(ctx context.Context) ([]int32, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rank != nil && time.Since(p.ranked) < pandaRankFor {
		return p.rank, nil
	}
	rows, err := p.s.place.pool.Query(ctx, peer("panda_rank"))
	if err != nil {
		return nil, err
	}
	if p.rank, err = pgx.CollectRows(rows, pgx.RowTo[int32]); err != nil {
		return nil, err
	}
	p.ranked = time.Now()
	return p.rank, nil
}
