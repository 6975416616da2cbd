package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// pickRecord is the record of one decision: who got the slot, who was next, and how both stood. See shares.Contest for
// what the deficits are.
type pickRecord struct {
	at              time.Time
	job             int64
	queue           shares.QueueID
	share           shares.ShareID
	runnerUp        shares.ShareID // 0: nobody else had a job for the slot
	deficit         float32        // units
	runnerUpDeficit float32
	candidates      int32
	weight          int32 // it stands for so many decisions
	units           shares.Units
	round           shares.Units // R

	// Known when the claim has committed: its ledger row.
	daemon int64
	lane   int16
	seq    int64
}

// note makes the record of a pick that was just made and not counted yet; nil when the sample leaves it out, which
// costs a counter. The second walk is taken for those in the sample only.
func (s *state) note(of *contenders, r shares.Units, q *queue, found choice) *pickRecord {
	weight := s.sample.next()
	if weight == 0 {
		return nil
	}
	c, _ := of.pool.book.Contest(r, &of.leaves)
	nodes := s.version.Tree.Nodes
	e := &pickRecord{at: time.Now(), job: found.window.jobs[0].id, queue: q.ID, share: nodes[c.Winner].ID,
		deficit: float32(c.Deficit / 1000), candidates: int32(of.leaves.Len()), weight: int32(weight), units: found.units, round: r}
	if c.RunnerUp >= 0 {
		e.runnerUp, e.runnerUpDeficit = nodes[c.RunnerUp].ID, float32(c.RunnerUpDeficit/1000)
	}
	return e
}

// Bounds of what waits to be written, and of a row. A row has a second's records.
const (
	mostRecords = 16 * decisionsPerSecond
	rowRecords  = decisionsPerSecond
)

// records are decisions that committed and are not written yet.
type records struct {
	writing sync.Mutex // one Record at a time; what it writes stays at the head until it is written
	mu      sync.Mutex
	waiting []pickRecord
}

// keepNotes takes over the records of a batch whose row in the ledger is the lane's last. Those of claims that took
// nothing are forgotten.
func (d *Dispatcher) keepNotes(l *lane, b claimBatch, took func(nonce int64) bool) {
	rs := &d.records
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, p := range b.pulls {
		for _, g := range p.grants {
			if g.note == nil || !took(g.nonce) {
				continue
			}
			if len(rs.waiting) >= mostRecords {
				d.metrics.unwritten.Inc()
				continue
			}
			g.note.daemon, g.note.lane, g.note.seq = l.daemon, int16(l.no), l.seq
			rs.waiting = append(rs.waiting, *g.note)
		}
	}
}

// head is what fits into the next row: of one daemon.
func (rs *records) head() []pickRecord {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	n := 0
	for n < min(len(rs.waiting), rowRecords) && rs.waiting[n].daemon == rs.waiting[0].daemon {
		n++
	}
	return rs.waiting[:n:n]
}

func (rs *records) drop(n int) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.waiting = append(rs.waiting[:0:0], rs.waiting[n:]...)
}

// Record writes the decisions that were committed since the last time and returns how many: all of them up to a
// thousand a second, above that a uniform sample of about as many, in which each record says how many claims it stands for.
// They are in memory until then, so a daemon that is killed takes the last second's with it. While the
// database is away they wait; beyond sixteen seconds' worth they are dropped and counted. No record is written twice:
// those of a row whose fate is unknown are dropped as well.
func (d *Dispatcher) Record(ctx context.Context) (n int, err error) {
	d.mu.Lock()
	d.state.sample.turn(time.Now())
	d.mu.Unlock()
	rs := &d.records
	rs.writing.Lock()
	defer rs.writing.Unlock()
	for {
		row := rs.head()
		if len(row) == 0 {
			return n, nil
		}
		err := d.writeRecords(ctx, row)
		if pg.Code(err) == pg.CodeCheckViolation { // the day has no partition yet
			if _, err := d.Partition(ctx); err != nil {
				return n, err
			}
			err = d.writeRecords(ctx, row)
		}
		switch {
		case err == nil:
			n += len(row)
			rs.drop(len(row))
		case uncertain(err) && !errors.Is(err, errNotSent) && !pgconn.SafeToRetry(err):
			rs.drop(len(row))
			d.metrics.unwritten.Add(float64(len(row)))
			fallthrough
		default:
			return n, fmt.Errorf("record decisions: %w", err)
		}
	}
}

// errNotSent: the records are still ours alone.
var errNotSent = errors.New("no connection")

func (d *Dispatcher) writeRecords(ctx context.Context, row []pickRecord) error {
	n := len(row)
	ago, lanes, seqs, jobs := make([]int32, n), make([]int16, n), make([]int64, n), make([]int64, n)
	queues, ids, seconds := make([]int32, n), make([]int32, n), make([]int32, n)
	deficits, secondDeficits := make([]float32, n), make([]float32, n)
	candidates, weights, units, rounds := make([]int32, n), make([]int32, n), make([]int64, n), make([]int64, n)
	now := time.Now()
	for i, e := range row {
		ago[i], lanes[i], seqs[i], jobs[i] = int32(now.Sub(e.at).Milliseconds()), e.lane, e.seq, e.job
		queues[i], ids[i], seconds[i] = int32(e.queue), int32(e.share), int32(e.runnerUp)
		deficits[i], secondDeficits[i] = e.deficit, e.runnerUpDeficit
		candidates[i], weights[i], units[i], rounds[i] = e.candidates, e.weight, int64(e.units), int64(e.round)
	}
	conn, err := d.cfg.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	defer conn.Release()
	_, err = conn.Exec(ctx, query["record_decisions"], pgx.StrictNamedArgs{
		"daemon": row[0].daemon, "ms_ago": ago, "lanes": lanes, "seqs": seqs, "jobs": jobs, "queues": queues, "shares": ids,
		"deficits": deficits, "runners_up": seconds, "runner_up_deficits": secondDeficits, "candidates": candidates,
		"units": units, "rounds": rounds, "weights": weights})
	return err
}
