//go:build chaos

package e2e

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pooler that does not keep sessions is found out at the start, and refused with what would help; with a direct connection
// beside it, or when it keeps sessions, the daemon serves.
func TestPgBouncer(t *testing.T) {
	program, err := exec.LookPath(cmp.Or(os.Getenv("DIVVY_PGBOUNCER"), "pgbouncer"))
	if err != nil {
		t.Skipf("SKIPPED: no PgBouncer here (Debian: pgbouncer; DIVVY_PGBOUNCER names one): %v", err)
	}
	cluster := chaosCluster(t, "")
	direct := cluster.DSN()
	for _, c := range []struct {
		name, mode string
		args       []string
		refused    bool
	}{
		{"transaction", "transaction", nil, true},
		{"transaction, and a direct one", "transaction", []string{"--database-direct", direct}, false},
		{"session", "session", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dsn := bouncer(t, program, direct, c.mode)
			p := start(t, environment(), append([]string{"serve", "--database", dsn, "--listen", "127.0.0.1:0"}, c.args...)...)
			if !c.refused {
				p.says(t, `msg=serving url=(\S+)`)
				p.stops(t)
				return
			}
			select {
			case <-p.ended:
			case <-time.After(time.Minute):
				t.Fatalf("it goes on:\n%s", p.log.tail())
			}
			if said := p.log.String(); p.err == nil || !strings.Contains(said, "database_direct") || !strings.Contains(said, "does not keep sessions") {
				t.Errorf("%v:\n%s\nwant the remedy", p.err, p.log.tail())
			}
		})
	}
}

// bouncer starts a PgBouncer in front of a server that listens on a socket, and returns how to reach it.
func bouncer(t *testing.T, program, direct, mode string) string {
	t.Helper()
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	dir, err := os.MkdirTemp("", "divvy-bouncer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	name := u.Query().Get("user")
	ini := fmt.Sprintf("[databases]\n* = host=%s port=%s user=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = %s\nmax_client_conn = 100\n",
		u.Query().Get("host"), u.Query().Get("port"), name, port, mode)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(ini), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: serverUser(t)}
	var out text
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	eventually(t, 30*time.Second, "PgBouncer listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return fmt.Sprintf("postgres://%s@%s%s?sslmode=disable", name, address, u.Path)
}

// serverUser is who may enter the folder of the private server's socket: its own user where we are root, else we.
func serverUser(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} { // as internal/pg chooses
		if u, err := user.Lookup(name); err == nil {
			uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
			gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
			if err1 == nil && err2 == nil {
				return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
			}
		}
	}
	t.Fatal("no user postgres or nobody to run PgBouncer as")
	return nil
}
