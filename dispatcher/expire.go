package dispatcher

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// wheel knows when the leases that this daemon granted may run out: job ids by second. Renewals do not touch it;
// a lease that was renewed is put on again when its old second comes.
type wheel map[int64][]int64

func (w wheel) add(at time.Time, jobs ...int64) {
	second := at.Unix() + 1
	w[second] = append(w[second], jobs...)
}

// due takes off at most limit jobs whose second has come.
func (w wheel) due(now time.Time, limit int) (jobs []int64) {
	for second, ids := range w {
		if second > now.Unix() || len(jobs) >= limit {
			continue
		}
		n := min(len(ids), limit-len(jobs))
		jobs = append(jobs, ids[:n]...)
		if n == len(ids) {
			delete(w, second)
		} else {
			w[second] = ids[n:]
		}
	}
	return jobs
}

type expiryRow struct {
	JobID   int64
	Attempt int32
	Nonce   int64
	LeftS   float64 // until it runs out; not positive: it has
	AgeS    float64 // since it was renewed or granted
}

// expireBatch bounds one statement of Expire, expireRounds the statements for this daemon's own leases: every lease that
// it grants comes once, when it has ended already, and each time that it was renewed, so there may be tens of thousands a
// second.
//
// sweepEvery and sweepSeldom bound how often all leases are looked at: those of daemons that are no more have no wheel. A
// sweep reads every lease, and every dead row of one while a snapshot keeps them: all daemons together spend at most a
// hundredth of one backend on sweeps that find nothing: a million leases take 0.12 s.
const (
	expireBatch  = 1000
	expireRounds = 100
	sweepEvery   = 5 * time.Second
	sweepSeldom  = time.Minute
	sweepEase    = 100
)

// Expire ends leases that ran out as lost: the job is ready again, or failed when its attempts are used up. It
// returns how many it ended; none for Timing.Grace after a time in which pilots could not renew.
func (d *Dispatcher) Expire(ctx context.Context) (n int, err error) {
	now := time.Now()
	if d.spared(now) {
		return 0, nil
	}
	for looked, round := expireBatch, 0; looked == expireBatch && round < expireRounds; round++ {
		var ended int
		ended, looked, err = d.expireOwn(ctx, now)
		if n += ended; err != nil {
			return n, err
		}
	}
	ended, err := d.sweep(ctx, now)
	return n + ended, err
}

// expireOwn looks at leases whose time has come by the wheel, and returns how many it ended and looked at.
func (d *Dispatcher) expireOwn(ctx context.Context, now time.Time) (ended, looked int, err error) {
	d.mu.Lock()
	jobs := d.wheel.due(now, expireBatch)
	d.mu.Unlock()
	if len(jobs) == 0 {
		return 0, 0, nil
	}
	rows, err := byKeyTo(ctx, d, statement{"expiries", pgx.StrictNamedArgs{"jobs": jobs}}, scanExpiry)
	if err == nil {
		ended, err = d.expireRows(ctx, now, rows)
	}
	if err != nil {
		d.mu.Lock()
		d.wheel.add(now, jobs...)
		d.mu.Unlock()
	}
	return ended, len(jobs), err
}

func scanExpiry(row pgx.CollectableRow) (r expiryRow, err error) {
	err = row.Scan(&r.JobID, &r.Attempt, &r.Nonce, &r.LeftS, &r.AgeS)
	return r, err
}

// sweep looks at all leases when that is due. When it finds as many as it can end at once, another one is.
func (d *Dispatcher) sweep(ctx context.Context, now time.Time) (ended int, err error) {
	d.mu.Lock()
	due := now.Sub(d.swept) >= d.sweepPause
	if due {
		d.swept = now
	}
	d.mu.Unlock()
	if !due {
		return 0, nil
	}
	began := time.Now()
	rows, err := collect[expiryRow](ctx, d.cfg.Pool, "sweep", pgx.StrictNamedArgs{"n": expireBatch})
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	d.sweepPause = sweepPause(time.Since(began), len(d.daemons))
	if len(rows) == expireBatch {
		d.sweepPause = 0
	}
	d.mu.Unlock()
	return d.expireRows(ctx, now, rows)
}

// sweepPause is the time from one sweep to the next.
func sweepPause(took time.Duration, daemons int) time.Duration {
	return min(max(sweepEvery, sweepEase*took*time.Duration(max(1, daemons))), sweepSeldom)
}

func (d *Dispatcher) expireRows(ctx context.Context, now time.Time, rows []expiryRow) (n int, err error) {
	var ends []ended
	d.mu.Lock()
	for _, r := range rows {
		d.metrics.renewAge.Observe(r.AgeS)
		if r.LeftS > 0 {
			d.wheel.add(now.Add(time.Duration(r.LeftS*float64(time.Second))), r.JobID)
			continue
		}
		ends = append(ends, ended{key: leaseKey{r.JobID, r.Attempt, r.Nonce}, outcome: Lost, message: "lease ran out: no word from the pilot"})
	}
	d.mu.Unlock()
	verdicts, err := d.end(ctx, ends)
	if err != nil {
		return 0, err
	}
	for _, v := range verdicts {
		if v.verdict == Recorded {
			n++
		}
	}
	d.metrics.expired.Add(float64(n))
	return n, nil
}
