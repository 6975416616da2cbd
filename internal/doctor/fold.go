package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// How far the tables may be behind the log, and how long the log may be without an append.
const (
	behindWarnS = 60
	behindBadS  = 600
	silentBadS  = 10
	waitsWarnS  = 10
	waitsBadS   = 60
)

// Room that is left: what is made ahead is many times as much.
const (
	fewBatches = 100_000
	fewJobs    = 2_000_000
)

// logRow is a row of sql/log.sql.
type logRow struct {
	Seq, Folded, Room, JobsRoom int64
	BehindS, SilentS            float64
}

func (d *Doctor) logRow(ctx context.Context) (logRow, error) {
	return pg.Row[logRow](ctx, d.cfg.Direct, query["log"])
}

// appended checks the log: a leader appends every second.
func (d *Doctor) appended(ctx context.Context) (found []Finding, err error) {
	row, err := d.logRow(ctx)
	if err != nil {
		return nil, err
	}
	live := 0
	for _, daemon := range d.daemons {
		if daemon.SilentS <= d.cfg.Silent.Seconds() {
			live++
		}
	}
	if live > 0 && row.SilentS >= silentBadS {
		found = append(found, Finding{Level: Bad, Found: fmt.Sprintf("no daemon has appended for %s: no pull, renewal or end is answered", seconds(row.SilentS)),
			Do: "look for part dispatcher in the daemons' logs, and for who holds batches (locks); one that is restarted begins anew from the tables"})
	}
	return found, nil
}

// folded is about how far the tables are behind the log.
func (d *Doctor) folded(ctx context.Context) ([]Finding, error) {
	row, err := d.logRow(ctx)
	if err != nil {
		return nil, err
	}
	if row.Folded > row.Seq {
		return []Finding{{Level: Bad, Found: fmt.Sprintf("the tables are made of the log up to batch %d, and it ends with %d", row.Folded, row.Seq),
			Do: "a failover lost commits, or somebody deleted from batches: restore the database from a backup"}}, nil
	}
	if row.BehindS < behindWarnS {
		return nil, nil
	}
	f := Finding{Level: Warn, Found: fmt.Sprintf("the tables are %s and %d batches behind the log", seconds(row.BehindS), row.Seq-row.Folded),
		Do: "look for step fold in the daemons' logs and divvy_step_seconds, and for who holds the tables (locks); pulls wait for it"}
	if row.BehindS >= behindBadS {
		f.Level = Bad
	}
	return []Finding{f}, nil
}

