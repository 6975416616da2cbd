package doctor

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pg"
)

// everyTable is locked against all but those who read. Partitions are locked with their tables.
const everyTable = `DO $$ DECLARE t regclass; BEGIN
	FOR t IN SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname IN ('public', 'report')
	LOOP EXECUTE format('LOCK TABLE %s IN EXCLUSIVE MODE', t); END LOOP;
END $$`

// A look, a deep one too, takes no more of a table than who reads it, and none of divvy's own locks: while others have all the
// rest, migrations included, it comes to its end, and so nobody but who drops or changes a table waits for it.
func TestALookWaitsForNobody(t *testing.T) {
	w := newWard(t)
	holder, err := w.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback(context.Background())
	if _, err := holder.Exec(t.Context(), everyTable); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1::bigint)", pg.LockMigrate); err != nil {
		t.Fatal(err)
	}
	for class := pg.LockMigrate + 1; pg.LockName(class) != "other"; class++ {
		if err := pg.Lock(t.Context(), holder, class, 0); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := w.Examine(ctx)
	if err != nil {
		t.Fatal("it waits:", err)
	}
	for _, f := range r.Findings {
		if strings.Contains(f.Found, "could not be checked") {
			t.Errorf("%+v", f)
		}
	}
}
