package lookup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// ask runs a query as a reader of reports and returns each row as text with | between its columns, in the order of the texts.
func (w *world) ask(sql string) (lines []string) {
	w.t.Helper()
	err := pgx.BeginFunc(context.Background(), w.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(context.Background(), "SET LOCAL ROLE divvy_reader; SET LOCAL timezone = 'Asia/Kathmandu'; SET LOCAL extra_float_digits = 0"); err != nil {
			return err
		}
		rows, err := tx.Query(context.Background(), sql, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		for rows.Next() {
			var cells []string
			for _, v := range rows.RawValues() {
				cell := "-"
				if v != nil {
					cell = string(v)
				}
				cells = append(cells, cell)
			}
			lines = append(lines, strings.Join(cells, "|"))
		}
		return rows.Err()
	})
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	slices.Sort(lines)
	return lines
}

// is compares the rows of a query with lines in any order. There must be some.
func (w *world) is(t *testing.T, sql string, want []string) {
	t.Helper()
	slices.Sort(want)
	if len(want) == 0 {
		t.Errorf("no rows to be compared with those of %s", sql)
	}
	same(t, sql, want, w.ask(sql))
}

// us is a time as the queries below ask for it: extract(epoch FROM …) * 1000000.
func us(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return fmt.Sprint(at.UnixMicro())
}

func isSQL(column string) string { return "trim_scale(extract(epoch FROM " + column + ") * 1000000)" }

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// allAttempts are those that ended.
func (w *world) allAttempts() (all []*modelAttempt) {
	w.each(func(_ int64, j *modelJob) {
		for _, a := range j.attempts {
			if a.end != nil {
				all = append(all, a)
			}
		}
	})
	return all
}

func TestReportsOfJobs(t *testing.T) {
	w := drawn(t, 10, things)
	var jobs, leases, tasks []string
	w.each(func(id int64, j *modelJob) {
		row := w.want(id)
		retry, queue, pilot, ended := "-", "-", "-", "-"
		if row.RetryOf > 0 {
			retry = fmt.Sprint(row.RetryOf)
		}
		if j.state == leased {
			a := j.lastOne()
			queue, pilot = row.Queue, row.Pilot
			leases = append(leases, fmt.Sprintf("%d|%d|%d|%s|%s|%s|%d|%d|%d|%s|%s|%s|%s|%s|%s", id, a.Attempt, j.Task, userOf(j.Task), row.Share, queue, coresOf(j.Shape),
				a.Units, j.priority, a.want(true).State, pilot, a.Node, us(a.at), us(a.started), orNone(a.reason)))
		}
		if row.EndedAt != nil {
			ended = us(*row.EndedAt)
		}
		jobs = append(jobs, fmt.Sprintf("%d|%d|%s|%s|%d|%d|%d|%d|%s|%s|%s|%s|%s", id, j.Task, row.Share, row.State, j.priority, row.Attempt, row.MaxAttempts, j.idx, retry, queue, pilot, us(j.made), ended))
	})
	columns := "job_id, task_id, share, state, priority, attempt, max_attempts, index, retry_of, queue, pilot, " + isSQL("created_at") + ", " + isSQL("ended_at")
	w.is(t, "SELECT "+columns+" FROM report.jobs", slices.Clone(jobs))
	w.is(t, "SELECT "+columns+" FROM report.jobs WHERE job_id = 5", jobs[4:5])
	w.is(t, "SELECT "+columns+" FROM report.task_jobs", jobs)
	w.is(t, "SELECT job_id, attempt, task_id, user_name, share, queue, cores, trim_scale(units * 1000), priority, state, pilot, node, "+isSQL("claimed_at")+", "+isSQL("started_at")+
		", cancel_reason FROM report.leases", leases)
	for task := int64(1); task <= nTasks; task++ {
		n := map[string]int{}
		w.each(func(_ int64, j *modelJob) {
			if j.Task == task {
				n[w.shown(j)]++
			}
		})
		tasks = append(tasks, fmt.Sprintf("%d|%s|%d|%d|%d|%d|%d|%d", task, userOf(task), n[waiting], n[ready], n[leased], n[finished], n[failed], n[cancelled]))
	}
	w.is(t, "SELECT task_id, user_name, waiting, ready, leased, finished, failed, cancelled FROM report.tasks", tasks)

	var now, health []string
	for share := shares.ShareID(1); share <= 3; share++ {
		n, units := map[string]int64{}, shares.Units(0)
		w.each(func(_ int64, j *modelJob) {
			if share == 1 || j.Share == share {
				n[w.shown(j)]++
				if j.state == leased {
					units += j.lastOne().Units
				}
			}
		})
		now = append(now, fmt.Sprintf("%s|%d|%d|%d|%d", shareOf(share), n[waiting], n[ready], n[leased], units))
	}
	w.is(t, "SELECT path, waiting_jobs, ready_jobs, held_jobs, trim_scale(held_units * 1000) FROM report.shares_now", now)
	w.exec(`INSERT INTO latest (kind, key, name, entry) VALUES ('p', 1, '', '{"queue": 1, "is": true}'), ('p', 2, '', '{"queue": 2, "is": false}')`)
	for queue := shares.QueueID(1); queue <= nQueues; queue++ {
		var held, cores int64
		var units shares.Units
		w.each(func(_ int64, j *modelJob) {
			if j.state == leased && j.lastOne().Queue == queue {
				held, cores, units = held+1, cores+coresOf(j.Shape), units+j.lastOne().Units
			}
		})
		health = append(health, fmt.Sprintf("%s|%d|%d|%d|%s", queueOf(queue), held, cores, units, map[bool]string{true: "t", false: "f"}[queue == 1]))
	}
	w.is(t, "SELECT queue, held_jobs, held_cores, trim_scale(held_units * 1000), has_pilots FROM report.queue_health", health)
}

