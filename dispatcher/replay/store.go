package replay

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Every is how far apart checkpoints are kept.
const Every = time.Hour

// Store has the checkpoints that are kept. A nil one has none.
type Store struct{ db pg.DB }

// NewStore returns that of a database which has its table.
func NewStore(db pg.DB) *Store { return &Store{db} }

// Due says whether a checkpoint is to be kept of a batch with that time.
func (s *Store) Due(ctx context.Context, at time.Time) (due bool, err error) {
	if err := s.db.QueryRow(ctx, query["checkpoint_due"], pg.Args{"at": at, "every_s": Every.Seconds()}).Scan(&due); err != nil {
		return false, fmt.Errorf("is a checkpoint due: %w", err)
	}
	return due, nil
}

// Keep writes a checkpoint where it is due, and returns its bytes; 0: another daemon has kept one. Any daemon may take it, that has applied the
// batch: best is one that does not lead, for whoever takes it stands still meanwhile.
func (s *Store) Keep(ctx context.Context, c *Checkpoint) (n int, err error) {
	packed, err := c.Pack()
	if err != nil {
		return 0, err
	}
	tag, err := s.db.Exec(ctx, query["keep_checkpoint"], pg.Args{"seq": c.Machine.Seq, "at": c.At, "every_s": Every.Seconds(), "packed": packed})
	return len(packed) * int(tag.RowsAffected()), pg.Named("keep a checkpoint", err)
}

// Before returns the newest checkpoint that is not after a moment; without one the oldest of all, and nil when there is none.
func (s *Store) Before(ctx context.Context, at time.Time) (*Checkpoint, error) {
	return s.load(ctx, "checkpoint_before", pg.Args{"at": at})
}

// After returns the oldest checkpoint after a batch; nil when there is none.
func (s *Store) After(ctx context.Context, seq int64) (*Checkpoint, error) {
	return s.load(ctx, "checkpoint_after", pg.Args{"seq": seq})
}

func (s *Store) load(ctx context.Context, verb string, args pg.Args) (*Checkpoint, error) {
	if s == nil {
		return nil, nil
	}
	var packed []byte
	err := s.db.QueryRow(ctx, query[verb], args).Scan(&packed)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	return Unpack(packed)
}

// Retain drops the checkpoints that no replay of the time since a moment begins with, and returns the seq of the oldest that stays and its time:
// ledger.Table.Retain may drop the batches up to there. 0: there is none, and no replay could begin.
func (s *Store) Retain(ctx context.Context, since time.Time) (seq int64, at time.Time, err error) {
	if _, err := s.db.Exec(ctx, query["drop_checkpoints"], pg.Args{"since": since}); err != nil {
		return 0, at, fmt.Errorf("retain checkpoints: %w", err)
	}
	err = s.db.QueryRow(ctx, query["oldest_checkpoint"]).Scan(&seq, &at)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, at, nil
	}
	return seq, at.UTC(), pg.Named("retain checkpoints", err)
}
