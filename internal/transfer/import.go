package transfer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/migrations"
)

// ErrOccupied is returned for a database that a file cannot be taken into. What wraps it says what is in the way.
var ErrOccupied = errors.New("a file is imported into a new database: make one, as this one has")

// Bounds of what is stored with one statement.
const (
	maxRecords = 500
	maxBytes   = 1 << 20
)

// Import stores what Export has written, in one transaction, and returns what there was. name is what its errors call the file.
func Import(ctx context.Context, db *pgxpool.Pool, r io.Reader, name string) (done Summary, err error) {
	if err := ready(ctx, db); err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := vacant(ctx, tx); err != nil {
			return err
		}
		s := &store{tx: tx, lines: &lines{r: bufio.NewReaderSize(r, 1<<16), name: name}, done: Summary{}}
		done = s.done
		return s.file(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return done, nil
}

// ready says why the schema is not that of this release.
func ready(ctx context.Context, db *pgxpool.Pool) error {
	steps, err := migrations.Status(ctx, db)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(steps, func(s migrations.Step) bool { return s.AppliedAt == nil }) {
		return errors.New("migrations are pending: divvy migrate up")
	}
	return nil
}

// vacant says what is in the way, and keeps others from putting something there.
func vacant(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, query["lock"]); err != nil {
		return err
	}
	var what string
	err := tx.QueryRow(ctx, query["occupied"]).Scan(&what)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w %s", ErrOccupied, what)
}

// store gathers records of one kind and stores them together.
type store struct {
	tx    pgx.Tx
	lines *lines
	done  Summary
	batch []record
	bytes int
	last  []record // the sequences
}

func (s *store) file(ctx context.Context) error {
	if _, err := s.lines.header(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		rec, ok, err := s.lines.record(n)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := s.add(ctx, rec); err != nil {
			return err
		}
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	_, err := s.tx.Exec(ctx, query[sequences.in], pgx.StrictNamedArgs{"records": array(s.last)})
	if err != nil {
		return fmt.Errorf("%s: sequences: %s", s.lines.name, reason(err))
	}
	return nil
}

func (s *store) add(ctx context.Context, rec record) error {
	s.done[rec.kind.name]++
	if rec.kind.name == sequences.name {
		if err := checkSequence(rec.text); err != nil {
			return s.lines.at(rec.line, err)
		}
		s.last = append(s.last, rec)
		return nil
	}
	if len(s.batch) > 0 && (s.batch[0].kind.name != rec.kind.name || len(s.batch) == maxRecords || s.bytes > maxBytes) {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	s.batch = append(s.batch, rec)
	s.bytes += len(rec.text)
	return nil
}

// flush stores what was gathered. Where that fails it goes through the records one by one, to name the line.
func (s *store) flush(ctx context.Context) error {
	batch := s.batch
	s.batch, s.bytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	err := s.put(ctx, batch)
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, rec := range batch {
		if err := s.put(ctx, []record{rec}); err != nil {
			return s.lines.at(rec.line, fmt.Errorf("%s: %s", rec.kind.name, reason(err)))
		}
	}
	return nil
}

// put stores records behind a savepoint.
func (s *store) put(ctx context.Context, batch []record) error {
	return pgx.BeginFunc(ctx, s.tx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, query[batch[0].kind.in], pgx.StrictNamedArgs{"records": array(batch)})
		return err
	})
}

func array(batch []record) string {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, rec := range batch {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(rec.text)
	}
	b.WriteByte(']')
	return b.String()
}

// checkSequence bounds what is not taken back with the transaction.
func checkSequence(text []byte) error {
	var of struct {
		Name string `json:"name"`
		Last int64  `json:"last"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return fmt.Errorf("sequence: %w", err)
	}
	if !slices.Contains(numbered, of.Name) {
		return fmt.Errorf("sequence: %q is not one whose ids come along", of.Name)
	}
	if of.Last < 1 {
		return fmt.Errorf("sequence: %d is no id", of.Last)
	}
	return nil
}

// reason is what PostgreSQL says of a record.
func reason(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err.Error()
	}
	if pg.Detail != "" {
		return pg.Message + ": " + pg.Detail
	}
	return pg.Message
}
