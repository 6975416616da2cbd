package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	. "github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/ledgertest"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// outsiders write rows and read what stands beside batches.
type outsiders struct {
	write   func() int64
	pending func() []int64
	texts   func() []Text
}

func ofMemory(m *ledgertest.Memory) outsiders {
	return outsiders{
		write: func() int64 { return m.Write(entry.Leader{}) },
		pending: func() (ids []int64) {
			for _, r := range m.Pending(100) {
				ids = append(ids, r.ID)
			}
			return ids
		},
		texts: m.Texts}
}

func ofDatabase(t testing.TB, db *pgxpool.Pool) outsiders {
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return outsiders{
		write: func() (id int64) {
			must(db.QueryRow(ctx, "INSERT INTO outbox (entries) VALUES ('[]') RETURNING id").Scan(&id))
			return id
		},
		pending: func() []int64 {
			rows, err := db.Query(ctx, "SELECT id FROM outbox WHERE refused IS NULL ORDER BY id")
			must(err)
			ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			must(err)
			return ids
		},
		texts: func() []Text {
			rows, err := db.Query(ctx, `SELECT job_id AS job, attempt,
				convert_to(report::text, 'UTF8') AS report, convert_to(outputs::text, 'UTF8') AS outputs, convert_to(metadata::text, 'UTF8') AS metadata,
				coalesce(log, '') AS log, coalesce(reason, '') AS reason FROM attempt_texts
				WHERE ended_on = (now() AT TIME ZONE 'UTC')::date OR ended_on = (now() AT TIME ZONE 'UTC')::date - 1 ORDER BY job_id`)
			must(err)
			texts, err := pgx.CollectRows(rows, pgx.RowToStructByName[Text])
			must(err)
			return texts
		}}
}

// Rows leave the outbox with the batch that has their entries, and with no other.
func checkRows(t *testing.T, l subject) {
	first := grow(t, l, entry.Batch{}, 1, 1)
	rows := []int64{l.write(), l.write(), l.write(), l.write()}
	second := after(first, 1)
	refused := []Refusal(nil)
	try := func(b entry.Batch, want error, ids ...int64) {
		t.Helper()
		before := l.pending()
		if _, err := l.AppendWith(t.Context(), b, Beside{Rows: ids, Refused: refused}); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("append %d with rows %v: %v, want %v", b.Seq, ids, err, want)
		}
		if want == nil {
			before = slices.DeleteFunc(before, func(id int64) bool { return slices.Contains(ids, id) })
		}
		if left := l.pending(); !slices.Equal(left, before) {
			t.Errorf("append %d with rows %v: %v are left, want %v", b.Seq, ids, left, before)
		}
	}
	try(entry.Batch{Seq: 3, ID: id(1, 3), After: id(1, 2)}, ErrGap, rows[0])
	try(entry.Batch{Seq: 1, ID: id(2, 1)}, ErrTaken, rows[0])
	try(second, nil, rows[0], rows[1])
	try(second, ErrTaken, rows[0], rows[1]) // the same again, as after a doubt
	try(second, ErrTaken, rows[2])
	third := after(second, 1)
	try(third, ErrGone, rows[1], rows[2]) // one of them is in the log
	refused = []Refusal{{rows[3] + 100, "none"}}
	try(third, ErrGone, rows[2])
	refused = []Refusal{{rows[1], "taken"}}
	try(third, ErrGone, rows[2])
	refused = []Refusal{{rows[2], "both"}}
	if _, err := l.AppendWith(t.Context(), third, Beside{Rows: rows[2:3], Refused: refused}); err == nil || errors.Is(err, ErrGone) {
		t.Errorf("a row taken and refused: %v, want a refusal", err)
	}
	refused = nil
	try(third, ErrGone, rows[3]+100)
	if _, err := l.AppendWith(t.Context(), third, Beside{Rows: []int64{rows[2], rows[2]}}); err == nil || errors.Is(err, ErrGone) {
		t.Errorf("a row twice: %v, want a refusal", err)
	}
	if all := readAll(t, l, 0); len(all) != 2 {
		t.Errorf("%d batches, want 2", len(all))
	}
	if _, err := l.AppendWith(t.Context(), third, Beside{Rows: rows[2:3], Refused: []Refusal{{rows[3], "no"}}}); err != nil {
		t.Error(err)
	}
	try(after(third, 1), ErrGone, rows[3])
	refused = []Refusal{{rows[3], "again"}}
	try(after(third, 1), ErrGone)
	if _, err := l.doubtful(true).AppendWith(t.Context(), after(third, 1), Beside{Rows: []int64{l.write()}}); !errors.Is(err, ErrDoubt) {
		t.Errorf("%v, want ErrDoubt", err)
	}
	if left := l.pending(); len(left) != 0 {
		t.Errorf("%v are left of an append whose answer was lost", left)
	}
}

