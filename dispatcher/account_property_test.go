package dispatcher

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// usageMachine is a site whose leases are claimed, moved and ended while its daemons account for them. What must come out is
// counted here, of copies of all attempts that there ever were.
type usageMachine struct {
	*fixture
	r       *rapid.T
	daemons []*Dispatcher
	leases  map[int64]Lease
	course  map[int64][]string // the shares that a running attempt was charged to, by job
	charged [][]string         // of those that ended
	late    []pgx.Tx           // ends that are not committed
	n       int64
}

func newUsageMachine(t testing.TB, r *rapid.T) *usageMachine {
	strong := slots("strong", 100)
	strong.CorePowerMilli = 2501
	b := &usageMachine{fixture: newFixture(t, []shares.Spec{node("A", 1), node("B", 1), node("C", 1)}, slots("q", 100), strong), r: r,
		leases: map[int64]Lease{}, course: map[int64][]string{}, n: 1 << 40}
	b.exec(`CREATE TABLE seen (LIKE attempts);
		CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen SELECT NEW.*; RETURN NEW; END';
		CREATE TRIGGER see AFTER INSERT ON attempts FOR EACH ROW EXECUTE FUNCTION see();
		SELECT divvy_make_days('attempts', (now() AT TIME ZONE 'UTC')::date - 9, 6)`)
	if rapid.Bool().Draw(r, "past") { // of before there were numbers
		b.exec("ALTER TABLE attempts ALTER nth DROP DEFAULT")
		for range rapid.IntRange(1, 5).Draw(r, "past attempts") {
			b.old(b.pool)
		}
		b.exec("ALTER TABLE attempts ALTER nth SET DEFAULT nextval('attempts_nth')")
		b.exec(pastAttempts)
	}
	for range rapid.IntRange(1, 3).Draw(r, "daemons") {
		d, stop := b.runWith(Config{Pool: b.pool, Load: b.load, KeepHistory: 24 * time.Hour})
		t.Cleanup(stop)
		b.daemons = append(b.daemons, d)
	}
	t.Cleanup(func() {
		for _, tx := range b.late {
			_ = tx.Rollback(context.Background())
		}
	})
	return b
}

func (b *usageMachine) any() *Dispatcher {
	return b.daemons[rapid.IntRange(0, len(b.daemons)-1).Draw(b.r, "daemon")]
}

