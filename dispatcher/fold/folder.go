package fold

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Why a step changed nothing.
var (
	ErrRaced    = errors.New("another daemon folded these batches")
	ErrDiverged = errors.New("the log does not go on from the batch that is folded")
)

// DB is a *pgxpool.Pool or a *pgx.Conn.
type DB interface {
	pg.DB
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Position is a batch of the log.
type Position struct {
	Seq int64
	ID  entry.ID
	At  time.Time
}

// Folder makes the tables of a log. Its methods are for one goroutine; any number of daemons may have one.
type Folder struct {
	db    DB
	log   ledger.Log
	sites Sites
	at    *shares.Version  // that was looked up last
	users map[int64]string // of tasks
	cores map[int32]int64  // of shapes
	days  map[int64]bool   // of history, that have a partition
}

// Sites looks up a version of the site by its number: claims depend on its templates and the names of its queues.
type Sites func(ctx context.Context, number int64) (shares.Version, error)

// New returns the folder of a database that has the tables.
func New(db DB, log ledger.Log, sites Sites) *Folder {
	return &Folder{db: db, log: log, sites: sites, users: map[int64]string{}, cores: map[int32]int64{}, days: map[int64]bool{}}
}

func (f *Folder) site(ctx context.Context, number int64) (*shares.Version, error) {
	if f.at == nil || f.at.Number != number {
		v, err := f.sites(ctx, number)
		if err != nil {
			return nil, fmt.Errorf("version %d of the site: %w", number, err)
		}
		f.at = &v
	}
	return f.at, nil
}

// Bounds of a step, which is in memory as a whole.
const (
	mostEntries = 20_000 // and the rest of a batch
	portion     = 50     // batches that are read at once
)

// batches reads the log for a step, with the versions of the site that it names.
func (f *Folder) batches(ctx context.Context, after int64, most int) (read []entry.Batch, err error) {
	for entries := 0; most > 0 && entries < mostEntries; {
		more, err := f.log.Read(ctx, after, min(most, portion))
		if err != nil {
			return nil, err
		}
		for _, b := range more {
			if entries < mostEntries {
				read = append(read, b)
			}
			entries += len(b.Entries)
		}
		if len(more) < portion {
			break
		}
		after, most = after+portion, most-portion
	}
	if f.sites == nil {
		return read, nil
	}
	for _, b := range read {
		if err := entry.Complete(b.Entries, func(n int64) (*shares.Version, error) { return f.site(ctx, n) }); err != nil {
			return nil, err
		}
	}
	return read, nil
}

// Position returns up to where the log is folded; its Seq is 0 when nothing is.
func (f *Folder) Position(ctx context.Context) (Position, error) { return position(ctx, f.db) }

func position(ctx context.Context, db pg.DB) (p Position, err error) {
	var id pgtype.UUID
	err = db.QueryRow(ctx, query["position"]).Scan(&p.Seq, &id, &p.At)
	if err != nil {
		return p, fmt.Errorf("position of the fold: %w", err)
	}
	p.ID, p.At = id.Bytes, p.At.UTC()
	return p, nil
}

// Pause is how long after a step the next one is to come. Each leaves a dead version of every count and sum that it adds to, and the next looks
// at all of them: none goes while a transaction is open that is older, such as that of a long report or a backup. With a step a second 2.8
// million of them take 1.2 s of each step; with such pauses they take a tenth of the time, and the tables are later, by 20 s at most.
func (f *Folder) Pause(ctx context.Context) (time.Duration, error) {
	var dead int64
	if err := f.db.QueryRow(ctx, query["dead"]).Scan(&dead); err != nil {
		return 0, fmt.Errorf("dead rows of counts: %w", err)
	}
	return min(max(leastPause, time.Duration(dead)*time.Second/deadASecond), mostPause), nil
}

// Bounds of a pause, and how many dead rows have it a second longer.
const (
	leastPause  = time.Second
	mostPause   = 20 * time.Second
	deadASecond = 200_000
)

// Lag is how far the tables are behind the log.
type Lag struct {
	Batches int64
	Time    time.Duration // by how much the newest batch is later than the first that is not folded, at most
}

// Result is what a step did.
type Result struct {
	Seq     int64 // up to which the log is folded now
	Batches int
	At      time.Time // of that batch
	Odds    int       // entries that did not fit what was known
	Odd     []string  // the first few of them, for the daemon's log
}

// Fold makes one step of up to so many batches, fewer if they have many entries. A Result without batches: there is nothing new. ErrRaced,
// after which all is well, when another daemon was faster; ErrDiverged and ledger.ErrDropped, after which nothing is.
func (f *Folder) Fold(ctx context.Context, batches int) (r Result, err error) {
	from, err := f.Position(ctx)
	if err != nil {
		return r, err
	}
	read, err := f.batches(ctx, from.Seq, batches)
	if err == nil && len(read) == 0 {
		return Result{Seq: from.Seq, At: from.At}, f.notBehind(ctx, from)
	}
	if err == nil && read[0].After != from.ID {
		err = ErrDiverged
	}
	if err == nil {
		err = f.makeDays(ctx, read)
	}
	if err == nil {
		r, err = f.write(ctx, from, read)
	}
	if err != nil {
		clear(f.users) // what the step's entries told of tasks and shapes may not come to be
		clear(f.cores)
		return Result{}, fmt.Errorf("fold after batch %d: %w", from.Seq, err)
	}
	return r, nil
}

// notBehind refuses a log that ends before the batch that is folded.
func (f *Folder) notBehind(ctx context.Context, p Position) error {
	last, id, err := f.log.Last(ctx)
	if err == nil && (last < p.Seq || last == p.Seq && id != p.ID) {
		err = fmt.Errorf("fold after batch %d: the log ends with %d: %w", p.Seq, last, ErrDiverged)
	}
	return err
}

// makeDays makes the partitions of history for the step, and those of the day after: texts are written before their attempts are
// folded. Only the first step of a day has something to do.
func (f *Folder) makeDays(ctx context.Context, batches []entry.Batch) error {
	for _, b := range batches {
		day := floor(b.At.UnixMilli(), dayMS)
		if f.days[day] {
			continue
		}
		for _, at := range []time.Time{b.At, b.At.Add(24 * time.Hour)} {
			if _, err := f.db.Exec(ctx, query["make_day"], pg.Args{"at": at}); err != nil {
				return err
			}
		}
		f.days[day] = true
	}
	return nil
}

// RollNodes adds to table node_usage what attempts cost that were folded since the last call, but for those of the newest batch. A step
// would have a row a node to update for every second or third attempt: this, once a minute or an hour, has fewer. Safe on several
// daemons at once; it keeps no step waiting.
func (f *Folder) RollNodes(ctx context.Context) error {
	_, err := f.db.Exec(ctx, query["roll_nodes"])
	return pg.Named("roll up nodes", err)
}

// stepsKept is for how long rows of table steps are kept: a busy hour of it has 100 MB.
const stepsKept = 6 * time.Hour

// mostDropped bounds the rows of a table that one Retain deletes: in a day of these some fourteen million.
const mostDropped = 10_000

// Retain drops what is all from before a time: days of history, of which it returns how many, and of attempt_texts, ranges of jobs that
// were over without a lease, and claims. Not before nodes are rolled up.
func (f *Folder) Retain(ctx context.Context, before time.Time) (n int, err error) {
	for _, table := range []string{"history", "attempt_texts"} {
		for dropped := 1; dropped > 0; {
			err := f.db.QueryRow(ctx, query["drop_day"], pg.Args{"parent": table, "before": before}).Scan(&dropped)
			if pg.Code(err) == pg.CodeLockNotAvailable {
				return n, nil
			}
			if err != nil {
				return n, fmt.Errorf("retain %s: %w", table, err)
			}
			clear(f.days)
			if table == "history" {
				n += dropped
			}
		}
	}
	for _, name := range []string{"drop_over", "drop_claims"} {
		if _, err := f.db.Exec(ctx, query[name], pg.Args{"before": before, "most": mostDropped}); err != nil {
			return n, fmt.Errorf("retain: %w", err)
		}
	}
	if _, err := f.db.Exec(ctx, query["drop_steps"], pg.Args{"kept_s": stepsKept.Seconds(), "most": mostDropped}); err != nil {
		return n, fmt.Errorf("retain: %w", err)
	}
	return n, nil
}