// Texts are written with the batch, as they are.
func checkTextsBeside(t *testing.T, l subject) {
	first := grow(t, l, entry.Batch{}, 1, 1)
	texts := []Text{
		{Job: 1, Attempt: 2, Report: []byte(`{"a": [1, -2.5e+10, "\u00e9\ud83d\ude00\\u0000"]}`), Log: "line\nline", Reason: "r"},
		{Job: 2, Attempt: 1, Outputs: []byte(`{"x": {}}`), Metadata: []byte(`{}`)},
		{Job: 3, Attempt: 1},
	}
	row := l.write()
	if _, err := l.AppendWith(t.Context(), entry.Batch{Seq: 1, ID: id(2, 1)}, Beside{Texts: texts}); !errors.Is(err, ErrTaken) {
		t.Errorf("%v, want ErrTaken", err)
	}
	if _, err := l.AppendWith(t.Context(), after(first, 1), Beside{Rows: []int64{row + 1}, Texts: texts}); !errors.Is(err, ErrGone) {
		t.Errorf("%v, want ErrGone", err)
	}
	if got := l.texts(); len(got) != 0 {
		t.Errorf("%v beside batches that are not there", got)
	}
	if _, err := l.AppendWith(t.Context(), after(first, 1), Beside{Rows: []int64{row}, Texts: texts}); err != nil {
		t.Fatal(err)
	}
	got := l.texts()
	for i := range texts {
		for _, both := range []*Text{&texts[i], &got[i]} {
			both.Report, both.Outputs, both.Metadata = plain(t, both.Report), plain(t, both.Outputs), plain(t, both.Metadata)
		}
	}
	if diff := differ(texts, got); diff != "" {
		t.Error(diff)
	}
}

// plain is JSON in one form.
// Appends are not planned one by one, however many partitions the log has.
func TestAppendIsPlannedOnce(t *testing.T) {
	_, db := ofTable(t, 100)
	conn, err := db.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	outside, table, last := ofDatabase(t, db), New(conn), entry.Batch{}
	for n := range int64(12) {
		last = after(last, 1)
		beside := Beside{Rows: []int64{outside.write(), outside.write()}, Texts: []Text{{Job: n + 1, Attempt: 1, Log: "done"}}}
		if _, err := table.AppendWith(t.Context(), last, beside); err != nil {
			t.Fatal(err)
		}
	}
	if left := outside.pending(); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	pgtest.PlannedOnce(t, conn, Query["append"])
	pgtest.PlannedOnce(t, conn, Query["beside"])
}

func plain(t *testing.T, text []byte) []byte {
	if text == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	out, _ := json.Marshal(v)
	return out
}

// What jsonb does not take is refused before it can block the log.
func checkRefusedTexts(t *testing.T, l subject) {
	first := grow(t, l, entry.Batch{}, 1, 1)
	for _, text := range []Text{{Report: []byte(`{`)}, {Report: []byte(``)}, {Outputs: []byte(`"\u0000"`)}, {Metadata: []byte(`"\ud800"`)},
		{Metadata: []byte(`"\udc00"`)}, {Report: []byte(`"\ud800\u0041"`)}, {Report: []byte(`1e1000000`)}, {Report: []byte(strings.Repeat("[", 1000) + strings.Repeat("]", 1000))},
		{Report: []byte("\"\xff\"")}, {Log: "\x00"}, {Reason: "\xff"}, {Report: []byte(strings.Repeat("1", 200_000))}} {
		if _, err := l.AppendWith(t.Context(), after(first, 1), Beside{Texts: []Text{text}}); err == nil || errors.Is(err, ErrGone) {
			t.Errorf("%.80s %.80s %.80s %q %q: %v, want a refusal", text.Report, text.Outputs, text.Metadata, text.Log, text.Reason, err)
		}
	}
	if all := readAll(t, l, 0); len(all) != 1 {
		t.Errorf("%d batches, want the first alone", len(all))
	}
}

// Whatever JSON passes the check, the table takes it.
func TestWhatIsCheckedIsTaken(t *testing.T) {
	table, _ := ofTable(t, 1000)
	last := grow(t, table, entry.Batch{}, 1, 1)
	piece := rapid.OneOf(rapid.SampledFrom([]string{`\u0000`, `\ud83d`, `\ude00`, `\ud83d\ude00`, `\\`, `\"`, `\n`, "\x01", `\\u0000`, `\u00`, "\xff", "é"}), rapid.StringN(0, 3, -1))
	text := rapid.OneOf(rapid.Map(rapid.SliceOfN(piece, 0, 4), func(all []string) string { return `{"` + strings.Join(all, "") + `":1}` }),
		rapid.StringMatching(`\[-?[0-9]{1,3}(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,6})?\]`))
	passed := 0
	rapid.Check(t, func(r *rapid.T) {
		v := Text{Job: last.Seq, Report: []byte(text.Draw(r, "json"))}
		if v.Check() != nil {
			return
		}
		passed++
		b := after(last, 1)
		if _, err := table.AppendWith(t.Context(), b, Beside{Texts: []Text{v}}); err != nil {
			r.Fatal(err)
		}
		last = b
	})
	if passed == 0 {
		t.Error("nothing passed")
	}
}