// usage is what the model adds up for a row of a view.
type usage struct {
	slot, unit, wasted, cpu int64
	n                       [5]int64 // finished, failed, lost, cancelled, revoked
}

func (u *usage) add(a *modelAttempt, ms int64, ends bool) {
	slot := coresOf(a.Shape) * ms
	u.slot, u.unit = u.slot+slot, u.unit+int64(a.Units)*ms
	i := slices.Index([]entry.Outcome{entry.Finished, entry.Failed, entry.Lost, entry.Cancelled, entry.Returned}, a.end.Outcome)
	if i == 1 || i == 2 || i == 4 {
		u.wasted += slot
	}
	if ends {
		u.cpu += a.end.CPUMilli
		u.n[i]++
	}
}

func (u usage) String() string {
	return fmt.Sprintf("%d|%d|%d|%d|%d|%d|%d|%d|%d|%d", u.slot, u.unit, u.n[0]+u.n[1]+u.n[2]+u.n[3]+u.n[4], u.n[1], u.n[2], u.n[0], u.n[3], u.n[4], u.wasted, u.cpu)
}

const usageColumns = `trim_scale(slot_seconds * 1000), trim_scale(unit_seconds * 1000000), jobs, failures, lost, finished, cancelled, revoked,
	trim_scale(wasted_slot_seconds * 1000), trim_scale(cpu_seconds * 1000)`

// hoursOf calls fn for each hour of an attempt with the milliseconds in it, and whether it ends there.
func (a *modelAttempt) hoursOf(fn func(hour time.Time, ms int64, ends bool)) {
	begin, end := a.at.Truncate(time.Millisecond), a.ended.Truncate(time.Millisecond)
	for hour := begin.Truncate(time.Hour); !hour.After(end); hour = hour.Add(time.Hour) {
		from, to := max(begin.UnixMilli(), hour.UnixMilli()), min(end.UnixMilli(), hour.Add(time.Hour).UnixMilli())
		fn(hour, to-from, hour.Equal(end.Truncate(time.Hour)))
	}
}

type sums map[string]*usage

func (s sums) of(key string) *usage {
	if s[key] == nil {
		s[key] = &usage{}
	}
	return s[key]
}

func (s sums) lines() (lines []string) {
	for key, u := range s {
		lines = append(lines, key+"|"+u.String())
	}
	return lines
}

