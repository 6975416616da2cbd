package pg

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Two databases of one server do not hear each other: from here that looks as a pooler does that hands the
// listener's session to somebody else.
func TestCheckDirect(t *testing.T) {
	c, err := StartCluster(t.Context(), ClusterConfig{Ephemeral: true, NoFsync: true, Log: slog.New(slog.DiscardHandler)})
	if errors.Is(err, ErrNoBinaries) {
		t.Skip("SKIPPED: needs a server of its own:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer c.Stop(t.Context())
	db, err := Open(t.Context(), c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := CheckDirect(t.Context(), db); err != nil {
		t.Errorf("a direct connection is refused: %v", err)
	}
	var here, there *pgx.Conn
	for name, conn := range map[string]**pgx.Conn{"divvy": &here, "postgres": &there} {
		if *conn, err = pgx.Connect(t.Context(), c.at.dsn(name)); err != nil {
			t.Fatal(err)
		}
		defer (*conn).Close(t.Context())
	}
	if err := checkDirect(t.Context(), here, there, 50*time.Millisecond); !errors.Is(err, ErrNotDirect) {
		t.Errorf("%v, want ErrNotDirect", err)
	}
}

// Two clients of one session, as a pooler in transaction mode makes them: the second finds the statement of the first.
func TestMixedUp(t *testing.T) {
	c, err := StartCluster(t.Context(), ClusterConfig{Ephemeral: true, NoFsync: true, Log: slog.New(slog.DiscardHandler)})
	if errors.Is(err, ErrNoBinaries) {
		t.Skip("SKIPPED: needs a server of its own:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer c.Stop(t.Context())
	db, err := Open(t.Context(), c.DSN(), MaxConns(2))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := CheckPrepared(t.Context(), db); err != nil {
		t.Errorf("two sessions: %v", err)
	}
	conn, err := db.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for sql, mixed := range map[string]bool{"PREPARE a AS SELECT 1; PREPARE a AS SELECT 1": true, "EXECUTE nobody_prepared_it": true, "SELECT 1/0": false} {
		_, err := conn.Conn().PgConn().Exec(t.Context(), sql).ReadAll()
		if err = mixedUp(err); err == nil || errors.Is(err, ErrMixedUp) != mixed {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
