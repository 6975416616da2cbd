//go:build pgbouncer

package pg

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// bouncer is a PgBouncer in front of a server, and the DSN that leads through it.
func bouncer(t *testing.T, c *Cluster, mode string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; func() bool { _, err := os.Stat(program); return err != nil }() {
			t.Fatal("no pgbouncer: install the package of that name")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	file := filepath.Join(c.at.base, mode+".ini")
	text := fmt.Sprintf("[databases]\n* = host=%s port=5432 user=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = %s\n",
		c.at.run, dbUser, port, mode)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, file)
	cmd.Dir, cmd.SysProcAttr = c.at.base, attributes(c.acc, c.deathSignal())
	s, err := startChild(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.process.Kill(); <-s.exited })
	dsn := fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s", dbUser, port, dbName)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			conn.Close()
			return dsn
		}
		if time.Now().After(deadline) {
			t.Fatal("pgbouncer does not answer")
		}
	}
}

// PgBouncer of Debian 12 (1.18): in session mode all goes through it; in transaction mode a daemon is told why not, whichever of
// its two connections leads there.
func TestPgBouncer(t *testing.T) {
	c, err := StartCluster(t.Context(), ClusterConfig{Ephemeral: true, NoFsync: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop(t.Context())
	for _, mode := range []string{"session", "transaction"} {
		t.Run(mode, func(t *testing.T) {
			dsn := bouncer(t, c, mode)
			for what, check := range map[string]func() error{
				"prepared": func() error {
					db, err := Open(t.Context(), dsn, MaxConns(2))
					if err != nil {
						return err
					}
					defer db.Close()
					return CheckPrepared(t.Context(), db)
				},
				"direct": func() error {
					db, err := Open(t.Context(), dsn, MaxConns(3))
					if err != nil {
						return err
					}
					defer db.Close()
					return CheckDirect(t.Context(), db)
				},
			} {
				for range 5 {
					if err := check(); mode == "session" && err != nil || mode != "session" && !errors.Is(err, ErrMixedUp) {
						t.Errorf("%s: %v", what, err)
					}
				}
			}
		})
	}
}
