package dispatcher

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	logentry "github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
	retrypolicy "github.com/divvyhq/divvy/shares/retry"
)

// ended is an attempt that is over, as a pilot or a step says it.
type ended struct {
	key      leaseKey
	outcome  Outcome
	exitCode *int
	message  string
	usage    Usage
	outputs  map[string]any
	tail     string
	report   map[string]any
}

// rank puts what somebody reports before what a clock says: that counts only when the time is over, and must not keep
// a report in the same batch from being heard.
func (e ended) rank() int {
	if e.outcome == Lost || e.outcome == reclaimed {
		return 1
	}
	return 0
}

// outcomeLetters are the outcomes as the rooms know them.
var outcomeLetters = map[Outcome]logentry.Outcome{Finished: logentry.Finished, Failed: logentry.Failed, Lost: logentry.Lost, Cancelled: logentry.Cancelled, Revoked: logentry.Returned}

// failure is what rules go by, as far as it is known here.
func (e ended) failure() *retrypolicy.Failure {
	return &retrypolicy.Failure{Outcome: string(e.outcome), ExitCode: e.exitCode, Message: e.message, Report: e.report}
}

// verdict is what became of it.
type verdict struct {
	verdict  string
	jobState string
}

// Finish records how attempts ended. It is idempotent: the same result again is Recorded again. The result of an
// attempt that ended otherwise meanwhile is LeaseLost and changes nothing.
func (d *Dispatcher) Finish(ctx context.Context, req FinishRequest) (FinishReply, error) {
	reply := FinishReply{Verdicts: make([]Verdict, len(req.Results))}
	var in []ended
	var at []int
	for i, r := range req.Results {
		switch r.Outcome {
		case Finished, Failed, Cancelled:
		default:
			return FinishReply{}, job.Wrong(fmt.Sprintf("results[%d].outcome", i), r.Outcome, "finished, failed or cancelled")
		}
		if c := r.ExitCode; c != nil && (*c < math.MinInt32 || *c > math.MaxInt32) {
			return FinishReply{}, job.Wrong(fmt.Sprintf("results[%d].exit_code", i), *c, "an exit code")
		}
		reply.Verdicts[i] = Verdict{Lease: r.Lease, Verdict: LeaseLost}
		if key, ok := parseLease(r.Lease); ok {
			in = append(in, ended{key, r.Outcome, r.ExitCode, r.Message, r.Usage, r.Outputs, r.LogTail, r.Report})
			at = append(at, i)
		}
	}
	out, err := d.end(ctx, in)
	if err != nil {
		return FinishReply{}, fmt.Errorf("finish: %w", err)
	}
	for i, v := range out {
		reply.Verdicts[at[i]].Verdict, reply.Verdicts[at[i]].JobState = v.verdict, v.jobState
	}
	return reply, nil
}

func (d *Dispatcher) end(ctx context.Context, in []ended) ([]verdict, error) {
	return d.ends.call(ctx, in)
}

// endRow is a lease that ended, with the move that it made.
type endRow struct {
	JobID    int64
	Nonce    int64
	TaskID   int64
	ShareID  shares.ShareID
	ShapeID  int32
	QueueID  shares.QueueID
	Units    shares.Units
	Outcome  string // as it was said
	After    string
	Place    int64
	JobState string
	Reported bool   // lease_reports has a row of it
	Recorded string // the outcome as it is written down
}

// scanEnd reads a row of end or finish.
func scanEnd(row pgx.CollectableRow) (r endRow, err error) {
	err = row.Scan(&r.JobID, &r.Nonce, &r.TaskID, &r.ShareID, &r.ShapeID, &r.QueueID, &r.Units, &r.Outcome, &r.After, &r.Place, &r.JobState, &r.Reported, &r.Recorded)
	return r, err
}

func (r endRow) move() move {
	m := move{Task: r.TaskID, Share: r.ShareID, Shape: r.ShapeID, Queue: r.QueueID, Before: isLeased, After: r.After, N: 1, Units: r.Units,
		Low: r.JobID, High: r.JobID}
	if r.After == isReady { // one that waits is nowhere yet
		m.Place = r.Place
	}
	return m
}

