package site

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
)

// Errors about files for later.
var (
	ErrNoLater   = errors.New("no such later version")
	ErrLaterOver = errors.New("this later version does not wait any more")
	ErrPast      = errors.New("expected a time to come, by the database's clock")
)

// Later is a site file that takes effect at a time to come, or what became of it.
type Later struct {
	ID          int64             `json:"id"`
	At          time.Time         `json:"at" doc:"When it takes effect."`
	State       string            `json:"state" enum:"waiting,applied,failed,cancelled" doc:"failed: it could not be applied when it was due, and nothing of it was."`
	StoredAt    time.Time         `json:"stored_at"`
	By          string            `json:"by" doc:"Who stored it; the version will say so too."`
	Note        string            `json:"note,omitempty"`
	File        string            `json:"file" doc:"Name of the file, for the places in problems."`
	Moves       map[string]string `json:"moves" doc:"Live work of a share that goes: its path to a leaf of the new tree."`
	BaseVersion int64             `json:"base_version" doc:"The version in force when it was stored; 0 = none."`
	Version     int64             `json:"version,omitempty" doc:"Of one that was applied: the version that it became."`
	Error       string            `json:"error,omitempty" doc:"Why a failed one could not be applied."`
	EndedAt     *time.Time        `json:"ended_at,omitempty"`
	CancelledBy string            `json:"cancelled_by,omitempty"`
	Notes       []string          `json:"notes" doc:"Of one that waits: what has changed since it was stored, what comes before it; when it is stored also what would refuse it now."`
}

// LaterFile is a Later with its file.
type LaterFile struct {
	Later
	Source string `json:"source" doc:"The file, as it was written."`
}

// LaterRequest asks for a version that takes effect later.
type LaterRequest struct {
	ApplyRequest           // DryRun and When are not used
	At           time.Time // in the future, by the database's clock
}

// ApplyLater stores a file that takes effect later: ApplyDue applies it then, as it stands. A file with problems is
// refused now; what live work would forbid now is only a note, since it may be over by then. Errors: Problems, ErrPast.
func (s *Store) ApplyLater(ctx context.Context, r LaterRequest) (Later, error) {
	name := fileName(r.Name)
	next, err := Parse(name, r.Source)
	if err != nil {
		return Later{}, err
	}
	if r.Moves == nil {
		r.Moves = map[string]string{}
	}
	var id int64
	var notes []string
	err = pg.InTx(ctx, s.db, func(tx pgx.Tx) error {
		notes = nil
		if err := pg.LockShared(ctx, tx, pg.LockSite, 0); err != nil {
			return err
		}
		before, err := s.load(ctx, tx, inForce)
		if err != nil && !errors.Is(err, ErrUnreadable) {
			return err
		}
		c, err := s.prepare(ctx, tx, wanted{next: next, moves: r.Moves, dryRun: true}, before)
		if err != nil {
			return err
		}
		notes = append(notes, c.notes...)
		for _, o := range c.obstacles {
			notes = append(notes, "would be refused now: "+o.String())
		}
		stored, err := one[struct{ ID int64 }](ctx, tx, "insert_later", pgx.StrictNamedArgs{"at": r.At, "by": r.By, "note": r.Note,
			"file": name, "source": next.Source, "moves": r.Moves, "base_version": before.Number})
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%s: %w", r.At.UTC().Format(time.RFC3339), ErrPast)
		}
		if err != nil {
			return err
		}
		id = stored.ID
		return access.Record(ctx, tx, access.Change{What: "site.later", Object: strconv.FormatInt(id, 10),
			After: "waits for " + r.At.UTC().Format(time.RFC3339) + "\n" + diff(before, next).lines()})
	})
	if err != nil {
		return Later{}, err
	}
	l, err := s.later(ctx, id)
	l.Notes = append(notes, l.Notes...)
	return l, err
}

