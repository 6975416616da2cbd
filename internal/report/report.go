package report

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var files embed.FS

var query = pg.MustLoad(files)

// ErrUnknown is what a name that is none of List comes to, ErrBy a breakdown that the report does not have.
var (
	ErrUnknown = errors.New("unknown report")
	ErrBy      = errors.New("no such breakdown of the report")
)

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

// broken are the statements of reports that may be broken down.
var broken = map[string]string{"errors": "errors_by", "waits": "waits_by"}

// Bound is how long a report may take.
const Bound = 30 * time.Second

// Report says what one is about.
type Report struct {
	Name  string `json:"name" doc:"Name of the report."`
	Title string `json:"title" doc:"What it answers."`
	Now   bool   `json:"now" doc:"It is about this moment: since does not matter."`
	By    string `json:"by,omitempty" doc:"What it may be broken down by, if by anything: words, separated by commas."`

	whole time.Duration // it is made of whole hours or days (UTC); 0: it begins at the moment that was asked for
	over  bool          // only hours that are over are in it
}

// List is all there are, in the order in which they are shown.
func List() []Report {
	return []Report{
		{Name: "shares", Title: "How every share stands now", Now: true},
		{Name: "usage", Title: "What each share used", whole: hour},
		{Name: "days", Title: "What each share used, day by day", whole: day},
		{Name: "users", Title: "What each user used", whole: hour},
		{Name: "tasks", Title: "The hundred tasks that used most", whole: day},
		{Name: "queues", Title: "What each queue holds now, and how attempts ended there", whole: hour},
		{Name: "nodes", Title: "The hundred nodes that wasted most", whole: day},
		{Name: "waits", Title: "How long jobs waited from submission to their first claim, by share", By: "user", whole: hour},
		{Name: "fairness", Title: "How fair each hour was", whole: hour, over: true},
		{Name: "promises", Title: "What each share was promised, and given", whole: hour, over: true},
		{Name: "loans", Title: "Who lent and borrowed units, now and since then, by the samples"},
		{Name: "errors", Title: "What failed attempts said", By: "task,user,share"},
		{Name: "resources", Title: "Resources as they stand now", Now: true},
		{Name: "versions", Title: "Versions of the site file"},
		{Name: "audit", Title: "The thousand last changes that somebody made"},
	}
}

// Column is one of a table.
type Column struct {
	Name    string `json:"name" doc:"Name of the column."`
	Numeric bool   `json:"numeric" doc:"Its cells are numbers."`
}

// Table is the answer of a report. A cell is a text: yes or no, a number without zeros behind it, a time in UTC to the second; nil: NULL.
type Table struct {
	Report
	Since    time.Time   `json:"since" doc:"From when on it was asked for."`
	From     time.Time   `json:"from" doc:"What it covers begins here: reports by the hour or day (UTC) begin with the whole one that since lies in."`
	Until    time.Time   `json:"until" doc:"What it covers ends here: when it was read (on a replica: how far that was then), or the begin of that hour where only hours that are over are in it."`
	At       time.Time   `json:"at" doc:"When it was read."`
	BrokenBy string      `json:"broken_by,omitempty" doc:"What it is broken down by."`
	Columns  []Column    `json:"columns" doc:"Its columns."`
	Rows     [][]*string `json:"rows" doc:"A cell for each column; null: unknown."`
}

// Reader runs reports.
type Reader struct{ db *pgxpool.Pool }

// NewReader makes one on a migrated database.
func NewReader(db *pgxpool.Pool) *Reader { return &Reader{db: db} }

// Run answers a report of List for the time since a moment; broken down by one of its By, unless that is empty.
func (r *Reader) Run(ctx context.Context, name, by string, since time.Time) (t Table, err error) {
	for _, is := range List() {
		if is.Name == name {
			if by != "" && !slices.Contains(strings.Split(is.By, ","), by) {
				return t, fmt.Errorf("%w: %s by %q: expected %s", ErrBy, name, by, cmp.Or(strings.ReplaceAll(is.By, ",", ", "), "none"))
			}
			t = Table{Report: is, BrokenBy: by, Since: since.UTC(), At: time.Now().UTC()}
			t.From, t.Until = is.covers(t.Since, t.At)
			ctx, cancel := context.WithTimeout(ctx, Bound)
			defer cancel()
			err := pgx.BeginTxFunc(ctx, r.db, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
				if err := t.onReplica(ctx, tx); err != nil {
					return err
				}
				return t.read(ctx, tx)
			})
			if err != nil {
				return t, fmt.Errorf("report %s: %w", name, err)
			}
			return t, nil
		}
	}
	return t, fmt.Errorf("%w: %q", ErrUnknown, name)
}

// SQL is the statement of a report, with @since, and @by where it is broken down.
func SQL(name, by string) string {
	if by != "" {
		name = broken[name]
	}
	return query[name]
}

// covers is what a report of the time since a moment is about. Hours and days are those of UTC, as Truncate has them.
func (r Report) covers(since, at time.Time) (from, until time.Time) {
	from, until = since.Truncate(r.whole), at // by 0: as it is
	if r.over {
		until = at.Truncate(hour)
	}
	return from, until
}

// onReplica has the report end with the last commit that a replica has heard of: daemons commit every two seconds, so a
// replica that is level is at most so far behind.
func (t *Table) onReplica(ctx context.Context, tx pgx.Tx) error {
	var heard *time.Time
	if err := tx.QueryRow(ctx, query["replica"]).Scan(&heard); err != nil {
		return err
	}
	if heard != nil && heard.Before(t.At) {
		t.From, t.Until = t.covers(t.Since, heard.UTC())
	}
	return nil
}

func (t *Table) read(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, query["settings"]); err != nil {
		return err
	}
	verb, args := t.Name, pgx.StrictNamedArgs{"since": t.Since}
	if t.BrokenBy != "" {
		verb, args["by"] = broken[t.Name], t.BrokenBy
	}
	rows, err := tx.Query(ctx, query[verb], pgx.QueryResultFormats{pgx.TextFormatCode}, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	fields := slices.Clone(rows.FieldDescriptions())
	for i, f := range fields {
		t.Columns = append(t.Columns, Column{Name: f.Name, Numeric: numeric[f.DataTypeOID]})
		if f.Name == "by" {
			t.Columns[i].Name = t.BrokenBy
		}
	}
	t.Rows = [][]*string{}
	for rows.Next() {
		cells := make([]*string, len(t.Columns))
		for i, raw := range rows.RawValues() {
			if raw != nil {
				cell := plain(fields[i].DataTypeOID, string(raw))
				cells[i] = &cell
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return rows.Err()
}

// plain is a cell as people read it: PostgreSQL prints t, 190.000 and microseconds.
func plain(oid uint32, cell string) string {
	switch oid {
	case pgtype.BoolOID:
		if cell == "t" {
			return "yes"
		}
		return "no"
	case pgtype.TimestamptzOID: // in UTC, by settings.sql
		cell, _, _ = strings.Cut(strings.TrimSuffix(cell, "+00"), ".")
	case pgtype.NumericOID, pgtype.Float4OID, pgtype.Float8OID:
		if strings.Contains(cell, ".") && !strings.Contains(cell, "e") {
			cell = strings.TrimSuffix(strings.TrimRight(cell, "0"), ".")
		}
	}
	return cell
}

// numeric are the types of numbers.
var numeric = map[uint32]bool{pgtype.Int2OID: true, pgtype.Int4OID: true, pgtype.Int8OID: true, pgtype.Float4OID: true, pgtype.Float8OID: true,
	pgtype.NumericOID: true}