func (d *Dispatcher) endBatch(ctx context.Context, worker int, in []ended) ([]verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timing.Statement)
	defer cancel()
	l := d.lane(firstEndLane + worker)
	if l.doubt {
		if err := d.resolveEnds(ctx, l); err != nil {
			return nil, err
		}
	}
	rows, err := d.execEnd(ctx, l, in)
	if err != nil {
		return nil, err
	}
	d.settleEnds(ctx, l, rows)
	d.dropReports(ctx, rows)
	out := make([]verdict, len(in))
	missing := verdicts(in, rows, out)
	if len(missing) > 0 {
		err = d.lookUpEnds(ctx, in, missing, out)
	}
	return out, err
}

// verdicts fills in what the rows say, and lists the rest. Of several words on one attempt, only the one that was
// written down, and its like, are Recorded.
func verdicts(in []ended, rows []endRow, out []verdict) (missing []int) {
	byNonce := make(map[int64]endRow, len(rows))
	for _, r := range rows {
		byNonce[r.Nonce] = r
	}
	for i, e := range in {
		r, ok := byNonce[e.key.nonce]
		switch {
		case !ok || r.JobID != e.key.job:
			missing = append(missing, i)
		case r.Outcome == string(e.outcome):
			out[i] = verdict{Recorded, r.JobState}
		default:
			out[i] = verdict{LeaseLost, r.JobState}
		}
	}
	return missing
}

// execEnd runs the statement; a collision with another transaction is tried again.
func (d *Dispatcher) execEnd(ctx context.Context, l *lane, in []ended) ([]endRow, error) {
	verb, args := d.endArgs(l, in)
	d.metrics.ended.Observe(float64(len(in)))
	for try := 0; ; try++ {
		got, err := byKeyTo(ctx, d, statement{verb, args}, scanEnd)
		switch {
		case err == nil:
			return got, nil
		case pg.IsRetryable(err) && try < 5:
		case uncertain(err):
			l.doubt = true
			return nil, err
		default:
			return nil, err
		}
	}
}

// endArgs returns the statement for these ends and its arguments.
func (d *Dispatcher) endArgs(l *lane, in []ended) (verb string, args pgx.StrictNamedArgs) {
	in = slices.Clone(in)
	slices.SortStableFunc(in, func(a, b ended) int {
		return cmp.Or(cmp.Compare(a.key.job, b.key.job), cmp.Compare(a.rank(), b.rank()))
	})
	var jobs, nonces, memory []int64
	var attempts []int32
	var codes []*int
	var outcomes, messages, tails []string
	var cpu []float64
	var outputs, reports [][]byte
	var ruled []bool
	policy := d.attempts.Load()
	verb = "finish"
	for i, e := range in {
		if i > 0 && in[i-1].key == e.key {
			continue // the first word counts, and a pilot's before the clock's
		}
		jobs, attempts, nonces = append(jobs, e.key.job), append(attempts, e.key.attempt), append(nonces, e.key.nonce)
		outcomes, codes, messages = append(outcomes, string(e.outcome)), append(codes, e.exitCode), append(messages, clean(e.message))
		usage := usageBounded(e.usage)
		cpu, memory = append(cpu, usage.CPUSeconds), append(memory, usage.MemoryMB)
		outputs, tails = append(outputs, packOutputs(e.outputs)), append(tails, clean(e.tail))
		reports = append(reports, packReport(e.report))
		ruled = append(ruled, e.outcome != Finished && retry.Ruled(policy, e.failure()))
		if e.outcome != Finished {
			verb = "end"
		}
	}
	args = pgx.StrictNamedArgs{"daemon": l.daemon, "lane": l.no, "seq": l.seq + 1,
		"jobs": jobs, "attempts": attempts, "nonces": nonces, "exit_codes": codes, "messages": messages,
		"cpu_s": cpu, "memory_mb": memory, "outputs": outputs, "tails": tails, "reports": reports}
	if verb == "end" {
		args["outcomes"], args["slack_s"] = outcomes, reclaimSlack.Seconds()
		args["ruled"], args["quarantine"] = ruled, policy.Quarantine()
	}
	return verb, args
}

