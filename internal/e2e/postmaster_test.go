package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// data is the folder of the server's files.
func (s *storm) data(t *testing.T) (folder string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), "SHOW data_directory").Scan(&folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// killPostmaster kills the server's first process, and waits until the cluster has started another one that answers.
func (s *storm) killPostmaster(t *testing.T) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text, err := os.ReadFile(filepath.Join(s.data(t), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	pid, err := strconv.Atoi(string(line))
	if err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the database answers again", func() bool {
		conn, err := pgx.Connect(ctx, s.dsn)
		if err != nil {
			return false
		}
		defer conn.Close(ctx)
		var now int
		return conn.QueryRow(ctx, "SELECT 1 FROM pg_postmaster_start_time() s WHERE s > $1", killed).Scan(&now) == nil
	})
	return time.Since(killed).Round(time.Millisecond)
}

// leading is the process id of the daemon that wrote the newest batch of the log.
func (s *storm) leading(t *testing.T) (pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	err = conn.QueryRow(ctx, "SELECT d.pid FROM batches b JOIN daemons d ON d.id = b.by ORDER BY b.seq DESC LIMIT 1").Scan(&pid)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// leader is the daemon that decides.
func (s *storm) leader(t *testing.T) (leader *daemon) {
	t.Helper()
	eventually(t, time.Minute, "one of ours leads", func() bool {
		pid := s.leading(t)
		s.fleet.mu.Lock()
		defer s.fleet.mu.Unlock()
		for _, d := range s.fleet.list {
			if d.cmd.Process.Pid == pid && !d.over() {
				leader = d
			}
		}
		return leader != nil
	})
	return leader
}

// awaitOther waits until another daemon leads than the one with this process id.
func (s *storm) awaitOther(t *testing.T, pid int) {
	t.Helper()
	eventually(t, time.Minute, "another daemon leads", func() bool { return s.leading(t) != pid })
}

// folded waits until the tables show all that the log has by now.
func folded(t *testing.T, dsn string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var newest int64
	if err := conn.QueryRow(ctx, "SELECT newest_seq FROM report.freshness").Scan(&newest); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, "the tables show what the log has", func() bool {
		var folded int64
		if err := conn.QueryRow(ctx, "SELECT folded_seq FROM report.freshness").Scan(&folded); err != nil {
			t.Fatal(err)
		}
		return folded >= newest
	})
}