func TestReportsOfUsage(t *testing.T) {
	for seed := range uint64(pgtest.Draws(4)) {
		w := drawn(t, 20+seed, things)
		attempts := w.allAttempts()
		hours, days, tasks, nodes := sums{}, sums{}, sums{}, sums{}
		var rows, pieces, judged []string
		for _, a := range attempts {
			share, queue, user := shareOf(a.Share), queueOf(a.Queue), userOf(a.Task)
			want := a.want(true)
			ms := a.ended.Truncate(time.Millisecond).Sub(a.at.Truncate(time.Millisecond)).Milliseconds()
			code, outputs, report := "-", "-", "-"
			if want.ExitCode != nil {
				code = fmt.Sprint(*want.ExitCode)
			}
			if a.message != "" {
				outputs, report = `{"o": 2}`, `{"r": 1}`
			}
			rows = append(rows, fmt.Sprintf("%d|%d|%d|%s|%s|%s|%d|%d|%d|%s|%s|%s|%s|%s|%s|%s|%s|%d|%d|%d|%d|%s|%s", a.Job, a.Attempt, a.Task, user, share, queue, coresOf(a.Shape),
				a.Units, w.jobs[a.Job].priority, a.Pilot, a.Node, want.State, code, a.message, us(a.at), us(a.started), us(a.ended), coresOf(a.Shape)*ms, int64(a.Units)*ms,
				a.end.CPUMilli, a.end.MemoryMB, outputs, report))
			if a.judged != "" {
				judged = append(judged, fmt.Sprintf("%d|%d|%s|%s|%s|%s", a.Job, a.Attempt, user, want.State, a.message, a.judged))
			}
			nodes.of(a.ended.Format(time.DateOnly)+"|"+queue+"|"+a.Node).add(a, ms, true)
			a.hoursOf(func(hour time.Time, ms int64, ends bool) {
				key := "|" + share + "|" + queue + "|" + user
				day := hour.Format(time.DateOnly)
				hours.of(us(hour)+key).add(a, ms, ends)
				days.of(day+key).add(a, ms, ends)
				tasks.of(fmt.Sprintf("%s|%d|%s|%s", day, a.Task, user, share)).add(a, ms, ends)
				pieces = append(pieces, fmt.Sprintf("%d|%d|%s|%d|%d|%t", a.Job, a.Attempt, us(hour), coresOf(a.Shape)*ms, int64(a.Units)*ms, ends))
			})
		}
		w.is(t, "SELECT job_id, attempt, task_id, user_name, share, queue, cores, trim_scale(units * 1000), priority, pilot, node, outcome, exit_code, message, "+isSQL("claimed_at")+", "+
			isSQL("started_at")+", "+isSQL("ended_at")+", trim_scale(slot_seconds * 1000), trim_scale(unit_seconds * 1000000), cpu_seconds * 1000, memory_mb, outputs, report FROM report.attempts", rows)
		w.is(t, "SELECT job_id, attempt, "+isSQL("hour")+", trim_scale(slot_seconds * 1000), trim_scale(unit_seconds * 1000000), ends::text FROM report.charges", pieces)
		w.is(t, "SELECT "+isSQL("hour")+", share, queue, user_name, "+usageColumns+" FROM report.usage_hourly", hours.lines())
		w.is(t, "SELECT day, share, queue, user_name, "+usageColumns+" FROM report.usage_daily", days.lines())
		w.is(t, "SELECT day, task_id, user_name, share, "+usageColumns+" FROM report.task_usage", tasks.lines())
		w.is(t, "SELECT job_id, attempt, user_name, outcome, message, judged FROM report.judgements", judged)
		w.checkNodes(t, nodes)
	}
}