// old writes an attempt that ended days ago, at a full hour now and then.
func (b *usageMachine) old(db querier) {
	b.t.Helper()
	b.n++
	took := time.Duration(rapid.Int64Range(0, int64(30*time.Hour/time.Microsecond)).Draw(b.r, "took")) * time.Microsecond
	ago := time.Duration(rapid.Int64Range(0, int64(9*day/time.Microsecond)).Draw(b.r, "ago")) * time.Microsecond
	ended := time.Now().UTC().Add(-ago).Truncate(time.Microsecond)
	if rapid.Bool().Draw(b.r, "on the hour") {
		ended, took = ended.Truncate(time.Hour), took.Truncate(time.Hour)
	}
	rows, err := db.Query(context.Background(), `INSERT INTO attempts (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node,
			claimed_at, ended_at, outcome)
		SELECT $1::bigint, 1, 7, 0, (SELECT max(id) FROM shares), 1, (SELECT min(id) FROM queues), 3333, 3, 0, 'p', 'n', $2::timestamptz, $3::timestamptz, 'lost' RETURNING job_id`,
		b.n, ended.Add(-took), ended)
	if err == nil {
		_, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// one draws a lease.
func (b *usageMachine) one() (Lease, bool) {
	if len(b.leases) == 0 {
		return Lease{}, false
	}
	return b.leases[rapid.SampledFrom(slices.Sorted(maps.Keys(b.leases))).Draw(b.r, "lease")], true
}

func (b *usageMachine) ended(job int64) {
	b.charged = append(b.charged, b.course[job])
	delete(b.leases, job)
	delete(b.course, job)
}

// moved notes that leases went to another share, those that move picks.
func (b *usageMachine) moved(to string, picks func(job int64, now string) bool) {
	for job, course := range b.course {
		if now := course[len(course)-1]; now != to && picks(job, now) {
			b.course[job] = append(course, to)
		}
	}
}

func (b *usageMachine) share() string {
	return rapid.SampledFrom([]string{"A", "B", "C"}).Draw(b.r, "share")
}

var usageSteps = map[string]func(*usageMachine){
	"submit": func(b *usageMachine) {
		b.enqueue(batch{share: b.share(), n: rapid.IntRange(1, 4).Draw(b.r, "n"), cores: rapid.IntRange(1, 3).Draw(b.r, "cores"), attempts: 1000,
			user: rapid.SampledFrom([]string{"", "alice", "bob"}).Draw(b.r, "user")})
	},
	"claim": func(b *usageMachine) {
		reply, err := b.any().Pull(context.Background(), PullRequest{Queue: rapid.SampledFrom([]string{"q", "strong"}).Draw(b.r, "queue"), Pilot: "p",
			Slot: job.Slot{Cores: 6}, Max: rapid.IntRange(1, 4).Draw(b.r, "most")})
		if err != nil {
			return // nothing to do
		}
		for _, l := range reply.Leases {
			b.leases[l.Job], b.course[l.Job] = l, []string{l.Share}
		}
	},
	"time": func(b *usageMachine) {
		by := time.Duration(rapid.Int64Range(0, int64(5*time.Hour/time.Microsecond)).Draw(b.r, "by")) * time.Microsecond
		b.exec("UPDATE leases SET claimed_at = claimed_at - $1::interval", by)
		b.exec("UPDATE lease_pieces p SET since = since - $1::interval, until = until - $1::interval FROM leases l WHERE l.job_id = p.job_id AND l.nonce = p.nonce", by)
	},
	"end": func(b *usageMachine) {
		if l, ok := b.one(); ok {
			finish(b.t, b.any(), rapid.SampledFrom([]Outcome{Finished, Failed, Cancelled}).Draw(b.r, "outcome"), l)
			b.ended(l.Job)
		}
	},
	"lose": func(b *usageMachine) {
		l, ok := b.one()
		if !ok {
			return
		}
		b.exec("UPDATE leases SET expires_at = now() - interval '1 second' WHERE job_id = $1", l.Job)
		d := b.any()
		d.mu.Lock()
		d.swept = time.Time{}
		d.mu.Unlock()
		if _, err := d.Expire(context.Background()); err != nil {
			b.t.Fatal(err)
		}
		b.ended(l.Job)
	},
	"reassign": func(b *usageMachine) {
		l, ok := b.one()
		to := b.share()
		if !ok {
			return
		}
		b.moveTask(TaskMove{Task: l.Task, To: b.shareID(to), Running: true, Limit: 2})
		b.moved(to, func(job int64, _ string) bool { return b.leases[job].Task == l.Task })
	},
	"apply": func(b *usageMachine) {
		from, to := b.share(), b.share()
		if from == to {
			return
		}
		if err := beginFunc(context.Background(), b.pool, func(tx pgx.Tx) error {
			if err := Barrier(context.Background(), tx); err != nil {
				return err
			}
			if err := MoveShare(context.Background(), tx, b.shareID(from), b.shareID(to)); err != nil {
				return err
			}
			return Rebase(context.Background(), tx, b.version)
		}); err != nil {
			b.t.Fatal(err)
		}
		b.moved(to, func(_ int64, now string) bool { return now == from })
	},
	"late": func(b *usageMachine) { // an end of days ago that is not committed yet
		if len(b.late) == 2 {
			return
		}
		tx, err := b.pool.Begin(context.Background())
		if err != nil {
			b.t.Fatal(err)
		}
		b.late = append(b.late, tx)
		b.old(tx)
	},
	"commit": func(b *usageMachine) {
		if len(b.late) == 0 {
			return
		}
		end := b.late[0].Commit
		if rapid.IntRange(0, 3).Draw(b.r, "rolls back") == 0 {
			end = b.late[0].Rollback
		}
		if err := end(context.Background()); err != nil {
			b.t.Fatal(err)
		}
		b.late = b.late[1:]
	},
	"account": func(b *usageMachine) { b.account(b.any()) },
	"batch": func(b *usageMachine) {
		if _, _, err := AccountBatch(context.Background(), b.pool); err != nil {
			b.t.Fatal(err)
		}
	},
	"drop": func(b *usageMachine) {
		if len(b.late) > 0 {
			return // waits for them; the lock is refused after a while
		}
		if _, err := b.any().dropDays(context.Background()); err != nil {
			b.t.Fatal(err)
		}
	},
}

// seenAttempt is a copy of an attempt, with whom it was charged to before.
type seenAttempt struct {
	Share, Queue int32
	User         string
	Task         int64
	Cores, Units int64
	Outcome      string
	Node         string
	Claimed      time.Time
	Ended        time.Time
	Shares       []int32
	Untils       []time.Time
}

// sums are microseconds times cores, thousandths of units times microseconds, and attempts.
type sums struct{ slots, units, jobs int64 }

// recount splits every attempt there ever was at hours and moves, step by step.
func (b *usageMachine) recountUsage() (hours, days, tasks map[string]sums) {
	rows, err := b.pool.Query(context.Background(), `SELECT s.share_id AS share, s.queue_id AS queue, coalesce(t.user_name, '') AS user, s.task_id AS task,
			s.cores::bigint AS cores, s.units, s.outcome, s.node, s.claimed_at AS claimed, s.ended_at AS ended,
			ARRAY(SELECT share_id FROM lease_pieces p WHERE p.job_id = s.job_id AND p.nonce = s.nonce ORDER BY since, until) AS shares,
			ARRAY(SELECT until FROM lease_pieces p WHERE p.job_id = s.job_id AND p.nonce = s.nonce ORDER BY since, until) AS untils
		FROM seen s LEFT JOIN tasks t ON t.id = s.task_id`)
	if err != nil {
		b.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[seenAttempt])
	if err != nil {
		b.t.Fatal(err)
	}
	hours, days, tasks = map[string]sums{}, map[string]sums{}, map[string]sums{}
	add := func(a seenAttempt, share int32, from time.Time, us, jobs int64) {
		for key, into := range map[string]map[string]sums{
			fmt.Sprintf("%s %d %d %s", from.UTC().Format("2006-01-02 15"), share, a.Queue, a.User): hours,
			fmt.Sprintf("%s %d %d %s", from.UTC().Format("2006-01-02"), share, a.Queue, a.User):    days,
			fmt.Sprintf("%s %d %d", from.UTC().Format("2006-01-02"), a.Task, share):                tasks,
		} {
			s := into[key]
			into[key] = sums{s.slots + us*a.Cores, s.units + us*a.Units, s.jobs + jobs}
		}
	}
	for _, a := range all {
		at := a.Claimed
		for i := range len(a.Shares) + 1 {
			share, until := a.Share, a.Ended
			if i < len(a.Shares) {
				share, until = a.Shares[i], a.Untils[i]
				if until.After(a.Ended) {
					until = a.Ended
				}
			}
			for at.Before(until) {
				next := at.UTC().Truncate(time.Hour).Add(time.Hour)
				if next.After(until) {
					next = until
				}
				add(a, share, at, next.Sub(at).Microseconds(), 0)
				at = next
			}
		}
		add(a, a.Share, a.Ended, 0, 1)
	}
	return hours, days, tasks
}

// compare finds what the views say differently. Rows without anything in them do not matter.
func (b *usageMachine) compare(what, sql string, want map[string]sums) {
	b.t.Helper()
	type row struct {
		Key                string
		Slots, Units, Jobs int64
	}
	rows, err := b.pool.Query(context.Background(), sql)
	if err != nil {
		b.t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range got {
		if is := (sums{r.Slots, r.Units, r.Jobs}); is != want[r.Key] {
			b.t.Errorf("%s: %s: %+v, the attempts say %+v", what, r.Key, is, want[r.Key])
		}
		delete(want, r.Key)
	}
	for key, s := range want {
		if s != (sums{}) {
			b.t.Errorf("%s: nothing for %s, the attempts say %+v", what, key, s)
		}
	}
}

// check compares all views with a recount, whatever is in the roll-ups.
func (b *usageMachine) check() {
	b.t.Helper()
	hours, days, tasks := b.recountUsage()
	const figures = "(slot_seconds * 1000000)::bigint AS slots, (unit_seconds * 1000000000)::bigint AS units, jobs"
	b.compare("usage_hourly", `SELECT to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24 ') || share_id || ' ' || (SELECT id FROM queues WHERE name = queue) || ' ' ||
		coalesce(user_name, '') AS key, `+figures+` FROM report.usage_hourly`, hours)
	b.compare("usage_daily", `SELECT to_char(day, 'YYYY-MM-DD ') || share_id || ' ' || (SELECT id FROM queues WHERE name = queue) || ' ' ||
		coalesce(user_name, '') AS key, `+figures+` FROM report.usage_daily`, days)
	b.compare("task_usage", `SELECT to_char(day, 'YYYY-MM-DD ') || task_id || ' ' || share_id AS key, `+figures+` FROM report.task_usage`, tasks)
	b.expectLines("nodes", `SELECT concat_ws(' ', coalesce(sum(slot_seconds), 0) = (SELECT coalesce(sum(cores * extract(epoch FROM ended_at - claimed_at)), 0) FROM seen),
		coalesce(sum(jobs), 0) = (SELECT count(*) FROM seen)) FROM report.node_usage`, "t t")
}

// checkCourses compares what leases were charged to with what they were told.
func (b *usageMachine) checkCourses() {
	b.t.Helper()
	got := b.lines(`SELECT array_to_string(ARRAY(SELECT h.path FROM lease_pieces p JOIN shares h ON h.id = p.share_id
			WHERE p.job_id = s.job_id AND p.nonce = s.nonce ORDER BY since, until) || h.path, ' ')
		FROM seen s JOIN shares h ON h.id = s.share_id WHERE s.nonce <> 7`)
	var want []string
	for _, course := range b.charged {
		line := course[0]
		for _, share := range course[1:] {
			line += " " + share
		}
		want = append(want, line)
	}
	slices.SortFunc(got, cmp.Compare)
	slices.SortFunc(want, cmp.Compare)
	if !slices.Equal(got, want) {
		b.t.Errorf("attempts were charged to %q, want %q", got, want)
	}
}

// Whatever is claimed, moved, ended, lost, late or dropped, and whenever daemons add it up: the sums of every view are those
// of a recount, to the microsecond.
func TestAccountsAddUp(t *testing.T) {
	names := slices.Sorted(maps.Keys(usageSteps))
	onDatabases(t, 8, func(t testing.TB, r *rapid.T) {
		b := newUsageMachine(t, r)
		for range rapid.IntRange(10, 60).Draw(r, "steps") {
			usageSteps[rapid.SampledFrom(names).Draw(r, "step")](b)
		}
		b.check()
		for len(b.late) > 0 {
			usageSteps["commit"](b)
		}
		for _, l := range b.leases {
			finish(b.t, b.daemons[0], Finished, l)
			b.ended(l.Job)
		}
		b.check()
		b.accountAll(b.daemons[0])
		b.expectLines("nothing is left to read", "SELECT count(*)::text FROM uncounted_pieces", "0")
		b.check()
		b.checkCourses()
		if _, err := b.daemons[0].dropDays(context.Background()); err != nil {
			t.Fatal(err)
		}
		b.check()
		b.fixture.recount()
	})
}