// laterRow is a row of site_later, and the version in force.
type laterRow struct {
	ID          int64
	EffectiveAt time.Time
	State       string
	StoredAt    time.Time
	StoredBy    string
	Note        string
	File        string
	Moves       map[string]string
	BaseVersion int64
	Version     int64
	Error       string
	EndedAt     *time.Time
	EndedBy     string
	InForce     int64
}

func (r laterRow) later() Later {
	return Later{ID: r.ID, At: r.EffectiveAt.UTC(), State: r.State, StoredAt: r.StoredAt.UTC(), By: r.StoredBy, Note: r.Note, File: r.File,
		Moves: r.Moves, BaseVersion: r.BaseVersion, Version: r.Version, Error: r.Error, EndedAt: r.EndedAt, CancelledBy: r.EndedBy, Notes: []string{}}
}

// Later lists the files that wait and those that failed in the last 30 days, or all, in the order in which they take
// effect. Each file replaces the whole site, so the notes say what it does not know of.
func (s *Store) Later(ctx context.Context, all bool) ([]Later, error) {
	rows, err := many[laterRow](ctx, s.db, "list_later", pgx.StrictNamedArgs{"all": all})
	if err != nil {
		return nil, err
	}
	out, ahead := make([]Later, 0, len(rows)), int64(0)
	for _, r := range rows {
		l := r.later()
		if r.State == "waiting" {
			if note := passed(r.BaseVersion, r.InForce); note != "" {
				l.Notes = append(l.Notes, note)
			}
			if ahead > 0 {
				l.Notes = append(l.Notes, fmt.Sprintf("later version %d takes effect before it: what only that one changes is lost then", ahead))
			}
			ahead = r.ID
		}
		out = append(out, l)
	}
	return out, nil
}

// passed says which versions came between the one that a file was made from and the one that it replaces.
func passed(base, inForce int64) string {
	switch {
	case inForce == base+1:
		return fmt.Sprintf("version %d was applied since it was stored under version %d: what only that one changed is lost then", inForce, base)
	case inForce > base:
		return fmt.Sprintf("versions %d to %d were applied since it was stored under version %d: what only they changed is lost then", base+1, inForce, base)
	}
	return ""
}

// later is one of the list.
func (s *Store) later(ctx context.Context, id int64) (Later, error) {
	all, err := s.Later(ctx, true)
	if err != nil {
		return Later{}, err
	}
	for _, l := range all {
		if l.ID == id {
			return l, nil
		}
	}
	return Later{}, fmt.Errorf("%w: %d", ErrNoLater, id)
}

// LaterFile shows one with its file. Unknown: ErrNoLater.
func (s *Store) LaterFile(ctx context.Context, id int64) (LaterFile, error) {
	l, err := s.later(ctx, id)
	if err != nil {
		return LaterFile{}, err
	}
	row, err := one[struct{ Source string }](ctx, s.db, "get_later", pgx.StrictNamedArgs{"id": id})
	return LaterFile{Later: l, Source: row.Source}, err
}

// CancelLater takes back a file that waits; one that was cancelled already stays so. Errors: ErrNoLater, ErrLaterOver.
func (s *Store) CancelLater(ctx context.Context, id int64, by string) (Later, error) {
	var n int64
	err := pg.InTx(ctx, s.db, func(tx pgx.Tx) (err error) {
		n, err = exec(ctx, tx, "cancel_later", pgx.StrictNamedArgs{"id": id, "by": by})
		if err != nil {
			return err
		}
		if n == 0 { // it may have been taken back before
			return pg.Secure(ctx, tx)
		}
		return access.Record(ctx, tx, access.Change{What: "site.later-cancel", Object: strconv.FormatInt(id, 10), Before: "waiting", After: "cancelled"})
	})
	if err != nil {
		return Later{}, err
	}
	l, err := s.later(ctx, id)
	if err == nil && n == 0 && l.State != "cancelled" {
		err = fmt.Errorf("%w: %d is %s", ErrLaterOver, id, l.State)
	}
	return l, err
}
