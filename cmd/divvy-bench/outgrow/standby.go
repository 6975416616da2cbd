package outgrow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/pg"
)

// standby is a streaming replica of the private cluster, on this machine, that answers queries.
type standby struct {
	pool *pgxpool.Pool
	cmd  *exec.Cmd
	dir  string
	log  bytes.Buffer
}

// standbySettings: as many connections as the server it follows, or it refuses to start. Conflicts are waited for as by
// default; without feedback its snapshots are nothing to the server.
var standbySettings = []string{"listen_addresses=", "port=5432", "max_connections=" + stage.Tuned["max_connections"], "shared_buffers=256MB", "hot_standby=on", "hot_standby_feedback=off", "max_standby_streaming_delay=30s"}

// startStandby copies the private cluster and follows it. Its reader has the rights of divvy_reader alone.
func startStandby(ctx context.Context, p *stage.Place) (s *standby, err error) {
	data, err := recount.Value[string](ctx, p.Pool, "SHOW data_directory")
	if err != nil {
		return nil, err
	}
	at, err := os.Stat(data)
	if err != nil {
		return nil, fmt.Errorf("a standby is made of the private cluster only: %w", err)
	}
	owner := at.Sys().(*syscall.Stat_t)
	s = &standby{}
	if s.dir, err = os.MkdirTemp("", "divvy-standby-"); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, p.DSN, owner); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *standby) begin(ctx context.Context, dsn string, owner *syscall.Stat_t) error {
	if err := os.Chown(s.dir, int(owner.Uid), int(owner.Gid)); err != nil {
		return err
	}
	from, err := pgx.ParseConfig(dsn)
	if err != nil {
		return err
	}
	copyTo := filepath.Join(s.dir, "data")
	base, err := s.program(ctx, owner, "pg_basebackup", "-h", from.Host, "-p", fmt.Sprint(from.Port), "-U", from.User, "-D", copyTo, "-R", "-X", "stream", "-c", "fast")
	if err != nil {
		return err
	}
	if out, err := base.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	args := []string{"-D", copyTo, "-k", s.dir}
	for _, set := range standbySettings {
		args = append(args, "-c", set)
	}
	if s.cmd, err = s.program(ctx, owner, "postgres", args...); err != nil {
		return err
	}
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	own := fmt.Sprintf("host=%s port=5432 user=%s dbname=%s sslmode=disable options='-c role=divvy_reader'", s.dir, from.User, from.Database)
	failed := stage.Until(ctx, 100*time.Millisecond, time.Minute, "the standby does not answer", func() (bool, error) {
		s.pool, err = pg.Open(ctx, own, pg.MaxConns(8), pg.Name("divvy-bench reports"), pg.ReadOnly())
		return err == nil, nil
	})
	return errors.Join(failed, err)
}

// program is a program of the installation as the account that the cluster runs as.
func (s *standby) program(ctx context.Context, owner *syscall.Stat_t, name string, args ...string) (*exec.Cmd, error) {
	path, _, err := pg.Program(ctx, name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	return cmd, nil
}

// level waits until the standby has heard of all that the server has committed so far.
func (s *standby) level(ctx context.Context, server *pgxpool.Pool) error {
	upTo, err := recount.Value[string](ctx, server, query["wal_written"])
	if err != nil {
		return err
	}
	return stage.Until(ctx, 20*time.Millisecond, time.Minute, "the standby does not get to "+upTo, func() (bool, error) {
		there, err := recount.Value[*bool](ctx, s.pool, query["wal_replayed"], pgx.StrictNamedArgs{"up_to": upTo})
		return there != nil && *there, err
	})
}

// stop ends it and removes its copy.
func (s *standby) stop() error {
	if s.pool != nil {
		s.pool.Close()
	}
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		_ = s.cmd.Wait() // it ends with an error: it was told to
	}
	return os.RemoveAll(s.dir)
}