// room is about partitions that are made ahead by number.
func (d *Doctor) room(ctx context.Context) (found []Finding, err error) {
	row, err := d.logRow(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range []struct {
		what, step string
		left, few  int64
	}{{"batches of the log", "log-room", row.Room, fewBatches}, {"jobs", "jobs-ahead", row.JobsRoom, fewJobs}} {
		if r.left >= r.few {
			continue
		}
		f := Finding{Level: Warn, Found: fmt.Sprintf("there are partitions for %d more %s", r.left, r.what), fix: d.makeRoom,
			Do: fmt.Sprintf("daemons make them every 30 s; look for step %s in their logs, and for who holds the table (locks)", r.step), Repair: "make the partitions"}
		if r.left < 1 {
			f.Level, f.Found = Bad, f.Found+": none can be written"
		}
		found = append(found, f)
	}
	return found, nil
}

type outboxRow struct {
	Refused, First int64
	Why            string
	WaitsS         float64
}

// outbox is about what was written for the log.
func (d *Doctor) outbox(ctx context.Context) (found []Finding, err error) {
	row, err := pg.Row[outboxRow](ctx, d.cfg.Direct, query["outbox"])
	if err != nil {
		return nil, err
	}
	if row.Refused > 0 {
		found = append(found, Finding{Level: Bad, Found: fmt.Sprintf("%d rows of the outbox do not follow the log (a thousand are looked for); the first, %d: %s", row.Refused, row.First, row.Why),
			Do: "what they were to say was not done: tell the makers of divvy, with the row; then delete them"})
	}
	if row.WaitsS >= waitsWarnS {
		f := Finding{Level: Warn, Found: fmt.Sprintf("a row of the outbox waits for the log for %s: what was asked for is not done yet", seconds(row.WaitsS)),
			Do: "look whether a daemon leads (divvy_daemon_decides), and for part dispatcher in its log"}
		if row.WaitsS >= waitsBadS {
			f.Level = Bad
		}
		found = append(found, f)
	}
	return found, nil
}

// recount folds the log from its beginning, or from the oldest checkpoint that it goes on from, and compares.
func (d *Doctor) recount(ctx context.Context) ([]Finding, error) {
	sites := func(context.Context, int64) (shares.Version, error) { return shares.Version{}, nil }
	if d.cfg.Site != nil {
		sites = d.cfg.Site
	}
	folder := fold.New(d.cfg.Direct, ledger.New(d.cfg.Direct), fold.Sites(sites))
	wrong, err := folder.Compare(ctx)
	if errors.Is(err, ledger.ErrDropped) {
		return d.recountSince(ctx, folder)
	}
	found, err := differences(wrong, err)
	if err != nil || found == nil {
		return nil, err
	}
	return []Finding{*found}, nil
}

// recountSince compares without the beginning of the log. Days of the log are dropped while it reads: then it begins later.
func (d *Doctor) recountSince(ctx context.Context, folder *fold.Folder) ([]Finding, error) {
	store := replay.NewStore(d.cfg.Direct)
	for seq := int64(0); ; {
		c, err := store.After(ctx, seq)
		if errors.Is(err, replay.ErrUnreadable) || err == nil && c == nil {
			return []Finding{notCompared(err)}, nil
		}
		if err != nil {
			return nil, err
		}
		seq = c.Machine.Seq
		wrong, err := folder.CompareSince(ctx, c.Since())
		if errors.Is(err, ledger.ErrDropped) || errors.Is(err, fold.ErrElsewhere) {
			continue
		}
		found, err := differences(wrong, err)
		if err != nil {
			return nil, err
		}
		from := fmt.Sprintf("since batch %d of %s, the oldest checkpoint", seq, c.At.Format(time.DateTime))
		if found == nil {
			found = &Finding{Level: OK, Found: "the tables are what the log comes to " + from}
		} else {
			found.Found += "; looked at " + from
		}
		found.Found += "; not compared: what was over by then, sums of its hour, its day and before, and when the leases of then were granted"
		return []Finding{*found}, nil
	}
}

// notCompared says why nothing is known of the tables.
func notCompared(why error) Finding {
	f := Finding{Level: Warn, Found: "not compared: the log does not have its beginning any more, and no checkpoint is kept that it goes on from and that the tables have reached",
		Do: "daemons keep one an hour: look for step checkpoint in their logs; repeat it when there is one"}
	if why != nil {
		f.Found = fmt.Sprintf("not compared: the log does not have its beginning any more, and its oldest checkpoint cannot be read: %v", why)
		f.Do = "repeat it with the divvy that the daemons are"
	}
	return f
}

// differences is the finding of a comparison; nil: there are none.
func differences(wrong []fold.Difference, err error) (*Finding, error) {
	switch {
	case errors.Is(err, fold.ErrDiverged):
		return &Finding{Level: Bad, Found: "the tables are not made of this log", Do: "restore the database from a backup"}, nil
	case err != nil || len(wrong) == 0:
		return nil, err
	}
	return &Finding{Level: Bad, Found: fmt.Sprintf("%d rows are not what the log says, up to twenty a table; the first: %s", len(wrong), wrong[0]),
		Do: "find out who wrote to these tables beside divvy; restore them from a backup, or the database"}, nil
}

type countRow struct{ Count int64 }

// orphans is about leases whose jobs have gone.
func (d *Doctor) orphans(ctx context.Context) ([]Finding, error) {
	row, err := pg.Row[countRow](ctx, d.cfg.Direct, query["orphans"])
	if err != nil || row.Count == 0 {
		return nil, err
	}
	return []Finding{{Level: Bad, Found: fmt.Sprintf("%d leases have no job", row.Count), Do: "they end when they run out or are reported; find out who deleted from jobs"}}, nil
}