// settleEnds counts the moves of a committed batch and lets waiting pulls have what came free.
func (d *Dispatcher) settleEnds(ctx context.Context, l *lane, rows []endRow) {
	if len(rows) == 0 {
		return
	}
	moves := make([]move, len(rows))
	for i, r := range rows {
		moves[i] = r.move()
	}
	if p := d.attempts.Load(); p != nil && p.BlackHole.Sample > 0 {
		d.outcomes.count(rows)
	}
	d.lately.ended(rows)
	d.metrics.ends.count(rows)
	d.bookEnds(ctx, l, moves)
}

// bookEnds counts the row of a lane of ends.
func (d *Dispatcher) bookEnds(ctx context.Context, l *lane, moves []move) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.settled()
	if !d.owns(l) {
		return
	}
	if err := d.state.knowShapes(ctx, d.cfg.Pool, moves); err != nil {
		d.lost = true // what is not counted now never would be: Refresh starts anew
		d.state.diary.breakOff(entriesLost)
		return
	}
	d.applyEnds(moves, l.seq > d.base[l.no])
	d.state.diary.saw(l.daemon, l.no, l.seq)
}

// applyEnds counts moves out of leased. d.mu is held.
func (d *Dispatcher) applyEnds(moves []move, own bool) {
	again, claims := map[*window]bool{}, false
	for _, m := range moves {
		d.state.diary.tape.moves(d.state, m)
		d.state.apply(m, own)
		claims = claims || d.state.shapes[m.Shape].need.Claims != nil
		if m.After == isReady {
			again[d.state.windows[windowKey{m.Share, m.Shape}]] = true
		}
	}
	d.yieldDebt()
	d.line.stir((*class).short)
	for w := range again {
		if w != nil {
			d.stirWindow(w)
		}
	}
	if claims {
		d.hearOfClaims()
	}
	d.kick()
	d.hintOthers()
}

// resolveEnds settles a batch of ends whose fate was unknown; their callers say them again.
func (d *Dispatcher) resolveEnds(ctx context.Context, l *lane) error {
	moves, err := d.resolve(ctx, l)
	if err == nil {
		d.metrics.ends.doubted(moves)
		d.bookEnds(ctx, l, moves)
	}
	return err
}

// tendEnds resolves a lane in doubt though no end is said: what it ended counts as held until then, and when that
// was all there will be no other end. It returns true while the doubt lasts.
func (d *Dispatcher) tendEnds(ctx context.Context, worker int) bool {
	l := d.lane(firstEndLane + worker)
	if !l.doubt || ctx.Err() != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.Timing.Statement)
	defer cancel()
	return d.resolveEnds(ctx, l) != nil
}

type endedRow struct {
	JobID    int64
	Nonce    int64
	Outcome  string
	JobState string
}

// lookUpEnds tells a repeat of what is recorded from a lease that was lost. Recorded is a promise, so what is read is
// secured first: the commit that it stems from may be one that no standby has.
func (d *Dispatcher) lookUpEnds(ctx context.Context, in []ended, missing []int, out []verdict) error {
	var jobs, nonces []int64
	for _, i := range missing {
		jobs, nonces = append(jobs, in[i].key.job), append(nonces, in[i].key.nonce)
	}
	got, err := byKey[endedRow](ctx, d, "look_up_ends", pgx.StrictNamedArgs{"jobs": jobs, "nonces": nonces})
	if err != nil {
		return err
	}
	byNonce := make(map[int64]endedRow, len(got))
	for _, r := range got {
		byNonce[r.Nonce] = r
	}
	promised := false
	for _, i := range missing {
		out[i] = verdict{verdict: LeaseLost}
		if r, ok := byNonce[in[i].key.nonce]; ok && r.JobID == in[i].key.job {
			out[i].jobState = r.JobState
			if r.Outcome == string(in[i].outcome) {
				out[i].verdict, promised = Recorded, true
			}
		}
	}
	if promised {
		return pg.Secure(ctx, d.cfg.Pool)
	}
	return nil
}

// clean drops what PostgreSQL's text cannot hold: zero bytes and broken UTF-8.
func clean(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
}

// packOutputs is clean for JSON, and bounded in depth as reports are; what cannot be written down is left out rather than the attempt refused.
func packOutputs(outputs map[string]any) []byte {
	if len(outputs) == 0 {
		return nil
	}
	b, err := json.Marshal(tidyReport(outputs, mostDepth))
	if err != nil {
		return nil
	}
	return bytes.ReplaceAll(b, []byte(`\u0000`), []byte(`\ufffd`))
}