// checkNodes asks for usage by node while none, most and all of it is rolled up.
func (w *world) checkNodes(t *testing.T, nodes sums) {
	t.Helper()
	var want []string
	for _, key := range slices.Sorted(maps.Keys(nodes)) {
		u := nodes[key]
		want = append(want, fmt.Sprintf("%s|%d|%d|%d|%d|%d|%d|%d|%d", key, u.slot, u.wasted, u.n[0]+u.n[1]+u.n[2]+u.n[3]+u.n[4], u.n[1], u.n[2], u.n[0], u.n[3], u.n[4]))
	}
	const sql = `SELECT day, queue, node, trim_scale(slot_seconds * 1000), trim_scale(wasted_slot_seconds * 1000), jobs, failures, lost, finished, cancelled, revoked FROM report.node_usage`
	w.is(t, sql, slices.Clone(want))
	var at time.Time
	if err := w.pool.QueryRow(t.Context(), "UPDATE folded SET at = (SELECT percentile_disc(0.7) WITHIN GROUP (ORDER BY ended_at) FROM history) RETURNING (SELECT f.at FROM folded f)").Scan(&at); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.folder().RollNodes(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := w.ask("SELECT sum(jobs) > 0 FROM report.node_usage"); n[0] != "t" {
			t.Error("nothing is rolled up")
		}
		w.is(t, sql, slices.Clone(want))
		w.exec("UPDATE folded SET at = $1::timestamptz + interval '1 day'", at)
	}
}

