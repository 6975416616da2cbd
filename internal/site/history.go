package site

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Head is a version in the history.
type Head struct {
	Version    int64     `json:"version"`
	AppliedAt  time.Time `json:"applied_at"`
	AppliedBy  string    `json:"applied_by"`
	Note       string    `json:"note,omitempty"`
	RollbackOf int64     `json:"rollback_of,omitempty" doc:"The version that this one repeats."`
}

// Head is the site's line in the history.
func (s *Site) Head() Head {
	return Head{Version: s.Number, AppliedAt: s.AppliedAt, AppliedBy: s.AppliedBy, Note: s.Note, RollbackOf: s.RollbackOf}
}

// History lists versions, newest first: at most limit (0 = 100) of those before the given one (0 = all).
func (s *Store) History(ctx context.Context, before int64, limit int) ([]Head, error) {
	if limit <= 0 {
		limit = 100
	}
	return many[Head](ctx, s.db, "list_versions", pgx.StrictNamedArgs{"before": before, "limit": limit})
}

// Get rebuilds a version with the ids that its shares and queues had; 0 is the one in force. The states of its
// queues are not part of it: all are online. Unknown: ErrNoVersion.
func (s *Store) Get(ctx context.Context, n int64) (*Site, error) {
	if n == 0 {
		return s.Load(ctx)
	}
	row, err := s.row(ctx, n)
	if err != nil {
		return nil, err
	}
	return row.site()
}

// File is a version as it was written, whether or not this program reads it.
type File struct {
	Head
	Source     string
	Unreadable string // what this program does not read in it; empty: nothing
}

// File shows an applied version. Unknown: ErrNoVersion.
func (s *Store) File(ctx context.Context, n int64) (File, error) {
	row, err := s.row(ctx, n)
	if err != nil {
		return File{}, err
	}
	f := File{Head: row.Head, Source: row.Source}
	if _, err := row.parse(); err != nil {
		f.Unreadable = err.Error()
	}
	return f, nil
}

func (s *Store) row(ctx context.Context, n int64) (versionRow, error) {
	row, err := one[versionRow](ctx, s.db, "get_version", pgx.StrictNamedArgs{"version": n})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, fmt.Errorf("%w: %d", ErrNoVersion, n)
	}
	return row, err
}

// Diff is what changed from version a to version b; 0 is the one in force.
func (s *Store) Diff(ctx context.Context, a, b int64) (Changes, error) {
	before, err := s.Get(ctx, a)
	if err != nil {
		return Changes{}, err
	}
	after, err := s.Get(ctx, b)
	if err != nil {
		return Changes{}, err
	}
	return diff(before, after), nil
}

// RollbackRequest asks for a new version equal to an old one.
type RollbackRequest struct {
	Version int64
	By      string
	Note    string // default: says what it is
	Moves   map[string]string
	DryRun  bool
}

// Rollback applies the file of an old version again. Shares and queues that live under other names now are
// the same ones as then, and get those names back; removed ones come back as new.
// An old file that this program would not accept is refused as if it were applied now: Problems.
func (s *Store) Rollback(ctx context.Context, r RollbackRequest) (Applied, error) {
	row, err := s.row(ctx, r.Version)
	if err != nil {
		return Applied{}, err
	}
	next, err := row.parse()
	if err != nil {
		return Applied{}, err
	}
	next.AppliedBy, next.Note, next.RollbackOf = r.By, r.Note, r.Version
	if next.Note == "" {
		next.Note = fmt.Sprintf("rollback to version %d", r.Version)
	}
	return s.change(ctx, wanted{next: next, moves: r.Moves, dryRun: r.DryRun, shareIDs: row.ShareIDs, queueIDs: row.QueueIDs})
}
