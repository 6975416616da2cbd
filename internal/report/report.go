package report

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var files embed.FS

var query = pg.MustLoad(files)

// ErrUnknown is what a name that is none of List comes to.
var ErrUnknown = errors.New("unknown report")

// Bound is how long a report may take.
const Bound = 30 * time.Second

// Report says what one is about.
type Report struct {
	Name  string `json:"name" doc:"Name of the report."`
	Title string `json:"title" doc:"What it answers."`
	Now   bool   `json:"now" doc:"It is about this moment: since does not matter."`
}

// List is all there are, in the order in which they are shown.
func List() []Report {
	return []Report{
		{"shares", "How every share stands now", true},
		{"usage", "What each share used", false},
		{"days", "What each share used, day by day", false},
		{"users", "What each user used", false},
		{"tasks", "The hundred tasks that used most", false},
		{"queues", "What each queue holds now, and how attempts ended there", false},
		{"nodes", "The hundred nodes that wasted most", false},
		{"waits", "How long jobs of each share waited for their first claim", false},
		{"fairness", "How fair each hour was", false},
		{"promises", "What each share was promised, and given", false},
		{"errors", "What failed attempts said", false},
		{"resources", "Resources as they stand now", true},
		{"versions", "Versions of the site file", false},
		{"audit", "The thousand last changes that somebody made", false},
	}
}

// Column is one of a table.
type Column struct {
	Name    string `json:"name" doc:"Name of the column."`
	Numeric bool   `json:"numeric" doc:"Its cells are numbers."`
}

// Table is the answer of a report. A cell is a text, as PostgreSQL prints it in UTC; nil: NULL.
type Table struct {
	Report
	Since   time.Time   `json:"since" doc:"What it looked at begins here; reports by the hour or day begin with the whole of it."`
	At      time.Time   `json:"at" doc:"When it was read."`
	Columns []Column    `json:"columns" doc:"Its columns."`
	Rows    [][]*string `json:"rows" doc:"A cell for each column; null: unknown."`
}

// Reader runs reports.
type Reader struct{ db *pgxpool.Pool }

// NewReader makes one on a migrated database.
func NewReader(db *pgxpool.Pool) *Reader { return &Reader{db: db} }

// Run answers a report of List for the time since a moment.
func (r *Reader) Run(ctx context.Context, name string, since time.Time) (t Table, err error) {
	for _, is := range List() {
		if is.Name == name {
			t = Table{Report: is, Since: since.UTC(), At: time.Now().UTC()}
			ctx, cancel := context.WithTimeout(ctx, Bound)
			defer cancel()
			err := pgx.BeginTxFunc(ctx, r.db, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error { return t.read(ctx, tx) })
			if err != nil {
				return t, fmt.Errorf("report %s: %w", name, err)
			}
			return t, nil
		}
	}
	return t, fmt.Errorf("%w: %q", ErrUnknown, name)
}

// read fills in columns and rows.
func (t *Table) read(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, query["settings"]); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, query[t.Name], pgx.QueryResultFormats{pgx.TextFormatCode}, pgx.StrictNamedArgs{"since": t.Since})
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, f := range rows.FieldDescriptions() {
		t.Columns = append(t.Columns, Column{Name: f.Name, Numeric: numeric[f.DataTypeOID]})
	}
	t.Rows = [][]*string{}
	for rows.Next() {
		cells := make([]*string, len(t.Columns))
		for i, raw := range rows.RawValues() {
			if raw != nil {
				cell := string(raw)
				cells[i] = &cell
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return rows.Err()
}

// numeric are the types of numbers.
var numeric = map[uint32]bool{pgtype.Int2OID: true, pgtype.Int4OID: true, pgtype.Int8OID: true, pgtype.Float4OID: true, pgtype.Float8OID: true,
	pgtype.NumericOID: true}
