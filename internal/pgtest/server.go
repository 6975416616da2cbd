package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/migrations"
)

// instance is the server of this test binary, found or started at the first need.
var instance lazy

type lazy struct {
	main   bool // Run is above us, so that somebody will stop it
	once   sync.Once
	server *server
	err    error
}

func (l *lazy) get() (*server, error) {
	l.once.Do(func() { l.server, l.err = find() })
	return l.server, l.err
}

func (l *lazy) stop() {
	if l.server == nil {
		return
	}
	if err := l.server.close(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest: stop:", err)
	}
}

// server is a PostgreSQL that this binary may create databases on.
type server struct {
	base     string // DSN
	admin    *pgxpool.Pool
	prefix   string // of the names of our databases
	template string
	n        atomic.Int64
	halt     func(context.Context) error // stops what was started for us; nil: it is somebody else's

	mu   sync.Mutex
	late []string // databases of tests that have ended, oldest first, which are still to be dropped

	once      sync.Once
	shared    string
	sharedErr error
}

// find looks for a server in the order that doc.go promises.
func find() (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	if dsn := os.Getenv("DIVVY_TEST_DATABASE"); dsn != "" {
		s, err := use(ctx, dsn, nil)
		if err != nil {
			return nil, fmt.Errorf("DIVVY_TEST_DATABASE: %w", err)
		}
		return s, nil
	}
	if dockerAnswers(ctx) {
		dsn, halt, err := startContainer(ctx)
		if err == nil {
			return use(ctx, dsn, halt)
		}
		fmt.Fprintln(os.Stderr, "pgtest: Docker answers, but no container started; using a private cluster:", err)
	}
	// Many test binaries run at once, each with a server of its own.
	c, err := start(ctx, map[string]string{"shared_buffers": "96MB", "wal_level": "minimal", "max_wal_senders": "0", "autovacuum_naptime": "60s"})
	if err != nil {
		return nil, err
	}
	return use(ctx, c.DSN(), c.Stop)
}

// start starts a private cluster of this binary's own, with the migrated database if one is kept.
func start(ctx context.Context, settings map[string]string) (*pg.Cluster, error) {
	cfg := pg.ClusterConfig{Ephemeral: true, NoFsync: true, From: migrated(ctx), Settings: settings, Log: slog.New(slog.DiscardHandler)}
	c, err := pg.StartCluster(ctx, cfg)
	if err != nil && cfg.From != "" { // of another machine, or torn by a crash of this one
		err = errors.Join(err, os.RemoveAll(cfg.From))
		fmt.Fprintln(os.Stderr, "pgtest: the migrated cluster that was kept does not start, and is made anew:", err)
		cfg.From = ""
		c, err = pg.StartCluster(ctx, cfg)
	}
	return c, err
}

// use connects to the server and makes the migrated database that all others are clones of, unless a server of our own has it from its start.
func use(ctx context.Context, dsn string, halt func(context.Context) error) (*server, error) {
	s := &server{base: dsn, halt: halt, prefix: "divvy_test_" + strings.ToLower(rand.Text()[:10])}
	s.template = s.prefix + "_template"
	var err error
	var kept bool
	if s.admin, err = pg.Open(ctx, dsn, pg.Name("divvy-test")); err == nil && halt != nil {
		err = s.admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", keptTemplate).Scan(&kept)
	}
	switch {
	case kept:
		s.template = keptTemplate
	case err == nil:
		err = s.makeTemplate(ctx)
	}
	if err != nil {
		_ = s.close()
		return nil, err
	}
	return s, nil
}

func (s *server) makeTemplate(ctx context.Context) error {
	if _, err := s.admin.Exec(ctx, "CREATE DATABASE "+identifier(s.template)); err != nil {
		return err
	}
	db, err := pg.Open(ctx, s.dsn(s.template), pg.MaxConns(1))
	if err != nil {
		return err
	}
	defer db.Close() // a template must have no connection
	if _, err = migrations.Up(ctx, db); err != nil {
		return err
	}
	_, err = db.Exec(ctx, makeDays)
	return err
}

// makeDays makes the days that a daemon makes before it can write at all. Making them takes as long as all else that a small test does.
const makeDays = `SELECT divvy_make_day(parent, (now() AT TIME ZONE 'UTC')::date + i)
	FROM unnest('{attempt_texts,payload_logs,share_samples}'::text[]) AS parent, generate_series(0, 1) AS i`

// clone makes a database like the template. Copying the files is six times as fast as logging them when fsync
// is off.
func (s *server) clone() (string, error) {
	return s.named(" TEMPLATE " + identifier(s.template) + " STRATEGY file_copy")
}

// create makes an empty database.
func (s *server) create() (string, error) { return s.named("") }

func (s *server) named(options string) (name string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name = fmt.Sprintf("%s_%d", s.prefix, s.n.Add(1))
	_, err = s.admin.Exec(ctx, "CREATE DATABASE "+identifier(name)+options)
	return name, err
}

// keptLate is how many databases of tests that have ended there are: the server takes a moment to end their connections, and DROP
// DATABASE waits for a tenth of a second where it finds one.
const keptLate = 3

// dropLater drops the database when some more tests have ended.
func (s *server) dropLater(name string) (err error) {
	s.mu.Lock()
	s.late = append(s.late, name)
	var now []string
	if n := len(s.late) - keptLate; n > 0 {
		now, s.late = s.late[:n:n], s.late[n:]
	}
	s.mu.Unlock()
	for _, name := range now {
		err = errors.Join(err, s.drop(name))
	}
	return err
}

func (s *server) drop(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := s.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+identifier(name)+" WITH (FORCE)")
	return err
}

// sharedDSN reaches the database of all Tx.
func (s *server) sharedDSN() (string, error) {
	s.once.Do(func() { s.shared, s.sharedErr = s.clone() })
	return s.dsn(s.shared), s.sharedErr
}

// dsn is the server's DSN with another database.
func (s *server) dsn(name string) string {
	if strings.HasPrefix(s.base, "postgres://") || strings.HasPrefix(s.base, "postgresql://") {
		if u, err := url.Parse(s.base); err == nil {
			u.Path = "/" + name
			return u.String()
		}
	}
	return s.base + " dbname=" + name // of two, the last one counts
}

// close drops what was made on a server that lives on, and stops one that was started for us.
func (s *server) close() (err error) {
	if s.halt == nil && s.admin != nil {
		for _, name := range append(s.late, s.shared, s.template) {
			if name != "" && err == nil {
				err = s.drop(name)
			}
		}
	}
	if s.admin != nil {
		s.admin.Close()
	}
	if s.halt != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err = s.halt(ctx)
	}
	return err
}

func identifier(name string) string { return pgx.Identifier(strings.Split(name, ".")).Sanitize() }