// The log itself, what was decided, and how far the fold is.
func TestReportsOfTheLog(t *testing.T) {
	w := drawn(t, 30, 300)
	table := ledger.New(w.pool)
	if _, err := table.Extend(t.Context(), 1000, 100); err != nil {
		t.Fatal(err)
	}
	batches, err := w.log.Read(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var decided []string
	n := 0
	for _, b := range batches {
		if _, err := table.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		w.exec("UPDATE batches SET at = $2 WHERE seq = $1", b.Seq, b.At)
		n += len(b.Entries)
		for _, e := range b.Entries {
			if g, ok := e.(entry.Granted); ok {
				decided = append(decided, fmt.Sprintf("%s|7|%d|%d|%d|%s|%s|%d", us(b.At), b.Seq, g.Job, g.Attempt, queueOf(g.Queue), shareOf(g.Share), g.Units))
			}
		}
	}
	last := batches[len(batches)-1]
	w.is(t, "SELECT "+isSQL("at")+", daemon_id, seq, job_id, attempt, queue, share, trim_scale(units * 1000) FROM report.decisions", decided)
	w.is(t, "SELECT count(*) FROM report.ledger", []string{fmt.Sprint(n)})
	w.is(t, "SELECT report.ledger_seq('"+last.At.Add(time.Microsecond).Format(time.RFC3339Nano)+"') - 1", []string{fmt.Sprint(last.Seq)})
	w.is(t, "SELECT folded_seq, newest_seq, behind_seconds FROM report.freshness", []string{fmt.Sprintf("%d|%[1]d|0", last.Seq)})
	w.exec("UPDATE folded SET seq = $1, at = at - interval '3 s'", last.Seq-1)
	w.is(t, "SELECT folded_seq, newest_seq, behind_seconds FROM report.freshness", []string{fmt.Sprintf("%d|%d|3", last.Seq-1, last.Seq)})
	w.is(t, "SELECT counted_up_to, complete, rated_up_to FROM report.about", []string{fmt.Sprintf("%d|t|-", last.Seq-1)})
}

// Units of resources that jobs and claims hold and want.
func TestReportsOfResources(t *testing.T) {
	w := drawn(t, 40, things)
	w.exec(`UPDATE shapes SET resources = '{"lic": 2, "table:orders": 1}', sharing_id = 'ann' WHERE id = 3`)
	w.exec(`INSERT INTO site_resources (version, name, position, capacity, keyed, per_queue, split_by, external_expires)
		SELECT 1, name, position, 9, name = 'table', false, split_by, interval '1 min' FROM (VALUES ('lic', 0, 'user'), ('table', 1, 'share')) AS r (name, position, split_by)`)
	pool := `{"Name": "pool", "Resources": {"lic": 3}, "Node": true, "Devices": {"gpu": 1}, "MaxSharers": 2, "Linger": 60000000000, "Gang": false}`
	w.exec(`INSERT INTO claims (id, task, key, state, queue, node, devices, share, sharers, jobs, missing, made_at, bound_at, sharing_id, label, template, saved) VALUES
		(1, 1, '0/pool', 'bound', 1, 'n1', '{gpu:0}', 2, 1, 2, false, now(), now(), 'bob', 'l', $1, '{}'),
		(2, 1, '1/x', 'pending', 0, '', '{}', 0, 0, 2, true, now(), NULL, 'bob', 'l',
			'{"Name": "x", "Resources": null, "Node": false, "Devices": null, "MaxSharers": 0, "Linger": 0, "Gang": true}', '{}'),
		(3, 1, '2/pool', 'released', 1, 'n1', '{gpu:0}', 2, 0, 0, false, now(), now(), 'bob', 'l', $1, '{}')`, pool)
	held, wants := map[shares.ShareID]int{}, map[shares.ShareID]int{}
	var holdings []string
	w.each(func(id int64, j *modelJob) {
		if j.Shape != 3 {
			return
		}
		switch j.state {
		case leased:
			held[j.Share]++
			q := queueOf(j.lastOne().Queue)
			holdings = append(holdings, fmt.Sprintf("lic|-|%s|ann|2|%d|-", q, id), fmt.Sprintf("table|orders|%s|%s|1|%d|-", q, shareOf(j.Share), id))
		case ready:
			if w.paused[j.Task] {
				return
			}
			wants[j.Share]++
		}
	})
	holders := []string{fmt.Sprintf("lic|-|ann|user|%d|%d|%d|%d|0", held[2]+held[3], 2*(held[2]+held[3]), wants[2]+wants[3], 2*(wants[2]+wants[3])), "lic|-|bob|user|0|3|0|0|1"}
	for _, s := range []shares.ShareID{2, 3} {
		if held[s]+wants[s] > 0 {
			holders = append(holders, fmt.Sprintf("table|orders|%s|share|%d|%d|%d|%d|0", shareOf(s), held[s], held[s], wants[s], wants[s]))
		}
	}
	w.is(t, "SELECT resource, key, sharing_id, split_by, held_jobs, held_units, ready_jobs, wanted_units, held_claims FROM report.resource_holders", holders)
	w.is(t, "SELECT resource, key, queue, sharing_id, units, job_id, claim_id FROM report.resource_holdings", append(holdings, "lic|-|q|bob|3|-|1"))
	w.is(t, "SELECT resource, key, capacity, held_units, wanted_units FROM report.resources", []string{
		fmt.Sprintf("lic|-|9|%d|%d", 2*(held[2]+held[3])+3, 2*(wants[2]+wants[3])), fmt.Sprintf("table|orders|9|%d|%d", held[2]+held[3], wants[2]+wants[3])})
	w.is(t, "SELECT claim_id, task_id, user_name, key, state, template, resources, on_node, device_kinds, max_sharers, gang, missing, linger_seconds, queue, node, devices, share, sharing_id, sharers FROM report.resource_claims",
		[]string{`1|1|user-1|0/pool|bound|pool|{"lic": 3}|t|{"gpu": 1}|2|f|f|60|q|n1|{gpu:0}|top/a|bob|1`, `2|1|user-1|1/x|pending|x|{}|f|{}|-|t|t|0|-|-|{}|-|-|0`,
			`3|1|user-1|2/pool|released|pool|{"lic": 3}|t|{"gpu": 1}|2|f|f|60|-|-|{}|-|-|0`})
}

// Every view and column is described, and no secret of a lease is in one. What readers may call, and no table.
func TestReportsAreDescribed(t *testing.T) {
	tx := pgtest.Tx(t)
	for sql, want := range map[string]string{
		`SELECT coalesce(string_agg(c.relname || '.' || a.attname, ' '), '') FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
			WHERE c.relnamespace = 'report'::regnamespace AND (obj_description(c.oid) IS NULL OR col_description(c.oid, a.attnum) IS NULL OR a.attname ~ 'nonce|token|secret|hash')`: "",
		`SELECT coalesce(string_agg(c.relname, ' '), '') FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
			AND obj_description(c.oid) IS NULL AND c.relname <> 'migrations'`: "",
		`SELECT coalesce(string_agg(c.relname, ' '), '') FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND has_table_privilege('divvy_reader', c.oid, 'SELECT')`: "",
		`SELECT string_agg(n.nspname || '.' || p.proname, ' ' ORDER BY n.nspname) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
			WHERE p.prosecdef AND has_function_privilege('divvy_reader', p.oid, 'EXECUTE')`: "public.divvy_payer report.ledger_seq",
	} {
		var got string
		if err := tx.QueryRow(t.Context(), sql).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", sql, got, err, want)
		}
	}
}
