package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/migrations"
)

// server is a row of sql/server.sql.
type server struct {
	Version             string
	Major               int
	Standby             bool
	Now                 time.Time
	Fsync               bool
	FullPageWrites      bool
	SynchronousCommit   string
	SynchronousStandbys string
	Autovacuum          bool
	TrackCounts         bool
	MaxConnections      int
	Reserved            int
	Connections         int
	ReadsAll            bool
	Xids                int64
	FreezeMaxAge        int64
}

func (s server) finding() Finding {
	f := Finding{Check: "server", Level: OK, Found: "PostgreSQL " + s.Version}
	switch {
	case s.Standby:
		f.Level, f.Found = Bad, f.Found+" is a standby: nothing can be written there"
		f.Do = "name all hosts in the DSN, with target_session_attrs=read-write"
	case s.Major < 15:
		f.Level, f.Found, f.Do = Bad, f.Found+" is older than 15", "move to PostgreSQL 15 or newer"
	}
	return f
}

// migrations compares the schema with this binary.
func (d *Doctor) migrations(ctx context.Context) ([]Finding, error) {
	if old, err := migrations.Old(ctx, d.cfg.Direct); err != nil || old > 0 {
		return []Finding{{Level: Bad, Found: fmt.Sprintf("divvy 0.10 or before made this database (its schema is at %d)", old),
			Do: "divvy migrate export from it, divvy migrate import into a new one"}}, err
	}
	steps, err := migrations.Status(ctx, d.cfg.Direct)
	if err != nil {
		return nil, err
	}
	pending := 0
	for _, s := range steps {
		if s.AppliedAt == nil {
			pending++
		}
	}
	newest, err := migrations.Version(ctx, d.cfg.Direct)
	if err != nil {
		return nil, err
	}
	own := steps[len(steps)-1].Version
	switch {
	case pending > 0:
		return []Finding{{Level: Bad, Found: fmt.Sprintf("%d of %d migrations are pending", pending, len(steps)),
			Do: "divvy migrate up; daemons do it at their start"}}, nil
	case newest > own:
		return []Finding{{Level: Warn, Found: fmt.Sprintf("the schema is at %d, this divvy knows migrations up to %d", newest, own),
			Do: "ask the divvy that the daemons are; daemons one version older keep running"}}, nil
	}
	return nil, nil
}

type sameRow struct {
	Database int64
	Started  time.Time
}

// sessions proves that the direct connection is one, and leads where the other does.
func (d *Doctor) sessions(ctx context.Context) (found []Finding, err error) {
	if err := pg.CheckDirect(ctx, d.cfg.Direct); errors.Is(err, pg.ErrNotDirect) {
		return []Finding{{Level: Bad, Found: "sessions are not kept, as behind PgBouncer in transaction mode: daemons refuse to start",
			Do: "name a DSN in database_direct that does not go through the pooler"}}, nil
	} else if err != nil {
		return nil, err
	}
	if d.cfg.Pool == d.cfg.Direct {
		return nil, nil
	}
	direct, err := pg.Row[sameRow](ctx, d.cfg.Direct, query["same"])
	if err != nil {
		return nil, err
	}
	pool, err := pg.Row[sameRow](ctx, d.cfg.Pool, query["same"])
	if err != nil {
		return nil, err
	}
	if direct.Database != pool.Database || !direct.Started.Equal(pool.Started) {
		return []Finding{{Level: Bad, Found: "database and database_direct are not the same database", Do: "name the same one in both"}}, nil
	}
	return nil, nil
}

// durability is about what a crash may take.
func (d *Doctor) durability(context.Context) (found []Finding, err error) {
	s := d.server
	if !s.Fsync || !s.FullPageWrites {
		found = append(found, Finding{Level: Bad, Found: "fsync or full_page_writes is off: a crash of the host may destroy the database",
			Do: "ALTER SYSTEM RESET fsync; ALTER SYSTEM RESET full_page_writes; SELECT pg_reload_conf();"})
	}
	if slices.Contains([]string{"off", "local"}, s.SynchronousCommit) && (s.SynchronousCommit == "off" || s.SynchronousStandbys != "") {
		found = append(found, Finding{Level: Warn, Found: fmt.Sprintf("synchronous_commit is %s: what was answered in the last moment before a crash or failover may be lost, and its jobs run twice", s.SynchronousCommit),
			Do: "ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf(); see docs/guarantees.md"})
	}
	return found, nil
}

// connections holds max_connections against what open daemons may want.
func (d *Doctor) connections(ctx context.Context) ([]Finding, error) {
	n, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	s := d.server
	may, free := s.MaxConnections-s.Reserved, s.MaxConnections-s.Reserved-s.Connections
	switch wanted := n*(d.cfg.Connections+5) + 10; {
	case free < 5:
		return []Finding{{Level: Bad, Found: fmt.Sprintf("%d of %d connections are in use", s.Connections, may),
			Do: "raise max_connections (a restart of PostgreSQL), or lower connections of the daemons"}}, nil
	case wanted > may:
		return []Finding{{Level: Warn, Found: fmt.Sprintf("%d daemons of up to %d connections want %d, max_connections leaves %d", n, d.cfg.Connections, wanted, may),
			Do: fmt.Sprintf("set max_connections to %d or more, or lower connections of the daemons", wanted+s.Reserved)}}, nil
	}
	return nil, nil
}
